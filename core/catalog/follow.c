/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <sys/stat.h>

#include "core/catalog/catalog_impl.h"

/*
 * A second process reads the daemon's catalog.  Its transactions are in the
 * reader table of LMDB's lock file, so the daemon's LMDB does not reuse the
 * pages that they need.  A daemon that replaces the data file removes the lock
 * file, too (data_dir_forget_readers()).  So a process with the old files
 * cannot disturb the daemon, and finds out by their inode numbers.
 */

static int inode_of(const struct catalog *c, const char *name, ino_t *out)
{
	struct buf path = { 0 };
	struct stat st;
	int err = buf_append_format(&path, "%s/%s", c->directory, name);

	if (!err && stat(path.data, &st))
		err = -errno;
	if (!err)
		*out = st.st_ino;
	buf_release(&path);
	return err;
}

bool catalog_follow_holds(const struct catalog *c)
{
	ino_t data, lock;

	return !inode_of(c, CATALOG_DATA_FILE, &data) &&
	       !inode_of(c, CATALOG_READERS_FILE, &lock) &&
	       data == c->data_inode && lock == c->lock_inode;
}

static int open_tables(struct catalog *c)
{
	MDB_txn *mdb;
	int err = catalog_errno(mdb_txn_begin(c->env, NULL, MDB_RDONLY, &mdb));

	if (err)
		return err;
	err = env_open_tables(c, mdb, false);
	if (err)
		mdb_txn_abort(mdb);
	else
		err = catalog_errno(mdb_txn_commit(mdb));
	return err;
}

/* -EAGAIN: a file was replaced while they were opened. */
static int open_follower(struct catalog *c)
{
	int err = inode_of(c, CATALOG_DATA_FILE, &c->data_inode);
	ino_t lock = 0;

	if (err)
		return err;
	(void)inode_of(c, CATALOG_READERS_FILE, &lock);
	err = env_map(c, MDB_RDONLY);
	if (!err)
		GUARDED(c, err, catalog_errno(mdb_reader_check(c->env, NULL)));
	if (err)
		return err;
	err = inode_of(c, CATALOG_READERS_FILE, &c->lock_inode);
	if (!err &&
	    (!catalog_follow_holds(c) || (lock && lock != c->lock_inode)))
		err = -EAGAIN;
	if (!err)
		GUARDED(c, err, open_tables(c));
	return err;
}

int catalog_follow(const char *directory, struct catalog **out)
{
	struct catalog *c;
	int err = catalog_new(directory, &c);

	if (err)
		return err;
	err = open_follower(c);
	if (err)
		catalog_free(c);
	else
		*out = c;
	return err;
}
