/* SPDX-License-Identifier: Apache-2.0 */
#include "core/index/index_impl.h"

#include <errno.h>

#include "core/base/bytes.h"

/*
 * The counts as they are stored:
 *
 *   form      1 byte; FORM_NONE: nothing follows
 *   removed   8 bytes, contents that are counted and were removed
 *   limit     4 bytes, of the postings
 *   counters  as frequency_store() appends them
 *
 * Another form is needed when other values of a sketch are counted, when the
 * counter of a value is found in another way, and when ANCHORS or the budget of
 * the postings changes.
 */
enum { FORM_NONE = 0, FORM = 1 };

#define HEAD_BYTES 13

static bool are_worth_storing(const struct index *ix)
{
	size_t count = ix->rows - ix->dead;

	return !ix->counts_distrusted &&
	       ix->counted_removed <= count / INDEX_REMOVED_PART;
}

static int store_locked(const struct index *ix, struct buf *out)
{
	uint8_t head[HEAD_BYTES] = { FORM };
	size_t before = out->len;
	int err;

	store_le64(head + 1, ix->counted_removed);
	store_le32(head + 9, postings_limit(ix->postings));
	err = buf_append(out, head, sizeof(head));
	if (!err)
		err = frequency_store(ix->frequency, out);
	if (err)
		out->len = before;
	return err;
}

int index_store_counts(struct index *ix, struct buf *out)
{
	const uint8_t none = FORM_NONE;
	bool worth;
	int err;

	(void)pthread_mutex_lock(&ix->change_lock);
	worth = are_worth_storing(ix);
	err = worth ? store_locked(ix, out) :
		      buf_append(out, &none, sizeof(none));
	(void)pthread_mutex_unlock(&ix->change_lock);
	return err ? err : worth;
}

static int load_locked(struct index *ix, const uint8_t **at, const uint8_t *end)
{
	const uint8_t *head = *at, *next = head + HEAD_BYTES;
	struct frequency *fresh, *old = ix->frequency;
	int err;

	if (end - head < HEAD_BYTES || head[0] != FORM)
		return -EINVAL;
	err = frequency_load(&next, end, &fresh);
	if (err)
		return err;
	(void)pthread_rwlock_wrlock(&ix->columns_lock);
	err = postings_set_limit(ix->postings, load_le32(head + 9));
	if (!err)
		ix->frequency = fresh;
	(void)pthread_rwlock_unlock(&ix->columns_lock);
	frequency_free(err ? fresh : old);
	if (err)
		return err;
	ix->counted_removed = load_le64(head + 1);
	ix->counts_loaded = true;
	*at = next;
	return 0;
}

int index_load_counts(struct index *ix, const uint8_t **at, const uint8_t *end)
{
	int err = 0;

	(void)pthread_mutex_lock(&ix->change_lock);
	if (*at < end && **at == FORM_NONE)
		++*at;
	else
		err = load_locked(ix, at, end);
	(void)pthread_mutex_unlock(&ix->change_lock);
	return err;
}

void index_distrust_counts(struct index *ix)
{
	(void)pthread_mutex_lock(&ix->change_lock);
	ix->counts_distrusted = true;
	(void)pthread_mutex_unlock(&ix->change_lock);
}
