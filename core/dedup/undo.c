/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/err.h"
#include "core/dedup/dedup_impl.h"

/*
 * A step that was begun left one of four states, whatever the journal says of
 * its end; which one is seen from the inode numbers of the path and of the name
 * beside it:
 *
 *   path          name beside it   what happened            what undo does
 *   old file      -                nothing, or undone       nothing
 *   old file      link to kept     not yet renamed          removes the name
 *   link, or -    old file         not yet removed          renames it back
 *   link, or -    -                all of it                makes a copy again
 *
 * A copy that is made again has the bytes, owner, mode, attributes and times of
 * the old file, and a new inode.
 */
enum undo_outcome { UNDO_RESTORED, UNDO_NOTHING, UNDO_SHARING };

void dedup_spot_read(struct dedup_undo_spot *s, const struct dedup_record *r)
{
	struct stat st;

	if (!fstatat(s->directory, r->temporary, &st, AT_SYMLINK_NOFOLLOW)) {
		s->beside = st.st_ino;
		s->beside_links = st.st_nlink;
		s->is_beside_old = st.st_ino == r->st.st_ino &&
				   st.st_size == r->st.st_size &&
				   timespec_to_ns(&st.st_mtim) ==
					   timespec_to_ns(&r->st.st_mtim);
	}
	if (fstatat(s->directory, s->name, &st, AT_SYMLINK_NOFOLLOW))
		return;
	s->inode = st.st_ino;
	s->is_old =
		st.st_ino != r->keep_inode && st.st_size == r->st.st_size &&
		timespec_to_ns(&st.st_mtim) == timespec_to_ns(&r->st.st_mtim);
}

/* Never the last name of the kept file. */
bool dedup_spot_has_spare_link(const struct dedup_undo_spot *s,
			       const struct dedup_record *r)
{
	return s->beside == r->keep_inode && s->beside_links > 1;
}

/* ---- making a copy again ---- */

static int copy_bytes(int from, int to)
{
	enum { CHUNK = 1 << 20 };
	char *buffer = malloc(CHUNK);
	int err = buffer ? 0 : -ENOMEM;
	off_t at = 0;
	ssize_t n = 1;

	while (!err && n) {
		ssize_t done = 0, written;

		n = pread(from, buffer, CHUNK, at);
		if (n < 0) {
			err = errno == EINTR ? 0 : -errno;
			continue;
		}
		while (!err && done < n) {
			written = pwrite(to, buffer + done, (size_t)(n - done),
					 at + done);
			err = written < 0 && errno != EINTR ? -errno : 0;
			done += written > 0 ? written : 0;
		}
		at += n;
	}
	free(buffer);
	return err;
}

static int set_metadata(int fd, const struct dedup_record *r)
{
	const struct timespec times[2] = { r->st.st_atim, r->st.st_mtim };
	struct stat st;
	int err;

	if (fstat(fd, &st))
		return -errno;
	if ((st.st_uid != r->st.st_uid || st.st_gid != r->st.st_gid) &&
	    fchown(fd, r->st.st_uid, r->st.st_gid))
		return -errno;
	err = dedup_write_attributes(fd, r->attributes);
	if (err)
		return err;
	if (fchmod(fd, r->st.st_mode) || futimens(fd, times) || fsync(fd))
		return -errno;
	return 0;
}

/* The kept file must still have the content. */
static int open_kept(const struct dedup_record *r,
		     const struct dedup_undo_spot *s, int *fd_out)
{
	char hash[33];
	const char *name = s->name;
	int directory =
		s->inode ? s->directory : dedup_open_parent(r->keep, &name);
	int fd = directory < 0 ? directory : dedup_open_at(directory, name);
	int err;

	if (directory >= 0 && directory != s->directory)
		close(directory);
	if (fd < 0)
		return fd;
	err = dedup_hash(fd, hash);
	if (!err && memcmp(hash, r->xxh128, sizeof(hash)) != 0)
		err = -ESTALE;
	if (err)
		close(fd);
	else
		*fd_out = fd;
	return err;
}

/* The file beside takes the path, which still has a link to the kept file, or
 * nothing.  If another program put something else there meanwhile, that
 * stays. */
static int put_back(const struct dedup_record *r,
		    const struct dedup_undo_spot *s, const char *beside)
{
	unsigned flags = s->inode ? RENAME_EXCHANGE : RENAME_NOREPLACE;
	struct stat st;

	if (renameat2(s->directory, beside, s->directory, s->name, flags))
		return -errno;
	if (!s->inode)
		return 0;
	if (!fstatat(s->directory, beside, &st, AT_SYMLINK_NOFOLLOW) &&
	    st.st_ino == r->keep_inode)
		return unlinkat(s->directory, beside, 0) ? -errno : 0;
	(void)renameat2(s->directory, beside, s->directory, s->name, flags);
	return -ESTALE;
}

static int write_copy(const struct dedup_record *r,
		      const struct dedup_undo_spot *s, int from,
		      const char *name)
{
	enum { FLAGS = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC };
	int to = openat(s->directory, name, FLAGS, 0600), err;

	if (to < 0)
		return -errno;
	err = copy_bytes(from, to);
	if (!err)
		err = set_metadata(to, r);
	close(to);
	if (!err)
		err = put_back(r, s, name);
	if (err)
		(void)unlinkat(s->directory, name, 0);
	return err;
}

/* Half a copy, of an undo that was killed, has a name of its own: its inode may
 * have the number of the old file. */
static void name_copy(const struct dedup_record *r, char out[NAME_MAX + 1])
{
	(void)snprintf(out, NAME_MAX + 1, "%.200s.copy", r->temporary);
}

static int make_copy(const struct dedup_record *r,
		     const struct dedup_undo_spot *s)
{
	char name[NAME_MAX + 1];
	int from = -1, err = open_kept(r, s, &from);

	if (err)
		return err;
	name_copy(r, name);
	err = write_copy(r, s, from, name);
	close(from);
	return err;
}

/* ---- one step ---- */

static bool is_replaced(const struct dedup_record *r,
			const struct dedup_undo_spot *s)
{
	return r->method == DEDUP_HARDLINK ? s->inode == r->keep_inode :
					     !s->inode;
}

static int undo_at(const struct dedup_record *r,
		   const struct dedup_undo_spot *s, enum undo_outcome *out)
{
	char copy[NAME_MAX + 1];

	name_copy(r, copy);
	(void)unlinkat(s->directory, copy, 0);
	if (!is_replaced(r, s)) {
		if (dedup_spot_has_spare_link(s, r))
			(void)unlinkat(s->directory, r->temporary, 0);
		*out = UNDO_NOTHING;
		/* The step was not done: the old file may have been changed
		 * since.  Else its number may be that of a new one. */
		return s->is_old || (!r->done && s->inode == r->st.st_ino) ?
			       0 :
			       -ESTALE;
	}
	*out = UNDO_RESTORED;
	return s->beside && s->beside == r->st.st_ino ?
		       put_back(r, s, r->temporary) :
		       make_copy(r, s);
}

/* Shared extents are nothing that a reader could see. */
static int undo_step(const struct dedup_record *r, enum undo_outcome *out)
{
	struct dedup_undo_spot s = { 0 };
	int err;

	*out = r->ended && !r->done ? UNDO_NOTHING : UNDO_SHARING;
	if (r->method == DEDUP_REFLINK || r->method == DEDUP_BLOCKS)
		return 0;
	s.directory = dedup_open_parent(r->path, &s.name);
	if (s.directory < 0)
		return s.directory;
	dedup_spot_read(&s, r);
	err = undo_at(r, &s, out);
	close(s.directory);
	return err;
}

static const char *reason_of(int err)
{
	if (err == -ESTALE)
		return "the file, or the one that was kept for it, has changed "
		       "since";
	if (err == -ELOOP)
		return "a directory of its path is a symbolic link";
	return err_text(err);
}

int dedup_undo(const char *journal,
	       void (*tell)(void *arg, const char *path, const char *reason),
	       void *arg, struct dedup_undo_counts *out)
{
	struct dedup_record *records = NULL;
	enum undo_outcome outcome;
	size_t count = 0, i;
	int err = dedup_journal_read(journal, &records, &count);

	*out = (struct dedup_undo_counts){ 0 };
	for (i = count; i-- > 0;) {
		int failed = undo_step(&records[i], &outcome);

		if (failed)
			tell(arg, records[i].path, reason_of(failed));
		out->failed += failed != 0;
		out->restored += !failed && outcome == UNDO_RESTORED;
		out->nothing += !failed && outcome == UNDO_NOTHING;
		out->sharing += !failed && outcome == UNDO_SHARING;
		dedup_record_release(&records[i]);
	}
	free(records);
	return err;
}
