/* SPDX-License-Identifier: Apache-2.0 */
#include "core/index/index.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/index/frequency.h"
#include "core/index/scan.h"
#include "core/index/score_impl.h"

/*
 * Two locks.  change_lock makes changes come one at a time and is taken
 * first; its holder may read the columns without the other lock, because
 * only it writes them.  columns_lock protects what queries see: the column
 * pointers, the number of rows and the sizes of rows below it.  New rows are
 * written behind the last visible one, and larger or compacted columns are
 * filled aside, so columns_lock is held for writing only to publish.
 *
 * A row is dead when its size is 0; no live content is empty.
 */
#define FIRST_CAPACITY ((size_t)1024) /* a multiple of TILE_ROWS */

struct columns {
	uint32_t *content; /* ascending */
	uint64_t *size;
	uint64_t *simhash; /* 0: none */
	uint8_t *traits;   /* in tiles, see scan.h; all zero: none */
	size_t capacity;
};

struct index {
	pthread_mutex_t change_lock;
	pthread_rwlock_t columns_lock;
	struct columns columns;
	struct frequency *frequency; /* columns_lock */
	size_t rows;
	size_t dead;
	_Atomic uint32_t end; /* index_end(); 0 before the first */
};

static void columns_release(struct columns *c)
{
	free(c->content);
	free(c->size);
	free(c->simhash);
	free(c->traits);
	*c = (struct columns){ 0 };
}

static int columns_init(struct columns *out, size_t capacity)
{
	struct columns c = { .capacity = capacity };

	c.content = calloc(capacity, sizeof(*c.content));
	c.size = calloc(capacity, sizeof(*c.size));
	c.simhash = calloc(capacity, sizeof(*c.simhash));
	c.traits = calloc(capacity, TRAIT_COUNT);
	if (!c.content || !c.size || !c.simhash || !c.traits) {
		columns_release(&c);
		return -ENOMEM;
	}
	*out = c;
	return 0;
}

static void columns_copy_row(const struct columns *from, size_t row,
			     struct columns *to, size_t to_row)
{
	uint8_t traits[TRAIT_COUNT];

	to->content[to_row] = from->content[row];
	to->size[to_row] = from->size[row];
	to->simhash[to_row] = from->simhash[row];
	scan_traits_load(from->traits, row, traits);
	scan_traits_store(to->traits, to_row, traits);
}

/* Without this a stream of queries would keep changes out for ever. */
static int writers_first_init(pthread_rwlock_t *lock)
{
	pthread_rwlockattr_t attr;
	int err;

	err = pthread_rwlockattr_init(&attr);
	if (err)
		return -err;
	(void)pthread_rwlockattr_setkind_np(
		&attr, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	err = pthread_rwlock_init(lock, &attr);
	(void)pthread_rwlockattr_destroy(&attr);
	return -err;
}

int index_new(struct index **out)
{
	struct index *ix = calloc(1, sizeof(*ix));
	int err;

	if (!ix)
		return -ENOMEM;
	err = columns_init(&ix->columns, FIRST_CAPACITY);
	if (err)
		goto no_columns;
	err = -pthread_mutex_init(&ix->change_lock, NULL);
	if (err)
		goto no_mutex;
	err = writers_first_init(&ix->columns_lock);
	if (err)
		goto no_rwlock;
	err = frequency_new(&ix->frequency);
	if (err)
		goto no_frequency;
	*out = ix;
	return 0;

no_frequency:
	(void)pthread_rwlock_destroy(&ix->columns_lock);
no_rwlock:
	(void)pthread_mutex_destroy(&ix->change_lock);
no_mutex:
	columns_release(&ix->columns);
no_columns:
	free(ix);
	return err;
}

void index_free(struct index *ix)
{
	if (!ix)
		return;
	frequency_free(ix->frequency);
	(void)pthread_rwlock_destroy(&ix->columns_lock);
	(void)pthread_mutex_destroy(&ix->change_lock);
	columns_release(&ix->columns);
	free(ix);
}

/* First row whose content is not below the given one. */
static size_t row_from(const struct columns *c, size_t rows, uint32_t content)
{
	size_t low = 0, high = rows, middle;

	while (low < high) {
		middle = low + (high - low) / 2;
		if (c->content[middle] < content)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/*
 * Moves the live rows to columns of another capacity.  Queries go on in the
 * old ones until the new ones are complete.  The caller holds change_lock.
 */
static int index_rebuild(struct index *ix, size_t capacity)
{
	struct columns fresh, old = ix->columns;
	size_t row, live = 0;
	int err = columns_init(&fresh, capacity);

	if (err)
		return err;
	for (row = 0; row < ix->rows; row++)
		if (old.size[row])
			columns_copy_row(&old, row, &fresh, live++);
	(void)pthread_rwlock_wrlock(&ix->columns_lock);
	ix->columns = fresh;
	ix->rows = live;
	ix->dead = 0;
	(void)pthread_rwlock_unlock(&ix->columns_lock);
	columns_release(&old);
	return 0;
}

static void row_store(struct columns *c, size_t row, uint32_t content,
		      const struct digests *d)
{
	uint8_t traits[TRAIT_COUNT];

	c->content[row] = content;
	c->size[row] = d->size;
	c->simhash[row] = scan_simhash_of(d);
	scan_traits_of(d, traits);
	scan_traits_store(c->traits, row, traits);
}

int index_learn(struct index *ix, const struct digests *d)
{
	struct sise_signature sig;
	int err = speak_read(d, &sig);

	if (err)
		return err == -ENODATA ? 0 : err;
	(void)pthread_rwlock_wrlock(&ix->columns_lock);
	frequency_add(ix->frequency, &sig);
	(void)pthread_rwlock_unlock(&ix->columns_lock);
	return 0;
}

static int add_locked(struct index *ix, uint32_t content,
		      const struct digests *d)
{
	int err;

	if (ix->rows && content <= ix->columns.content[ix->rows - 1])
		return -EINVAL;
	if (ix->rows == ix->columns.capacity) {
		err = index_rebuild(ix, 2 * ix->columns.capacity);
		if (err)
			return err;
	}
	row_store(&ix->columns, ix->rows, content, d);
	(void)pthread_rwlock_wrlock(&ix->columns_lock);
	ix->rows++;
	(void)pthread_rwlock_unlock(&ix->columns_lock);
	/* Features of a malformed signature are not counted, that is all. */
	(void)index_learn(ix, d);
	return 0;
}

int index_add(struct index *ix, uint32_t content, const struct digests *d)
{
	int err;

	if (!content || !d->size)
		return -EINVAL;
	(void)pthread_mutex_lock(&ix->change_lock);
	err = add_locked(ix, content, d);
	if (!err)
		ix->end = content + 1;
	(void)pthread_mutex_unlock(&ix->change_lock);
	return err;
}

uint32_t index_end(const struct index *ix)
{
	uint32_t end = ix->end;

	return end ? end : 1;
}

static size_t capacity_for(size_t rows)
{
	size_t capacity = FIRST_CAPACITY;

	while (capacity < rows + rows / 4)
		capacity *= 2;
	return capacity;
}

static void remove_locked(struct index *ix, uint32_t content)
{
	size_t row = row_from(&ix->columns, ix->rows, content);

	if (row == ix->rows || ix->columns.content[row] != content ||
	    !ix->columns.size[row])
		return;
	(void)pthread_rwlock_wrlock(&ix->columns_lock);
	ix->columns.size[row] = 0;
	ix->dead++;
	(void)pthread_rwlock_unlock(&ix->columns_lock);
	/* Without memory the dead rows merely stay a while longer. */
	if (ix->dead > ix->rows / 4 && ix->dead >= FIRST_CAPACITY / 4)
		(void)index_rebuild(ix, capacity_for(ix->rows - ix->dead));
}

int index_remove(struct index *ix, uint32_t content)
{
	(void)pthread_mutex_lock(&ix->change_lock);
	remove_locked(ix, content);
	(void)pthread_mutex_unlock(&ix->change_lock);
	return 0;
}

/* The locks are no part of the value, hence the casts. */
size_t index_count(const struct index *ix)
{
	pthread_rwlock_t *lock = (pthread_rwlock_t *)&ix->columns_lock;
	size_t count;

	(void)pthread_rwlock_rdlock(lock);
	count = ix->rows - ix->dead;
	(void)pthread_rwlock_unlock(lock);
	return count;
}

size_t index_bytes(const struct index *ix)
{
	pthread_rwlock_t *lock = (pthread_rwlock_t *)&ix->columns_lock;
	size_t row_bytes =
		sizeof(uint32_t) + 2 * sizeof(uint64_t) + TRAIT_COUNT;
	size_t bytes;

	(void)pthread_rwlock_rdlock(lock);
	bytes = sizeof(*ix) + frequency_bytes(ix->frequency) +
		ix->columns.capacity * row_bytes;
	(void)pthread_rwlock_unlock(lock);
	return bytes;
}

/* ---- scores ---- */

struct index_subject {
	struct index *ix;
	struct subject subject;
	struct weighed weighed;      /* when it has a signature */
	struct sise_signature other; /* of the content that is scored now */
};

int index_subject_new(struct index *ix, const struct digests *d,
		      struct index_subject **out)
{
	struct index_subject *s = malloc(sizeof(*s));
	int err = -ENOMEM;

	if (s)
		err = subject_init(&s->subject, d);
	if (err) {
		free(s);
		return err;
	}
	s->ix = ix;
	if (s->subject.speaks) {
		(void)pthread_rwlock_rdlock(&ix->columns_lock);
		frequency_prepare(ix->frequency, ix->rows - ix->dead,
				  &s->subject.speaker.own, &s->weighed);
		(void)pthread_rwlock_unlock(&ix->columns_lock);
	}
	*out = s;
	return 0;
}

void index_subject_free(struct index_subject *s)
{
	free(s);
}

static double discount(struct index_subject *s)
{
	struct index *ix = s->ix;
	double factor;

	(void)pthread_rwlock_rdlock(&ix->columns_lock);
	factor = frequency_discount(ix->frequency, &s->weighed, &s->other);
	(void)pthread_rwlock_unlock(&ix->columns_lock);
	return factor;
}

int index_score(struct index_subject *s, const struct digests *d,
		int *score_out)
{
	int score, err = speak_read(d, &s->other);
	bool speaks = !err;

	if (err && err != -ENODATA)
		return err;
	score = subject_score(&s->subject, d, speaks ? &s->other : NULL);
	if (score > 0 && score < 100 && speaks && s->subject.speaks)
		score = (int)lround(score * discount(s));
	*score_out = score;
	return 0;
}

/* ---- queries ---- */

/* The best candidates so far, out[0] being the worst of them. */
struct best {
	struct candidate *out;
	size_t count, capacity;
	uint32_t self;
	int least; /* estimates below are of no interest */
};

/* Whether a comes before b in the answer. */
static bool candidate_is_better(const struct candidate *a,
				const struct candidate *b)
{
	if (a->estimate != b->estimate)
		return a->estimate > b->estimate;
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

/* Rows come in ascending order of id, so of two equal estimates the first
 * one to come is the better one. */
static void best_offer(struct best *best, const struct candidate *c)
{
	if (c->estimate < best->least)
		return;
	if (best->count < best->capacity) {
		best->out[best->count] = *c;
		heap_rise(best->out, best->count++);
	} else {
		best->out[0] = *c;
		heap_sink(best->out, best->count, 0);
	}
	if (best->count == best->capacity)
		best->least = best->out[0].estimate + 1;
}

static void best_sort(struct best *best)
{
	size_t left;

	for (left = best->count; left > 1; left--) {
		swap(&best->out[0], &best->out[left - 1]);
		heap_sink(best->out, left - 1, 0);
	}
}

/* Looks closely at a row that the scan found promising. */
static void row_offer(const struct columns *c, size_t row,
		      const struct scan_query *query, uint64_t size,
		      struct best *best)
{
	struct candidate found = { .content = c->content[row],
				   .size = c->size[row] };
	uint8_t traits[TRAIT_COUNT];
	int equal;

	if (!found.size || found.content == best->self)
		return;
	scan_traits_load(c->traits, row, traits);
	found.distance = scan_distance(query, c->simhash[row]);
	equal = scan_equal_traits(query, traits);
	found.traits = (uint8_t)(equal > 0 ? equal : 0);
	found.estimate = (uint8_t)score_estimate(size, found.size,
						 found.distance, equal);
	best_offer(best, &found);
}

static void query_locked(const struct index *ix, const struct index_query *q,
			 struct best *best)
{
	const struct columns *c = &ix->columns;
	size_t first = row_from(c, ix->rows, q->first_content);
	size_t row = first - first % TILE_ROWS;
	size_t hits[SCAN_ROWS], hit_count, count, i;
	struct scan_query query;
	int least = 1;

	scan_query_init(&query, q->digests);
	for (; row < ix->rows; row += count) {
		count = ix->rows - row < SCAN_ROWS ? ix->rows - row : SCAN_ROWS;
		if (least != best->least)
			scan_query_limit(&query, least = best->least);
		hit_count =
			scan_rows(&query, c->simhash + row,
				  c->traits + row * TRAIT_COUNT, count, hits);
		for (i = 0; i < hit_count; i++)
			if (row + hits[i] >= first)
				row_offer(c, row + hits[i], &query,
					  q->digests->size, best);
	}
}

int index_query(struct index *ix, const struct index_query *q,
		struct candidate *out, size_t capacity, size_t *count_out)
{
	struct best best = { .out = out,
			     .capacity = capacity,
			     .self = q->self,
			     .least = q->min_estimate > 1 ? q->min_estimate :
							    1 };

	if (capacity && q->digests->size) {
		(void)pthread_rwlock_rdlock(&ix->columns_lock);
		query_locked(ix, q, &best);
		(void)pthread_rwlock_unlock(&ix->columns_lock);
		best_sort(&best);
	}
	*count_out = best.count;
	return 0;
}
