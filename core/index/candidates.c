/* SPDX-License-Identifier: Apache-2.0 */
#include "core/index/index_impl.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/index/scan.h"
#include "core/index/score.h"

/*
 * Which contents are worth a comparison.
 */

/* ---- the best of many ---- */

/* The best candidates so far, out[0] being the worst of them. */
struct best {
	struct candidate *out;
	size_t count, capacity;
	int least; /* ranks below are of no interest */
};

/* Whether a comes before b in the answer. */
static bool candidate_is_better(const struct candidate *a,
				const struct candidate *b)
{
	if (a->rank != b->rank)
		return a->rank > b->rank;
	return a->content < b->content;
}

static void swap(struct candidate *a, struct candidate *b)
{
	struct candidate c = *a;

	*a = *b;
	*b = c;
}

static void heap_sink(struct candidate *heap, size_t count, size_t i)
{
	size_t child;

	for (; 2 * i + 1 < count; i = child) {
		child = 2 * i + 1;
		if (child + 1 < count &&
		    candidate_is_better(&heap[child], &heap[child + 1]))
			child++;
		if (!candidate_is_better(&heap[i], &heap[child]))
			return;
		swap(&heap[i], &heap[child]);
	}
}

static void heap_rise(struct candidate *heap, size_t i)
{
	size_t parent;

	for (; i; i = parent) {
		parent = (i - 1) / 2;
		if (!candidate_is_better(&heap[parent], &heap[i]))
			return;
		swap(&heap[i], &heap[parent]);
	}
}

static bool best_wants(const struct best *best, const struct candidate *c)
{
	if (c->rank < best->least)
		return false;
	return best->count < best->capacity ||
	       candidate_is_better(c, &best->out[0]);
}

static void best_offer(struct best *best, const struct candidate *c)
{
	if (!best_wants(best, c))
		return;
	if (best->count < best->capacity) {
		best->out[best->count] = *c;
		heap_rise(best->out, best->count++);
	} else {
		best->out[0] = *c;
		heap_sink(best->out, best->count, 0);
	}
	if (best->count == best->capacity)
		best->least = best->out[0].rank;
}

static void best_sort(struct best *best)
{
	size_t left;

	for (left = best->count; left > 1; left--) {
		swap(&best->out[0], &best->out[left - 1]);
		heap_sink(best->out, left - 1, 0);
	}
}

/* ---- by columns ---- */

struct column_query {
	const struct index_query *q;
	enum index_source source;
	struct scan_query scan;
};

/* Narrows the scan to rows that may rank as high as that. */
static void column_limit(struct column_query *c, int least)
{
	int most = 0, fewest = 0;

	if (c->source == INDEX_BY_ESTIMATE) {
		scan_query_limit(&c->scan, least);
		return;
	}
	while (most < 64 && 100 * (64 - most - 1) / 64 >= least)
		most++;
	while (fewest < TRAIT_COUNT && 100 * fewest / TRAIT_COUNT < least)
		fewest++;
	c->scan.most = (uint8_t)(c->source == INDEX_BY_SIMHASH ? most : 0);
	c->scan.fewest =
		(uint8_t)(c->source == INDEX_BY_SIMHASH ? TRAIT_COUNT + 1 :
							  fewest);
}

static int column_rank(const struct column_query *c,
		       const struct columns *columns, size_t row)
{
	uint8_t distance = scan_distance(&c->scan, columns->simhash[row]);
	uint8_t traits[TRAIT_COUNT];
	int equal;

	if (c->source == INDEX_BY_SIMHASH)
		return 100 * (64 - distance) / 64;
	scan_traits_load(columns->traits, row, traits);
	equal = scan_equal_traits(&c->scan, traits);
	if (c->source == INDEX_BY_TRAITS)
		return equal > 0 ? 100 * equal / TRAIT_COUNT : 0;
	return score_estimate(c->q->digests->size, columns->size[row], distance,
			      equal);
}

static void offer_row(const struct column_query *c,
		      const struct columns *columns, size_t row,
		      struct best *best)
{
	struct candidate found = { .content = columns->content[row],
				   .size = columns->size[row] };

	if (!found.size || found.content == c->q->self ||
	    found.content < c->q->first_content)
		return;
	found.rank = (uint16_t)column_rank(c, columns, row);
	best_offer(best, &found);
}

static void search_columns(const struct index *ix, struct column_query *c,
			   struct best *best)
{
	const struct columns *columns = &ix->columns;
	size_t row = columns_row_from(columns, ix->rows, c->q->first_content);
	size_t hits[SCAN_ROWS], hit_count, count, i;
	int least = 0;

	for (row -= row % TILE_ROWS; row < ix->rows; row += count) {
		count = ix->rows - row < SCAN_ROWS ? ix->rows - row : SCAN_ROWS;
		if (least != best->least)
			column_limit(c, least = best->least);
		hit_count = scan_rows(&c->scan, columns->simhash + row,
				      columns->traits + row * TRAIT_COUNT,
				      count, hits);
		for (i = 0; i < hit_count; i++)
			offer_row(c, columns, row + hits[i], best);
	}
}

/* ---- by sketches ---- */

/*
 * Values of few contents come first, and there is an end to it: what very many
 * contents share does not tell which of them.  For the same reason it counts
 * less, as in a score: of a long list only a part is seen, and whoever happens
 * to be in there must not come before those with rare values in common.  All
 * values are looked up: the smallest ones of a part may be anywhere among
 * those of the whole.
 */
#define LIST_MOST 1024 /* contents of one value */
#define WALK_MOST 16384
#define WHOLE (UINT32_C(1) << 16) /* what a value of few contents counts */

struct value_list {
	uint32_t key;
	uint32_t length;
};

struct sighting {
	uint32_t content;
	uint32_t sum; /* 0: free */
};

struct sketch_query {
	struct value_list lists[SIF_MAX_VALUES];
	size_t count;
	struct sighting *seen; /* a hash table, at most half full */
	size_t mask;
	uint32_t contents[LIST_MOST];
};

static int by_length(const void *a, const void *b)
{
	const struct value_list *x = a, *y = b;

	if (x->length != y->length)
		return x->length < y->length ? -1 : 1;
	return x->key < y->key ? -1 : x->key > y->key;
}

static void find_lists(const struct index *ix, const struct sif_sketch *sketch,
		       struct sketch_query *s)
{
	size_t i, length;
	uint32_t key;

	for (i = 0; i < sketch->count; i++) {
		key = posting_key(sketch->values[i]);
		length = postings_find(ix->postings, key, NULL, 0);
		if (length)
			s->lists[s->count++] =
				(struct value_list){ key, (uint32_t)length };
	}
	qsort(s->lists, s->count, sizeof(s->lists[0]), by_length);
}

/* How many contents of a list are looked at, after so many of others. */
static size_t list_part(const struct value_list *list, size_t walked)
{
	size_t room = WALK_MOST - walked;

	if (room > LIST_MOST)
		room = LIST_MOST;
	return list->length < room ? list->length : room;
}

static int make_table(struct sketch_query *s)
{
	size_t slots = 16, walked = 0, i;

	for (i = 0; i < s->count; i++)
		walked += list_part(&s->lists[i], walked);
	while (slots < 2 * walked)
		slots *= 2;
	s->mask = slots - 1;
	s->seen = calloc(slots, sizeof(*s->seen));
	return s->seen ? 0 : -ENOMEM;
}

static void see(struct sketch_query *s, uint32_t content, uint32_t counts)
{
	size_t at = content * UINT32_C(2654435761) & s->mask;

	while (s->seen[at].sum && s->seen[at].content != content)
		at = (at + 1) & s->mask;
	s->seen[at].content = content;
	s->seen[at].sum += counts;
}

static void walk_list(const struct index *ix, const struct value_list *list,
		      size_t part, struct sketch_query *s)
{
	uint32_t counts = WHOLE;
	size_t i;

	if (list->length > FREQUENCY_COMMON)
		counts = WHOLE * FREQUENCY_COMMON / list->length;
	if (!counts)
		counts = 1;
	(void)postings_find(ix->postings, list->key, s->contents, part);
	for (i = 0; i < part; i++)
		see(s, s->contents[i], counts);
}

static void walk_lists(const struct index *ix, struct sketch_query *s)
{
	size_t walked = 0, part, i;

	for (i = 0; i < s->count && walked < WALK_MOST; i++) {
		part = list_part(&s->lists[i], walked);
		walk_list(ix, &s->lists[i], part, s);
		walked += part;
	}
}

static uint16_t rank_of(uint32_t sum)
{
	uint32_t rank = sum / (WHOLE / VALUE_RANK);

	return (uint16_t)(rank ? rank : 1);
}

static bool is_related(const struct index_query *q, uint64_t size)
{
	switch (q->relation) {
	case INDEX_ALIKE:
		return true;
	case INDEX_WITHIN:
		return size > q->digests->size;
	case INDEX_CONTAINS:
		return size < q->digests->size;
	}
	return false;
}

static void offer_sightings(const struct index *ix, const struct index_query *q,
			    const struct sketch_query *s, struct best *best)
{
	const struct columns *columns = &ix->columns;
	struct candidate found;
	size_t i, row;

	for (i = 0; i <= s->mask; i++) {
		found.content = s->seen[i].content;
		found.rank = rank_of(s->seen[i].sum);
		if (!s->seen[i].sum || found.content == q->self ||
		    found.content < q->first_content ||
		    !best_wants(best, &found))
			continue;
		row = columns_row_from(columns, ix->rows, found.content);
		if (row == ix->rows || columns->content[row] != found.content ||
		    !columns->size[row])
			continue;
		found.size = columns->size[row];
		if (is_related(q, found.size))
			best_offer(best, &found);
	}
}

static int search_sketches(struct index *ix, const struct index_query *q,
			   struct best *best)
{
	struct sketch_query *s = malloc(sizeof(*s));
	int err;

	if (!s)
		return -ENOMEM;
	s->count = 0;
	(void)pthread_rwlock_rdlock(&ix->columns_lock);
	find_lists(ix, q->sketch, s);
	err = make_table(s);
	if (!err) {
		walk_lists(ix, s);
		offer_sightings(ix, q, s, best);
	}
	(void)pthread_rwlock_unlock(&ix->columns_lock);
	free(s->seen);
	free(s);
	return err;
}

/* ---- all ---- */

int index_candidates(struct index *ix, const struct index_query *q,
		     enum index_source source, struct candidate *out,
		     size_t capacity, size_t *count_out)
{
	struct column_query columns = { .q = q, .source = source };
	struct best best = { .out = out, .capacity = capacity, .least = 1 };
	int err = 0;

	if (capacity && q->digests->size && source == INDEX_BY_SKETCH) {
		if (q->sketch)
			err = search_sketches(ix, q, &best);
	} else if (capacity && q->digests->size) {
		best.least = q->least > 1 ? q->least : 1;
		scan_query_init(&columns.scan, q->digests);
		(void)pthread_rwlock_rdlock(&ix->columns_lock);
		search_columns(ix, &columns, &best);
		(void)pthread_rwlock_unlock(&ix->columns_lock);
	}
	if (err)
		return err;
	best_sort(&best);
	*count_out = best.count;
	return 0;
}
