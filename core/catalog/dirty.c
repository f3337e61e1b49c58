/* SPDX-License-Identifier: Apache-2.0 */
#include "core/catalog/catalog_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define ACK_FILE CATALOG_SHARE_DIRECTORY "/ack"
/* Entries that one transaction removes. */
#define TRIM_MAX 4096

/* ---- recording ---- */

bool dirty_is_wanted(struct catalog *c)
{
	bool wanted = !faccessat(c->dir, CATALOG_SHARE_DIRECTORY, F_OK, 0);
	int err = 0;

	/* Frees the reader slots of a share that was killed; otherwise LMDB
	 * would never reuse the pages that it read. */
	if (wanted)
		GUARDED(c, err, catalog_errno(mdb_reader_check(c->env, NULL)));
	(void)err;
	return wanted;
}

int dirty_get_mark(struct catalog_txn *txn, struct dirty_mark *out)
{
	int err = txn_get_value(txn, DB_META, SHARE_KEY, out, sizeof(*out));

	if (err == -ENOENT)
		*out = (struct dirty_mark){ 0 };
	return err == -ENOENT ? 0 : err;
}

/* Sets the number of the transaction. */
static int begin_change(struct catalog_txn *txn)
{
	struct dirty_mark mark;
	int err = dirty_get_mark(txn, &mark);

	if (err)
		return err;
	if (!mark.incarnation) {
		if (getrandom(&mark.incarnation, sizeof(mark.incarnation), 0) !=
		    sizeof(mark.incarnation))
			return -EAGAIN;
		mark.incarnation |= 1; /* not 0 */
	}
	mark.change++;
	txn->mark = mark;
	return txn_put(txn, DB_META, SHARE_KEY, &mark, sizeof(mark));
}

int dirty_add(struct catalog_txn *txn, const struct file_key *key)
{
	const uint64_t *change = &txn->mark.change;
	int err = 0;

	if (!txn->shared)
		return 0;
	if (!*change)
		err = begin_change(txn);
	return err ? err :
		     txn_put(txn, DB_DIRTY, key_of_file(key), change,
			     sizeof(*change));
}

/* ---- reading ---- */

static int decode_entry(const MDB_val *key, const MDB_val *value,
			struct file_key *key_out, uint64_t *change_out)
{
	int err = file_key_decode(key, key_out);

	return err || value_copy(value, change_out, sizeof(*change_out)) ?
		       err :
		       -EUCLEAN;
}

int dirty_begin(struct catalog_txn *txn, const struct file_key *from,
		struct catalog_walk **out)
{
	int err = walk_begin(txn, DB_DIRTY, from ? key_of_file(from) : ANY_KEY,
			     out);

	if (!err)
		(*out)->open_end = true;
	return err;
}

int dirty_next(struct catalog_walk *w, uint64_t change,
	       struct file_key *key_out)
{
	uint64_t of_entry = 0;
	int err = 0, found = 1;

	while (!err && found == 1 && of_entry <= change) {
		found = walk_next(w);
		if (found == 1)
			err = decode_entry(&w->key, &w->value, key_out,
					   &of_entry);
	}
	return err ? err : found;
}

/* ---- removing ---- */

int dirty_register(const struct catalog *c)
{
	return mkdirat(c->dir, CATALOG_SHARE_DIRECTORY, 0700) &&
			       errno != EEXIST ?
		       -errno :
		       0;
}

int dirty_acknowledge(const struct catalog *c, const struct dirty_mark *mark)
{
	return data_dir_write(c->dir, ACK_FILE, mark, sizeof(*mark));
}

/* The number that the share has acknowledged; 0: none. */
static uint64_t get_acknowledged(const struct catalog_txn *txn)
{
	struct dirty_mark ack;
	ssize_t len =
		data_dir_read(txn->catalog->dir, ACK_FILE, &ack, sizeof(ack));

	return len == sizeof(ack) && ack.incarnation == txn->mark.incarnation ?
		       ack.change :
		       0;
}

int dirty_trim(struct catalog_txn *txn)
{
	struct record_key at = ANY_KEY;
	struct catalog *c = txn->catalog;
	uint64_t change, of_entry;
	struct file_key file;
	unsigned removed = 0;
	MDB_val key, value;
	int err = 0;

	if (!txn->shared || !txn->mark.change)
		return 0;
	change = get_acknowledged(txn);
	if (change == c->dirty_trimmed)
		return 0;
	while (!err && removed < TRIM_MAX) {
		err = txn_after(txn, DB_DIRTY, at, &key, &value);
		if (!err)
			err = decode_entry(&key, &value, &file, &of_entry);
		if (err)
			break;
		at = key_of_file(&file);
		if (of_entry <= change) {
			err = txn_delete(txn, DB_DIRTY, at);
			removed++;
		}
	}
	if (err == -ENOENT)
		c->dirty_trimmed = change;
	return err == -ENOENT ? 0 : err;
}
