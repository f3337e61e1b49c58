/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>

#include "tests/eval/eval.h"
#include "tests/eval/plan.h"
#include "tests/eval/report.h"

/* Single bytes replaced all over a content: the score beside the bytes that are
 * the same. */

struct scattered_line {
	struct mean score[COLUMNS], error[COLUMNS], near[COLUMNS];
	struct mean listed[COLUMNS];
};

static void line_add(struct scattered_line *line, const struct report *r,
		     const struct pair *p)
{
	const struct listing *l = &r->listings[0];
	double error = fabs(p->score - (double)p->truth.bytes);
	size_t class = pair_class(r->corpus, p), way;

	mean_add(line->score, class, p->score);
	mean_add(line->error, class, error);
	mean_add(line->near, class, error <= 10);
	for (way = 0; way < 2; way++) {
		const struct entry *e =
			listing_find(l, way ? p->b : p->a, way ? p->a : p->b);

		mean_add(line->listed, class, e && e->is_listed);
	}
}

static void line_print(struct report *r, const struct scattered_line *line,
		       unsigned amount)
{
	char name[16];

	(void)snprintf(name, sizeof(name), "%u %%", amount / 100);
	print_counts(name, "pairs", line->score);
	print_means("", "score", line->score, 1);
	print_means("", "error", line->error, 1);
	print_means("", "within 10, %", line->near, 100);
	print_means("", "listed, %", line->listed, 100);
	figures_add(&r->figures, 100 * mean_of(&line->near[SIZE_CLASSES]),
		    "scattered.%u.near", amount / 100);
	figures_add(&r->figures, 100 * mean_of(&line->listed[SIZE_CLASSES]),
		    "scattered.%u.listed", amount / 100);
}

void report_scattered(struct report *r)
{
	struct scattered_line lines[SCATTERED_AMOUNTS] = { 0 };
	const struct corpus *c = r->corpus;
	size_t i, k;

	for (i = 0; i < r->pairs.count; i++) {
		const struct pair *p = &r->pairs.pairs[i];
		const struct file *a = &c->files[p->a], *b = &c->files[p->b];

		if (!p->is_scattered || a->edit.amount)
			continue;
		for (k = 0; k < SCATTERED_AMOUNTS; k++)
			if (b->edit.amount == scattered_amounts[k])
				line_add(&lines[k], r, p);
	}
	printf("\nSingle bytes replaced all over contents of 1 to 512 KiB, so "
	       "much of them:\nthe score, how far it is from the bytes that are "
	       "the same, and whether one is\nlisted with the other at %d\n",
	       r->listings[0].threshold);
	print_head("replaced");
	for (k = 0; k < SCATTERED_AMOUNTS; k++)
		line_print(r, &lines[k], scattered_amounts[k]);
}
