/* SPDX-License-Identifier: Apache-2.0 */
#include "core/catalog/catalog_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>

#include "core/base/bytes.h"

const char *const catalog_db_names[DB_COUNT] = {
	[DB_META] = "meta",
	[DB_FILES] = "files",
	[DB_NAMES] = "names",
	[DB_LINKS] = "links",
	[DB_CONTENTS] = "contents",
	[DB_TEXTS] = "texts",
	[DB_SKETCHES] = "sketches",
	[DB_TEXT_SKETCHES] = "text_sketches",
	[DB_SHORT_SKETCHES] = "short_sketches",
	[DB_IDENTITIES] = "identities",
	[DB_COPIES] = "copies",
	[DB_PENDING] = "pending",
	[DB_DIRTY] = "dirty",
};

int catalog_errno(int rc)
{
	if (rc >= 0)
		return -rc;
	switch (rc) {
	case MDB_NOTFOUND:
		return -ENOENT;
	case MDB_MAP_FULL:
		return -E2BIG;
	case MDB_READERS_FULL:
		return -EAGAIN;
	case MDB_TXN_FULL:
		return -ENOMEM;
	case MDB_VERSION_MISMATCH:
	case MDB_INVALID:
		return -EMEDIUMTYPE;
	case MDB_PAGE_NOTFOUND:
	case MDB_CORRUPTED:
	case MDB_PANIC:
	case MDB_CURSOR_FULL:
	case MDB_PAGE_FULL:
	case MDB_INCOMPATIBLE:
	case MDB_KEYEXIST:
		return -EUCLEAN;
	default:
		return -EINVAL;
	}
}

/* ---- the gate ---- */

/* The number of this thread's open transactions.  A thread that has one may
 * begin another while the gate is closed.  Otherwise it would wait for the
 * thread that moves the map, which waits for the first transaction. */
static _Thread_local unsigned thread_txns;

static bool is_opener(const struct map_gate *g)
{
	return g->has_opener && pthread_equal(g->opener, pthread_self());
}

void map_gate_enter(struct map_gate *g)
{
	(void)pthread_mutex_lock(&g->lock);
	while (thread_txns == 0 && (g->moving || (g->opening && !is_opener(g))))
		(void)pthread_cond_wait(&g->changed, &g->lock);
	g->inside++;
	(void)pthread_mutex_unlock(&g->lock);
	thread_txns++;
}

void map_gate_leave(struct map_gate *g)
{
	thread_txns--;
	(void)pthread_mutex_lock(&g->lock);
	g->inside--;
	if (g->inside == 0 && g->moving)
		(void)pthread_cond_broadcast(&g->changed);
	(void)pthread_mutex_unlock(&g->lock);
}

void map_gate_close(struct map_gate *g)
{
	(void)pthread_mutex_lock(&g->lock);
	while (g->moving)
		(void)pthread_cond_wait(&g->changed, &g->lock);
	g->moving = true;
	while (g->inside > 0)
		(void)pthread_cond_wait(&g->changed, &g->lock);
	(void)pthread_mutex_unlock(&g->lock);
}

void map_gate_open(struct map_gate *g)
{
	(void)pthread_mutex_lock(&g->lock);
	g->moving = false;
	(void)pthread_cond_broadcast(&g->changed);
	(void)pthread_mutex_unlock(&g->lock);
}

/* ---- life of a transaction ---- */

static int meta_load(struct catalog_txn *txn)
{
	MDB_val value;
	int err;

	err = txn_get(txn, DB_META, META_KEY, strlen(META_KEY), &value);
	if (err)
		return err == -ENOENT ? -EUCLEAN : err;
	return meta_decode(&value, &txn->meta);
}

static void txn_free(struct catalog_txn *txn)
{
	map_gate_leave(&txn->catalog->gate);
	free(txn->added.ids);
	free(txn->removed.ids);
	free(txn);
}

static int txn_begin(struct catalog *c, unsigned flags,
		     struct catalog_txn **out)
{
	struct catalog_txn *txn = calloc(1, sizeof(*txn));
	int err;

	if (!txn)
		return -ENOMEM;
	txn->catalog = c;
	map_gate_enter(&c->gate);
	err = c->failed ? c->failed : c->unmapped ? -ENOMEM : 0;
	if (!err)
		err = catalog_errno(
			mdb_txn_begin(c->env, NULL, flags, &txn->mdb));
	if (err) {
		txn_free(txn);
		return err;
	}
	err = flags & MDB_RDONLY ? 0 : catalog_unseal(c);
	if (!err)
		err = meta_load(txn);
	if (err) {
		catalog_abort(txn);
		return err;
	}
	txn->shared = !(flags & MDB_RDONLY) && dirty_is_wanted(c);
	*out = txn;
	return 0;
}

void catalog_stop_when(struct catalog_txn *txn, const atomic_bool *stop)
{
	txn->stop = stop;
}

int catalog_read(struct catalog *c, struct catalog_txn **out)
{
	return txn_begin(c, MDB_RDONLY, out);
}

int catalog_write(struct catalog *c, struct catalog_txn **out)
{
	return txn_begin(c, 0, out);
}

uint64_t catalog_snapshot(const struct catalog_txn *txn)
{
	return mdb_txn_id(txn->mdb);
}

void catalog_abort(struct catalog_txn *txn)
{
	if (!txn)
		return;
	mdb_txn_abort(txn->mdb);
	txn_free(txn);
}

int catalog_commit_errno(const struct catalog *c, int rc)
{
	struct statvfs fs;
	int err = catalog_errno(rc);

	if (err == -EIO && statvfs(c->directory, &fs) == 0 &&
	    (uint64_t)fs.f_bavail * fs.f_frsize < 1024 * 1024)
		return -ENOSPC;
	return err;
}

static int meta_save(struct catalog_txn *txn)
{
	uint8_t bytes[META_BYTES];

	if (!txn->meta_changed)
		return 0;
	meta_store(&txn->meta, bytes);
	return txn_put(txn, DB_META, META_KEY, strlen(META_KEY), bytes,
		       sizeof(bytes));
}

int catalog_commit(struct catalog_txn *txn, struct catalog_changes *out)
{
	int err = txn->failed;

	if (!err)
		err = dirty_trim(txn);
	if (!err)
		err = meta_save(txn);
	if (err) {
		catalog_abort(txn);
		return err;
	}
	err = catalog_commit_errno(txn->catalog, mdb_txn_commit(txn->mdb));
	if (!err && out) {
		out->added = txn->added.ids;
		out->added_count = txn->added.count;
		out->removed = txn->removed.ids;
		out->removed_count = txn->removed.count;
		txn->added.ids = NULL;
		txn->removed.ids = NULL;
	}
	txn_free(txn);
	return err;
}

void catalog_changes_release(struct catalog_changes *changes)
{
	if (!changes)
		return;
	free(changes->added);
	free(changes->removed);
	memset(changes, 0, sizeof(*changes));
}

int txn_result(struct catalog_txn *txn, int err)
{
	if (err && err != -ENOENT && err != -EINVAL && !txn->failed)
		txn->failed = err;
	return err;
}

int catalog_counts(struct catalog_txn *txn, struct catalog_counts *out)
{
	*out = txn->meta.counts;
	return 0;
}

int catalog_names_count(struct catalog_txn *txn, uint64_t *out)
{
	MDB_stat st;
	int err = catalog_errno(
		mdb_stat(txn->mdb, txn->catalog->dbs[DB_NAMES], &st));

	if (!err)
		*out = st.ms_entries;
	return err;
}

int catalog_source(struct catalog_txn *txn, struct buf *out)
{
	MDB_val value;
	int err;

	err = txn_get(txn, DB_META, SOURCE_KEY, strlen(SOURCE_KEY), &value);
	if (err)
		return err == -ENOENT ? -EUCLEAN : err;
	return buf_append(out, value.mv_data, value.mv_size);
}

uint32_t catalog_digest_set(struct catalog_txn *txn)
{
	return txn->meta.digest_set;
}

/* ---- records ---- */

static MDB_val mdb_value(const void *data, size_t len)
{
	/* LMDB does not write to what it is given. */
	MDB_val v = { .mv_size = len, .mv_data = (void *)(uintptr_t)data };

	return v;
}

int txn_get(struct catalog_txn *txn, enum catalog_db db, const void *key,
	    size_t key_len, MDB_val *value_out)
{
	MDB_val k = mdb_value(key, key_len);
	MDB_val v;
	int err = txn->failed;

	if (!err)
		err = catalog_errno(
			mdb_get(txn->mdb, txn->catalog->dbs[db], &k, &v));
	if (!err)
		*value_out = v;
	return err;
}

int txn_get_content(struct catalog_txn *txn, enum catalog_db db,
		    uint32_t content, MDB_val *value_out)
{
	uint8_t id[CONTENT_KEY_BYTES];

	store_be32(id, content);
	return txn_get(txn, db, id, sizeof(id), value_out);
}

bool txn_has(struct catalog_txn *txn, enum catalog_db db, const void *key,
	     size_t key_len, int *err)
{
	MDB_val v;
	int result = txn_get(txn, db, key, key_len, &v);

	*err = result == -ENOENT ? 0 : result;
	return result == 0;
}

static int put_record(struct catalog_txn *txn, enum catalog_db db, MDB_val k,
		      MDB_val v, unsigned flags)
{
	if (txn->failed)
		return txn->failed;
	return catalog_errno(
		mdb_put(txn->mdb, txn->catalog->dbs[db], &k, &v, flags));
}

int txn_put(struct catalog_txn *txn, enum catalog_db db, const void *key,
	    size_t key_len, const void *value, size_t value_len)
{
	return put_record(txn, db, mdb_value(key, key_len),
			  mdb_value(value, value_len), 0);
}

int txn_append(struct catalog_txn *txn, enum catalog_db db, const void *key,
	       size_t key_len, const void *value, size_t value_len)
{
	return put_record(txn, db, mdb_value(key, key_len),
			  mdb_value(value, value_len), MDB_APPEND);
}

int txn_delete(struct catalog_txn *txn, enum catalog_db db, const void *key,
	       size_t key_len)
{
	MDB_val k = mdb_value(key, key_len);

	if (txn->failed)
		return txn->failed;
	return catalog_errno(
		mdb_del(txn->mdb, txn->catalog->dbs[db], &k, NULL));
}

/* ---- scans ---- */

int record_scan_open(struct catalog_txn *txn, enum catalog_db db,
		     const void *prefix, size_t prefix_len,
		     struct record_scan *out)
{
	struct record_scan s = { .prefix = prefix,
				 .prefix_len = prefix_len,
				 .stop = txn->stop };
	int err = txn->failed;

	if (!err)
		err = catalog_errno(mdb_cursor_open(
			txn->mdb, txn->catalog->dbs[db], &s.cursor));
	if (!err)
		*out = s;
	return err;
}

static MDB_cursor_op record_scan_step(const struct record_scan *s)
{
	if (s->started)
		return MDB_NEXT;
	return s->prefix_len > 0 ? MDB_SET_RANGE : MDB_FIRST;
}

int record_scan_next(struct record_scan *s)
{
	MDB_cursor_op op = record_scan_step(s);
	int err;

	if (s->stop && atomic_load(s->stop))
		return -ECANCELED;
	if (op == MDB_SET_RANGE)
		s->key = mdb_value(s->prefix, s->prefix_len);
	s->started = true;
	err = catalog_errno(mdb_cursor_get(s->cursor, &s->key, &s->value, op));
	if (err)
		return err == -ENOENT ? 0 : err;
	if (s->prefix_len == 0 || s->open_end)
		return 1;
	return s->key.mv_size >= s->prefix_len &&
	       memcmp(s->key.mv_data, s->prefix, s->prefix_len) == 0;
}

void record_scan_close(struct record_scan *s)
{
	mdb_cursor_close(s->cursor);
}

int txn_first(struct catalog_txn *txn, enum catalog_db db, const void *prefix,
	      size_t prefix_len, MDB_val *key_out, MDB_val *value_out)
{
	struct record_scan s;
	int found;
	int err;

	err = record_scan_open(txn, db, prefix, prefix_len, &s);
	if (err)
		return err;
	found = record_scan_next(&s);
	if (found == 1) {
		*key_out = s.key;
		*value_out = s.value;
	}
	record_scan_close(&s);
	if (found < 0)
		return found;
	return found ? 0 : -ENOENT;
}

int txn_after(struct catalog_txn *txn, enum catalog_db db, const void *key,
	      size_t key_len, bool or_equal, MDB_val *key_out)
{
	MDB_val k = mdb_value(key, key_len);
	MDB_val v;
	MDB_cursor *cursor;
	int err = txn->failed;

	if (!err)
		err = catalog_errno(mdb_cursor_open(
			txn->mdb, txn->catalog->dbs[db], &cursor));
	if (err)
		return err;
	err = catalog_errno(mdb_cursor_get(cursor, &k, &v, MDB_SET_RANGE));
	if (!err && !or_equal && k.mv_size == key_len &&
	    memcmp(k.mv_data, key, key_len) == 0)
		err = catalog_errno(mdb_cursor_get(cursor, &k, &v, MDB_NEXT));
	if (!err)
		*key_out = k;
	mdb_cursor_close(cursor);
	return err;
}

/* ---- lists of content ids ---- */

int id_list_append(struct id_list *list, uint32_t id)
{
	size_t capacity = list->capacity ? 2 * list->capacity : 64;
	uint32_t *ids;

	if (list->count == list->capacity) {
		ids = realloc(list->ids, capacity * sizeof(*ids));
		if (!ids)
			return -ENOMEM;
		list->ids = ids;
		list->capacity = capacity;
	}
	list->ids[list->count++] = id;
	return 0;
}

bool id_list_remove(struct id_list *list, uint32_t id)
{
	size_t low = 0;
	size_t high = list->count;
	size_t middle;

	while (low < high) {
		middle = low + (high - low) / 2;
		if (list->ids[middle] < id)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == list->count || list->ids[low] != id)
		return false;
	list->count--;
	memmove(list->ids + low, list->ids + low + 1,
		(list->count - low) * sizeof(*list->ids));
	return true;
}
