/* SPDX-License-Identifier: Apache-2.0 */
#include "core/catalog/catalog_impl.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

/* Finds the range of LMDB's map by an address in it; LMDB has no call for
 * that. */
static int mapping_find(const void *address, uintptr_t *begin_out,
			uintptr_t *end_out)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	uintptr_t begin, end, at = (uintptr_t)address;
	char line[512];
	int err = maps ? -ENOENT : -errno;

	while (err == -ENOENT && fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR, &begin, &end) != 2)
			continue; /* the rest of a long line */
		if (at < begin || at >= end)
			continue;
		*begin_out = begin;
		*end_out = end;
		err = 0;
	}
	if (maps)
		(void)fclose(maps);
	return err;
}

/* An address in the map: that of a record. */
static int get_address(struct catalog_txn *txn, void **out)
{
	MDB_val key = { strlen(META_KEY), (void *)(uintptr_t)META_KEY };
	struct catalog *c = txn->catalog;
	MDB_val value = { 0 };
	int err;

	GUARDED(c, err,
		catalog_errno(
			mdb_get(txn->mdb, c->dbs[DB_META], &key, &value)));
	*out = value.mv_data;
	return err;
}

int catalog_trim_rss(struct catalog *c)
{
	uintptr_t begin = 0, end = 0;
	struct catalog_txn *txn;
	void *address;
	int err = catalog_read(c, &txn);

	if (err)
		return err;
	err = get_address(txn, &address);
	if (!err)
		err = mapping_find(address, &begin, &end);
	if (!err && madvise((void *)begin, end - begin, MADV_DONTNEED))
		err = -errno;
	catalog_abort(txn);
	return err;
}
