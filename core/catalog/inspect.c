/* SPDX-License-Identifier: Apache-2.0 */
#include "core/catalog/inspect.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/catalog/catalog_impl.h"

/* The copy; it is renamed to the data file when it is complete. */
#define COPY_FILE CATALOG_DATA_FILE ".new"
#define COPY_ROOM ((size_t)64 << 20)

/* Bytes copied in one transaction, which LMDB keeps in memory. */
#define BATCH_BYTES ((size_t)16 << 20)

/* Between two checks whether the parent still waits for the result. */
#define RECORDS_BETWEEN_LOOKS 1024

struct inspector {
	const char *directory;
	int fd;             /* socket to the parent */
	MDB_env *from, *to; /* to: NULL with INSPECT_READ */
	MDB_txn *read, *write;
	MDB_dbi from_dbs[DB_COUNT], to_dbs[DB_COUNT];
	size_t batch; /* bytes copied in this transaction */
	size_t records;
	int copy_error; /* why the copy cannot be made; 0: it can */
};

/* ---- one record ---- */

static int check_digest(int id, const MDB_val *value)
{
	struct digest_value v;

	return digest_record_decode(id, value, &v) ? 0 : -EUCLEAN;
}

static int check_meta(const MDB_val *key, const MDB_val *value)
{
	struct catalog_meta m;

	if (key->mv_size != strlen(META_KEY) ||
	    memcmp(key->mv_data, META_KEY, key->mv_size) != 0)
		return value->mv_size <= PATH_MAX ? 0 : -EUCLEAN;
	return meta_decode(value, &m);
}

/* For tables with empty values.  LMDB uses the size of a value when the record
 * is removed or copied, so it must be valid. */
static int check_no_value(int err, const MDB_val *value)
{
	return !err && value->mv_size > 0 ? -EUCLEAN : err;
}

/* -EUCLEAN: the record is not valid in that table. */
static int check_record(enum catalog_db db, const MDB_val *key,
			const MDB_val *value)
{
	struct file_key file, parent;
	struct catalog_name name;
	struct file_record r;
	struct digests d;
	uint32_t content;
	int err;

	switch (db) {
	case DB_FILES:
		err = file_key_decode(key, &file);
		return err ? err : file_record_decode(value, &r);
	case DB_NAMES:
		err = name_key_decode(key, &parent, &name);
		return err ? err : file_key_decode(value, &file);
	case DB_LINKS:
		err = link_key_decode(key, &file, &parent, &name);
		return check_no_value(err, value);
	case DB_CONTENTS:
		err = content_id_decode(key, &content);
		return err ? err : content_decode(value, &d);
	case DB_IDENTITIES:
		return content_id_decode(value, &content);
	case DB_COPIES:
		err = copy_key_decode(key, &content, &file);
		return check_no_value(err, value);
	case DB_DIRTY:
		err = file_key_decode(key, &file);
		return err || value->mv_size == 8 ? err : -EUCLEAN;
	case DB_PENDING:
		return check_no_value(file_key_decode(key, &file), value);
	case DB_META:
		return check_meta(key, value);
	default:
		err = content_id_decode(key, &content);
		return err ? err : check_digest(db - DB_DIGESTS, value);
	}
}

/* ---- the copy ---- */

static int begin_batch(struct inspector *in)
{
	in->batch = 0;
	return catalog_errno(mdb_txn_begin(in->to, NULL, 0, &in->write));
}

static int end_batch(struct inspector *in)
{
	int err = catalog_errno(mdb_txn_commit(in->write));

	in->write = NULL;
	return err;
}

/* If LMDB refuses a record, or the map of twice the file's size is full, the
 * file is damaged.  Other errors mean that there is no room for a copy. */
static int note_copy_error(struct inspector *in, int err)
{
	if (err == -E2BIG || err == -EINVAL || err == -EUCLEAN)
		return -EUCLEAN;
	in->copy_error = err;
	return err;
}

static int copy_record(struct inspector *in, enum catalog_db db, MDB_val key,
		       MDB_val value)
{
	int err = 0;

	if (in->batch > BATCH_BYTES) {
		err = end_batch(in);
		if (!err)
			err = begin_batch(in);
	}
	if (!err)
		err = catalog_errno(mdb_put(in->write, in->to_dbs[db], &key,
					    &value, MDB_APPEND));
	in->batch += key.mv_size + value.mv_size;
	return note_copy_error(in, err);
}

static int copy_path(const struct inspector *in, struct buf *out)
{
	return buf_append_format(out, "%s/%s", in->directory, COPY_FILE);
}

static int copy_open(struct inspector *in, size_t size)
{
	struct buf path = { 0 };
	int i, err = copy_path(in, &path);

	if (!err)
		(void)unlink(path.data);
	if (!err)
		err = catalog_errno(mdb_env_create(&in->to));
	if (!err)
		err = catalog_errno(mdb_env_set_maxdbs(in->to, DB_COUNT));
	if (!err)
		err = catalog_errno(
			mdb_env_set_mapsize(in->to, 2 * size + COPY_ROOM));
	if (!err)
		err = catalog_errno(mdb_env_open(
			in->to, path.data,
			MDB_NOSUBDIR | MDB_NOLOCK | MDB_NOSYNC, 0600));
	if (!err)
		err = begin_batch(in);
	for (i = 0; !err && i < DB_COUNT; i++)
		err = catalog_errno(mdb_dbi_open(in->write, catalog_db_name(i),
						 MDB_CREATE, &in->to_dbs[i]));
	buf_release(&path);
	in->copy_error = err;
	return err;
}

/* The copy is durable before it replaces the file. */
static int copy_finish(struct inspector *in)
{
	struct buf from = { 0 }, to = { 0 };
	int fd, err = end_batch(in);

	if (!err)
		err = catalog_errno(mdb_env_sync(in->to, 1));
	if (!err)
		err = copy_path(in, &from);
	if (!err)
		err = buf_append_format(&to, "%s/%s", in->directory,
					CATALOG_DATA_FILE);
	if (!err && rename(from.data, to.data) != 0)
		err = -errno;
	if (!err)
		data_dir_forget_readers(in->directory);
	fd = err ? -1 : open(in->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0) {
		(void)fsync(fd);
		(void)close(fd);
	}
	buf_release(&from);
	buf_release(&to);
	in->copy_error = err;
	return err;
}

static void copy_remove(const struct inspector *in)
{
	struct buf path = { 0 };

	if (!copy_path(in, &path))
		(void)unlink(path.data);
	buf_release(&path);
}

/* ---- the file ---- */

static bool is_parent_waiting(struct inspector *in)
{
	struct pollfd parent = { .fd = in->fd };

	if (in->records++ % RECORDS_BETWEEN_LOOKS)
		return true;
	return poll(&parent, 1, 0) <= 0;
}

static int inspect_record(struct inspector *in, enum catalog_db db,
			  const MDB_val *key, const MDB_val *value)
{
	int err = is_parent_waiting(in) ? check_record(db, key, value) :
					  -ECANCELED;

	return err || !in->to ? err : copy_record(in, db, *key, *value);
}

/* Also checks that keys ascend, and that their number is that of the table. */
static int inspect_table(struct inspector *in, enum catalog_db db)
{
	MDB_dbi dbi = in->from_dbs[db];
	MDB_val key, value, last = { 0 };
	MDB_cursor *cursor;
	size_t count = 0;
	MDB_stat st;
	int err = catalog_errno(mdb_stat(in->read, dbi, &st));

	if (!err)
		err = catalog_errno(mdb_cursor_open(in->read, dbi, &cursor));
	if (err)
		return err;
	while (!(err = catalog_errno(
			 mdb_cursor_get(cursor, &key, &value, MDB_NEXT)))) {
		if (count++ && mdb_cmp(in->read, dbi, &last, &key) >= 0)
			err = -EUCLEAN;
		if (!err)
			err = inspect_record(in, db, &key, &value);
		if (err)
			break;
		last = key;
	}
	mdb_cursor_close(cursor);
	if (err != -ENOENT)
		return err;
	return count == st.ms_entries ? 0 : -EUCLEAN;
}

static int inspect_tables(struct inspector *in)
{
	int i, err = 0;

	for (i = 0; !err && i < DB_COUNT; i++)
		err = inspect_table(in, i);
	return err;
}

static int file_size(const char *directory, size_t *out)
{
	struct buf path = { 0 };
	struct stat st;
	int err =
		buf_append_format(&path, "%s/%s", directory, CATALOG_DATA_FILE);

	if (!err && stat(path.data, &st) != 0)
		err = -errno;
	if (!err)
		*out = (size_t)st.st_size;
	buf_release(&path);
	return err;
}

static int from_open(struct inspector *in, size_t size)
{
	int err = catalog_errno(mdb_env_create(&in->from));

	if (!err)
		err = catalog_errno(mdb_env_set_maxdbs(in->from, DB_COUNT));
	if (!err)
		err = catalog_errno(mdb_env_set_mapsize(in->from, size));
	if (err)
		return err;
	return catalog_errno(mdb_env_open(in->from, in->directory,
					  MDB_RDONLY | MDB_NOLOCK, 0600));
}

/* empty_out: the file has no tables yet. */
static int tables_open(struct inspector *in, bool *empty_out)
{
	MDB_stat st;
	int i, err;

	err = catalog_errno(
		mdb_txn_begin(in->from, NULL, MDB_RDONLY, &in->read));
	if (!err)
		err = catalog_errno(mdb_env_stat(in->from, &st));
	if (err)
		return err;
	*empty_out = st.ms_entries == 0;
	for (i = 0; !err && !*empty_out && i < DB_COUNT; i++)
		err = catalog_errno(mdb_dbi_open(in->read, catalog_db_name(i),
						 0, &in->from_dbs[i]));
	/* An LMDB file of another program. */
	return err == -ENOENT ? -EUCLEAN : err;
}

static int inspect_file(struct inspector *in, enum inspect_mode mode)
{
	bool empty = false;
	size_t size = 0;
	int err = file_size(in->directory, &size);

	if (!err)
		err = from_open(in, size);
	if (!err)
		err = tables_open(in, &empty);
	if (err || empty)
		return err;
	if (mode == INSPECT_COPY)
		err = copy_open(in, size);
	if (!err)
		err = inspect_tables(in);
	return err || !in->to ? err : copy_finish(in);
}

/* With a damaged file LMDB may try to map an impossible size, or to read a bad
 * block of the disk. */
static bool is_damage(int err)
{
	return err == -EINVAL || err == -ENOMEM || err == -EIO ||
	       err == -EOVERFLOW;
}

static int inspect_directory(const char *directory, int fd,
			     enum inspect_mode mode)
{
	struct inspector in = { .directory = directory, .fd = fd };
	int err = inspect_file(&in, mode);

	if (mode == INSPECT_COPY && err) {
		if (in.write)
			mdb_txn_abort(in.write);
		copy_remove(&in);
		if (in.copy_error)
			return inspect_directory(directory, fd, INSPECT_READ);
	}
	return is_damage(err) ? -EUCLEAN : err;
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

static _Noreturn void child_run(const char *directory, int fd,
				enum inspect_mode mode, pid_t parent)
{
	int32_t verdict;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	(void)prctl(PR_SET_NAME, "kinfs-inspect");
	expect_crashes();
	fd = close_descriptors(fd);
	verdict = inspect_directory(directory, fd, mode);
	(void)send(fd, &verdict, sizeof(verdict), MSG_NOSIGNAL);
	_exit(0);
}

/* ---- the parent ---- */

int inspection_start(const char *directory, enum inspect_mode mode,
		     struct inspection *out)
{
	pid_t parent = getpid(), child;
	int ends[2], err;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
		return -errno;
	child = fork();
	if (child == 0)
		child_run(directory, ends[1], mode, parent);
	err = child < 0 ? -errno : 0;
	(void)close(ends[1]);
	if (err) {
		(void)close(ends[0]);
		return err;
	}
	out->pid = child;
	out->fd = ends[0];
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
