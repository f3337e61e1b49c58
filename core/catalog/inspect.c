/* SPDX-License-Identifier: Apache-2.0 */
#include "core/catalog/catalog_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/bytes.h"
#include "core/base/xxh3.h"

/*
 * Whether LMDB can open a data file safely.
 *
 * The seal is a file with the digest of the whole data file.  It is written
 * when the catalog is closed, and removed, durably, before the next change.  So
 * a data file that matches its seal is as LMDB wrote it.
 *
 * A data file has no seal if its process was killed or the host lost power.
 * Then it is inspected, in a child process.  LMDB trusts its file: a wrong
 * offset in a page becomes an invalid pointer.  So a child process reads every
 * record by LMDB's own calls, compares its sum (record_sum()), and writes it to
 * a new file, which then replaces the old one.  If the file is damaged, the
 * child may crash, but not the daemon.  Nothing here depends on LMDB's file
 * format.
 *
 * The copy is needed because a file whose records can be read may still crash a
 * writer: only writes use the free space of a page and the list of free pages.
 * (mdb_env_copy2() would copy pages as they are.)  It also has full pages, so a
 * process packs its own catalog in the same way (catalog_pack()).
 *
 * The child is forked and executes no program.  So the parent must have a
 * single thread, and it must not have entered its sandbox (fs/sandbox.c).  The
 * child is killed when its parent ends.
 */

/* More than twice the file's size that the map of the copy has. */
#define COPY_ROOM ((size_t)64 << 20)

/* A smaller data file is not packed. */
#define PACK_LEAST ((size_t)4 << 20)

/* Bytes copied in one transaction, which LMDB keeps in memory. */
#define BATCH_BYTES ((size_t)16 << 20)

/* Between two checks whether the parent still waits for the result. */
#define RECORDS_BETWEEN_LOOKS 1024

struct inspector {
	const struct catalog *c;
	int fd; /* socket to the parent; -1: the process packs its own catalog */
	MDB_env *from, *to; /* to: NULL without a copy */
	MDB_txn *read, *write;
	size_t batch; /* bytes copied in this transaction */
	size_t records;
};

/* With a damaged file LMDB may try to map an impossible size, or to read a bad
 * block of the disk. */
static int from_errno(int rc)
{
	int err = catalog_errno(rc);

	return err == -EINVAL || err == -ENOMEM || err == -EIO ||
			       err == -EOVERFLOW ?
		       -EUCLEAN :
		       err;
}

/* If LMDB refuses a record, or the map of twice the file's size is full, the
 * file is damaged.  Other errors mean that there is no room for a copy. */
static int to_errno(const struct inspector *in, int rc)
{
	int err = catalog_commit_errno(in->c, rc);

	return rc == MDB_MAP_FULL || err == -EINVAL ? -EUCLEAN : err;
}

static int open_env(const char *path, size_t map_bytes, unsigned flags,
		    MDB_env **out)
{
	int rc = mdb_env_create(out);

	if (!rc)
		rc = mdb_env_set_maxdbs(*out, DB_COUNT);
	if (!rc)
		rc = mdb_env_set_mapsize(*out, map_bytes);
	return rc ? rc :
		    mdb_env_open(*out, path, MDB_NOSUBDIR | MDB_NOLOCK | flags,
				 0600);
}

/* Whether nobody waits for the result any more. */
static bool is_cancelled(struct inspector *in)
{
	struct pollfd parent = { .fd = in->fd };

	if (in->fd < 0)
		return atomic_load(&in->c->cancelled);
	return in->records++ % RECORDS_BETWEEN_LOOKS == 0 &&
	       poll(&parent, 1, 0) > 0;
}

static int inspect_record(struct inspector *in, enum catalog_db db, MDB_dbi to,
			  MDB_val key, MDB_val value)
{
	MDB_val content = value;
	struct catalog_meta m;
	int rc = 0, err = 0;

	if (is_cancelled(in))
		return -ECANCELED;
	if (!record_take_sum(&key, &content))
		return -EUCLEAN;
	if (db == DB_META && key.mv_size == META_KEY.len &&
	    !memcmp(key.mv_data, META_KEY.bytes, key.mv_size))
		err = meta_decode(&content, &m);
	if (err || !in->to)
		return err;
	in->batch += key.mv_size + value.mv_size;
	if (in->batch > BATCH_BYTES) {
		in->batch = 0;
		rc = mdb_txn_commit(in->write);
		in->write = NULL; /* freed, also after an error */
		if (!rc)
			rc = mdb_txn_begin(in->to, NULL, 0, &in->write);
	}
	if (!rc)
		rc = mdb_put(in->write, to, &key, &value, MDB_APPEND);
	return to_errno(in, rc);
}

/* Keys that do not ascend cannot be appended. */
static int inspect_table(struct inspector *in, enum catalog_db db)
{
	const char *name = catalog_db_names[db];
	MDB_cursor *cursor;
	MDB_dbi from, to = 0;
	MDB_val key, value;
	size_t count = 0;
	MDB_stat st;
	int err = from_errno(mdb_dbi_open(in->read, name, 0, &from));

	if (err) /* -ENOENT: an LMDB file of another program */
		return err == -ENOENT ? -EUCLEAN : err;
	if (in->to)
		err = to_errno(in,
			       mdb_dbi_open(in->write, name, MDB_CREATE, &to));
	if (!err)
		err = from_errno(mdb_stat(in->read, from, &st));
	if (!err)
		err = from_errno(mdb_cursor_open(in->read, from, &cursor));
	if (err)
		return err;
	while (!err) {
		err = from_errno(
			mdb_cursor_get(cursor, &key, &value, MDB_NEXT));
		if (!err)
			err = inspect_record(in, db, to, key, value);
		count += !err;
	}
	mdb_cursor_close(cursor);
	if (err == -ENOENT)
		err = count == st.ms_entries ? 0 : -EUCLEAN;
	return err;
}

static int inspect_tables(struct inspector *in)
{
	int i, err = 0;

	for (i = 0; !err && i < DB_COUNT; i++)
		err = inspect_table(in, i);
	return err;
}

/* Writes all records to the copy. */
static int copy_tables(struct inspector *in, size_t size)
{
	int rc, err;

	(void)unlink(in->c->copy);
	rc = open_env(in->c->copy, 2 * size + COPY_ROOM, MDB_NOSYNC, &in->to);
	if (!rc)
		rc = mdb_txn_begin(in->to, NULL, 0, &in->write);
	err = to_errno(in, rc);
	if (!err)
		err = inspect_tables(in);
	if (!err) {
		rc = mdb_txn_commit(in->write);
		in->write = NULL;
		/* The copy is durable before it replaces the file. */
		err = to_errno(in, rc ? rc : mdb_env_sync(in->to, 1));
	}
	if (in->write)
		mdb_txn_abort(in->write);
	mdb_env_close(in->to);
	return err;
}

/* Followers of the old file have slots in LMDB's lock file, which it would take
 * for readers of the new one. */
static int adopt_copy(const struct catalog *c)
{
	if (renameat(c->dir, CATALOG_COPY_FILE, c->dir, CATALOG_DATA_FILE))
		return -errno;
	(void)unlinkat(c->dir, CATALOG_READERS_FILE, 0);
	return fsync(c->dir) ? -errno : 0;
}

static int inspect_file(struct inspector *in, bool copies)
{
	MDB_stat all;
	struct stat st;
	int err = stat(in->c->data, &st) ? -errno : 0;

	if (!err)
		err = from_errno(open_env(in->c->data, (size_t)st.st_size,
					  MDB_RDONLY, &in->from));
	if (!err)
		err = from_errno(
			mdb_txn_begin(in->from, NULL, MDB_RDONLY, &in->read));
	if (!err)
		err = from_errno(mdb_env_stat(in->from, &all));
	if (err || all.ms_entries == 0) /* no tables yet */
		return err;
	if (!copies)
		return inspect_tables(in);
	return copy_tables(in, (size_t)st.st_size) ?: adopt_copy(in->c);
}

/* The child ends after one file, so nothing is closed or freed. */
static int inspect(const struct catalog *c, int fd)
{
	struct inspector in = { .c = c, .fd = fd };
	int err = inspect_file(&in, true);

	if (err)
		(void)unlink(c->copy);
	if (!err || err == -EUCLEAN || err == -EMEDIUMTYPE || err == -ECANCELED)
		return err;
	/* There is no room for a copy. */
	in = (struct inspector){ .c = c, .fd = fd };
	return inspect_file(&in, false);
}

/* ---- the child ---- */

/* A crash of the child is expected: it leaves no core dump and no message. */
static void expect_crashes(void)
{
	static const int signals[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL,
				       SIGABRT };
	const struct rlimit none = { .rlim_cur = 0, .rlim_max = 0 };
	size_t i;

	for (i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		(void)signal(signals[i], SIG_DFL);
	(void)setrlimit(RLIMIT_CORE, &none);
	(void)prctl(PR_SET_DUMPABLE, 0);
}

/* Closes all descriptors but fd.  Other processes may wait until inherited ones
 * are closed; and 0 to 2 must be open, so that the data file is none of them.
 * Returns the new number of fd. */
static int close_descriptors(int fd)
{
	int null = open("/dev/null", O_RDWR), i;

	for (i = 0; null >= 0 && i <= STDERR_FILENO; i++)
		(void)dup2(null, i);
	fd = dup2(fd, STDERR_FILENO + 1);
	(void)close_range(STDERR_FILENO + 2, ~0U, 0);
	return fd;
}

static _Noreturn void child_run(struct catalog *c, int fd, pid_t parent)
{
	int32_t verdict;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	(void)prctl(PR_SET_NAME, "kinfs-inspect");
	expect_crashes();
	fd = close_descriptors(fd);
	c->dir = open(c->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	verdict = c->dir < 0 ? -errno : inspect(c, fd);
	(void)send(fd, &verdict, sizeof(verdict), MSG_NOSIGNAL);
	_exit(0);
}

/* ---- the parent ---- */

int inspection_start(struct catalog *c)
{
	pid_t parent = getpid(), child;
	int ends[2], err;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
		return -errno;
	child = fork();
	if (child == 0)
		child_run(c, ends[1], parent);
	err = child < 0 ? -errno : 0;
	(void)close(ends[1]);
	if (err) {
		(void)close(ends[0]);
		return err;
	}
	c->inspection = (struct inspection){ child, ends[0] };
	return 0;
}

int inspection_wait(struct inspection *i)
{
	int32_t verdict = 0;
	ssize_t n;
	int status = 0;

	do
		n = recv(i->fd, &verdict, sizeof(verdict), MSG_WAITALL);
	while (n < 0 && errno == EINTR);
	while (waitpid(i->pid, &status, 0) < 0 && errno == EINTR)
		;
	(void)close(i->fd);
	i->pid = 0;
	i->fd = -1;
	if (n == sizeof(verdict))
		return verdict;
	/* SIGKILL is not caused by the file, but by the OOM killer. */
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
		return -ENOMEM;
	return -EUCLEAN;
}

void inspection_cancel(const struct inspection *i)
{
	(void)shutdown(i->fd, SHUT_RDWR);
}

/* ---- packing ---- */

/* Puts the copy in the place of the data file, unless that has changed
 * since. */
static int replace_unchanged(struct catalog *c, uint64_t snapshot)
{
	MDB_envinfo info = { 0 };
	int err = atomic_load(&c->lost) ? -EUCLEAN : 0, reopened;

	if (!err)
		GUARDED(c, err, catalog_errno(mdb_env_info(c->env, &info)));
	if (!err && info.me_last_txnid != snapshot)
		err = -EAGAIN;
	if (err)
		return err;
	env_close(c);
	err = adopt_copy(c);
	c->replaced++;
	reopened = env_open(c);
	if (reopened)
		catalog_admit(c, reopened);
	return err ? err : reopened;
}

int catalog_pack(struct catalog *c)
{
	struct inspector in = { .c = c, .fd = -1 };
	size_t size = atomic_load(&c->file_bytes);
	struct statvfs disk;
	struct catalog_txn *txn;
	uint64_t snapshot;
	int err;

	if (size < PACK_LEAST || size - size / 5 < c->packed)
		return 0;
	if (fstatvfs(c->dir, &disk) || disk.f_bavail < 2 * size / disk.f_frsize)
		return -ENOSPC; /* others shall not meet a full disk */
	err = catalog_read(c, &txn);
	if (err)
		return err;
	snapshot = mdb_txn_id(txn->mdb);
	in.read = txn->mdb;
	GUARDED(c, err, copy_tables(&in, size));
	catalog_abort(txn);
	if (!err) {
		map_gate_close(&c->gate);
		err = replace_unchanged(c, snapshot);
		map_gate_open(&c->gate);
	}
	if (err)
		(void)unlinkat(c->dir, CATALOG_COPY_FILE, 0);
	/* A file that does not become smaller is not tried at each rest. */
	if (err != -EAGAIN)
		c->packed = atomic_load(&c->file_bytes);
	return err;
}

/* ---- the seal ---- */

enum { SEAL_BYTES = 16, CHUNK = 128 << 10 };

/* The seal of the present data file: its digest and its size. */
static int seal_make(const struct catalog *c, bool waits, uint8_t *seal)
{
	int fd = openat(c->dir, CATALOG_DATA_FILE, O_RDONLY | O_CLOEXEC);
	char *chunk = malloc(CHUNK);
	uint64_t digest = 0, size = 0;
	ssize_t n = 1;
	int err = fd < 0 ? -errno : chunk ? 0 : -ENOMEM;

	if (!err)
		(void)posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
	while (!err && n > 0) {
		n = read(fd, chunk, CHUNK);
		if (n < 0) {
			err = -errno;
		} else if (waits && atomic_load(&c->cancelled)) {
			err = -ECANCELED;
		} else {
			digest = XXH3_64bits_withSeed(chunk, (size_t)n, digest);
			size += (size_t)n;
		}
	}
	free(chunk);
	if (fd >= 0)
		(void)close(fd);
	store_le64(seal, digest);
	store_le64(seal + 8, size);
	return err;
}

int seal_write(const struct catalog *c)
{
	uint8_t seal[SEAL_BYTES];
	int err = seal_make(c, false, seal);

	return err ? err : data_dir_write(c->dir, SEAL_FILE, seal, SEAL_BYTES);
}

int seal_check(const struct catalog *c)
{
	uint8_t seal[SEAL_BYTES], kept[SEAL_BYTES + 1];
	ssize_t len = data_dir_read(c->dir, SEAL_FILE, kept, sizeof(kept));
	int err = len < 0 ? (int)len : seal_make(c, true, seal);

	if (!err && (len != SEAL_BYTES || memcmp(seal, kept, SEAL_BYTES) != 0))
		err = -EUCLEAN;
	/* -EIO: a part of the file cannot be read. */
	return err == -EIO || err == -ENOENT ? -EUCLEAN : err;
}

int catalog_unseal(struct catalog *c)
{
	int err = c->sealed ? data_dir_remove(c->dir, SEAL_FILE) : 0;

	c->sealed = c->sealed && err;
	return err;
}
