/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/eval/eval.h"
#include "tests/eval/report.h"

/*
 * How far the scores of pairs of a family are off, in points: mean, the error
 * that 95 % do not exceed, and the largest; and the percentage of pairs that are
 * off by more than FAR.  Of files from 1 KiB on that share
 * LEAST_SHARED percent, as those that share nothing are easy.
 */
#define LEAST_BYTES KIB
#define LEAST_SHARED 20
#define FAR 10
#define WORST 10 /* pairs that are printed */
#define MOST_GROUPS 64

struct error_list {
	char name[20];
	float *errors; /* owned */
	size_t count;
};

static int by_error(const void *a, const void *b)
{
	const float *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void add_error(struct error_list *list, float error)
{
	list->errors = grown(list->errors, list->count, sizeof(*list->errors));
	list->errors[list->count++] = error;
}

struct error_sum {
	double mean, p95, most, far;
};

static struct error_sum sum_up(struct error_list *list)
{
	struct error_sum sum = { 0 };
	size_t i;

	if (!list->count)
		return sum;
	qsort(list->errors, list->count, sizeof(*list->errors), by_error);
	for (i = 0; i < list->count; i++) {
		sum.mean += (double)list->errors[i];
		sum.far += list->errors[i] > FAR;
	}
	sum.mean /= (double)list->count;
	sum.far *= 100 / (double)list->count;
	sum.p95 = (double)list->errors[list->count * 95 / 100];
	sum.most = (double)list->errors[list->count - 1];
	return sum;
}

static void print_list(struct error_list *list, const char *name)
{
	struct error_sum sum = sum_up(list);

	if (list->count)
		printf("%-19s %8zu %8.2f %8.2f %8.2f %8.2f\n", name,
		       list->count, sum.mean, sum.p95, sum.most, sum.far);
}

static struct error_list *list_of(struct error_list *groups, const char *name)
{
	int len = (int)strcspn(name, "/");
	char group[20];
	size_t i;

	(void)snprintf(group, sizeof(group), "%.*s", len < 19 ? len : 19, name);
	for (i = 0; i < MOST_GROUPS && groups[i].count; i++)
		if (!strcmp(groups[i].name, group))
			return &groups[i];
	if (i == MOST_GROUPS)
		fail("%s: too many groups", name);
	memcpy(groups[i].name, group, sizeof(group));
	return &groups[i];
}

bool report_is_repetitive(const struct corpus *c, size_t file)
{
	const char *name = c->families[c->files[file].family].name;

	return !strncmp(name, "json/", 5) || !strncmp(name, "svg/", 4) ||
	       !strncmp(name, "script/", 7);
}

struct share_errors {
	struct error_list groups[MOST_GROUPS], sizes[SIZE_CLASSES];
	struct error_list plain, repetitive;
	struct error_list fixed; /* of plain, the same each time */
};

static void add_pair(struct share_errors *e, const struct corpus *c,
		     const struct pair *p)
{
	const char *name = c->families[c->files[p->a].family].name;
	float error = (float)fabs(error_of(p));

	add_error(list_of(e->groups, name), error);
	if (report_is_repetitive(c, p->a)) {
		add_error(&e->repetitive, error);
		return;
	}
	add_error(&e->plain, error);
	/* The sources of this repository are others after each change, and with
	 * them the worst of some thousand pairs. */
	if (strncmp(name, "own/", 4) != 0)
		add_error(&e->fixed, error);
	add_error(&e->sizes[pair_class(c, p)], error);
}

static bool is_looked_at(const struct corpus *c, const struct pair *p)
{
	return p->is_kin && c->files[p->a].digests.size >= LEAST_BYTES &&
	       c->files[p->b].digests.size >= LEAST_BYTES &&
	       p->truth.shared >= LEAST_SHARED;
}

static int by_far(const void *a, const void *b)
{
	const struct pair *x = *(const struct pair *const *)a;
	const struct pair *y = *(const struct pair *const *)b;
	double far_x = fabs(error_of(x)), far_y = fabs(error_of(y));

	return (far_x < far_y) - (far_x > far_y);
}

static void print_worst(const struct report *r)
{
	const struct pair **pairs = allocate(r->pairs.count * sizeof(*pairs));
	const struct file *files = r->corpus->files;
	size_t count = 0, i;

	for (i = 0; i < r->pairs.count; i++)
		if (is_looked_at(r->corpus, &r->pairs.pairs[i]))
			pairs[count++] = &r->pairs.pairs[i];
	qsort(pairs, count, sizeof(*pairs), by_far);
	printf("The worst:\n");
	for (i = 0; i < count && i < WORST; i++)
		printf("  score %2d, shared %4.1f: %s (%" PRIu64
		       " bytes); %s (%" PRIu64 ")\n",
		       pairs[i]->verdict.score, (double)pairs[i]->truth.shared,
		       files[pairs[i]->a].name, files[pairs[i]->a].digests.size,
		       files[pairs[i]->b].name,
		       files[pairs[i]->b].digests.size);
	free(pairs);
}

static void add_figures(struct figures *f, struct error_list *list,
			const char *name)
{
	struct error_sum sum = sum_up(list);

	figures_add(f, sum.mean, "%s.mean", name);
	figures_add(f, sum.p95, "%s.p95", name);
	figures_add(f, sum.far, "%s.far", name);
}

static void release(struct share_errors *e)
{
	size_t i;

	for (i = 0; i < MOST_GROUPS; i++)
		free(e->groups[i].errors);
	for (i = 0; i < SIZE_CLASSES; i++)
		free(e->sizes[i].errors);
	free(e->plain.errors);
	free(e->fixed.errors);
	free(e->repetitive.errors);
	free(e);
}

void report_shares(struct report *r)
{
	struct share_errors *e = allocate(sizeof(*e));
	size_t i;

	*e = (struct share_errors){ 0 };
	for (i = 0; i < r->pairs.count; i++)
		if (is_looked_at(r->corpus, &r->pairs.pairs[i]))
			add_pair(e, r->corpus, &r->pairs.pairs[i]);
	printf("\nErrors of the scores of pairs of a family, from 1 KiB and a "
	       "shared percentage\nof %d on\n%-19s %8s %8s %8s %8s %8s\n",
	       LEAST_SHARED, "", "pairs", "mean", "p95", "most", "far, %");
	print_list(&e->plain, "all but repetitive");
	for (i = 0; i < SIZE_CLASSES; i++)
		print_list(&e->sizes[i], size_class_names[i]);
	for (i = 0; i < MOST_GROUPS; i++)
		print_list(&e->groups[i], e->groups[i].name);
	print_list(&e->repetitive, "repetitive");
	print_worst(r);
	add_figures(&r->figures, &e->plain, "shares");
	figures_add(&r->figures, sum_up(&e->fixed).most, "shares.most");
	add_figures(&r->figures, &e->repetitive, "repetitive");
	release(e);
}
