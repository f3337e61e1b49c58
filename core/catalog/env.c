/* SPDX-License-Identifier: Apache-2.0 */
#include "core/catalog/catalog_impl.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAP_BYTES_DEFAULT (UINT64_C(1) << 30)
#define MAP_BYTES_MIN (UINT64_C(1) << 16)
#define MAP_BYTES_MAX (UINT64_C(1) << 46)
#define READERS_MAX 1024

/* ---- the map ---- */

/* At least a quarter more than the file has. */
static uint64_t map_size(const struct catalog *c, uint64_t used)
{
	uint64_t size = c->map_bytes;

	if (size == 0)
		size = MAP_BYTES_DEFAULT;
	if (size < MAP_BYTES_MIN)
		size = MAP_BYTES_MIN;
	size = (size + MAP_BYTES_MIN - 1) & ~(MAP_BYTES_MIN - 1);
	while (size < used + used / 4)
		size *= 2;
	return size;
}

/* LMDB unmaps the file before it maps the larger size, and has no map if that
 * fails.  So the address space is tested first. */
static int probe_address_space(uint64_t len)
{
	void *p = mmap(NULL, len, PROT_NONE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		return -errno;
	(void)munmap(p, len);
	return 0;
}

static int map_double(struct catalog *c)
{
	MDB_envinfo info;
	int err;

	GUARDED(c, err, catalog_errno(mdb_env_info(c->env, &info)));
	if (err)
		return err;
	if (info.me_mapsize >= MAP_BYTES_MAX)
		return -ENOSPC;
	err = probe_address_space(info.me_mapsize);
	if (err)
		return err;
	GUARDED(c, err,
		catalog_errno(
			mdb_env_set_mapsize(c->env, 2 * info.me_mapsize)));
	if (err && err != -EUCLEAN)
		c->unmapped = true;
	return err;
}

int catalog_grow(struct catalog *c)
{
	int err;

	map_gate_close(&c->gate);
	err = c->unmapped ? -ENOMEM : 0;
	if (!err)
		err = atomic_load(&c->lost) ? -EUCLEAN : map_double(c);
	map_gate_open(&c->gate);
	return err;
}

int catalog_bytes(struct catalog *c, uint64_t *bytes_out)
{
	struct catalog_txn *txn;
	MDB_envinfo info = { 0 };
	MDB_stat st = { 0 };
	int err = catalog_read(c, &txn);

	if (err)
		return err;
	GUARDED(c, err, catalog_errno(mdb_env_info(c->env, &info)));
	if (!err)
		GUARDED(c, err, catalog_errno(mdb_env_stat(c->env, &st)));
	catalog_abort(txn);
	if (!err)
		*bytes_out = (info.me_last_pgno + 1) * (uint64_t)st.ms_psize;
	return err;
}

/* ---- the tables ---- */

int env_open_tables(struct catalog *c, MDB_txn *mdb, bool create)
{
	int err = 0;
	int i;

	for (i = 0; !err && i < DB_COUNT; i++)
		err = catalog_errno(mdb_dbi_open(mdb, catalog_db_names[i],
						 create ? MDB_CREATE : 0,
						 &c->dbs[i]));
	/* An LMDB file of another program. */
	return err == -ENOENT ? -EUCLEAN : err;
}

/* Whether the stored path of the source is c->source. */
static int source_check(struct catalog_txn *txn, bool *same_out)
{
	const char *source = txn->catalog->source;
	MDB_val stored;
	int err =
		txn_get(txn, DB_META, SOURCE_KEY, strlen(SOURCE_KEY), &stored);

	if (err && err != -ENOENT)
		return err;
	*same_out = !err && stored.mv_size == strlen(source) &&
		    memcmp(stored.mv_data, source, stored.mv_size) == 0;
	return 0;
}

static int source_put(struct catalog_txn *txn)
{
	const char *source = txn->catalog->source;

	return txn_put(txn, DB_META, SOURCE_KEY, strlen(SOURCE_KEY), source,
		       strlen(source));
}

static int meta_create(struct catalog_txn *txn, uint32_t digest_set)
{
	struct catalog_meta m = { .digest_set = digest_set,
				  .next_content = atomic_load(
					  &txn->catalog->next_content) };
	uint8_t bytes[META_BYTES];

	if (getrandom(&m.seed, sizeof(m.seed), 0) != sizeof(m.seed))
		return -EAGAIN;
	meta_store(&m, bytes);
	return txn_put(txn, DB_META, META_KEY, strlen(META_KEY), bytes,
		       sizeof(bytes));
}

static int meta_check(struct catalog_txn *txn)
{
	struct catalog_meta m;
	MDB_val value;
	int err;

	err = txn_get(txn, DB_META, META_KEY, strlen(META_KEY), &value);
	if (err)
		return err == -ENOENT ? -EUCLEAN : err;
	err = meta_decode(&value, &m);
	if (!err)
		atomic_store(&txn->catalog->next_content, m.next_content);
	if (!err)
		atomic_store(&txn->catalog->pending_texts,
			     m.counts.pending_texts);
	return err;
}

/* Opens the tables without writing.  *create_out: there are none, because the
 * process that made the file was killed before its first commit. */
static int tables_find(struct catalog *c, bool *create_out, bool *same_out)
{
	struct catalog_txn txn = { .catalog = c };
	MDB_stat st;
	int err;

	err = catalog_errno(mdb_txn_begin(c->env, NULL, MDB_RDONLY, &txn.mdb));
	if (err)
		return err;
	err = catalog_errno(mdb_env_stat(c->env, &st));
	*create_out = !err && st.ms_entries == 0;
	if (!err && !*create_out)
		err = env_open_tables(c, txn.mdb, false);
	if (!err && !*create_out)
		err = meta_check(&txn);
	*same_out = true;
	if (!err && !*create_out && c->source)
		err = source_check(&txn, same_out);
	buf_release(&txn.found);
	/* LMDB closes the tables if the transaction is aborted. */
	if (err)
		mdb_txn_abort(txn.mdb);
	else
		err = catalog_errno(mdb_txn_commit(txn.mdb));
	return err;
}

static int tables_write(struct catalog *c, bool create)
{
	struct catalog_txn txn = { .catalog = c };
	int err;

	err = catalog_errno(mdb_txn_begin(c->env, NULL, 0, &txn.mdb));
	if (err)
		return err;
	err = catalog_unseal(c);
	if (!err)
		err = env_open_tables(c, txn.mdb, true);
	if (!err && create)
		err = meta_create(&txn, c->digest_set);
	if (!err && c->source)
		err = source_put(&txn);
	buf_release(&txn.found);
	if (err) {
		mdb_txn_abort(txn.mdb);
		return err;
	}
	return catalog_commit_errno(c->directory, mdb_txn_commit(txn.mdb));
}

static int tables_open(struct catalog *c)
{
	bool create = false, same = true;
	int err = tables_find(c, &create, &same);

	if (!err && create && c->existing)
		err = -ENOENT;
	if (!err && !c->existing && (create || !same))
		err = tables_write(c, create);
	return err;
}

/* ---- the environment ---- */

static int file_bytes(const char *path, uint64_t *out)
{
	struct stat st;

	*out = 0;
	if (stat(path, &st) == 0)
		*out = (uint64_t)st.st_size;
	else if (errno != ENOENT)
		return -errno;
	return 0;
}

static int env_open_mapped(struct catalog *c, uint64_t used)
{
	int err = catalog_errno(mdb_env_set_maxdbs(c->env, DB_COUNT));

	if (!err)
		err = catalog_errno(
			mdb_env_set_maxreaders(c->env, READERS_MAX));
	if (!err)
		err = catalog_errno(
			mdb_env_set_mapsize(c->env, map_size(c, used)));
	if (!err)
		err = catalog_errno(mdb_env_open(
			c->env, c->directory, MDB_NOTLS | MDB_NORDAHEAD, 0600));
	return err ? err : tables_open(c);
}

static int env_open_guarded(struct catalog *c, uint64_t used)
{
	int err;

	GUARDED(c, err, env_open_mapped(c, used));
	return err;
}

int env_open(struct catalog *c)
{
	uint64_t used = 0;
	int err = file_bytes(c->data, &used);

	guard_install();
	c->packed = used;
	atomic_store(&c->lost, false);
	if (!err)
		err = catalog_errno(mdb_env_create(&c->env));
	if (err)
		return err;
	err = env_open_guarded(c, used);
	atomic_store(&c->file_bytes, env_file_bytes(c));
	if (err)
		env_close(c);
	/* On a full disk a new file may be incomplete; it must not be taken for
	 * a damaged one. */
	if (err && used == 0)
		(void)unlink(c->data);
	return err;
}

uint64_t env_file_bytes(const struct catalog *c)
{
	struct stat st;
	int fd;

	if (mdb_env_get_fd(c->env, &fd) || fstat(fd, &st))
		return 0;
	return (uint64_t)st.st_size;
}

int catalog_lose(struct catalog *c)
{
	atomic_store(&c->lost, true);
	catalog_found_damage(c);
	return -EUCLEAN;
}

/* For tools that look for memory that nothing refers to. */
static void keep_for_ever(MDB_env *env)
{
	static MDB_env *_Atomic kept[64];
	static atomic_uint count;

	atomic_store(&kept[atomic_fetch_add(&count, 1) % 64], env);
}

static int close_mapped(MDB_env *env)
{
	mdb_env_close(env);
	return 0;
}

void env_close(struct catalog *c)
{
	int err = 0;

	if (c->env && !atomic_load(&c->lost))
		GUARDED(c, err, close_mapped(c->env));
	if (c->env && atomic_load(&c->lost))
		keep_for_ever(c->env);
	c->env = NULL;
	(void)err;
}

/* ---- memory ---- */

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
