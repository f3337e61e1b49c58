/* SPDX-License-Identifier: Apache-2.0 */
#include "core/catalog/catalog_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MAP_BYTES_DEFAULT (UINT64_C(1) << 30)
#define MAP_BYTES_MIN (UINT64_C(1) << 16)
#define MAP_BYTES_MAX (UINT64_C(1) << 46)
#define READERS_MAX 1024

/* Files whose content is dropped in one transaction when the set of digests
 * is another one. */
#define DROP_BATCH 4096

/* ---- the map ---- */

/* Room for a quarter more than is in use. */
static uint64_t map_size(const struct catalog_options *options, uint64_t used)
{
	uint64_t size = options->map_bytes;

	if (size == 0)
		size = MAP_BYTES_DEFAULT;
	if (size < MAP_BYTES_MIN)
		size = MAP_BYTES_MIN;
	size = (size + MAP_BYTES_MIN - 1) & ~(MAP_BYTES_MIN - 1);
	while (size < used + used / 4)
		size *= 2;
	return size;
}

/* LMDB unmaps before it maps anew and is left with nothing when that fails:
 * see whether there is address space first. */
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

	err = catalog_errno(mdb_env_info(c->env, &info));
	if (err)
		return err;
	if (info.me_mapsize >= MAP_BYTES_MAX)
		return -ENOSPC;
	err = probe_address_space(info.me_mapsize);
	if (err)
		return err;
	err = catalog_errno(mdb_env_set_mapsize(c->env, 2 * info.me_mapsize));
	if (err)
		c->unmapped = true;
	return err;
}

int catalog_grow(struct catalog *c)
{
	int err;

	map_gate_close(&c->gate);
	err = c->unmapped ? -ENOMEM : map_double(c);
	map_gate_open(&c->gate);
	return err;
}

int catalog_bytes(struct catalog *c, uint64_t *bytes_out)
{
	MDB_envinfo info;
	MDB_stat st;
	int err = -ENOMEM;

	map_gate_enter(&c->gate);
	if (!c->unmapped)
		err = catalog_errno(mdb_env_info(c->env, &info));
	if (!err)
		err = catalog_errno(mdb_env_stat(c->env, &st));
	map_gate_leave(&c->gate);
	if (!err)
		*bytes_out = (info.me_last_pgno + 1) * (uint64_t)st.ms_psize;
	return err;
}

/* ---- the environment ---- */

static int env_open(struct catalog *c, uint64_t map_bytes)
{
	int err;

	err = catalog_errno(mdb_env_create(&c->env));
	if (err)
		return err;
	err = catalog_errno(mdb_env_set_maxdbs(c->env, DB_COUNT));
	if (!err)
		err = catalog_errno(
			mdb_env_set_maxreaders(c->env, READERS_MAX));
	if (!err)
		err = catalog_errno(mdb_env_set_mapsize(c->env, map_bytes));
	if (!err)
		err = catalog_errno(mdb_env_open(
			c->env, c->directory, MDB_NOTLS | MDB_NORDAHEAD, 0600));
	return err;
}

static int dbs_open(struct catalog *c, MDB_txn *mdb, bool create)
{
	int err = 0;
	int i;

	for (i = 0; !err && i < DB_COUNT; i++)
		err = catalog_errno(mdb_dbi_open(mdb, catalog_db_names[i],
						 create ? MDB_CREATE : 0,
						 &c->dbs[i]));
	/* Somebody else's LMDB file. */
	return err == -ENOENT ? -EUCLEAN : err;
}

static int source_save(struct catalog_txn *txn, const char *source)
{
	size_t len = strlen(source);
	MDB_val stored;
	int err;

	err = txn_get(txn, DB_META, SOURCE_KEY, strlen(SOURCE_KEY), &stored);
	if (err && err != -ENOENT)
		return err;
	if (!err && stored.mv_size == len &&
	    memcmp(stored.mv_data, source, len) == 0)
		return 0;
	return txn_put(txn, DB_META, SOURCE_KEY, strlen(SOURCE_KEY), source,
		       len);
}

static int meta_create(struct catalog_txn *txn, uint32_t digest_set)
{
	struct catalog_meta m = { .digest_set = digest_set, .next_content = 1 };
	uint8_t bytes[META_BYTES];

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
	return meta_decode(&value, &m);
}

/* A file without any database was left by a death before the first commit:
 * it is as good as new. */
static int content_open(struct catalog *c,
			const struct catalog_options *options)
{
	struct catalog_txn txn = { .catalog = c };
	MDB_stat st;
	bool create;
	int err;

	err = catalog_errno(mdb_txn_begin(c->env, NULL, 0, &txn.mdb));
	if (err)
		return err;
	err = catalog_errno(mdb_env_stat(c->env, &st));
	create = !err && st.ms_entries == 0;
	if (create && options->existing)
		err = -ENOENT;
	if (!err)
		err = dbs_open(c, txn.mdb, create);
	if (!err)
		err = create ? meta_create(&txn, options->digest_set) :
			       meta_check(&txn);
	if (!err && !options->existing)
		err = source_save(&txn, options->source);
	if (err) {
		mdb_txn_abort(txn.mdb);
		return err;
	}
	return catalog_commit_errno(c, mdb_txn_commit(txn.mdb));
}

/* ---- another set of digests ---- */

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

/* Until the last transaction the old set is stored, so that a start that was
 * cut short is taken up by the next one. */
static int drop_some(struct catalog_txn *txn, struct fresh_batch *b,
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

static int drop_step(struct catalog *c, struct fresh_batch *b,
		     uint32_t digest_set, bool *done_out)
{
	struct catalog_txn *txn;
	int err;

	err = catalog_write(c, &txn);
	if (err)
		return err;
	if (txn->meta.digest_set == digest_set) {
		catalog_abort(txn);
		*done_out = true;
		return 0;
	}
	err = drop_some(txn, b, digest_set);
	if (err)
		catalog_abort(txn);
	else
		err = catalog_commit(txn, NULL);
	return err == -E2BIG ? catalog_grow(c) : err;
}

static int digest_set_adopt(struct catalog *c, uint32_t digest_set)
{
	struct fresh_batch *b = malloc(sizeof(*b));
	bool done = false;
	int err = 0;

	if (!b)
		return -ENOMEM;
	while (!err && !done)
		err = drop_step(c, b, digest_set, &done);
	free(b);
	return err;
}

/* ---- opening ---- */

static int data_open(struct catalog *c, const struct catalog_options *options)
{
	struct buf path = { 0 };
	uint64_t used = 0;
	int err;

	err = buf_append_format(&path, "%s/%s", c->directory,
				CATALOG_DATA_FILE);
	if (!err)
		err = verify_file(path.data, &used);
	if (!err && used == 0 && options->existing)
		err = -ENOENT;
	if (!err) {
		err = env_open(c, map_size(options, used));
		if (!err)
			err = content_open(c, options);
		/* What was begun on a full disk must not look damaged. */
		if (err && used == 0)
			(void)unlink(path.data);
	}
	buf_release(&path);
	return err;
}

/* Before the lock makes a file in some directory that is no catalog. */
static int data_find(const char *directory)
{
	struct buf path = { 0 };
	int err;

	err = buf_append_format(&path, "%s/%s", directory, CATALOG_DATA_FILE);
	if (!err && access(path.data, F_OK) != 0)
		err = -errno;
	buf_release(&path);
	return err;
}

int catalog_open(const struct catalog_options *options, struct catalog **out)
{
	struct catalog *c;
	int err;

	err = options->existing ? data_find(options->directory) :
				  catalog_make_directories(options->directory);
	if (err)
		return err;
	c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	(void)pthread_mutex_init(&c->gate.lock, NULL);
	(void)pthread_cond_init(&c->gate.changed, NULL);
	c->lock_fd = -1;
	c->directory = strdup(options->directory);
	err = c->directory ? 0 : -ENOMEM;
	if (!err)
		err = data_dir_lock(c->directory, &c->lock_fd);
	if (!err && !options->existing)
		err = data_dir_check_mark(c->directory);
	if (!err)
		data_dir_sign(c->lock_fd,
			      options->holder ? options->holder : "");
	if (!err)
		err = data_open(c, options);
	if (!err && !options->existing)
		err = digest_set_adopt(c, options->digest_set);
	if (err) {
		catalog_free(c);
		return err;
	}
	*out = c;
	return 0;
}

void catalog_free(struct catalog *c)
{
	if (!c)
		return;
	if (c->env)
		mdb_env_close(c->env);
	if (c->lock_fd >= 0)
		data_dir_unlock(c->lock_fd);
	(void)pthread_cond_destroy(&c->gate.changed);
	(void)pthread_mutex_destroy(&c->gate.lock);
	free(c->directory);
	free(c);
}
