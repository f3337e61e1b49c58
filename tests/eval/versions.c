/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "tests/eval/eval.h"
#include "tests/eval/licensed.h"
#include "tests/eval/report.h"

/*
 * Versions of one thing, whatever their size: those that should be listed at
 * the threshold that a user would take for so much in common, and unrelated
 * ones below one licence, which should not.
 */
#define VERSION_BANDS 3
static const int thresholds[VERSION_BANDS] = { 60, 60, 40 }; /* by band */

#define FIRST_CLASS 1 /* from 500 bytes */
#define FEW 50        /* pairs that say nothing of a class */

static bool is_licensed(const struct corpus *c, size_t file)
{
	return !strncmp(c->families[c->files[file].family].name, LICENSED_GROUP,
			strlen(LICENSED_GROUP));
}

/* At any threshold that is not below that of l. */
static bool is_listed_at(const struct listing *l, size_t file, size_t other,
			 int threshold)
{
	const struct entry *e = listing_find(l, file, other);

	return e && e->score >= threshold;
}

struct version_recall {
	struct mean listed[VERSION_BANDS][COLUMNS];
};

static void recall_add(struct version_recall *recall, const struct report *r,
		       const struct pair *p)
{
	const struct listing *l = &r->listings[LISTINGS - 1];
	size_t band = band_of(&p->truth), class = pair_class(r->corpus, p);
	int threshold;

	if (band >= VERSION_BANDS)
		return;
	threshold = thresholds[band];
	if ((double)p->truth.shared < threshold)
		return;
	mean_add(recall->listed[band], class,
		 is_listed_at(l, p->a, p->b, threshold));
	mean_add(recall->listed[band], class,
		 is_listed_at(l, p->b, p->a, threshold));
}

/* The class that is served worst, in per cent. */
static double worst_of(const struct mean row[COLUMNS])
{
	double worst = 100;
	size_t i;

	for (i = FIRST_CLASS; i < SIZE_CLASSES; i++)
		if (row[i].count >= FEW && 100 * mean_of(&row[i]) < worst)
			worst = 100 * mean_of(&row[i]);
	return worst;
}

static void recall_print(struct report *r, const char *group, bool licensed)
{
	struct version_recall recall = { 0 };
	char what[16];
	size_t i;

	for (i = 0; i < r->pairs.count; i++)
		if (r->pairs.pairs[i].is_kin &&
		    (!licensed || is_licensed(r->corpus, r->pairs.pairs[i].a)))
			recall_add(&recall, r, &r->pairs.pairs[i]);
	for (i = 0; i < VERSION_BANDS; i++) {
		(void)snprintf(what, sizeof(what), "at %d", thresholds[i]);
		print_means(i ? "" : group, what, recall.listed[i], 100);
		print_counts(band_names[i], "pairs", recall.listed[i]);
		figures_add(&r->figures, worst_of(recall.listed[i]), "%s.%s",
			    group, band_names[i]);
	}
}

/* Of the entries of files below a licence at the first threshold, those of
 * another family, in 1000. */
static double unrelated_of(const struct report *r)
{
	const struct listing *l = &r->listings[0];
	const struct file *files = r->corpus->files;
	struct mean unrelated = { 0 };
	size_t i, j;

	for (i = 0; i < l->count; i++)
		for (j = 0; j < l->files[i].count && is_licensed(r->corpus, i);
		     j++) {
			const struct entry *e = &l->files[i].entries[j];

			unrelated.sum +=
				files[e->other].family != files[i].family;
			unrelated.count++;
		}
	return unrelated.count ? 1000 * mean_of(&unrelated) : 0;
}

void report_versions(struct report *r)
{
	double unrelated = unrelated_of(r);

	printf("\nVersions of one thing that share as much as the threshold "
	       "says or more, and\nare listed, %%; J 0.8 to 1, 0.6 to 0.8, 0.4 "
	       "to 0.6; of all families, and of\nthose below a licence\n");
	print_head("");
	recall_print(r, "versions", false);
	recall_print(r, "licensed", true);
	printf("Unrelated files below one licence listed at threshold %d, of 1000 "
	       "entries: %.1f\n",
	       r->listings[0].rules.threshold, unrelated);
	figures_add(&r->figures, unrelated, "licensed.unrelated.%d",
		    r->listings[0].rules.threshold);
}
