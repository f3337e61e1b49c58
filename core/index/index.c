/* SPDX-License-Identifier: Apache-2.0 */
#include "core/index/index_impl.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/array.h"

#define FIRST_ROOM ((size_t)1024)

/* Entries of the postings, of little more than 6 bytes. */
#define POSTINGS_BUDGET ((size_t)16 << 20)

int index_new(struct index **out)
{
	struct index *ix = calloc(1, sizeof(*ix));
	pthread_rwlockattr_t attr;
	int err;

	if (!ix)
		return -ENOMEM;
	(void)pthread_mutex_init(&ix->change_lock, NULL);
	/* By default a steady stream of readers would keep a writer waiting for
	 * ever. */
	(void)pthread_rwlockattr_init(&attr);
	(void)pthread_rwlockattr_setkind_np(
		&attr, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	(void)pthread_rwlock_init(&ix->rows_lock, &attr);
	(void)pthread_rwlockattr_destroy(&attr);
	ix->end = 1;
	ix->room = FIRST_ROOM;
	ix->rows = malloc(ix->room * sizeof(*ix->rows));
	err = ix->rows ? frequency_new(&ix->frequency) : -ENOMEM;
	if (!err)
		err = postings_new(POSTINGS_BUDGET, &ix->postings);
	if (err)
		index_free(ix);
	else
		*out = ix;
	return err;
}

void index_free(struct index *ix)
{
	if (!ix)
		return;
	postings_free(ix->postings);
	frequency_free(ix->frequency);
	(void)pthread_rwlock_destroy(&ix->rows_lock);
	(void)pthread_mutex_destroy(&ix->change_lock);
	free(ix->rows);
	free(ix->pictures);
	free(ix);
}

/* Ids ascend from 1, so the row of an id is at most id - 1, and less only by
 * the number of contents that were removed: the search begins there. */
static size_t find_row(const struct index *ix, uint32_t id)
{
	size_t high = id ? id - 1 : 0, low, middle, step = 1;

	if (high > ix->count)
		high = ix->count;
	for (low = high; low && ix->rows[low - 1].id >= id; step *= 2) {
		high = low - 1;
		low -= low < step ? low : step;
	}
	while (low < high) {
		middle = low + (high - low) / 2;
		if (ix->rows[middle].id < id)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/*
 * Copies the live rows to where there is another room.  Queries use the old
 * ones until the new ones are complete.  Called with change_lock held.
 */
static int index_rebuild(struct index *ix, size_t room)
{
	struct row *fresh = malloc(room * sizeof(*fresh)), *old = ix->rows;
	size_t i, live = 0;

	if (!fresh)
		return -ENOMEM;
	for (i = 0; i < ix->count; i++)
		if (old[i].level != LEVEL_DEAD)
			fresh[live++] = old[i];
	(void)pthread_rwlock_wrlock(&ix->rows_lock);
	ix->rows = fresh;
	ix->room = room;
	ix->count = live;
	ix->dead = 0;
	(void)pthread_rwlock_unlock(&ix->rows_lock);
	free(old);
	return 0;
}

struct row *index_row(const struct index *ix, uint32_t id)
{
	size_t i = find_row(ix, id);

	return i < ix->count && ix->rows[i].id == id &&
			       ix->rows[i].level != LEVEL_DEAD ?
		       &ix->rows[i] :
		       NULL;
}

static bool is_alive(void *arg, uint32_t id)
{
	return index_row(arg, id);
}

static int add_sketch_locked(struct index *ix, uint32_t id,
			     const struct sketch *sketch)
{
	uint32_t keys[SKETCH_MOST];
	size_t i;
	int err;

	for (i = 0; i < sketch->count; i++)
		keys[i] = posting_key(sketch->values[i]);
	(void)pthread_rwlock_wrlock(&ix->rows_lock);
	err = postings_add(ix->postings, id, keys, sketch->count, ANCHORS);
	if (!err)
		frequency_add(ix->frequency, sketch);
	(void)pthread_rwlock_unlock(&ix->rows_lock);
	return err;
}

int index_load_begin(struct index *ix)
{
	int err;

	(void)pthread_mutex_lock(&ix->change_lock);
	(void)pthread_rwlock_wrlock(&ix->rows_lock);
	err = postings_load_begin(ix->postings);
	(void)pthread_rwlock_unlock(&ix->rows_lock);
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
		(void)pthread_rwlock_wrlock(&ix->rows_lock);
		part_err = postings_load_end(ix->postings, part);
		(void)pthread_rwlock_unlock(&ix->rows_lock);
		err = err ? err : part_err;
	}
	ix->changes++;
	(void)pthread_mutex_unlock(&ix->change_lock);
	return err;
}

/* content: whose text it is; 0: id is that of a content. */
static int add_locked(struct index *ix, uint32_t id, uint32_t content,
		      const struct sketch *sketch)
{
	struct row *owner;
	int err;

	if (!id || (ix->count && id <= ix->rows[ix->count - 1].id))
		return -EINVAL;
	if (ix->count == ix->room) {
		err = index_rebuild(ix, 2 * ix->room);
		if (err)
			return err;
	}
	err = add_sketch_locked(ix, id, sketch);
	if (err)
		return err;
	ix->rows[ix->count] = (struct row){ .id = id,
					    .other = content,
					    .is_text = content != 0,
					    .level = (uint8_t)sketch->level,
					    .extent = sketch_extent(sketch) };
	(void)pthread_rwlock_wrlock(&ix->rows_lock);
	ix->count++;
	owner = index_row(ix, content);
	if (owner)
		owner->other = id;
	(void)pthread_rwlock_unlock(&ix->rows_lock);
	ix->end = id + 1;
	return 0;
}

int index_add_text(struct index *ix, uint32_t id, uint32_t content,
		   const struct sketch *sketch)
{
	int err;

	(void)pthread_mutex_lock(&ix->change_lock);
	err = add_locked(ix, id, content, sketch);
	ix->changes++;
	(void)pthread_mutex_unlock(&ix->change_lock);
	return err;
}

int index_add(struct index *ix, uint32_t content, const struct sketch *sketch)
{
	return index_add_text(ix, content, 0, sketch);
}

int index_add_picture(struct index *ix, uint32_t id, uint32_t content,
		      const struct pdq *hash)
{
	struct picture_row *pictures;
	int err = 0;

	(void)pthread_mutex_lock(&ix->change_lock);
	(void)pthread_rwlock_wrlock(&ix->rows_lock);
	pictures = array_with_room(ix->pictures, ix->picture_count,
				   sizeof(*pictures));
	if (pictures) {
		ix->pictures = pictures;
		pictures[ix->picture_count++] =
			(struct picture_row){ id, content, *hash };
	} else {
		err = -ENOMEM;
	}
	(void)pthread_rwlock_unlock(&ix->rows_lock);
	ix->end = id >= ix->end ? id + 1 : ix->end;
	ix->changes++;
	(void)pthread_mutex_unlock(&ix->change_lock);
	return err;
}

/* Called with change_lock held. */
static void remove_picture(struct index *ix, uint32_t id)
{
	size_t low = 0, high = ix->picture_count, middle;

	while (low < high) {
		middle = low + (high - low) / 2;
		if (ix->pictures[middle].id < id)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == ix->picture_count || ix->pictures[low].id != id)
		return;
	(void)pthread_rwlock_wrlock(&ix->rows_lock);
	ix->picture_count--;
	memmove(ix->pictures + low, ix->pictures + low + 1,
		(ix->picture_count - low) * sizeof(*ix->pictures));
	(void)pthread_rwlock_unlock(&ix->rows_lock);
}

uint32_t index_end(const struct index *ix)
{
	return ix->end;
}

uint64_t index_change_count(const struct index *ix)
{
	return ix->changes;
}

/* The lock is released after each part, for queries that wait. */
static void sweep(struct index *ix)
{
	unsigned part;

	for (part = 0; part < POSTINGS_PARTS; part++) {
		(void)pthread_rwlock_wrlock(&ix->rows_lock);
		postings_sweep_part(ix->postings, part, is_alive, ix);
		(void)pthread_rwlock_unlock(&ix->rows_lock);
	}
}

static void remove_locked(struct index *ix, uint32_t id)
{
	struct row *row = index_row(ix, id), *other;
	size_t live;

	if (!row)
		return;
	(void)pthread_rwlock_wrlock(&ix->rows_lock);
	row->level = LEVEL_DEAD;
	ix->dead++;
	other = index_row(ix, row->other);
	if (other && row->is_text)
		other->other = 0;
	(void)pthread_rwlock_unlock(&ix->rows_lock);
	if (ix->dead > ix->count / 4 && ix->dead >= FIRST_ROOM / 4) {
		sweep(ix);
		live = ix->count - ix->dead;
		/* Without memory the dead rows stay until a later removal. */
		(void)index_rebuild(ix, live + live / 4 + FIRST_ROOM);
	}
}

void index_remove(struct index *ix, uint32_t id)
{
	(void)pthread_mutex_lock(&ix->change_lock);
	remove_locked(ix, id);
	remove_picture(ix, id);
	ix->changes++;
	(void)pthread_mutex_unlock(&ix->change_lock);
}

/* Locking changes nothing that a caller can see, hence const and the cast. */
size_t index_bytes(const struct index *ix)
{
	pthread_rwlock_t *lock = (pthread_rwlock_t *)&ix->rows_lock;
	size_t bytes;

	(void)pthread_rwlock_rdlock(lock);
	bytes = sizeof(*ix) + frequency_bytes(ix->frequency) +
		postings_bytes(ix->postings) + ix->room * sizeof(*ix->rows) +
		ix->picture_count * sizeof(*ix->pictures);
	(void)pthread_rwlock_unlock(lock);
	return bytes;
}
