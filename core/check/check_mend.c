/* SPDX-License-Identifier: Apache-2.0 */
#include "core/check/check.h"

#include <errno.h>

static int write_once(struct catalog *c,
		      int (*work)(struct catalog_txn *txn, const void *arg),
		      const void *arg)
{
	struct catalog_txn *txn;
	int err = catalog_write(c, &txn);

	if (err)
		return err;
	err = work(txn, arg);
	if (!err)
		return catalog_commit(txn, NULL);
	catalog_abort(txn);
	return err;
}

static int write_growing(struct catalog *c,
			 int (*work)(struct catalog_txn *txn, const void *arg),
			 const void *arg)
{
	int err = write_once(c, work, arg);

	while (err == -E2BIG) {
		err = catalog_grow(c);
		if (!err)
			err = write_once(c, work, arg);
	}
	return err;
}

static int records(struct catalog_txn *txn, const void *root)
{
	struct buf report = { 0 };
	int err = catalog_mend(txn, root, &report);

	buf_release(&report);
	return err;
}

static int mend_records(void *ctx, const struct file_key *root)
{
	return write_growing(ctx, records, root);
}

struct keys {
	const struct file_key *keys;
	size_t count;
};

static int forget(struct catalog_txn *txn, const void *arg)
{
	const struct keys *k = arg;
	size_t i;
	int err = 0;

	for (i = 0; !err && i < k->count; i++)
		err = catalog_file_remove(txn, &k->keys[i]);
	return err;
}

static int mend_forget(void *ctx, const struct file_key *keys, size_t count)
{
	struct keys k = { .keys = keys, .count = count };

	return write_growing(ctx, forget, &k);
}

struct rehash {
	const struct file_key *key;
	const struct file_identity *identity;
};

static int rehash(struct catalog_txn *txn, const void *arg)
{
	const struct rehash *r = arg;

	return catalog_file_set_pending(txn, r->key, r->identity);
}

static int mend_rehash(void *ctx, const struct file_key *key,
		       const struct file_identity *identity)
{
	struct rehash r = { .key = key, .identity = identity };

	return write_growing(ctx, rehash, &r);
}

void audit_mender_init(struct catalog *catalog, struct audit_mender *out)
{
	*out = (struct audit_mender){
		.ctx = catalog,
		.records = mend_records,
		.forget = mend_forget,
		.rehash = mend_rehash,
	};
}
