/* SPDX-License-Identifier: Apache-2.0 */
#include "core/index/posting_overlap.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/index/index_impl.h"
#include "core/index/passage.h"
#include "core/index/scattered.h"
#include "core/index/visible.h"
#include "core/index/weight.h"

/*
 * How many values each content shares with the sketch of a query.
 *
 * The posting lists of all values of the sketch are read, the shortest first,
 * and each content that occurs in them is counted in a hash table.  All values
 * are needed: the values of a part of a file may be anywhere among the sorted
 * values of the whole file.
 *
 * The number of entries that are read is limited, for each list (LIST_MOST) and
 * in total (READ_LISTS times as many); a query for more matches reads more.  A
 * list that is longer than WEIGHT_FULL adds less
 * to a content the longer it is, as in a score.  Otherwise a content that
 * happens to be in the part of a long list that is read would rank above one
 * that shares rare values.
 */
#define LIST_MOST INDEX_VISIBLE_MAX
#define READ_LISTS 16
/* A passage may be in the longer lists alone: all versions of a file have
 * it. */
#define READ_LISTS_SHARES 128
#define FULL_COUNT (UINT32_C(1) << 16) /* of an entry of a short list */

struct value_list {
	uint32_t key;
	uint32_t length;
	uint16_t place; /* of the value in the sketch */
	size_t start;   /* of its contents in overlap_query.visible */
};

struct posting_overlap {
	uint32_t content;
	uint32_t sum;   /* 0: the slot is free */
	uint32_t whole; /* in so many lists that were read completely */
};

struct overlap_query {
	struct value_list lists[SIF_MAX_VALUES];
	size_t count;
	struct posting_overlap *table; /* by a hash, at most half full */
	size_t mask;
	size_t list_most;   /* entries that are read of one list, */
	size_t read_most;   /* and of all */
	uint32_t *contents; /* owned: of one list, and one more */
	/* Owned: the visible contents of all lists.  NULL: all contents are
	 * visible, and lists are read from the postings. */
	uint32_t *visible;
	size_t visible_count;
	/* For each place in the sketch, counted over the places before it: the
	 * values that the postings hold for all contents (listed), and those of
	 * them whose list was not read completely (passed). */
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
 * Drops the longest lists, one in five: they are most of the work, and a
 * content that shares enough is in other lists, too.  A content with a sketch
 * of few values can share only the first places of the query's sketch, so at
 * most one in five lists is dropped from any first part of the sketch as well.
 */
#define PASSED 5

static void pass_longest(const struct sif_sketch *sketch,
			 struct overlap_query *s)
{
	size_t count = s->count, kept = count - count / PASSED, passed = 0, i;

	for (i = kept; i < count; i++)
		if (s->lists[i].length > WEIGHT_FULL)
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

static void add_list(struct overlap_query *s, size_t place, uint32_t key,
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
		       struct overlap_query *s)
{
	uint32_t limit = postings_limit(ix->postings), key;
	size_t i;

	for (i = 0; i < sketch->count; i++) {
		key = posting_key(sketch->values[i]);
		add_list(s, i, key, postings_find(ix->postings, key, NULL, 0),
			 limit);
	}
}

static int append_visible(struct overlap_query *s, size_t count)
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

static int find_visible_lists(struct index *ix, const struct index_query *q,
			      struct overlap_query *s)
{
	uint32_t limit = visible_limit(ix), key;
	size_t count, i;
	int err = 0;

	for (i = 0; i < q->sketch->count && !err; i++) {
		key = posting_key(q->sketch->values[i]);
		err = visible_find(ix, q->visibility, key, s->list_most,
				   s->contents, &count);
		if (err)
			break;
		add_list(s, i, key, count, limit);
		err = append_visible(s, count);
	}
	return err;
}

/* How many entries of a list are read after so many of other lists. */
static size_t list_part(const struct overlap_query *s,
			const struct value_list *list, size_t done)
{
	size_t room = s->read_most - done;

	if (room > s->list_most)
		room = s->list_most;
	return list->length < room ? list->length : room;
}

static int make_table(struct overlap_query *s)
{
	size_t slots = 16, done = 0, i;

	for (i = 0; i < s->count; i++)
		done += list_part(s, &s->lists[i], done);
	while (slots < 2 * done)
		slots *= 2;
	s->mask = slots - 1;
	s->table = calloc(slots, sizeof(*s->table));
	return s->table ? 0 : -ENOMEM;
}

static void count_content(struct overlap_query *s, uint32_t content,
			  uint32_t counts, bool whole)
{
	size_t at = content * UINT32_C(2654435761) & s->mask;

	while (s->table[at].sum && s->table[at].content != content)
		at = (at + 1) & s->mask;
	s->table[at].content = content;
	s->table[at].sum += counts;
	s->table[at].whole += whole;
}

static void read_list(const struct index *ix, const struct value_list *list,
		      size_t part, struct overlap_query *s)
{
	bool listed = s->listed[list->place + 1] > s->listed[list->place];
	bool whole = listed && part == list->length;
	uint32_t counts = FULL_COUNT;
	size_t i;

	if (list->length > WEIGHT_FULL)
		counts = FULL_COUNT * WEIGHT_FULL / list->length;
	if (!counts)
		counts = 1;
	if (s->visible)
		memcpy(s->contents, s->visible + list->start,
		       part * sizeof(*s->contents));
	else
		(void)postings_find(ix->postings, list->key, s->contents, part);
	for (i = 0; i < part; i++)
		count_content(s, s->contents[i], counts, whole);
	s->passed[list->place + 1] |= listed && !whole;
}

static void read_lists(const struct index *ix, const struct sif_sketch *sketch,
		       struct overlap_query *s)
{
	size_t done = 0, part, i;

	for (i = 0; i < s->count; i++) {
		part = list_part(s, &s->lists[i], done);
		read_list(ix, &s->lists[i], part, s);
		done += part;
	}
	for (i = 0; i < sketch->count; i++)
		s->passed[i + 1] = (uint16_t)(s->passed[i] + s->passed[i + 1]);
}

static uint16_t rank_of(uint32_t sum)
{
	uint32_t rank = sum / (FULL_COUNT / VALUE_RANK);

	return (uint16_t)(rank ? rank : 1);
}

static bool is_related(const struct index_query *q, uint64_t size)
{
	switch (q->relation) {
	case INDEX_ALIKE:
	case INDEX_ALL:
	case INDEX_TEXT:
		return true;
	case INDEX_WITHIN:
		return size > q->digests->size;
	case INDEX_CONTAINS:
		return size < q->digests->size;
	case INDEX_SHARES:
		return size >= q->share_min;
	}
	return false;
}

/* The values below known. */
static size_t count_known(const struct sif_sketch *sketch, uint32_t known)
{
	size_t low = 0, high = sketch->count, middle;

	if (high && sketch->values[high - 1] >> KNOWN_SHIFT < known)
		return high;
	while (low < high) {
		middle = low + (high - low) / 2;
		if (sketch->values[middle] >> KNOWN_SHIFT < known)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/*
 * Whether a content may share q->least percent.
 *
 * `whole` of its values were found in the posting lists.  The values of the
 * query's sketch below `known` are those that its sketch covers as well.  If
 * the content shares a part of the larger content, it shares that part of these
 * values.  The listed ones among them are a sample; the content may have any of
 * those that were passed over.  DEVIATIONS standard deviations allow for the
 * error of the sample, and for a larger content that by chance has fewer values
 * in this range.
 *
 * Which part of a smaller content is shared (INDEX_CONTAINS) cannot be told
 * from the values of the query.
 */
#define DEVIATIONS 4

static bool is_likely(const struct index_query *q,
		      const struct overlap_query *s, uint32_t whole,
		      uint32_t known, uint64_t size)
{
	/* One less because scores are rounded. */
	double share = (q->least - 1) / 100.0, listed, variance;
	size_t low;

	if (q->relation == INDEX_CONTAINS || share <= 0 || !q->sketch->count)
		return true;
	if (q->short_sketch && index_is_alike(q->relation))
		share = scattered_least(q->least - 1, q->digests->size, size);
	low = count_known(q->sketch, known);
	listed = s->listed[low];
	if (whole + s->passed[low] >= share * listed)
		return true;
	variance = share * (1 - share) * listed *
		   (1 - listed / (double)low + 2 * share);
	return whole + s->passed[low] >=
	       share * listed - DEVIATIONS * sqrt(variance);
}

/* Whether a content with so many shared values may share q->share_min bytes. */
static bool may_share(const struct index_query *q,
		      const struct overlap_query *s, uint32_t whole,
		      uint32_t known)
{
	size_t values = count_known(q->sketch, known);

	return passage_is_likely(q, &(struct passage_sample){
					    .values = values,
					    .listed = s->listed[values],
					    .found = whole + s->passed[values],
				    });
}

static bool may_match(const struct index_query *q,
		      const struct overlap_query *s, uint32_t whole,
		      uint32_t known, uint64_t size)
{
	return q->relation == INDEX_SHARES ?
		       may_share(q, s, whole, known) :
		       is_likely(q, s, whole, known, size);
}

static void add_overlaps(const struct index *ix, const struct index_query *q,
			 const struct overlap_query *s, bool by_share,
			 struct best_candidates *best)
{
	const struct columns *columns = &ix->columns;
	struct index_candidate found;
	size_t i, row;

	for (i = 0; i <= s->mask; i++) {
		found.content = s->table[i].content;
		found.rank = rank_of(s->table[i].sum);
		if (!s->table[i].sum || found.content == q->self ||
		    found.content < q->first_content ||
		    !best_wants(best, &found))
			continue;
		row = columns_find_row(columns, ix->rows, found.content);
		if (row == ix->rows || columns->content[row] != found.content ||
		    !columns->size[row])
			continue;
		if (by_share &&
		    !may_match(q, s, s->table[i].whole, columns->known[row],
			       columns->size[row]))
			continue;
		found.size = columns->size[row];
		if (is_related(q, found.size))
			best_add(best, &found);
	}
}

/* With columns_lock held. */
static int find_overlaps(const struct index *ix, const struct index_query *q,
			 struct overlap_query *s, bool by_share,
			 struct best_candidates *best)
{
	int err;

	if (!q->visibility)
		find_lists(ix, q->sketch, s);
	qsort(s->lists, s->count, sizeof(s->lists[0]), by_length);
	if (by_share && index_is_alike(q->relation))
		pass_longest(q->sketch, s);
	err = make_table(s);
	if (err)
		return err;
	read_lists(ix, q->sketch, s);
	add_overlaps(ix, q, s, by_share, best);
	return 0;
}

int posting_overlap_find(struct index *ix, const struct index_query *q,
			 bool by_share, struct best_candidates *best)
{
	struct overlap_query *s = malloc(sizeof(*s));
	int err = 0;

	if (!s)
		return -ENOMEM;
	/* One more, as the query's own content is in its lists. */
	s->list_most = index_most(q) + 1;
	if (s->list_most < LIST_MOST)
		s->list_most = LIST_MOST;
	s->read_most =
		s->list_most *
		(q->relation == INDEX_SHARES ? READ_LISTS_SHARES : READ_LISTS);
	s->contents = calloc(s->list_most + 1, sizeof(*s->contents));
	if (!s->contents)
		err = -ENOMEM;
	s->count = s->visible_count = 0;
	s->visible = NULL;
	s->table = NULL;
	s->listed[0] = s->passed[0] = 0;
	if (!err && q->visibility)
		err = find_visible_lists(ix, q, s);
	if (!err) {
		(void)pthread_rwlock_rdlock(&ix->columns_lock);
		err = find_overlaps(ix, q, s, by_share, best);
		(void)pthread_rwlock_unlock(&ix->columns_lock);
	}
	free(s->contents);
	free(s->visible);
	free(s->table);
	free(s);
	return err;
}
