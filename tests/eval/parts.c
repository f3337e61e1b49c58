/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "tests/eval/eval.h"
#include "tests/eval/plan.h"
#include "tests/eval/report.h"

/*
 * Parts and wholes, by how many times as large the whole is: entries of
 * INDEX_WITHIN and INDEX_CONTAINS of which less than WRONG percent is in the
 * whole, and parts of the bases of plan_parts() that are not listed.
 */
#define WRONG 40
#define RATIOS 5
#define LEAST_PART (4 * KIB)

static const double ratios[RATIOS - 1] = { 3, 10, 30, 100 };
static const char *const ratio_names[RATIOS] = { "1-3", "3-10", "10-30",
						 "30-100", "100-" };

static size_t ratio_class(double ratio)
{
	size_t i = 0;

	while (i < RATIOS - 1 && ratio > ratios[i])
		i++;
	return i;
}

struct part_table {
	/* Parts of at least LEAST_PART, and smaller ones. */
	struct mean wrong[RATIOS], found[RATIOS], small[RATIOS];
};

static void count_wrong(const struct report *r, const struct listing *l,
			struct part_table *t)
{
	const struct pair *p;
	struct mean *m;
	size_t i, j;

	for (i = 0; i < l->count; i++)
		for (j = 0; j < l->files[i].count; j++) {
			const struct entry *e = &l->files[i].entries[j];

			p = pairs_find(&r->pairs, i, e->other);
			if (!p || !listing_counts(l, i, e))
				continue;
			m = &t->wrong[ratio_class((double)p->truth.ratio)];
			m->sum += (double)p->truth.contained < WRONG;
			m->count++;
		}
}

static void count_found(const struct report *r, struct part_table *t)
{
	const struct corpus *c = r->corpus;
	size_t i, whole;

	for (i = 0; i < c->count; i++) {
		const struct file *f = &c->files[i];
		const struct family *family = &c->families[f->family];
		struct mean *m =
			f->digests.size < LEAST_PART ? t->small : t->found;

		if (family->held_out != r->held_out || !f->edit.amount ||
		    f->edit.kind != EDIT_PART)
			continue;
		whole = family->members[0];
		m += ratio_class((double)c->files[whole].digests.size /
				 (double)f->digests.size);
		m->sum += listing_find(&r->within, i, whole) != NULL;
		m->sum += listing_find(&r->contains, whole, i) != NULL;
		m->count += 2;
	}
}

static void print_row(const char *name, const struct mean *row)
{
	size_t i;

	printf("%-24s", name);
	for (i = 0; i < RATIOS; i++)
		if (row[i].count)
			printf(" %7.2f (%6zu)", 100 * mean_of(&row[i]),
			       row[i].count);
		else
			printf(" %16s", "-");
	printf("\n");
}

void report_parts(struct report *r)
{
	struct part_table t = { 0 };
	struct mean promised = { 0 };
	double worst = 0;
	size_t i;

	count_wrong(r, &r->within, &t);
	count_wrong(r, &r->contains, &t);
	count_found(r, &t);
	printf("\nParts in wholes so many times as large, at threshold %d: of "
	       "what is listed,\nwhat has less than %d %% in the whole; of the "
	       "true parts, what is listed; %% (of)\n%-24s",
	       r->within.rules.threshold, WRONG, "");
	for (i = 0; i < RATIOS; i++)
		printf(" %16s", ratio_names[i]);
	printf("\n");
	print_row("wrong", t.wrong);
	print_row("found, from 4 KiB", t.found);
	print_row("found, below", t.small);
	for (i = 0; i < RATIOS - 1; i++) {
		if (t.wrong[i].count && 100 * mean_of(&t.wrong[i]) > worst)
			worst = 100 * mean_of(&t.wrong[i]);
		promised.sum += t.found[i].sum;
		promised.count += t.found[i].count;
	}
	figures_add(&r->figures, worst, "parts.wrong");
	figures_add(&r->figures, 100 * mean_of(&t.wrong[RATIOS - 1]),
		    "parts.wrong.beyond");
	figures_add(&r->figures, 100 * mean_of(&promised), "parts.found");
}
