/* SPDX-License-Identifier: Apache-2.0 */
#include "core/catalog/catalog_impl.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "core/catalog/lmdb_format.h"

/* LMDB does not say where its map is.  A page knows its number, and a short
 * value lies in a page. */
static int map_find(const MDB_val *value, uint64_t page_size, uint8_t **out)
{
	uintptr_t page = (uintptr_t)value->mv_data & ~(page_size - 1);
	uint64_t number = host64((const uint8_t *)page);

	if (number > (uintptr_t)page / page_size)
		return -EUCLEAN;
	*out = (uint8_t *)(page - number * page_size);
	return 0;
}

int catalog_trim_rss(struct catalog *c)
{
	uint64_t page_size = lmdb_page_size();
	struct catalog_txn *txn;
	MDB_envinfo info;
	MDB_val value;
	uint8_t *map;
	int err = catalog_read(c, &txn);

	if (err)
		return err;
	err = catalog_errno(mdb_env_info(c->env, &info));
	if (!err)
		err = txn_get(txn, DB_META, META_KEY, strlen(META_KEY), &value);
	if (!err)
		err = map_find(&value, page_size, &map);
	if (!err &&
	    madvise(map, (info.me_last_pgno + 1) * page_size, MADV_DONTNEED))
		err = -errno;
	catalog_abort(txn);
	return err;
}
