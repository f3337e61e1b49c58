/* SPDX-License-Identifier: Apache-2.0 */
#include "core/catalog/catalog_impl.h"

#include <errno.h>

#include "core/catalog/lmdb_format.h"

/*
 * A long value has pages of its own, and LMDB frees as many as the first of
 * them says.  There are too many of them to look at each when the catalog is
 * opened; so each is looked at before it is deleted.
 *
 * LMDB does not say at which page a value is.  But in a read transaction all
 * values are in the map, whose start follows from any leaf page's own number
 * (leaf pages were checked at opening), and only a long value can lie right
 * behind a page header.
 */
/* The page that p points into. */
static const uint8_t *page_of(const uint8_t *p)
{
	return p - (uintptr_t)p % lmdb_page_size();
}

static int check_run(const struct catalog *c, MDB_txn *mdb, MDB_val value)
{
	MDB_val key = { .mv_size = sizeof(META_KEY) - 1,
			.mv_data = (void *)(uintptr_t)META_KEY };
	const uint8_t *page = page_of(value.mv_data);
	const uint8_t *start;
	uint64_t number;
	MDB_val meta;
	int err;

	if ((const uint8_t *)value.mv_data - page != LMDB_PAGE_HEADER_BYTES)
		return 0;
	err = catalog_errno(mdb_get(mdb, c->dbs[DB_META], &key, &meta));
	if (err)
		return err == -ENOENT ? -EUCLEAN : err;
	start = page_of(meta.mv_data);
	start -= host64(start) * lmdb_page_size();
	number = (uint64_t)(page - start) / lmdb_page_size();
	if (!lmdb_is_run(page, number,
			 lmdb_run_pages(value.mv_size, lmdb_page_size())))
		return -EUCLEAN;
	return 0;
}

int verify_value(struct catalog *c, enum catalog_db db, const void *key,
		 size_t key_len)
{
	MDB_val k = { .mv_size = key_len, .mv_data = (void *)(uintptr_t)key };
	MDB_val value;
	MDB_txn *mdb;
	int err;

	err = catalog_errno(mdb_txn_begin(c->env, NULL, MDB_RDONLY, &mdb));
	if (err)
		return err;
	err = catalog_errno(mdb_get(mdb, c->dbs[db], &k, &value));
	if (!err)
		err = check_run(c, mdb, value);
	mdb_txn_abort(mdb);
	/* Not committed yet: LMDB still has it in memory. */
	return err == -ENOENT ? 0 : err;
}
