/* SPDX-License-Identifier: Apache-2.0 */
#include "core/catalog/catalog_impl.h"

#include <errno.h>
#include <stdlib.h>

/* When the set of digests has changed, all files become pending: so many in one
 * transaction. */
#define DROP_BATCH 4096

struct fresh_batch {
	struct file_key keys[DROP_BATCH];
	struct file_identity identities[DROP_BATCH];
	size_t count;
};

static int fresh_collect(struct catalog_txn *txn, struct fresh_batch *b)
{
	struct file_record r;
	struct record_scan s;
	int result;

	b->count = 0;
	result = record_scan_open(txn, DB_COPIES, NULL, 0, &s);
	if (result)
		return result;
	while (b->count < DROP_BATCH && (result = record_scan_next(&s)) == 1) {
		uint32_t content;

		result = copy_key_decode(&s.key, &content, &b->keys[b->count]);
		if (!result)
			result = catalog_file_get(txn, &b->keys[b->count], &r);
		if (!result && r.content != content)
			result = -EUCLEAN;
		if (result)
			break;
		b->identities[b->count++] = r.identity;
	}
	record_scan_close(&s);
	if (result == -ENOENT)
		return -EUCLEAN;
	return result < 0 ? result : 0;
}

/* Stores the new set only when no fresh file is left, so that the next start
 * continues if this one is interrupted. */
static int drop_batch(struct catalog_txn *txn, struct fresh_batch *b,
		      uint32_t digest_set)
{
	size_t i;
	int err;

	err = fresh_collect(txn, b);
	for (i = 0; !err && i < b->count; i++)
		err = catalog_file_set_pending(txn, &b->keys[i],
					       &b->identities[i]);
	if (err || b->count > 0)
		return err;
	txn->meta.digest_set = digest_set;
	txn->meta_changed = true;
	return 0;
}

static int drop_step(struct catalog *c, struct fresh_batch *b, bool *done_out)
{
	struct catalog_txn *txn;
	int err;

	err = catalog_write(c, &txn);
	if (err)
		return err;
	if (txn->meta.digest_set == c->digest_set) {
		catalog_abort(txn);
		*done_out = true;
		return 0;
	}
	/* No content is changed. */
	txn->is_adopting = true;
	err = drop_batch(txn, b, c->digest_set);
	if (err)
		catalog_abort(txn);
	else
		err = catalog_commit(txn, NULL);
	return err;
}

/* Uses a read transaction, as a write transaction would remove the seal. */
static int is_adopted(struct catalog *c, bool *out)
{
	struct catalog_txn *txn;
	int err = catalog_read(c, &txn);

	if (err)
		return err;
	*out = txn->meta.digest_set == c->digest_set;
	catalog_abort(txn);
	return 0;
}

int digest_set_adopt(struct catalog *c)
{
	struct fresh_batch *b;
	bool done = false;
	int err = is_adopted(c, &done);

	if (err || done)
		return err;
	b = malloc(sizeof(*b));
	if (!b)
		return -ENOMEM;
	while (!err && !done)
		err = drop_step(c, b, &done);
	free(b);
	return err;
}
