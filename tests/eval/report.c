/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/eval/report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/eval/eval.h"

const double bands[BANDS + 1] = { 2, 0.8, 0.6, 0.4, 0.2 };
const char *const band_names[BANDS] = { "0.8-1", "0.6-0.8", "0.4-0.6",
					"0.2-0.4" };

size_t band_of(const struct truth *t)
{
	size_t i = 0;

	while (i < BANDS && (double)t->jaccard < bands[i + 1])
		i++;
	return i;
}

void mean_add(struct mean row[COLUMNS], size_t class, double value)
{
	row[class].sum += value;
	row[class].count++;
	row[SIZE_CLASSES].sum += value;
	row[SIZE_CLASSES].count++;
}

double mean_of(const struct mean *m)
{
	return m->count ? m->sum / (double)m->count : NAN;
}

void print_head(const char *first)
{
	size_t i;

	printf("%-24s", first);
	for (i = 0; i < SIZE_CLASSES; i++)
		printf(" %8s", size_class_names[i]);
	printf(" %8s\n", "all");
}

void print_means(const char *band, const char *what, const struct mean *row,
		 double factor)
{
	size_t i;

	printf("%-8s %-15s", band, what);
	for (i = 0; i < COLUMNS; i++)
		if (row[i].count)
			printf(" %8.1f", factor * mean_of(&row[i]));
		else
			printf(" %8s", "-");
	printf("\n");
}

void print_counts(const char *band, const char *what, const struct mean *row)
{
	size_t i;

	printf("%-8s %-15s", band, what);
	for (i = 0; i < COLUMNS; i++)
		printf(" %8zu", row[i].count);
	printf("\n");
}

double error_of(const struct pair *p)
{
	return p->verdict.score - (double)p->truth.shared;
}

size_t pair_class(const struct corpus *c, const struct pair *p)
{
	uint64_t a = c->files[p->a].digests.size;
	uint64_t b = c->files[p->b].digests.size;

	return size_class(a < b ? a : b);
}

/* ---- corpus ---- */

void report_corpus(const struct report *r)
{
	const struct corpus *c = r->corpus;
	struct mean all[COLUMNS] = { 0 }, half[COLUMNS] = { 0 };
	size_t i;

	for (i = 0; i < c->count; i++) {
		size_t class = size_class(c->files[i].digests.size);

		mean_add(all, class, 0);
		if (corpus_is_held_out(c, i) == r->held_out)
			mean_add(half, class, 0);
	}
	printf("%zu contents of %.1f MB in %zu families; %zu repeats left out\n"
	       "The tables are about the half that is %s; all are in the "
	       "index.\nA pair counts for the size of its smaller file.\n\n",
	       c->count, (double)c->bytes / 1e6, c->family_count, c->repeats,
	       r->held_out ? "held out" : "for fitting");
	print_head("contents");
	print_counts("", "all", all);
	print_counts("", "this half", half);
}

/* ---- recall ---- */

struct recall {
	struct mean listed[COLUMNS], scored[COLUMNS];
};

static void recall_add(struct recall *recall, const struct listing *l,
		       const struct pair *p, size_t class, bool forth)
{
	const struct entry *e =
		listing_find(l, forth ? p->a : p->b, forth ? p->b : p->a);

	mean_add(recall->listed, class, e != NULL);
	mean_add(recall->scored, class,
		 p->verdict.score >= l->rules.threshold &&
			 p->verdict.reason == VERDICT_LISTED);
}

static void recall_at(struct report *r, const struct listing *l)
{
	struct recall table[BANDS + 1] = { 0 };
	size_t i, band;

	for (i = 0; i < r->pairs.count; i++) {
		const struct pair *p = &r->pairs.pairs[i];
		size_t class = pair_class(r->corpus, p);

		if (!p->is_kin ||
		    (double)p->truth.shared < l->rules.threshold ||
		    report_is_repetitive(r->corpus, p->a))
			continue;
		band = band_of(&p->truth);
		recall_add(&table[band], l, p, class, true);
		recall_add(&table[band], l, p, class, false);
	}
	printf("\nRecall at threshold %d: of the pairs of a family with a true "
	       "shared\npercentage of %d or more, %%; by Jaccard coefficient\n",
	       l->rules.threshold, l->rules.threshold);
	print_head("J");
	for (band = 0; band < BANDS; band++) {
		const struct recall *row = &table[band];

		if (!row->listed[SIZE_CLASSES].count)
			continue;
		print_means(band_names[band], "listed", row->listed, 100);
		print_means("", "score enough", row->scored, 100);
		print_counts("", "pairs, each way", row->listed);
		figures_add(
			&r->figures, 100 * mean_of(&row->listed[SIZE_CLASSES]),
			"recall.%d.%s", l->rules.threshold, band_names[band]);
	}
}

void report_recall(struct report *r)
{
	size_t i;

	for (i = 0; i < LISTINGS; i++)
		recall_at(r, &r->listings[i]);
}

/* ---- what is listed ---- */

struct quality {
	struct mean right[COLUMNS], near[COLUMNS], low[COLUMNS];
	struct mean unrelated[COLUMNS];
	size_t listed, known;
};

static void quality_add(struct quality *q, const struct report *r,
			const struct listing *l, size_t file, size_t at)
{
	const struct entry *e = &l->files[file].entries[at];
	const struct pair *p = pairs_find(&r->pairs, file, e->other);
	double shared;
	size_t class;

	q->listed++;
	if (!p || !listing_counts(l, file, e))
		return;
	q->known++;
	class = pair_class(r->corpus, p);
	shared = (double)p->truth.shared;
	mean_add(q->right, class, shared >= l->rules.threshold);
	mean_add(q->near, class, shared >= l->rules.threshold - 10);
	mean_add(q->low, class, (double)p->truth.jaccard < 0.2);
	mean_add(q->unrelated, class, truth_is_unrelated(&p->truth));
}

static void quality_at(struct report *r, const struct listing *l)
{
	struct quality q = { 0 };
	size_t i, j;

	for (i = 0; i < l->count; i++)
		for (j = 0; j < l->files[i].count; j++)
			quality_add(&q, r, l, i, j);
	printf("\nEntries listed at threshold %d", l->rules.threshold);
	if (q.known < q.listed)
		printf(" (a sample, of %zu)", q.listed);
	printf("\n");
	print_head("");
	print_counts("", "entries", q.right);
	print_means("", "shared enough %", q.right, 100);
	print_means("", "less by 10, %", q.near, 100);
	print_means("", "J < 0.2, /1000", q.low, 1000);
	print_means("", "J < 0.05, /1000", q.unrelated, 1000);
	figures_add(&r->figures, 100 * mean_of(&q.near[SIZE_CLASSES]),
		    "precision.%d", l->rules.threshold);
	figures_add(&r->figures, 1000 * mean_of(&q.unrelated[SIZE_CLASSES]),
		    "unrelated.%d", l->rules.threshold);
}

void report_entries(struct report *r)
{
	size_t i;

	for (i = 0; i < LISTINGS; i++)
		quality_at(r, &r->listings[i]);
}

/* ---- ranks ---- */

/* Whether the file has kin that should be listed. */
static bool has_kin(const struct report *r, const struct listing *l,
		    size_t file)
{
	const struct family *f =
		&r->corpus->families[r->corpus->files[file].family];
	const struct pair *p;
	size_t i;

	for (i = 0; i < f->count; i++) {
		if (f->members[i] == file)
			continue;
		p = pairs_find(&r->pairs, file, f->members[i]);
		if (p && (double)p->truth.shared >= l->rules.threshold)
			return true;
	}
	return false;
}

static double rank_of_kin(const struct report *r, const struct listing *l,
			  size_t file)
{
	const struct file *files = r->corpus->files;
	const struct entry *e = l->files[file].entries;
	size_t i;

	for (i = 0; i < l->files[file].count; i++)
		if (files[e[i].other].family == files[file].family)
			return 1 / (1.0 + (double)e[i].rank);
	return 0;
}

void report_ranks(struct report *r)
{
	const struct listing *l = &r->listings[0];
	struct mean first[COLUMNS] = { 0 }, reciprocal[COLUMNS] = { 0 };
	double rank;
	size_t i, class;

	for (i = 0; i < r->corpus->count; i++) {
		if (corpus_is_held_out(r->corpus, i) != r->held_out ||
		    !has_kin(r, l, i))
			continue;
		class = size_class(r->corpus->files[i].digests.size);
		rank = rank_of_kin(r, l, i);
		mean_add(first, class, rank >= 1);
		mean_add(reciprocal, class, rank);
	}
	printf("\nRank of the first of the family at threshold %d, of files "
	       "that have some\nthat should be listed\n",
	       l->rules.threshold);
	print_head("");
	print_counts("", "files", first);
	print_means("", "first, %", first, 100);
	print_means("", "MRR, x 100", reciprocal, 100);
	figures_add(&r->figures, 100 * mean_of(&first[SIZE_CLASSES]),
		    "first.%d", l->rules.threshold);
}

/* ---- errors ---- */

struct error {
	struct mean size[COLUMNS], bias[COLUMNS];
};

static void error_add(struct error *e, size_t class, double error)
{
	mean_add(e->size, class, fabs(error));
	mean_add(e->bias, class, error);
}

static void error_print(const char *what, const struct error *e)
{
	print_means(what, "error", e->size, 1);
	print_means("", "bias", e->bias, 1);
}

static void errors_of_listing(const struct report *r, const struct listing *l,
			      struct error *out)
{
	const struct pair *p;
	size_t i, j;

	for (i = 0; i < l->count; i++)
		for (j = 0; j < l->files[i].count; j++) {
			const struct entry *e = &l->files[i].entries[j];

			p = pairs_find(&r->pairs, i, e->other);
			if (p && listing_counts(l, i, e))
				error_add(out, pair_class(r->corpus, p),
					  error_of(p));
		}
}

static void errors_of_kin(const struct report *r, struct error kin[BANDS + 1])
{
	size_t i;

	for (i = 0; i < r->pairs.count; i++) {
		const struct pair *p = &r->pairs.pairs[i];

		if (p->is_kin)
			error_add(&kin[band_of(&p->truth)],
				  pair_class(r->corpus, p), error_of(p));
	}
}

void report_errors(struct report *r)
{
	struct error listed[LISTINGS] = { 0 }, kin[BANDS + 1] = { 0 };
	size_t i, band;
	char name[24];

	errors_of_kin(r, kin);
	printf("\nScore less true shared percentage, points: mean of the "
	       "absolute error, and\nmean; of entries listed, and of all pairs "
	       "of a family by J, listed or not\n");
	print_head("");
	for (i = 0; i < LISTINGS; i++) {
		errors_of_listing(r, &r->listings[i], &listed[i]);
		(void)snprintf(name, sizeof(name), "list %d",
			       r->listings[i].rules.threshold);
		error_print(name, &listed[i]);
		figures_add(&r->figures, mean_of(&listed[i].size[SIZE_CLASSES]),
			    "error.%d", r->listings[i].rules.threshold);
	}
	for (band = 0; band <= BANDS; band++) {
		error_print(band < BANDS ? band_names[band] : "0-0.2",
			    &kin[band]);
		figures_add(&r->figures, mean_of(&kin[band].size[SIZE_CLASSES]),
			    "error.%s",
			    band < BANDS ? band_names[band] : "0-0.2");
	}
}

/* ---- symmetry ---- */

void report_symmetry(struct report *r)
{
	size_t differ = 0, i;

	for (i = 0; i < r->pairs.count; i++)
		differ += !r->pairs.pairs[i].is_symmetric;
	printf("\nPairs of which the two verdicts differ, by which one is the "
	       "first: %zu of %zu\n",
	       differ, r->pairs.count);
	figures_add(&r->figures, (double)differ, "asymmetric");
}
