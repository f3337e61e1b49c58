/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/eval/eval.h"
#include "tests/eval/report.h"

/* The same figures by where files come from and by what was done to them. */

struct line {
	char name[20];
	struct mean recall[LISTINGS], error, bias, shared;
};

static void line_add(struct line *line, const struct report *r,
		     const struct pair *p)
{
	double shared = (double)p->truth.shared;
	size_t i, way;

	for (i = 0; i < LISTINGS; i++) {
		const struct listing *l = &r->listings[i];

		for (way = 0; way < 2 && shared >= l->rules.threshold; way++) {
			const struct entry *e = listing_find(
				l, way ? p->a : p->b, way ? p->b : p->a);

			line->recall[i].sum += e != NULL;
			line->recall[i].count++;
		}
	}
	line->error.sum += fabs(error_of(p));
	line->error.count++;
	line->bias.sum += error_of(p);
	line->bias.count++;
	line->shared.sum += shared;
	line->shared.count++;
}

static void print_value(double factor, const struct mean *m)
{
	if (m->count)
		printf(" %9.1f", factor * mean_of(m));
	else
		printf(" %9s", "-");
}

static void line_print(const struct line *line)
{
	printf("%-19s %8zu", line->name, line->error.count);
	print_value(1, &line->shared);
	print_value(100, &line->recall[0]);
	print_value(100, &line->recall[1]);
	print_value(1, &line->error);
	print_value(1, &line->bias);
	printf("\n");
}

static void head_print(const struct report *r, const char *what)
{
	char recall[LISTINGS][24];
	size_t i;

	for (i = 0; i < LISTINGS; i++)
		(void)snprintf(recall[i], sizeof(recall[i]), "recall %d",
			       r->listings[i].rules.threshold);
	printf("\nPairs of a family %s\n%-19s %8s %9s %9s %9s %9s %9s\n", what,
	       "", "pairs", "shared", recall[0], recall[1], "error", "bias");
}

/* ---- by group ---- */

#define MOST_GROUPS 64

static struct line *group_of(struct line *groups, size_t *count,
			     const char *name)
{
	int len = (int)strcspn(name, "/");
	char group[20];
	size_t i;

	(void)snprintf(group, sizeof(group), "%.*s", len < 19 ? len : 19, name);
	for (i = 0; i < *count; i++)
		if (!strcmp(groups[i].name, group))
			return &groups[i];
	if (*count == MOST_GROUPS)
		fail("%s: too many groups", name);
	memcpy(groups[*count].name, group, sizeof(group));
	return &groups[(*count)++];
}

void report_groups(const struct report *r)
{
	const struct corpus *c = r->corpus;
	struct line *groups = allocate(MOST_GROUPS * sizeof(*groups));
	size_t count = 0, i;

	for (i = 0; i < r->pairs.count; i++) {
		const struct pair *p = &r->pairs.pairs[i];
		const char *name = c->families[c->files[p->a].family].name;

		if (p->is_kin)
			line_add(group_of(groups, &count, name), r, p);
	}
	head_print(r, "by where they come from");
	for (i = 0; i < count; i++)
		line_print(&groups[i]);
	free(groups);
}

/* ---- by edit ---- */

void report_edits(const struct report *r)
{
	const struct corpus *c = r->corpus;
	struct line kinds[EDIT_KINDS] = { 0 };
	size_t i;

	for (i = 0; i < r->pairs.count; i++) {
		const struct pair *p = &r->pairs.pairs[i];
		const struct file *a = &c->files[p->a], *b = &c->files[p->b];

		/* The base comes before its edits. */
		if (p->is_kin && !a->path && !a->edit.amount)
			line_add(&kinds[b->edit.kind], r, p);
	}
	head_print(r, "by what was done to the one to get the other");
	for (i = 0; i < EDIT_KINDS; i++) {
		(void)snprintf(kinds[i].name, sizeof(kinds[i].name), "%s",
			       edit_infos[i].name);
		if (kinds[i].error.count)
			line_print(&kinds[i]);
	}
}
