/* SPDX-License-Identifier: Apache-2.0 */
#include "core/index/grouping/grouping.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/index/grouping/grouping_impl.h"

/* What is done before and after contents are compared, and the order of all. */

int grouping_new(const struct group_rules *rules, struct grouping **out)
{
	struct grouping *g = calloc(1, sizeof(*g));

	if (!g)
		return -ENOMEM;
	g->rules = *rules;
	g->key_rules = key_rules_for(rules->threshold);
	*out = g;
	return 0;
}

/* What only the comparison needs. */
static void free_search(struct grouping *g)
{
	frequency_free(g->frequency);
	g->frequency = NULL;
	key_table_release(&g->keys);
	free(g->by_id);
	g->by_id = NULL;
}

void grouping_free(struct grouping *g)
{
	if (!g)
		return;
	free_search(g);
	free(g->stars);
	free(g->met);
	free(g->contents);
	free(g);
}

int grouping_add(struct grouping *g, const struct group_content *content)
{
	if (!g->rules.every &&
	    (!content->size || (g->rules.exact && content->files < 2)))
		return 0;
	if (g->count == g->room) {
		size_t room = g->room + g->room / 2 + 1024;
		struct group_content *contents =
			realloc(g->contents, room * sizeof(*contents));

		if (!contents)
			return -ENOMEM;
		g->contents = contents;
		g->room = room;
	}
	g->contents[g->count++] = *content;
	return 0;
}

/* ---- ranks ---- */

static int by_rank(const void *a, const void *b)
{
	const struct group_content *x = a, *y = b;

	int order = memcmp(x->xxh128, y->xxh128, sizeof(x->xxh128));

	if (x->size != y->size)
		return x->size < y->size ? 1 : -1;
	return order ? order :
		       (x->content > y->content) - (x->content < y->content);
}

static int by_xxh128(const void *a, const void *b)
{
	const struct group_content *x = a, *y = b;
	int order = memcmp(x->xxh128, y->xxh128, sizeof(x->xxh128));

	return order ? order : -by_rank(a, b);
}

static int by_content(const void *a, const void *b, void *arg)
{
	const struct grouping *g = arg;
	uint32_t x = g->contents[*(const uint32_t *)a].content;
	uint32_t y = g->contents[*(const uint32_t *)b].content;

	return x < y ? -1 : x > y;
}

static int rank_contents(struct grouping *g)
{
	size_t i;
	int err;

	if (g->count)
		qsort(g->contents, g->count, sizeof(*g->contents),
		      g->rules.every ? by_xxh128 : by_rank);
	g->stars = calloc(g->count + 1, sizeof(*g->stars));
	if (!g->stars)
		return -ENOMEM;
	for (i = 0; i < g->count; i++)
		g->stars[i].head = NO_HEAD;
	if (!group_rules_compare(&g->rules))
		return 0;
	g->by_id = malloc((g->count + 1) * sizeof(*g->by_id));
	if (!g->by_id)
		return -ENOMEM;
	for (i = 0; i < g->count; i++)
		g->by_id[i] = (uint32_t)i;
	if (g->count)
		qsort_r(g->by_id, g->count, sizeof(*g->by_id), by_content, g);
	err = frequency_new(&g->frequency);
	if (err)
		return err;
	return key_table_init(&g->keys, g->count * g->key_rules.plain / 4);
}

/* ---- keys ---- */

int grouping_read(const struct grouping *g, uint32_t rank,
		  struct sketch room[SUBJECT_PARTS], struct subject *out)
{
	const struct group_content *c = &g->contents[rank];

	return index_fetch_subject(&g->source->store,
				   (const uint32_t[]){ c->content, c->text },
				   room, out);
}

/* Tells that a part is done, which is step number i of count of those from the
 * thousandth `from` to `to`. */
static int spent(const struct grouping *g, size_t work, unsigned from,
		 unsigned to, size_t i, size_t count)
{
	const unsigned done = from + (unsigned)((to - from) * i / count);

	return g->source->spent(g->source->arg, work, done);
}

/* The passes over all sketches, in the order in which they are stored. */
enum pass { COUNT_VALUES, COUNT_KEYS, ADD_KEYS };

static void take_sketch(struct grouping *g, enum pass pass, uint32_t rank,
			enum subject_part part)
{
	const struct sketch *sketch = g->subject.sketches[part];
	struct sketch_keys *keys = &g->keys_of[part];
	size_t i;

	if (pass == COUNT_VALUES) {
		frequency_add(g->frequency, sketch);
		return;
	}
	sketch_keys_of(sketch, g->frequency, g->key_rules.plain, keys);
	if (part == SUBJECT_BYTES || keys->plain < g->stars[rank].plain)
		g->stars[rank].plain = (uint8_t)keys->plain;
	for (i = 0; i < keys->plain + keys->bands; i++)
		if (pass == COUNT_KEYS)
			key_table_count(&g->keys, keys->keys[i]);
		else
			key_table_add(&g->keys, keys->keys[i], rank);
}

/* Sketches in their turn cost less than one anywhere that is compared. */
enum { PASSES_PER_WORK = 4, BUCKETS_PER_WORK = 64 };

static int pass_all(struct grouping *g, enum pass pass, unsigned from,
		    unsigned to)
{
	size_t i;
	int part, err = 0;

	for (i = 0; i < g->count && !err; i++) {
		err = grouping_read(g, g->by_id[i], g->sketches, &g->subject);
		for (part = 0; part < SUBJECT_PARTS && !err; part++)
			if (g->subject.sketches[part])
				take_sketch(g, pass, g->by_id[i], part);
		if (!err)
			err = spent(g, i % PASSES_PER_WORK == 0, from, to, i,
				    g->count);
	}
	return err;
}

static int compare_all(struct grouping *g)
{
	size_t i, work;
	int err = pass_all(g, COUNT_VALUES, 20, 100);

	if (!err)
		err = pass_all(g, COUNT_KEYS, 100, 200);
	if (!err)
		err = key_table_allocate(&g->keys);
	if (!err)
		err = pass_all(g, ADD_KEYS, 200, 320);
	for (i = 0; i < g->keys.bucket_count && !err; i++) {
		work = key_table_sort(&g->keys, i) / BUCKETS_PER_WORK;
		err = spent(g, work + (i % BUCKETS_PER_WORK == 0), 320, 360, i,
			    g->keys.bucket_count);
	}
	for (i = 0; i < g->count && !err; i++) {
		work = 0;
		err = star_add_head(g, (uint32_t)i, &work);
		if (!err)
			err = spent(g, work, 360, 980, i, g->count);
	}
	return err;
}

/* ---- from heads to groups ---- */

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
	uint32_t head = g->stars[rank].head;

	return head == NO_HEAD ? (uint32_t)rank : head;
}

/* The number of members of each head, in seen, which is free by now. */
static void count_members(struct grouping *g, size_t *groups_out,
			  size_t *members_out)
{
	struct star *all = g->stars;
	size_t rank;

	*groups_out = *members_out = 0;
	for (rank = 0; rank < g->count; rank++)
		all[rank].seen = 0;
	for (rank = 0; rank < g->count; rank++)
		all[head_of(g, rank)].seen++;
	for (rank = 0; rank < g->count; rank++) {
		if (!g->rules.every && all[rank].seen < 2 &&
		    g->contents[rank].files < 2)
			all[rank].seen = 0;
		*groups_out += all[rank].seen > 0;
		*members_out += all[rank].seen;
	}
}

/* Makes the groups in order of their heads; seen becomes the number of the group
 * of a head, + 1. */
static void add_groups(struct grouping *g, struct group_set *set)
{
	uint32_t first = 0, *number;
	size_t rank;

	for (rank = 0; rank < g->count; rank++) {
		number = &g->stars[rank].seen;
		if (!*number)
			continue;
		set->groups[set->count].first = first;
		first += *number;
		*number = (uint32_t)++set->count;
	}
	set->member_count = first;
}

/* Member numbers are ranks for now. */
static void add_members(struct grouping *g, struct group_set *set)
{
	size_t rank;

	for (rank = 0; rank < g->count; rank++) {
		const struct group_content *c = &g->contents[rank];
		uint32_t head = head_of(g, rank), number = g->stars[head].seen;
		struct content_group *group;

		if (!number)
			continue;
		group = &set->groups[number - 1];
		set->members[group->first + group->count++] =
			(struct group_member){
				.content = (uint32_t)rank,
				.score = head == rank ? 100 :
							g->stars[rank].score,
				.by = g->stars[rank].by,
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

static int collect(struct grouping *g, struct group_set **out)
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

int grouping_run(struct grouping *g, const struct group_source *source,
		 struct group_set **out)
{
	int err;

	g->source = source;
	err = rank_contents(g);
	if (!err && group_rules_compare(&g->rules))
		err = compare_all(g);
	free_search(g);
	return err ? err : collect(g, out);
}
