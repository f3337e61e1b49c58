/* SPDX-License-Identifier: Apache-2.0 */
#include "core/index/index_impl.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_CAPACITY ((size_t)1024)

/* Entries of the postings, of little more than 6 bytes. */
#define POSTINGS_BUDGET ((size_t)16 << 20)

static void columns_release(struct columns *c)
{
	free(c->content);
	free(c->size);
	free(c->simhash);
	free(c->level);
	free(c->windows);
	free(c->traits);
	*c = (struct columns){ 0 };
}

static int columns_init(struct columns *out, size_t capacity)
{
	struct columns c = { .capacity = capacity };

	c.content = calloc(capacity, sizeof(*c.content));
	c.size = calloc(capacity, sizeof(*c.size));
	c.simhash = calloc(capacity, sizeof(*c.simhash));
	c.level = calloc(capacity, sizeof(*c.level));
	c.windows = calloc(capacity, sizeof(*c.windows));
	c.traits = calloc(capacity, sizeof(*c.traits));
	if (!c.content || !c.size || !c.simhash || !c.level || !c.windows ||
	    !c.traits) {
		columns_release(&c);
		return -ENOMEM;
	}
	*out = c;
	return 0;
}

static void columns_copy_row(const struct columns *from, size_t row,
			     struct columns *to, size_t to_row)
{
	to->content[to_row] = from->content[row];
	to->size[to_row] = from->size[row];
	memcpy(to->simhash[to_row], from->simhash[row], COLUMN_SIMHASH);
	to->level[to_row] = from->level[row];
	to->windows[to_row] = from->windows[row];
	memcpy(to->traits[to_row], from->traits[row], COLUMN_TRAITS);
}

/* By default a steady stream of readers would keep a writer waiting for
 * ever. */
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
	err = postings_new(POSTINGS_BUDGET, &ix->postings);
	if (err)
		goto no_postings;
	*out = ix;
	return 0;

no_postings:
	frequency_free(ix->frequency);
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
	postings_free(ix->postings);
	frequency_free(ix->frequency);
	(void)pthread_rwlock_destroy(&ix->columns_lock);
	(void)pthread_mutex_destroy(&ix->change_lock);
	columns_release(&ix->columns);
	free(ix);
}

/* Ids ascend from 1, so the row of an id is at most id - 1, and less only by
 * the number of contents that were removed: the search begins there. */
size_t columns_find_row(const struct columns *c, size_t rows, uint32_t content)
{
	size_t high = content ? content - 1 : 0, low, middle, step = 1;

	if (high > rows)
		high = rows;
	for (low = high; low && c->content[low - 1] >= content; step *= 2) {
		high = low - 1;
		low -= low < step ? low : step;
	}
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
 * Copies the live rows to columns of another capacity.  Queries use the old
 * columns until the new ones are complete.  Called with change_lock held.
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

static void column_store(const struct digests *d, enum digest_id id,
			 uint8_t *to, size_t len)
{
	const struct digest_value v = digest_value_of(d, id);

	if (v.bytes)
		memcpy(to, v.bytes, len);
	else
		memset(to, 0, len);
}

/* sketch: NULL if there is none. */
static void row_store(struct columns *c, size_t row, uint32_t content,
		      const struct digests *d, const struct sketch *sketch)
{
	c->content[row] = content;
	c->size[row] = d->size;
	c->level[row] = sketch ? (uint8_t)sketch->level : LEVEL_NONE;
	c->windows[row] = sketch ? windows_code(sketch->windows) : 0;
	column_store(d, DIGEST_SIMHASH, c->simhash[row], COLUMN_SIMHASH);
	column_store(d, DIGEST_RDC, c->traits[row], COLUMN_TRAITS);
}

/* The row of a live content, or ix->rows. */
static size_t row_of(const struct index *ix, uint32_t content)
{
	const struct columns *c = &ix->columns;
	size_t row = columns_find_row(c, ix->rows, content);

	if (row < ix->rows && c->content[row] == content && c->size[row])
		return row;
	return ix->rows;
}

static bool is_alive(void *arg, uint32_t content)
{
	const struct index *ix = arg;

	return row_of(ix, content) < ix->rows;
}

static int add_sketch_locked(struct index *ix, uint32_t content,
			     const struct sketch *sketch)
{
	uint32_t keys[SKETCH_MOST];
	size_t i;
	int err;

	for (i = 0; i < sketch->count; i++)
		keys[i] = posting_key(sketch->values[i]);
	(void)pthread_rwlock_wrlock(&ix->columns_lock);
	err = postings_add(ix->postings, content, keys, sketch->count, ANCHORS);
	if (!err)
		frequency_add(ix->frequency, sketch);
	(void)pthread_rwlock_unlock(&ix->columns_lock);
	return err;
}

int index_load_begin(struct index *ix)
{
	int err;

	(void)pthread_mutex_lock(&ix->change_lock);
	(void)pthread_rwlock_wrlock(&ix->columns_lock);
	err = postings_load_begin(ix->postings);
	(void)pthread_rwlock_unlock(&ix->columns_lock);
	ix->changes++;
	(void)pthread_mutex_unlock(&ix->change_lock);
	return err;
}

/* The lock is released after each part, for queries that wait. */
int index_load_end(struct index *ix)
{
	unsigned part;
	int err = 0, part_err;

	(void)pthread_mutex_lock(&ix->change_lock);
	for (part = 0; part < POSTINGS_PARTS; part++) {
		(void)pthread_rwlock_wrlock(&ix->columns_lock);
		part_err = postings_load_end_part(ix->postings, part);
		(void)pthread_rwlock_unlock(&ix->columns_lock);
		err = err ? err : part_err;
	}
	(void)pthread_rwlock_wrlock(&ix->columns_lock);
	(void)postings_load_end(ix->postings);
	(void)pthread_rwlock_unlock(&ix->columns_lock);
	ix->changes++;
	(void)pthread_mutex_unlock(&ix->change_lock);
	return err;
}

static int add_locked(struct index *ix, uint32_t content,
		      const struct digests *d, const struct sketch *sketch)
{
	int err = 0;

	if (ix->rows && content <= ix->columns.content[ix->rows - 1])
		return -EINVAL;
	if (ix->rows == ix->columns.capacity) {
		err = index_rebuild(ix, 2 * ix->columns.capacity);
		if (err)
			return err;
	}
	if (sketch)
		err = add_sketch_locked(ix, content, sketch);
	if (err)
		return err;
	row_store(&ix->columns, ix->rows, content, d, sketch);
	(void)pthread_rwlock_wrlock(&ix->columns_lock);
	ix->rows++;
	(void)pthread_rwlock_unlock(&ix->columns_lock);
	return 0;
}

int index_add(struct index *ix, uint32_t content, const struct digests *d,
	      const struct sketch *sketch)
{
	int err;

	if (!content || !d->size)
		return -EINVAL;
	(void)pthread_mutex_lock(&ix->change_lock);
	err = add_locked(ix, content, d, sketch);
	if (!err)
		ix->end = content + 1;
	ix->changes++;
	(void)pthread_mutex_unlock(&ix->change_lock);
	return err;
}

uint32_t index_end(const struct index *ix)
{
	uint32_t end = ix->end;

	return end ? end : 1;
}

uint64_t index_change_count(const struct index *ix)
{
	return ix->changes;
}

static size_t capacity_for(size_t rows)
{
	size_t capacity = FIRST_CAPACITY;

	while (capacity < rows + rows / 4)
		capacity *= 2;
	return capacity;
}

/* The lock is released after each part, for queries that wait. */
static void sweep(struct index *ix)
{
	unsigned part;

	for (part = 0; part < POSTINGS_PARTS; part++) {
		(void)pthread_rwlock_wrlock(&ix->columns_lock);
		postings_sweep_part(ix->postings, part, is_alive, ix);
		(void)pthread_rwlock_unlock(&ix->columns_lock);
	}
}

static void remove_locked(struct index *ix, uint32_t content)
{
	size_t row = row_of(ix, content);

	if (row == ix->rows)
		return;
	(void)pthread_rwlock_wrlock(&ix->columns_lock);
	ix->columns.size[row] = 0;
	ix->dead++;
	(void)pthread_rwlock_unlock(&ix->columns_lock);
	if (ix->dead > ix->rows / 4 && ix->dead >= FIRST_CAPACITY / 4) {
		sweep(ix);
		/* Without memory the dead rows stay until a later removal. */
		(void)index_rebuild(ix, capacity_for(ix->rows - ix->dead));
	}
}

void index_remove(struct index *ix, uint32_t content)
{
	(void)pthread_mutex_lock(&ix->change_lock);
	remove_locked(ix, content);
	ix->changes++;
	(void)pthread_mutex_unlock(&ix->change_lock);
}

/* Locking changes nothing that a caller can see, hence const and the cast. */
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
	size_t row_bytes = sizeof(uint32_t) + sizeof(uint64_t) +
			   sizeof(uint16_t) + 1 + COLUMN_SIMHASH +
			   COLUMN_TRAITS;
	size_t bytes;

	(void)pthread_rwlock_rdlock(lock);
	bytes = sizeof(*ix) + frequency_bytes(ix->frequency) +
		postings_bytes(ix->postings) + ix->columns.capacity * row_bytes;
	(void)pthread_rwlock_unlock(lock);
	return bytes;
}
