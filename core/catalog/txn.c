/* SPDX-License-Identifier: Apache-2.0 */
#include "core/catalog/catalog_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>

#include "core/base/array.h"
#include "core/base/bytes.h"

const char *const catalog_db_names[DB_COUNT] = {
	[DB_META] = "meta",         [DB_FILES] = "files",
	[DB_NAMES] = "names",       [DB_LINKS] = "links",
	[DB_CONTENTS] = "contents", [DB_IDENTITIES] = "identities",
	[DB_COPIES] = "copies",     [DB_PENDING] = "pending",
	[DB_DIRTY] = "dirty",       [DB_CHANGES] = "changes",
	[DB_LEFT] = "left",         [DB_TEXTS] = "texts",
	[DB_OWNERS] = "owners",     [DB_UNTOLD] = "untold",
	[DB_UNREAD] = "unread",     [DB_SKETCHES] = "sketches",
	[DB_DIGESTS] = "digests",   [DB_PICTURES] = "pictures",
};

int catalog_errno(int rc)
{
	if (rc >= 0)
		return -rc;
	switch (rc) {
	case MDB_NOTFOUND:
		return -ENOENT;
	case MDB_MAP_FULL:
		return -ENOSPC;
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

static void map_gate_enter(struct map_gate *g)
{
	(void)pthread_mutex_lock(&g->lock);
	while (thread_txns == 0 && (g->moving || (g->opening && !is_opener(g))))
		(void)pthread_cond_wait(&g->changed, &g->lock);
	g->inside++;
	(void)pthread_mutex_unlock(&g->lock);
	thread_txns++;
}

static void map_gate_leave(struct map_gate *g)
{
	thread_txns--;
	(void)pthread_mutex_lock(&g->lock);
	g->inside--;
	if (g->inside == 0 && (g->moving || g->opening))
		(void)pthread_cond_broadcast(&g->changed);
	(void)pthread_mutex_unlock(&g->lock);
}

void map_gate_close(struct map_gate *g)
{
	(void)pthread_mutex_lock(&g->lock);
	while (g->moving || (g->opening && !is_opener(g)))
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

int meta_get(struct catalog_txn *txn, struct catalog_meta *out)
{
	MDB_val value;
	int err = txn_get(txn, DB_META, META_KEY, &value);

	if (err)
		return err == -ENOENT ? -EUCLEAN : err;
	return meta_decode(&value, out);
}

int meta_put(struct catalog_txn *txn, const struct catalog_meta *m)
{
	return txn_put(txn, DB_META, META_KEY, m, sizeof(*m));
}

/* 0, or why the transaction cannot go on. */
static int txn_state(const struct catalog_txn *txn)
{
	if (txn->failed)
		return txn->failed;
	return atomic_load(&txn->catalog->lost) ? -EUCLEAN : 0;
}

static void txn_free(struct catalog_txn *txn)
{
	map_gate_leave(&txn->catalog->gate);
	catalog_changes_release(&txn->changes);
	buf_release(&txn->found);
	buf_release(&txn->blob);
	buf_release(&txn->within);
	free(txn);
}

/* LMDB would write behind the end of a file that was cut, and take the hole
 * before it for pages. */
static int check_length(struct catalog *c)
{
	if (env_file_bytes(c) >= atomic_load(&c->file_bytes))
		return 0;
	return catalog_lose(c);
}

static int mdb_begin(struct catalog_txn *txn)
{
	struct catalog *c = txn->catalog;
	int err = c->failed ? c->failed : txn_state(txn);

	if (!err)
		GUARDED(c, err,
			catalog_errno(mdb_txn_begin(
				c->env, NULL, txn->writes ? 0 : MDB_RDONLY,
				&txn->mdb)));
	if (!err && txn->writes)
		err = check_length(c);
	if (!err && txn->writes)
		err = catalog_unseal(c);
	if (!err)
		err = meta_get(txn, &txn->stored);
	txn->meta = txn->stored;
	txn->changes.added_begin = txn->meta.next_content;
	return err;
}

static int txn_begin(struct catalog *c, bool writes, struct catalog_txn **out)
{
	struct catalog_txn *txn = calloc(1, sizeof(*txn));
	int err;

	if (!txn)
		return -ENOMEM;
	txn->catalog = c;
	txn->writes = writes;
	map_gate_enter(&c->gate);
	err = mdb_begin(txn);
	if (err == -EUCLEAN)
		catalog_found_damage(c);
	if (err) {
		catalog_abort(txn);
		return err;
	}
	txn->shared = writes && dirty_is_wanted(c);
	*out = txn;
	return 0;
}

int catalog_read(struct catalog *c, struct catalog_txn **out)
{
	return txn_begin(c, false, out);
}

int catalog_write(struct catalog *c, struct catalog_txn **out)
{
	return txn_begin(c, true, out);
}

/* Each replacement of the catalog has numbers of its own. */
uint64_t catalog_snapshot(const struct catalog_txn *txn)
{
	return (txn->catalog->replaced << 48) + mdb_txn_id(txn->mdb);
}

/* A write transaction of a lost environment is left as it is.  Of one that
 * reads LMDB only frees the memory and its slot among the readers. */
static void mdb_abort(struct catalog_txn *txn)
{
	struct catalog *c = txn->catalog;
	int err;

	if (txn->mdb && !(txn->writes && atomic_load(&c->lost)))
		GUARDED(c, err, (mdb_txn_abort(txn->mdb), 0));
	(void)err;
}

void catalog_abort(struct catalog_txn *txn)
{
	if (!txn)
		return;
	mdb_abort(txn);
	txn_free(txn);
}

int catalog_commit_errno(const struct catalog *c, int rc)
{
	struct statvfs fs;
	int err = catalog_errno(rc);

	if (err == -EIO && fstatvfs(c->dir, &fs) == 0 &&
	    (uint64_t)fs.f_bavail * fs.f_frsize < 1024 * 1024)
		return -ENOSPC;
	return err;
}

int catalog_commit(struct catalog_txn *txn, struct catalog_changes *out)
{
	const uint64_t pending_texts = txn->meta.pending_texts;
	const uint64_t untold_added = txn->untold_added;
	struct catalog *c = txn->catalog;
	MDB_stat untold;
	int err = txn_state(txn);

	if (!err)
		err = dirty_trim(txn);
	if (!err && memcmp(&txn->meta, &txn->stored, sizeof(txn->meta)) != 0)
		err = meta_put(txn, &txn->meta);
	if (!err)
		err = txn_stat(txn, DB_UNTOLD, &untold);
	if (err) {
		catalog_abort(txn);
		return err;
	}
	/* Behind the commit another thread may write already: this is stored
	 * before it, and the file only grows. */
	atomic_store(&c->next_content, txn->meta.next_content);
	GUARDED_WRITE(c, err,
		      catalog_commit_errno(c, mdb_txn_commit(txn->mdb)));
	if (err == -EUCLEAN)
		catalog_found_damage(c);
	if (!err) {
		atomic_store(&c->file_bytes, env_file_bytes(c));
		atomic_store(&c->pending_texts, pending_texts);
		atomic_store(&c->untold_texts, untold.ms_entries);
		atomic_fetch_add(&c->untold_added, untold_added);
	}
	if (!err && out) {
		*out = txn->changes;
		out->added_end = txn->meta.next_content;
		txn->changes = (struct catalog_changes){ 0 };
	}
	txn_free(txn);
	return err;
}

void catalog_changes_release(struct catalog_changes *changes)
{
	if (!changes)
		return;
	free(changes->removed);
	catalog_events_free(changes->events, changes->event_count);
	memset(changes, 0, sizeof(*changes));
}

int txn_take_id(struct catalog_txn *txn, uint32_t *out)
{
	if (txn->meta.next_content > UINT32_MAX)
		return -EOVERFLOW;
	*out = (uint32_t)txn->meta.next_content++;
	return 0;
}

int txn_drop_id(struct catalog_txn *txn, uint32_t id)
{
	struct catalog_changes *ch = &txn->changes;
	uint32_t *all;

	if (id >= ch->added_begin)
		return 0;
	all = array_with_room(ch->removed, ch->removed_count, sizeof(*all));
	if (!all)
		return -ENOMEM;
	ch->removed = all;
	all[ch->removed_count++] = id;
	return 0;
}

int txn_result(struct catalog_txn *txn, int err)
{
	if (err && err != -ENOENT && err != -EINVAL && !txn->failed)
		txn->failed = err;
	return err;
}

int catalog_counts(struct catalog_txn *txn, struct catalog_counts *out)
{
	const struct catalog_meta *m = &txn->meta;
	struct catalog_counts n = { .directories = m->directories,
				    .pending_bytes = m->pending_bytes,
				    .content_bytes = m->content_bytes,
				    .pending_texts = m->pending_texts,
				    .failed_texts = m->failed_texts };
	const struct {
		enum catalog_db db;
		uint64_t *count;
	} tables[] = {
		{ DB_FILES, &n.files },       { DB_COPIES, &n.fresh },
		{ DB_PENDING, &n.pending },   { DB_OWNERS, &n.texts },
		{ DB_CONTENTS, &n.contents }, { DB_UNREAD, &n.unread },
	};
	MDB_stat st;
	size_t i;
	int err = 0;

	for (i = 0; i < sizeof(tables) / sizeof(tables[0]) && !err; i++) {
		err = txn_stat(txn, tables[i].db, &st);
		*tables[i].count = err ? 0 : st.ms_entries;
	}
	n.files -= n.directories;
	n.failed = n.files - n.fresh - n.pending;
	if (!err)
		*out = n;
	return err;
}

int catalog_source(struct catalog_txn *txn, struct buf *out)
{
	MDB_val value;
	int err;

	err = txn_get(txn, DB_META, SOURCE_KEY, &value);
	if (err)
		return err == -ENOENT ? -EUCLEAN : err;
	return buf_append(out, value.mv_data, value.mv_size);
}

/* ---- records ---- */

static MDB_val mdb_key(struct record_key *key)
{
	return (MDB_val){ key->len, key->bytes };
}

static int copy_bytes(char *to, const MDB_val *key, const MDB_val *value)
{
	memcpy(to, key->mv_data, key->mv_size);
	memcpy(to + key->mv_size, value->mv_data, value->mv_size);
	return 0;
}

/* Copies what LMDB has found out of the map into b, has both point there, and
 * takes off the sum. */
static int take_record(struct catalog *c, struct buf *b, MDB_val *key,
		       MDB_val *value)
{
	int err;

	if (key->mv_size > KEY_BYTES_MAX || value->mv_size > VALUE_BYTES_MAX)
		return -EUCLEAN;
	buf_clear(b);
	err = buf_reserve(b, key->mv_size + value->mv_size);
	if (!err)
		GUARDED(c, err, copy_bytes(b->data, key, value));
	if (err)
		return err;
	key->mv_data = b->data;
	value->mv_data = b->data + key->mv_size;
	return record_take_sum(key, value) ? 0 : -EUCLEAN;
}

int txn_get(struct catalog_txn *txn, enum catalog_db db, struct record_key key,
	    MDB_val *value_out)
{
	struct catalog *c = txn->catalog;
	MDB_val k = mdb_key(&key);
	MDB_val v = { 0 };
	int err = txn_state(txn);

	if (!err)
		GUARDED(c, err,
			catalog_errno(mdb_get(txn->mdb, c->dbs[db], &k, &v)));
	if (!err)
		err = take_record(c, &txn->found, &k, &v);
	if (!err)
		*value_out = v;
	return err;
}

static int put_with_sum(MDB_txn *mdb, MDB_dbi dbi, MDB_val k, MDB_val v,
			unsigned flags)
{
	MDB_val room = { .mv_size = v.mv_size + RECORD_SUM_BYTES };
	uint8_t *bytes;
	int err = catalog_errno(
		mdb_put(mdb, dbi, &k, &room, flags | MDB_RESERVE));

	if (err)
		return err;
	bytes = room.mv_data;
	memcpy(bytes, v.mv_data, v.mv_size);
	store_le16(bytes + v.mv_size, record_sum(&k, v.mv_data, v.mv_size));
	return 0;
}

static int put_record(struct catalog_txn *txn, enum catalog_db db,
		      struct record_key *key, const void *value, size_t len,
		      unsigned flags)
{
	struct catalog *c = txn->catalog;
	MDB_dbi dbi = c->dbs[db];
	MDB_val k = mdb_key(key);
	/* LMDB does not write to what it is given. */
	MDB_val v = { len, (void *)(uintptr_t)value };
	int err = txn_state(txn);

	if (err)
		return err;
	GUARDED_WRITE(c, err, put_with_sum(txn->mdb, dbi, k, v, flags));
	return err;
}

int txn_put(struct catalog_txn *txn, enum catalog_db db, struct record_key key,
	    const void *value, size_t len)
{
	return put_record(txn, db, &key, value, len, 0);
}

int txn_append(struct catalog_txn *txn, enum catalog_db db,
	       struct record_key key, const void *value, size_t len)
{
	return put_record(txn, db, &key, value, len, MDB_APPEND);
}

int txn_delete(struct catalog_txn *txn, enum catalog_db db,
	       struct record_key key)
{
	struct catalog *c = txn->catalog;
	MDB_val k = mdb_key(&key);
	int err = txn_state(txn);

	if (!err)
		GUARDED_WRITE(
			c, err,
			catalog_errno(mdb_del(txn->mdb, c->dbs[db], &k, NULL)));
	return err;
}

int txn_drop(struct catalog_txn *txn, enum catalog_db db, struct record_key key)
{
	int err = txn_delete(txn, db, key);

	return err == -ENOENT ? 0 : err;
}

int txn_get_value(struct catalog_txn *txn, enum catalog_db db,
		  struct record_key key, void *out, size_t size)
{
	MDB_val value;
	int err = txn_get(txn, db, key, &value);

	if (!err && !value_copy(&value, out, size))
		err = -EUCLEAN;
	return err;
}

int txn_stat(struct catalog_txn *txn, enum catalog_db db, MDB_stat *out)
{
	struct catalog *c = txn->catalog;
	int err = txn_state(txn);

	if (!err)
		GUARDED(c, err,
			catalog_errno(mdb_stat(txn->mdb, c->dbs[db], out)));
	return err;
}

/* ---- walks ---- */

int walk_begin(struct catalog_txn *txn, enum catalog_db db,
	       struct record_key prefix, struct catalog_walk **out)
{
	struct catalog_walk *w = calloc(1, sizeof(*w));
	struct catalog *c = txn->catalog;
	int err = w ? txn_state(txn) : -ENOMEM;

	if (!err)
		GUARDED(c, err,
			catalog_errno(mdb_cursor_open(txn->mdb, c->dbs[db],
						      &w->cursor)));
	if (err) {
		free(w);
		return err;
	}
	w->txn = txn;
	w->prefix = prefix;
	*out = w;
	return 0;
}

int walk_next(struct catalog_walk *w)
{
	const struct record_key *prefix = &w->prefix;
	MDB_cursor_op op = w->started  ? MDB_NEXT :
			   prefix->len ? MDB_SET_RANGE :
					 MDB_FIRST;
	int err = txn_state(w->txn);

	if (!w->started)
		w->key = mdb_key(&w->prefix);
	w->started = true;
	if (!err)
		GUARDED(w->txn->catalog, err,
			catalog_errno(mdb_cursor_get(w->cursor, &w->key,
						     &w->value, op)));
	if (!err)
		err = take_record(w->txn->catalog, &w->copy, &w->key,
				  &w->value);
	if (err)
		return err == -ENOENT ? 0 : err;
	return w->open_end ||
	       (w->key.mv_size >= prefix->len &&
		memcmp(w->key.mv_data, prefix->bytes, prefix->len) == 0);
}

/* The cursors of a write transaction are a list, of which some may be on a
 * stack that a guarded section has left. */
void catalog_walk_end(struct catalog_walk *w)
{
	if (!w)
		return;
	if (!w->txn->writes || !atomic_load(&w->txn->catalog->lost))
		mdb_cursor_close(w->cursor);
	buf_release(&w->copy);
	buf_release(&w->built);
	free(w);
}

/* Ends the walk, whose last step was found, and has the transaction keep the
 * record. */
static int keep_found(struct catalog_walk *w, int found, MDB_val *key_out,
		      MDB_val *value_out)
{
	struct buf unused = w->txn->found;

	if (found == 1) {
		w->txn->found = w->copy;
		w->copy = unused;
		*key_out = w->key;
		*value_out = w->value;
	}
	catalog_walk_end(w);
	return found == 1 ? 0 : found ? found : -ENOENT;
}

int txn_first(struct catalog_txn *txn, enum catalog_db db,
	      struct record_key prefix, MDB_val *key_out, MDB_val *value_out)
{
	struct catalog_walk *w;
	int err = walk_begin(txn, db, prefix, &w);

	return err ? err : keep_found(w, walk_next(w), key_out, value_out);
}

int txn_after(struct catalog_txn *txn, enum catalog_db db,
	      struct record_key key, MDB_val *key_out, MDB_val *value_out)
{
	struct catalog_walk *w;
	int found = walk_begin(txn, db, key, &w);

	if (found)
		return found;
	w->open_end = true;
	found = walk_next(w);
	if (found == 1 && w->key.mv_size == key.len &&
	    memcmp(w->key.mv_data, key.bytes, key.len) == 0)
		found = walk_next(w);
	return keep_found(w, found, key_out, value_out);
}
