/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>

#include "core/index/grouping/grouping_impl.h"

/* From heads to groups. */

void group_set_free(struct group_set *set)
{
	if (!set)
		return;
	free(set->groups);
	free(set->members);
	free(set);
}

/* Contents that have no other head are their own. */
static uint32_t head_of(const struct grouping *g, size_t rank)
{
	uint32_t head = g->star.head[rank];

	return head == NO_HEAD ? (uint32_t)rank : head;
}

/* The number of members of each head, in star.seen, which is free by now. */
static void count_members(struct grouping *g, size_t *groups_out,
			  size_t *members_out)
{
	uint32_t *counts = g->star.seen;
	size_t rank;

	*groups_out = *members_out = 0;
	for (rank = 0; rank < g->count; rank++)
		counts[rank] = 0;
	for (rank = 0; rank < g->count; rank++)
		counts[head_of(g, rank)]++;
	for (rank = 0; rank < g->count; rank++) {
		if (!g->rules.every && counts[rank] < 2 &&
		    g->contents[rank].files < 2)
			counts[rank] = 0;
		*groups_out += counts[rank] > 0;
		*members_out += counts[rank];
	}
}

/* Makes the groups in order of their heads; star.seen becomes the number of the
 * group of a head, + 1. */
static void add_groups(struct grouping *g, struct group_set *set)
{
	uint32_t *numbers = g->star.seen, first = 0;
	size_t rank;

	for (rank = 0; rank < g->count; rank++) {
		if (!numbers[rank])
			continue;
		set->groups[set->count].first = first;
		first += numbers[rank];
		numbers[rank] = (uint32_t)++set->count;
	}
	set->member_count = first;
}

/* Member numbers are ranks for now. */
static void add_members(struct grouping *g, struct group_set *set)
{
	size_t rank;

	for (rank = 0; rank < g->count; rank++) {
		const struct group_content *c = &g->contents[rank];
		uint32_t head = head_of(g, rank), number = g->star.seen[head];
		struct content_group *group;

		if (!number)
			continue;
		group = &set->groups[number - 1];
		set->members[group->first + group->count++] =
			(struct group_member){
				.content = (uint32_t)rank,
				.score = head == rank ? 100 :
							g->star.score[rank],
			};
		group->files += c->files;
		group->saved_exact += c->size * (c->files - 1);
		group->saved_near += head == rank ? 0 : c->size;
	}
}

/* No other score is 100, so the head is first. */
static int by_score(const void *a, const void *b)
{
	const struct group_member *x = a, *y = b;

	if (x->score != y->score)
		return y->score - x->score;
	return x->content < y->content ? -1 : x->content > y->content;
}

static int by_saved(const void *a, const void *b, void *arg)
{
	const struct content_group *x = a, *y = b;
	const struct group_member *members = arg;
	uint64_t saved = x->saved_exact + x->saved_near;
	uint64_t other = y->saved_exact + y->saved_near;
	uint32_t rank = members[x->first].content;
	uint32_t other_rank = members[y->first].content;

	if (saved != other)
		return saved < other ? 1 : -1;
	return rank < other_rank ? -1 : rank > other_rank;
}

static void sort(const struct grouping *g, struct group_set *set)
{
	size_t i;

	for (i = 0; i < set->count; i++)
		qsort(set->members + set->groups[i].first, set->groups[i].count,
		      sizeof(*set->members), by_score);
	if (!g->rules.every)
		qsort_r(set->groups, set->count, sizeof(*set->groups), by_saved,
			set->members);
	for (i = 0; i < set->member_count; i++)
		set->members[i].content =
			g->contents[set->members[i].content].content;
}

int grouping_collect(struct grouping *g, struct group_set **out)
{
	struct group_set *set = calloc(1, sizeof(*set));
	size_t groups, members;

	if (!set)
		return -ENOMEM;
	set->rules = g->rules;
	count_members(g, &groups, &members);
	set->groups = calloc(groups + 1, sizeof(*set->groups));
	set->members = calloc(members + 1, sizeof(*set->members));
	if (!set->groups || !set->members) {
		group_set_free(set);
		return -ENOMEM;
	}
	add_groups(g, set);
	add_members(g, set);
	sort(g, set);
	*out = set;
	return 0;
}
