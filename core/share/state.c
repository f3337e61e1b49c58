/* SPDX-License-Identifier: Apache-2.0 */
#include "core/share/state.h"

#include <errno.h>
#include <fcntl.h>
#include <lmdb.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <unistd.h>

#include "core/base/bytes.h"

#define MAP_BYTES ((size_t)1 << 38)
#define MAP_SMALL ((size_t)1 << 28)
#define IDENTITY_KEY "identity"
#define IDENTITY_BYTES (1 + DB_UUID_BYTES + 1 + 6 * 8)
#define IDENTITY_VERSION 1
#define FILE_BYTES 16
#define KEY_BYTES (FILE_BYTES + DB_UUID_BYTES)
#define VALUE_BYTES 9

struct share_state {
	struct share_identity identity;
	MDB_env *env;
	MDB_dbi meta, publications;
	int lock_fd;
};

static int errno_of(int rc)
{
	if (rc == MDB_NOTFOUND)
		return -ENOENT;
	if (rc == MDB_MAP_FULL)
		return -ENOSPC;
	return rc > 0 ? -rc : rc ? -EUCLEAN : 0;
}

/* ---- bytes ---- */

static void file_store(const struct file_key *key, uint8_t *p)
{
	store_be32(p, key->device);
	store_be64(p + 4, key->inode);
	store_be32(p + 12, key->generation);
}

static void file_load(const uint8_t *p, struct file_key *out)
{
	out->device = load_be32(p);
	out->inode = load_be64(p + 4);
	out->generation = load_be32(p + 12);
}

static void key_store(const struct share_publication *x, uint8_t *p)
{
	file_store(&x->file, p);
	memcpy(p + FILE_BYTES, x->content, DB_UUID_BYTES);
}

static int publication_load(const MDB_val *key, const MDB_val *value,
			    struct share_publication *out)
{
	const uint8_t *k = key->mv_data, *v = value->mv_data;

	if (key->mv_size != KEY_BYTES || value->mv_size != VALUE_BYTES)
		return -EUCLEAN;
	file_load(k, &out->file);
	memcpy(out->content, k + FILE_BYTES, DB_UUID_BYTES);
	out->is_known = v[0] != 0;
	out->hash = load_le64(v + 1);
	return 0;
}

static void identity_store(const struct share_identity *i, uint8_t *p)
{
	*p++ = IDENTITY_VERSION;
	memcpy(p, i->host, DB_UUID_BYTES);
	p += DB_UUID_BYTES;
	*p++ = (uint8_t)(i->is_filled | i->is_swept << 1);
	store_le64(p, i->epoch);
	store_le64(p + 8, i->token);
	store_le64(p + 16, i->next_token);
	store_le64(p + 24, i->done.incarnation);
	store_le64(p + 32, i->done.change);
	store_le64(p + 40, i->rules);
}

static int identity_load(const MDB_val *value, struct share_identity *out)
{
	const uint8_t *p = value->mv_data;

	if (value->mv_size != IDENTITY_BYTES || *p++ != IDENTITY_VERSION)
		return -EUCLEAN;
	memcpy(out->host, p, DB_UUID_BYTES);
	p += DB_UUID_BYTES;
	out->is_filled = *p & 1;
	out->is_swept = *p++ & 2;
	out->epoch = load_le64(p);
	out->token = load_le64(p + 8);
	out->next_token = load_le64(p + 16);
	out->done.incarnation = load_le64(p + 24);
	out->done.change = load_le64(p + 32);
	out->rules = load_le64(p + 40);
	return 0;
}

/* ---- opening ---- */

static int lock(struct share_state *s, const char *directory)
{
	struct buf path = { 0 };
	int err = buf_append_format(&path, "%s/lock", directory);

	if (!err) {
		s->lock_fd =
			open(path.data,
			     O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
		err = s->lock_fd < 0 ? -errno : 0;
	}
	if (!err && flock(s->lock_fd, LOCK_EX | LOCK_NB))
		err = errno == EWOULDBLOCK ? -EBUSY : -errno;
	buf_release(&path);
	return err;
}

static int open_file(struct share_state *s, const char *path, size_t map_bytes)
{
	int err = errno_of(mdb_env_create(&s->env));

	if (err)
		return err;
	err = errno_of(mdb_env_set_maxdbs(s->env, 2));
	if (!err)
		err = errno_of(mdb_env_set_mapsize(s->env, map_bytes));
	if (!err)
		err = errno_of(mdb_env_open(
			s->env, path, MDB_NOSUBDIR | MDB_NOTLS | MDB_NOLOCK,
			0600));
	if (err) {
		mdb_env_close(s->env);
		s->env = NULL;
	}
	return err;
}

static int read_identity(struct share_state *s, MDB_txn *txn)
{
	MDB_val key = { strlen(IDENTITY_KEY), IDENTITY_KEY }, value;
	int err = errno_of(mdb_get(txn, s->meta, &key, &value));

	if (!err)
		return identity_load(&value, &s->identity);
	if (err != -ENOENT)
		return err;
	if (getrandom(s->identity.host, DB_UUID_BYTES, 0) != DB_UUID_BYTES)
		return -EAGAIN;
	return 0;
}

static int open_tables(struct share_state *s)
{
	MDB_txn *txn;
	int err = errno_of(mdb_txn_begin(s->env, NULL, 0, &txn));

	if (err)
		return err;
	err = errno_of(mdb_dbi_open(txn, "meta", MDB_CREATE, &s->meta));
	if (!err)
		err = errno_of(mdb_dbi_open(txn, "publications", MDB_CREATE,
					    &s->publications));
	if (!err)
		err = read_identity(s, txn);
	if (err)
		mdb_txn_abort(txn);
	else
		err = errno_of(mdb_txn_commit(txn));
	return err;
}

static int open_state(struct share_state *s, const char *directory)
{
	struct buf path = { 0 };
	int err = lock(s, directory);

	if (!err)
		err = buf_append_format(&path, "%s/state.mdb", directory);
	if (!err)
		err = open_file(s, path.data, MAP_BYTES);
	if (err == -ENOMEM)
		err = open_file(s, path.data, MAP_SMALL);
	if (!err)
		err = open_tables(s);
	buf_release(&path);
	return err ? err : share_state_save(s);
}

int share_state_open(const char *directory, struct share_state **out)
{
	struct share_state *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return -ENOMEM;
	s->lock_fd = -1;
	err = open_state(s, directory);
	if (err)
		share_state_close(s);
	else
		*out = s;
	return err;
}

void share_state_close(struct share_state *s)
{
	if (!s)
		return;
	if (s->env)
		mdb_env_close(s->env);
	if (s->lock_fd >= 0)
		(void)close(s->lock_fd);
	free(s);
}

struct share_identity *share_state_identity(struct share_state *s)
{
	return &s->identity;
}

/* ---- writing ---- */

static int put_identity(struct share_state *s, MDB_txn *txn)
{
	uint8_t bytes[IDENTITY_BYTES];
	MDB_val key = { strlen(IDENTITY_KEY), IDENTITY_KEY };
	MDB_val value = { sizeof(bytes), bytes };

	identity_store(&s->identity, bytes);
	return errno_of(mdb_put(txn, s->meta, &key, &value, 0));
}

static int put_publication(struct share_state *s, MDB_txn *txn,
			   const struct share_publication *x)
{
	uint8_t k[KEY_BYTES], v[VALUE_BYTES];
	MDB_val key = { sizeof(k), k }, value = { sizeof(v), v };

	key_store(x, k);
	v[0] = x->is_known;
	store_le64(v + 1, x->hash);
	return errno_of(mdb_put(txn, s->publications, &key, &value, 0));
}

static int remove_publication(struct share_state *s, MDB_txn *txn,
			      const struct share_publication *x)
{
	uint8_t k[KEY_BYTES];
	MDB_val key = { sizeof(k), k };
	int err;

	key_store(x, k);
	err = errno_of(mdb_del(txn, s->publications, &key, NULL));
	return err == -ENOENT ? 0 : err;
}

int share_state_apply(struct share_state *s,
		      const struct share_publication *put, size_t put_count,
		      const struct share_publication *gone, size_t gone_count)
{
	MDB_txn *txn;
	size_t i;
	int err = errno_of(mdb_txn_begin(s->env, NULL, 0, &txn));

	if (err)
		return err;
	err = put_identity(s, txn);
	for (i = 0; i < gone_count && !err; i++)
		err = remove_publication(s, txn, &gone[i]);
	for (i = 0; i < put_count && !err; i++)
		err = put_publication(s, txn, &put[i]);
	if (err)
		mdb_txn_abort(txn);
	else
		err = errno_of(mdb_txn_commit(txn));
	return err;
}

int share_state_save(struct share_state *s)
{
	return share_state_apply(s, NULL, 0, NULL, 0);
}

int share_state_clear(struct share_state *s)
{
	MDB_txn *txn;
	int err = errno_of(mdb_txn_begin(s->env, NULL, 0, &txn));

	if (err)
		return err;
	err = put_identity(s, txn);
	if (!err)
		err = errno_of(mdb_drop(txn, s->publications, 0));
	if (err)
		mdb_txn_abort(txn);
	else
		err = errno_of(mdb_txn_commit(txn));
	return err;
}

/* ---- reading ---- */

static int begin_reading(struct share_state *s, MDB_txn **txn_out,
			 MDB_cursor **cursor_out)
{
	int err = errno_of(mdb_txn_begin(s->env, NULL, MDB_RDONLY, txn_out));

	if (err)
		return err;
	err = errno_of(mdb_cursor_open(*txn_out, s->publications, cursor_out));
	if (err)
		mdb_txn_abort(*txn_out);
	return err;
}

int share_state_of_file(struct share_state *s, const struct file_key *file,
			struct share_publication *out, size_t max,
			size_t *count_out)
{
	uint8_t prefix[FILE_BYTES];
	MDB_val key = { sizeof(prefix), prefix }, value;
	MDB_cursor *cursor;
	size_t count = 0;
	MDB_txn *txn;
	int err = begin_reading(s, &txn, &cursor);

	if (err)
		return err;
	file_store(file, prefix);
	err = errno_of(mdb_cursor_get(cursor, &key, &value, MDB_SET_RANGE));
	while (!err && count < max) {
		err = publication_load(&key, &value, &out[count]);
		if (err || !file_key_equal(&out[count].file, file))
			break;
		count++;
		err = errno_of(mdb_cursor_get(cursor, &key, &value, MDB_NEXT));
	}
	mdb_cursor_close(cursor);
	mdb_txn_abort(txn);
	*count_out = count;
	return err == -ENOENT ? 0 : err;
}

int share_state_files(struct share_state *s, const struct file_key *after,
		      struct file_key *out, size_t max, size_t *count_out)
{
	uint8_t last[KEY_BYTES];
	MDB_val key = { sizeof(last), last }, value;
	struct share_publication x;
	MDB_cursor *cursor;
	size_t count = 0;
	MDB_txn *txn;
	int err = begin_reading(s, &txn, &cursor);

	if (err)
		return err;
	/* Behind all of that file. */
	memset(last, 0xff, sizeof(last));
	if (after)
		file_store(after, last);
	err = errno_of(mdb_cursor_get(cursor, &key, &value,
				      after ? MDB_SET_RANGE : MDB_FIRST));
	while (!err && count < max) {
		err = publication_load(&key, &value, &x);
		if (!err && !(after && file_key_equal(&x.file, after)) &&
		    !(count && file_key_equal(&x.file, &out[count - 1])))
			out[count++] = x.file;
		if (!err)
			err = errno_of(
				mdb_cursor_get(cursor, &key, &value, MDB_NEXT));
	}
	mdb_cursor_close(cursor);
	mdb_txn_abort(txn);
	*count_out = count;
	return err == -ENOENT ? 0 : err;
}

int share_state_count(struct share_state *s, uint64_t *out)
{
	MDB_stat st;
	MDB_txn *txn;
	int err = errno_of(mdb_txn_begin(s->env, NULL, MDB_RDONLY, &txn));

	if (err)
		return err;
	err = errno_of(mdb_stat(txn, s->publications, &st));
	mdb_txn_abort(txn);
	if (!err)
		*out = st.ms_entries;
	return err;
}
