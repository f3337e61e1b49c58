/* SPDX-License-Identifier: Apache-2.0 */
#include "core/index/grouping/grouping.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/index/grouping/grouping_impl.h"

/* The steps before contents are compared, and the order of all steps. */

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
	star_release(&g->star);
	group_set_free(g->set);
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

	if (x->size != y->size)
		return x->size < y->size ? 1 : -1;
	return memcmp(x->xxh128, y->xxh128, sizeof(x->xxh128));
}

static int by_xxh128(const void *a, const void *b)
{
	const struct group_content *x = a, *y = b;
	int order = memcmp(x->xxh128, y->xxh128, sizeof(x->xxh128));

	if (order)
		return order;
	return x->size < y->size ? -1 : x->size > y->size;
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
	err = star_init(&g->star, g->count);
	if (err || !group_rules_compare(&g->rules))
		return err;
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

int grouping_read(const struct grouping *g, const struct index_store *store,
		  uint32_t rank, int which, struct sketch *out)
{
	const struct group_content *c = &g->contents[rank];
	const uint32_t id = which ? c->text : c->content;

	return id ? store->sketch(store->arg, id, out) : -ENOENT;
}

/* One of the passes over all sketches. */
static int pass_sketch(struct grouping *g, uint32_t rank, int which)
{
	const struct sketch_keys *keys = &g->sketch_keys;
	size_t i;

	if (g->phase == GROUPING_COUNT_VALUES) {
		frequency_add(g->frequency, &g->sketch);
		return 0;
	}
	sketch_keys_of(&g->sketch, g->frequency, g->key_rules.plain,
		       &g->sketch_keys);
	if (!which || keys->plain < g->star.plain[rank])
		g->star.plain[rank] = (uint8_t)keys->plain;
	for (i = 0; i < keys->plain + keys->bands; i++)
		if (g->phase == GROUPING_COUNT_KEYS)
			key_table_count(&g->keys, keys->keys[i]);
		else
			key_table_add(&g->keys, keys->keys[i], rank);
	return 0;
}

/* ---- steps ---- */

/* A sketch in its turn costs less than one anywhere that is compared. */
enum { PASSES_PER_WORK = 4, BUCKETS_PER_WORK = 64 };

static size_t phase_end(const struct grouping *g)
{
	switch (g->phase) {
	case GROUPING_COUNT_VALUES:
	case GROUPING_COUNT_KEYS:
	case GROUPING_ADD_KEYS:
	case GROUPING_FIND_MEMBERS:
		return g->count;
	case GROUPING_SORT_KEYS:
		return g->keys.bucket_count;
	default:
		return 1;
	}
}

static int pass_next(struct grouping *g, const struct index_store *store)
{
	uint32_t rank;
	int which, err = 0;

	assert(g->by_id);
	rank = g->by_id[g->next];
	for (which = 0; which < GROUPING_SKETCHES && !err; which++) {
		err = grouping_read(g, store, rank, which, &g->sketch);
		if (!err)
			err = pass_sketch(g, rank, which);
		if (err == -ENOENT)
			err = 0;
	}
	return err;
}

static int do_next(struct grouping *g, const struct index_store *store,
		   size_t *work)
{
	switch (g->phase) {
	case GROUPING_RANK:
		return rank_contents(g);
	case GROUPING_COUNT_VALUES:
	case GROUPING_COUNT_KEYS:
	case GROUPING_ADD_KEYS:
		*work += g->next % PASSES_PER_WORK == 0;
		return pass_next(g, store);
	case GROUPING_SORT_KEYS:
		*work += g->next % BUCKETS_PER_WORK == 0;
		*work += key_table_sort(&g->keys, g->next) / BUCKETS_PER_WORK;
		return 0;
	case GROUPING_FIND_MEMBERS:
		return star_add_head(g, store, (uint32_t)g->next, work);
	case GROUPING_COLLECT:
		return grouping_collect(g);
	case GROUPING_DONE:
		break;
	}
	return 0;
}

static int next_phase(struct grouping *g)
{
	g->next = 0;
	g->phase++;
	if (!group_rules_compare(&g->rules) &&
	    g->phase == GROUPING_COUNT_VALUES)
		g->phase = GROUPING_COLLECT;
	if (g->phase == GROUPING_ADD_KEYS)
		return key_table_allocate(&g->keys);
	if (g->phase == GROUPING_COLLECT)
		free_search(g);
	return 0;
}

int grouping_step(struct grouping *g, const struct index_store *store,
		  size_t work)
{
	size_t done = 0;
	int err = 0;

	while (!err && g->phase != GROUPING_DONE) {
		if (done > work)
			return 1;
		if (g->next < phase_end(g)) {
			err = do_next(g, store, &done);
			g->next++;
		} else {
			err = next_phase(g);
		}
	}
	return err;
}

/* In thousandths: what has been done before a phase. */
static const unsigned before_phase[GROUPING_DONE + 2] = {
	[GROUPING_RANK] = 0,         [GROUPING_COUNT_VALUES] = 20,
	[GROUPING_COUNT_KEYS] = 100, [GROUPING_ADD_KEYS] = 200,
	[GROUPING_SORT_KEYS] = 320,  [GROUPING_FIND_MEMBERS] = 360,
	[GROUPING_COLLECT] = 980,    [GROUPING_DONE] = 1000,
	[GROUPING_DONE + 1] = 1000,
};

unsigned grouping_progress(const struct grouping *g)
{
	unsigned before = before_phase[g->phase];
	unsigned all = before_phase[g->phase + 1] - before;
	size_t end = phase_end(g);

	return before + (unsigned)(end ? all * g->next / end : 0);
}

struct group_set *grouping_take(struct grouping *g)
{
	struct group_set *set = g->set;

	g->set = NULL;
	return set;
}
