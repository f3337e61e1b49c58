/* SPDX-License-Identifier: Apache-2.0 */
#include "core/index/sightings.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/index/index_impl.h"
#include "core/index/visible.h"

/*
 * Which contents have values of a sketch, and how many.
 *
 * Values of few contents come first, and there is an end to it: what very many
 * contents share does not tell which of them.  For the same reason it counts
 * less, as in a score: of a long list only a part is seen, and whoever happens
 * to be in there must not come before those with rare values in common.  All
 * values are looked up: the smallest ones of a part may be anywhere among
 * those of the whole.
 */
#define LIST_MOST INDEX_SEEN /* contents of one value */
#define WALK_MOST 16384
#define WHOLE (UINT32_C(1) << 16) /* what a value of few contents counts */

struct value_list {
	uint32_t key;
	uint32_t length;
	uint16_t place; /* of the value in the sketch */
	size_t start;   /* of its contents in those that the viewer sees */
};

struct sighting {
	uint32_t content;
	uint32_t sum;   /* 0: free */
	uint32_t whole; /* lists that were looked at as a whole */
};

struct sketch_query {
	struct value_list lists[SIF_MAX_VALUES];
	size_t count;
	struct sighting *seen; /* a hash table, at most half full */
	size_t mask;
	uint32_t contents[LIST_MOST + 1];
	uint32_t *visible; /* owned: of all lists, for a viewer */
	size_t visible_count;
	/* Before each place: values all of whose contents are in the postings,
	 * and those of them whose list was not looked at as a whole. */
	uint16_t listed[SIF_MAX_VALUES + 1], passed[SIF_MAX_VALUES + 1];
};

static int by_length(const void *a, const void *b)
{
	const struct value_list *x = a, *y = b;

	if (x->length != y->length)
		return x->length < y->length ? -1 : 1;
	return x->key < y->key ? -1 : x->key > y->key;
}

/*
 * What shares enough is also in other lists than the longest ones, which are
 * most of the work; so they need not be looked at.  Contents with a thin
 * sketch share only the first values: of these, too, most are left.
 */
#define PASSED 5 /* one in so many */

static void pass_longest(const struct sif_sketch *sketch,
			 struct sketch_query *s)
{
	size_t count = s->count, kept = count - count / PASSED, passed = 0, i;

	for (i = kept; i < count; i++)
		if (s->lists[i].length > FREQUENCY_COMMON)
			s->passed[s->lists[i].place + 1] = 1;
	for (i = 1; i <= sketch->count; i++) {
		s->passed[i] &= PASSED * (passed + 1) <= i;
		passed += s->passed[i];
	}
	for (i = kept; i < count; i++)
		if (!s->passed[s->lists[i].place + 1])
			s->lists[kept++] = s->lists[i];
	s->count = kept;
	for (i = 1; i <= sketch->count; i++)
		s->passed[i] &= s->listed[i] > s->listed[i - 1];
}

static void add_list(struct sketch_query *s, size_t place, uint32_t key,
		     size_t length, uint32_t limit)
{
	bool listed = key < limit;

	if (length)
		s->lists[s->count++] = (struct value_list){
			key, (uint32_t)length, (uint16_t)place, s->visible_count
		};
	s->listed[place + 1] = (uint16_t)(s->listed[place] + listed);
	s->passed[place + 1] = 0;
}

static void find_lists(const struct index *ix, const struct sif_sketch *sketch,
		       struct sketch_query *s)
{
	uint32_t limit = postings_limit(ix->postings), key;
	size_t i;

	for (i = 0; i < sketch->count; i++) {
		key = posting_key(sketch->values[i]);
		add_list(s, i, key, postings_find(ix->postings, key, NULL, 0),
			 limit);
	}
}

static int keep_visible(struct sketch_query *s, size_t count)
{
	size_t bytes = (s->visible_count + count) * sizeof(*s->visible);
	uint32_t *room = count ? realloc(s->visible, bytes) : s->visible;

	if (count && !room)
		return -ENOMEM;
	s->visible = room;
	if (count)
		memcpy(room + s->visible_count, s->contents,
		       count * sizeof(*room));
	s->visible_count += count;
	return 0;
}

/* As the viewer sees them. */
static int find_visible_lists(struct index *ix, const struct index_query *q,
			      struct sketch_query *s)
{
	uint32_t limit = visible_limit(ix), key;
	size_t count, i;
	int err = 0;

	for (i = 0; i < q->sketch->count && !err; i++) {
		key = posting_key(q->sketch->values[i]);
		err = visible_find(ix, q->viewer, key, s->contents, &count);
		if (err)
			break;
		add_list(s, i, key, count, limit);
		err = keep_visible(s, count);
	}
	return err;
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

static void see(struct sketch_query *s, uint32_t content, uint32_t counts,
		bool whole)
{
	size_t at = content * UINT32_C(2654435761) & s->mask;

	while (s->seen[at].sum && s->seen[at].content != content)
		at = (at + 1) & s->mask;
	s->seen[at].content = content;
	s->seen[at].sum += counts;
	s->seen[at].whole += whole;
}

static void walk_list(const struct index *ix, const struct value_list *list,
		      size_t part, struct sketch_query *s)
{
	bool listed = s->listed[list->place + 1] > s->listed[list->place];
	bool whole = listed && part == list->length;
	uint32_t counts = WHOLE;
	size_t i;

	if (list->length > FREQUENCY_COMMON)
		counts = WHOLE * FREQUENCY_COMMON / list->length;
	if (!counts)
		counts = 1;
	if (s->visible)
		memcpy(s->contents, s->visible + list->start,
		       part * sizeof(*s->contents));
	else
		(void)postings_find(ix->postings, list->key, s->contents, part);
	for (i = 0; i < part; i++)
		see(s, s->contents[i], counts, whole);
	s->passed[list->place + 1] |= listed && !whole;
}

static void walk_lists(const struct index *ix, const struct sif_sketch *sketch,
		       struct sketch_query *s)
{
	size_t walked = 0, part, i;

	for (i = 0; i < s->count; i++) {
		part = list_part(&s->lists[i], walked);
		walk_list(ix, &s->lists[i], part, s);
		walked += part;
	}
	for (i = 0; i < sketch->count; i++)
		s->passed[i + 1] = (uint16_t)(s->passed[i] + s->passed[i + 1]);
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

/*
 * Whether a share of q->least is likely.
 *
 * What shares that much of the larger one has that part of the values of the
 * sketch that both know about, of which the listed ones are a sample; those
 * that were passed over, anything may have.  DEVIATIONS allow for the sample,
 * and for a larger content that happens to have fewer such values.  What part
 * of a smaller one is shared cannot be told from here.
 */
#define DEVIATIONS 4

static bool is_likely(const struct index_query *q, const struct sketch_query *s,
		      uint32_t whole, uint32_t known)
{
	const struct sif_sketch *sketch = q->sketch;
	/* As scores are rounded, one less. */
	double share = (q->least - 1) / 100.0, listed, variance;
	size_t low = 0, high = sketch->count, middle;

	if (q->relation == INDEX_CONTAINS || share <= 0 || !high)
		return true;
	if (sketch->values[high - 1] >> KNOWN_SHIFT < known)
		low = high;
	while (low < high) {
		middle = low + (high - low) / 2;
		if (sketch->values[middle] >> KNOWN_SHIFT < known)
			low = middle + 1;
		else
			high = middle;
	}
	listed = s->listed[low];
	if (whole + s->passed[low] >= share * listed)
		return true;
	variance = share * (1 - share) * listed *
		   (1 - listed / (double)low + 2 * share);
	return whole + s->passed[low] >=
	       share * listed - DEVIATIONS * sqrt(variance);
}

static void offer_sightings(const struct index *ix, const struct index_query *q,
			    const struct sketch_query *s, bool by_share,
			    struct best *best)
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
		if (by_share &&
		    !is_likely(q, s, s->seen[i].whole, columns->known[row]))
			continue;
		found.size = columns->size[row];
		if (is_related(q, found.size))
			best_offer(best, &found);
	}
}

/* Under columns_lock. */
static int offer(const struct index *ix, const struct index_query *q,
		 struct sketch_query *s, bool by_share, struct best *best)
{
	int err;

	if (!q->viewer)
		find_lists(ix, q->sketch, s);
	qsort(s->lists, s->count, sizeof(s->lists[0]), by_length);
	if (by_share && q->relation == INDEX_ALIKE)
		pass_longest(q->sketch, s);
	err = make_table(s);
	if (err)
		return err;
	walk_lists(ix, q->sketch, s);
	offer_sightings(ix, q, s, by_share, best);
	return 0;
}

int sightings_offer(struct index *ix, const struct index_query *q,
		    bool by_share, struct best *best)
{
	struct sketch_query *s = malloc(sizeof(*s));
	int err = 0;

	if (!s)
		return -ENOMEM;
	s->count = s->visible_count = 0;
	s->visible = NULL;
	s->seen = NULL;
	s->listed[0] = s->passed[0] = 0;
	if (q->viewer)
		err = find_visible_lists(ix, q, s);
	if (!err) {
		(void)pthread_rwlock_rdlock(&ix->columns_lock);
		err = offer(ix, q, s, by_share, best);
		(void)pthread_rwlock_unlock(&ix->columns_lock);
	}
	free(s->visible);
	free(s->seen);
	free(s);
	return err;
}
