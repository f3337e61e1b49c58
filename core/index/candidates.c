/* SPDX-License-Identifier: Apache-2.0 */
#include "core/index/index_impl.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/index/judge_rules.h"
#include "core/index/judge_impl.h"
#include "core/index/weight.h"

/*
 * How many values each content shares with the sketch of a query, and what extent
 * of the query's content these stand for, except where passages are looked for,
 * to which each value counts 1.
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
	uint32_t sum; /* 0: the slot is free */
	float extent; /* of the lists that were read completely */
};

/* Sums over places in the sketch, of the values that the postings hold for all
 * contents. */
struct list_sums {
	uint32_t listed; /* values */
	double extent;   /* of these */
	double squares;  /* of the extents of each */
	double passed;   /* extent of lists that were not read completely */
};

/* A search by one sketch of the query. */
struct overlap_query {
	const struct index_query *q; /* borrowed */
	const struct sketch *sketch; /* one of q->subject; borrowed */
	double extent;               /* of the sketch; 0: of a union */
	bool likely;                 /* see index_candidates() */
	struct value_list lists[SKETCH_MOST];
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
	/* For each place in the sketch: whether the postings hold its value for
	 * all contents, and whether its list was not read completely. */
	bool is_listed[SKETCH_MOST], is_passed[SKETCH_MOST];
	struct list_sums before[SKETCH_MOST + 1]; /* of lower places */
};

static int by_length(const void *a, const void *b)
{
	const struct value_list *x = a, *y = b;

	if (x->length != y->length)
		return x->length < y->length ? -1 : 1;
	return x->key < y->key ? -1 : x->key > y->key;
}

static double extent_of(const struct overlap_query *s, size_t place)
{
	return s->sketch->windows && s->q->rules.relation != INDEX_SHARES ?
		       sketch_extent_of(s->sketch->times[place]) :
		       1;
}

/*
 * Drops the longest lists, one in five: they are most of the work, and a
 * content that shares enough is in other lists, too.  A content with a sketch
 * of few values can share only the first places of the query's sketch, so the
 * lists that are dropped stand for at most a fifth of the extent of any first
 * part of the sketch as well.
 */
#define PASSED 5

static void pass_longest(struct overlap_query *s)
{
	size_t count = s->count, kept = count - count / PASSED, i;
	double all = 0, passed = 0, extent;

	/* One less because scores are rounded. */
	if (PASSED * (s->q->rules.threshold - 1) <= 100)
		return;
	for (i = kept; i < count; i++)
		s->is_passed[s->lists[i].place] =
			s->lists[i].length > WEIGHT_FULL;
	for (i = 0; i < s->sketch->count; i++) {
		extent = extent_of(s, i);
		all += extent;
		s->is_passed[i] &= PASSED * (passed + extent) <= all;
		passed += s->is_passed[i] ? extent : 0;
	}
	for (i = kept; i < count; i++)
		if (!s->is_passed[s->lists[i].place])
			s->lists[kept++] = s->lists[i];
	s->count = kept;
}

static void add_list(struct overlap_query *s, size_t place, uint32_t key,
		     size_t length, uint32_t limit)
{
	if (length)
		s->lists[s->count++] = (struct value_list){
			key, (uint32_t)length, (uint16_t)place, s->visible_count
		};
	s->is_listed[place] = key < limit;
	s->is_passed[place] = false;
}

static void find_lists(const struct index *ix, struct overlap_query *s)
{
	uint32_t limit = postings_limit(ix->postings), key;
	size_t i;

	for (i = 0; i < s->sketch->count; i++) {
		key = posting_key(s->sketch->values[i]);
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

static int find_visible_lists(struct index *ix, struct overlap_query *s)
{
	uint32_t limit = visible_limit(ix), key;
	size_t count, i;
	int err = 0;

	for (i = 0; i < s->sketch->count && !err; i++) {
		key = posting_key(s->sketch->values[i]);
		err = visible_find(ix, s->q->visibility, key, s->list_most,
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
			  uint32_t counts, float extent)
{
	size_t at = content * UINT32_C(2654435761) & s->mask;

	while (s->table[at].sum && s->table[at].content != content)
		at = (at + 1) & s->mask;
	s->table[at].content = content;
	s->table[at].sum += counts;
	s->table[at].extent += extent;
}

static void read_list(const struct index *ix, const struct value_list *list,
		      size_t part, struct overlap_query *s)
{
	bool whole = part == list->length;
	uint32_t counts = FULL_COUNT;
	float extent = 0;
	size_t i;

	if (list->length > WEIGHT_FULL)
		counts = FULL_COUNT * WEIGHT_FULL / list->length;
	if (!counts)
		counts = 1;
	if (whole && s->is_listed[list->place])
		extent = (float)extent_of(s, list->place);
	if (s->visible)
		memcpy(s->contents, s->visible + list->start,
		       part * sizeof(*s->contents));
	else
		(void)postings_find(ix->postings, list->key, s->contents, part);
	for (i = 0; i < part; i++)
		count_content(s, s->contents[i], counts, extent);
	s->is_passed[list->place] = !whole;
}

static void sum_places(struct overlap_query *s)
{
	struct list_sums sums = { 0 };
	double extent;
	size_t i;

	s->before[0] = sums;
	for (i = 0; i < s->sketch->count; i++) {
		if (s->is_listed[i]) {
			extent = extent_of(s, i);
			sums.listed++;
			sums.extent += extent;
			sums.squares += extent * extent;
			sums.passed += s->is_passed[i] ? extent : 0;
		}
		s->before[i + 1] = sums;
	}
}

static void read_lists(const struct index *ix, struct overlap_query *s)
{
	size_t done = 0, part, i;

	for (i = 0; i < s->count; i++) {
		part = list_part(s, &s->lists[i], done);
		read_list(ix, &s->lists[i], part, s);
		done += part;
	}
	sum_places(s);
}

/* ---- the best ---- */

/* The best of many candidates, best rank first, then by content. */
struct best_candidates {
	struct index_candidate *out;
	size_t count, capacity;
	int least; /* lower ranks are not kept */
};

/* Whether a comes before b in the result. */
static bool is_better(const struct index_candidate *a,
		      const struct index_candidate *b)
{
	if (a->rank != b->rank)
		return a->rank > b->rank;
	return a->content < b->content;
}

static bool best_wants(const struct best_candidates *best,
		       const struct index_candidate *c)
{
	if (c->rank < best->least)
		return false;
	return best->count < best->capacity ||
	       is_better(c, &best->out[best->count - 1]);
}

static void best_add(struct best_candidates *best,
		     const struct index_candidate *c)
{
	size_t low = 0, high = best->count, middle;

	if (!best_wants(best, c))
		return;
	while (low < high) {
		middle = (low + high) / 2;
		if (is_better(c, &best->out[middle]))
			high = middle;
		else
			low = middle + 1;
	}
	best->count += best->count < best->capacity;
	memmove(&best->out[low + 1], &best->out[low],
		(best->count - 1 - low) * sizeof(*c));
	best->out[low] = *c;
	if (best->count == best->capacity)
		best->least = best->out[best->count - 1].rank;
}

/* ---- the search ---- */

static uint16_t rank_of(uint32_t sum)
{
	uint32_t rank = sum / (FULL_COUNT / VALUE_RANK);

	return (uint16_t)(rank ? rank : 1);
}

/* Extents are estimates, and those of two contents are estimated anew when they
 * are compared, at their joint level: so far they may be apart. */
#define EXTENT_ERROR 1.2

/* Whether a content of that extent may be what the relation asks for. */
static bool is_related(const struct overlap_query *s, double extent)
{
	switch (s->q->rules.relation) {
	case INDEX_WITHIN:
		return extent * EXTENT_ERROR >= s->extent;
	case INDEX_CONTAINS:
		return extent <= s->extent * EXTENT_ERROR;
	default:
		return true;
	}
}

/* The values that a sketch of that level covers, too. */
static size_t count_known(const struct sketch *sketch, uint8_t level)
{
	return level <= sketch->level ? sketch->count :
					sketch_count_at_level(sketch, level);
}

/*
 * The least share of the extent of the query's content that a match has; more than
 * 1: the content is no match.  A match shares a part of the larger extent; if that is
 * the content's, the part of the query's extent is larger in proportion.
 */
static double least_share(const struct overlap_query *s, const struct row *row)
{
	/* One less because scores are rounded. */
	double share = (s->q->rules.threshold - 1) / 100.0;

	if (!index_is_alike(s->q->rules.relation) || s->extent <= 0)
		return share;
	if (row->extent * EXTENT_ERROR < share * s->extent)
		return 2;
	return share * fmax(1, row->extent / EXTENT_ERROR / s->extent);
}

/*
 * Whether a content may share q->rules.threshold percent.
 *
 * So much extent was found in the posting lists.  The values of the query's
 * sketch below its level are those that the sketch of the content covers as well.
 * If the content shares a part of the query's extent, it shares that part of
 * those of these values.  The listed ones among them are a sample; the content
 * may have any of those that were passed over.  DEVIATIONS standard deviations
 * allow for the error of the sample, and for a larger content that by chance
 * has fewer values in this range.
 *
 * Which part of a smaller content is shared (INDEX_CONTAINS) cannot be told
 * from the values of the query.
 */
#define DEVIATIONS 4

static bool is_likely(const struct overlap_query *s, double extent,
		      const struct row *row)
{
	size_t low = count_known(s->sketch, row->level);
	const struct list_sums *sums = &s->before[low];
	double share = least_share(s, row), found, least, variance;

	if (s->q->rules.relation == INDEX_CONTAINS || share <= 0 ||
	    !s->sketch->count)
		return true;
	if (share > 1)
		return false;
	found = extent + sums->passed;
	least = share * sums->extent;
	if (found >= least)
		return true;
	variance = share * (1 - share) * sums->squares *
		   (1 - sums->listed / (double)low + 2 * share);
	return found >= least - DEVIATIONS * sqrt(variance);
}

/* Whether a content that shares that extent may be what is asked for. */
static bool may_match(const struct overlap_query *s, double extent,
		      const struct row *row)
{
	size_t values = count_known(s->sketch, row->level);
	const struct list_sums *sums = &s->before[values];

	return s->q->rules.relation == INDEX_SHARES ?
		       passage_is_likely(s->sketch, s->q->rules.share_min,
					 values, sums->listed,
					 extent + sums->passed) :
		       is_likely(s, extent, row);
}

static void add_overlaps(const struct index *ix, const struct overlap_query *s,
			 struct best_candidates *best)
{
	const struct row *row;
	struct index_candidate found;
	size_t i;

	for (i = 0; i <= s->mask; i++) {
		found = (struct index_candidate){
			.content = s->table[i].content,
			.rank = rank_of(s->table[i].sum),
		};
		if (!s->table[i].sum || !best_wants(best, &found))
			continue;
		row = index_row(ix, found.content);
		if (!row || row_content(row) == s->q->self ||
		    !is_related(s, row->extent) ||
		    (s->likely && !may_match(s, s->table[i].extent, row)))
			continue;
		found.by_text = row->is_text;
		found.content = row_content(row);
		found.text = row->is_text ? row->id : row->other;
		best_add(best, &found);
	}
}

/* With rows_lock held. */
static int find_overlaps(const struct index *ix, struct overlap_query *s,
			 struct best_candidates *best)
{
	int err;

	if (!s->q->visibility)
		find_lists(ix, s);
	qsort(s->lists, s->count, sizeof(s->lists[0]), by_length);
	if (s->likely && index_is_alike(s->q->rules.relation))
		pass_longest(s);
	err = make_table(s);
	if (err)
		return err;
	read_lists(ix, s);
	add_overlaps(ix, s, best);
	return 0;
}

/* By one sketch. */
static int find_by_sketch(struct index *ix, struct overlap_query *s,
			  struct best_candidates *best)
{
	int err = 0;

	s->count = s->visible_count = 0;
	if (s->q->visibility)
		err = find_visible_lists(ix, s);
	if (!err) {
		(void)pthread_rwlock_rdlock(&ix->rows_lock);
		err = find_overlaps(ix, s, best);
		(void)pthread_rwlock_unlock(&ix->rows_lock);
	}
	free(s->visible);
	free(s->table);
	s->visible = NULL;
	s->table = NULL;
	return err;
}

static int by_content(const void *a, const void *b)
{
	const struct index_candidate *x = a, *y = b;

	if (x->content != y->content)
		return x->content < y->content ? -1 : 1;
	return x->rank < y->rank ? 1 : x->rank > y->rank ? -1 : 0;
}

static int by_rank(const void *a, const void *b)
{
	return is_better(a, b) ? -1 : is_better(b, a);
}

/* A subject that was found by several sketches is one candidate. */
static size_t merge_parts(struct index_candidate *all, size_t count)
{
	size_t kept = 0, i;

	if (!count)
		return 0;
	qsort(all, count, sizeof(*all), by_content);
	for (i = 0; i < count; i++) {
		if (kept && all[i].content == all[kept - 1].content)
			all[kept - 1].by_text |= all[i].by_text;
		else
			all[kept++] = all[i];
	}
	qsort(all, kept, sizeof(*all), by_rank);
	return kept;
}

int index_candidates(struct index *ix, const struct index_query *q, bool likely,
		     struct index_candidate *out, size_t capacity,
		     size_t *count_out)
{
	struct overlap_query *s = calloc(1, sizeof(*s));
	size_t count = 0, most;
	int part, err = 0;

	if (!s)
		return -ENOMEM;
	s->q = q;
	s->likely = likely;
	/* One more, as the query's own content is in its lists. */
	most = index_most(q) + 1;
	s->list_most = most > LIST_MOST ? most : LIST_MOST;
	s->read_most = s->list_most * (q->rules.relation == INDEX_SHARES ?
					       READ_LISTS_SHARES :
					       READ_LISTS);
	s->contents = calloc(s->list_most + 1, sizeof(*s->contents));
	if (!s->contents)
		err = -ENOMEM;
	for (part = 0; part < SUBJECT_PARTS && !err && capacity; part++) {
		struct best_candidates best = { .out = out + count,
						.capacity = capacity,
						.least = 1 };

		s->sketch = q->subject.sketches[part];
		if (!s->sketch)
			continue;
		s->extent = s->sketch->windows ? sketch_extent(s->sketch) : 0;
		err = find_by_sketch(ix, s, &best);
		count += best.count;
	}
	free(s->contents);
	free(s);
	if (!err)
		*count_out = merge_parts(out, count);
	return err;
}
