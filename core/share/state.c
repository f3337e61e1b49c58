/* SPDX-License-Identifier: Apache-2.0 */
#include "core/share/session.h"

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
#define KEY_BYTES (SHARE_FILE_BYTES + DB_UUID_BYTES)
#define VALUE_BYTES 9

static int errno_of(int rc)
{
	if (rc == MDB_NOTFOUND)
		return -ENOENT;
	if (rc == MDB_MAP_FULL)
		return -ENOSPC;
	return rc > 0 ? -rc : rc ? -EUCLEAN : 0;
}

void share_file_store(const struct file_key *key, uint8_t *p)
{
	store_be32(p, key->device);
	store_be64(p + 4, key->inode);
	store_be32(p + 12, key->generation);
}

static void key_store(const struct share_publication *x, uint8_t *p)
{
	share_file_store(&x->file, p);
	memcpy(p + SHARE_FILE_BYTES, x->content, DB_UUID_BYTES);
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

static int end_txn(MDB_txn *txn, int err)
{
	if (!err)
		return errno_of(mdb_txn_commit(txn));
	mdb_txn_abort(txn);
	return err;
}

/* A new one has a random name. */
static int read_tables(struct share_state *s)
{
	MDB_val key = { strlen(IDENTITY_KEY), IDENTITY_KEY }, value;
	MDB_txn *txn;
	int err = errno_of(mdb_txn_begin(s->env, NULL, 0, &txn));

	if (err)
		return err;
	err = errno_of(mdb_dbi_open(txn, "meta", MDB_CREATE, &s->meta));
	if (!err)
		err = errno_of(mdb_dbi_open(txn, "publications", MDB_CREATE,
					    &s->publications));
	if (err)
		return end_txn(txn, err);
	err = errno_of(mdb_get(txn, s->meta, &key, &value));
	if (!err)
		err = identity_load(&value, &s->identity);
	else if (err == -ENOENT)
		err = getrandom(s->identity.host, DB_UUID_BYTES, 0) ==
				      DB_UUID_BYTES ?
			      0 :
			      -EAGAIN;
	return end_txn(txn, err);
}

static int open_state(struct share_state *s, const char *directory)
{
	struct buf path = { 0 };
	int err = buf_append_format(&path, "%s/lock", directory);

	if (err)
		return err;
	s->lock_fd = open(path.data, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW,
			  0600);
	if (s->lock_fd < 0)
		err = -errno;
	else if (flock(s->lock_fd, LOCK_EX | LOCK_NB))
		err = errno == EWOULDBLOCK ? -EBUSY : -errno;
	buf_clear(&path);
	if (!err)
		err = buf_append_format(&path, "%s/state.mdb", directory);
	if (!err)
		err = open_file(s, path.data, MAP_BYTES);
	if (err == -ENOMEM)
		err = open_file(s, path.data, MAP_SMALL);
	if (!err)
		err = read_tables(s);
	buf_release(&path);
	return err ? err : share_state_write(s, false, NULL, 0, NULL, 0);
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

int share_state_write(struct share_state *s, bool clear,
		      const struct share_publication *put, size_t put_count,
		      const struct share_publication *gone, size_t gone_count)
{
	uint8_t identity[IDENTITY_BYTES], k[KEY_BYTES], v[VALUE_BYTES];
	MDB_val key = { strlen(IDENTITY_KEY), IDENTITY_KEY };
	MDB_val value = { sizeof(identity), identity };
	MDB_stat st;
	MDB_txn *txn;
	size_t i;
	int err = errno_of(mdb_txn_begin(s->env, NULL, 0, &txn));

	if (err)
		return err;
	identity_store(&s->identity, identity);
	err = errno_of(mdb_put(txn, s->meta, &key, &value, 0));
	if (!err && clear)
		err = errno_of(mdb_drop(txn, s->publications, 0));
	key = (MDB_val){ sizeof(k), k };
	for (i = 0; i < gone_count && !err; i++) {
		key_store(&gone[i], k);
		err = errno_of(mdb_del(txn, s->publications, &key, NULL));
		err = err == -ENOENT ? 0 : err;
	}
	value = (MDB_val){ sizeof(v), v };
	for (i = 0; i < put_count && !err; i++) {
		key_store(&put[i], k);
		v[0] = put[i].is_known;
		store_le64(v + 1, put[i].hash);
		err = errno_of(mdb_put(txn, s->publications, &key, &value, 0));
	}
	if (!err)
		err = errno_of(mdb_stat(txn, s->publications, &st));
	err = end_txn(txn, err);
	if (!err)
		s->count = st.ms_entries;
	return err;
}

int share_state_read(struct share_state *s, const struct file_key *file,
		     bool of_file, struct share_publication *out, size_t max,
		     size_t *count_out)
{
	uint8_t from[KEY_BYTES];
	MDB_val key = { sizeof(from), from }, value;
	MDB_cursor *cursor;
	size_t count = 0;
	MDB_txn *txn;
	int err = errno_of(mdb_txn_begin(s->env, NULL, MDB_RDONLY, &txn));

	if (err)
		return err;
	err = errno_of(mdb_cursor_open(txn, s->publications, &cursor));
	if (err)
		return end_txn(txn, err);
	/* Before or behind all contents. */
	memset(from, of_file ? 0 : 0xff, sizeof(from));
	if (file)
		share_file_store(file, from);
	err = errno_of(mdb_cursor_get(cursor, &key, &value,
				      file ? MDB_SET_RANGE : MDB_FIRST));
	while (!err && count < max) {
		struct share_publication *x = &out[count];
		const uint8_t *k = key.mv_data, *v = value.mv_data;

		if (key.mv_size != KEY_BYTES || value.mv_size != VALUE_BYTES) {
			err = -EUCLEAN;
			break;
		}
		x->file = (struct file_key){ .device = load_be32(k),
					     .inode = load_be64(k + 4),
					     .generation = (uint16_t)load_be32(
						     k + 12) };
		memcpy(x->content, k + SHARE_FILE_BYTES, DB_UUID_BYTES);
		x->is_known = v[0] != 0;
		x->hash = load_le64(v + 1);
		if (of_file && !file_key_equal(&x->file, file))
			break;
		count++;
		err = errno_of(mdb_cursor_get(cursor, &key, &value, MDB_NEXT));
	}
	mdb_cursor_close(cursor);
	mdb_txn_abort(txn);
	*count_out = count;
	return err == -ENOENT ? 0 : err;
}
