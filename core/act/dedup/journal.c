/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/array.h"
#include "core/base/clock.h"
#include "core/base/inode_number.h"
#include "core/base/json.h"
#include "core/base/file.h"
#include "core/client/client.h"
#include "core/source/file.h"
#include "core/act/dedup/dedup_impl.h"

/*
 * A journal is lines of JSON.  The first one is {"kin_dedup_journal": 3}; a
 * step has one line before it begins, with all that undo needs, and one after
 * it ended, {"done": true} or false.  A step that shares blocks has none: no
 * content changes.  Numbers and times, as [seconds, nanoseconds], are those of
 * stat(2).
 */
#define FORMAT_KEY "kin_dedup_journal"
enum { FORMAT = 3 };

int dedup_journal_write(FILE *journal, json_t *line, bool sync)
{
	int err = json_write_line(journal, line);

	return !err && (fflush(journal) ||
			(sync && fdatasync(fileno(journal)))) ?
		       -errno :
		       err;
}

/* The path is the user's own: links on it are followed.  In a directory of
 * another user, or where others may remove files, they could put another
 * journal.  The caller's own group may write to it. */
int dedup_journal_create(const char *path, FILE **out)
{
	enum { FLAGS = O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC };
	const char *slash = strrchr(path, '/'),
		   *name = slash ? slash + 1 : path;
	int directory, fd = -1, err = 0;
	FILE *journal = NULL;
	struct stat st;
	char *parent;

	if (asprintf(&parent, "%.*s.", (int)(name - path), path) < 0)
		return -ENOMEM;
	directory = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	free(parent);
	if (directory < 0 || fstat(directory, &st))
		err = -errno;
	else if ((st.st_uid != geteuid() && st.st_uid != 0) ||
		 (!(st.st_mode & S_ISVTX) &&
		  (st.st_mode & S_IWOTH ||
		   (st.st_mode & S_IWGRP && st.st_gid != getegid()))))
		err = -EPERM;
	if (!err) {
		fd = openat(directory, name, FLAGS, 0600);
		journal = fd < 0 ? NULL : fdopen(fd, "a");
		err = journal ? 0 : -errno;
	}
	if (!err) {
		(void)flock(fd, LOCK_EX | LOCK_NB);
		err = dedup_journal_write(
			journal, json_pack("{s:i}", FORMAT_KEY, FORMAT), true);
	}
	if (!err && fsync(directory))
		err = -errno;
	if (!err)
		*out = journal;
	else if (journal)
		(void)fclose(journal);
	else if (fd >= 0)
		close(fd);
	if (directory >= 0)
		close(directory);
	return err;
}

/* ---- reading ---- */

/* A file that was replaced.  Strings and attributes are borrowed but for paths
 * and keep. */
struct record {
	bool links;         /* DEDUP_HARDLINK, not DEDUP_REMOVE */
	bool done;          /* the journal says so */
	const char **paths; /* absolute: all names of the file */
	size_t path_count;
	char *keep;            /* absolute */
	const char *temporary; /* a name beside a path */
	json_int_t inode, keep_inode, size, mode, uid, gid, mtime[2], atime[2];
	const char *sha256;
	json_t *attributes;
};

static void record_release(struct record *r)
{
	while (r->path_count)
		free((char *)r->paths[--r->path_count]);
	free(r->paths);
	free(r->keep);
}

/* Only what a run writes: undo removes nothing but names that a run makes.  To
 * be released in any case, before the object. */
static int parse_record(json_t *o, struct record *r)
{
	const char *method, *t;
	json_t *names, *name;
	size_t i;

	*r = (struct record){ .path_count = 0 };
	if (json_unpack(o, DEDUP_RECORD, "method", &method, "temporary", &t,
			"sha256", &r->sha256, "attributes", &r->attributes,
			"names", &names, "inode", &r->inode, "keep_inode",
			&r->keep_inode, "size", &r->size, "mode", &r->mode,
			"uid", &r->uid, "gid", &r->gid, "mtime", &r->mtime[0],
			&r->mtime[1], "atime", &r->atime[0], &r->atime[1]))
		return -EINVAL;
	r->links = !strcmp(method, dedup_method_names[DEDUP_HARDLINK]);
	r->done = json_is_true(json_object_get(o, "done"));
	r->temporary = t;
	r->keep = json_get_path(o, "keep");
	if ((!r->links && strcmp(method, dedup_method_names[DEDUP_REMOVE])) ||
	    strncmp(t, DEDUP_TEMPORARY, strlen(DEDUP_TEMPORARY)) ||
	    strchr(t, '/') || strlen(r->sha256) != 64 ||
	    !json_is_object(r->attributes) || !r->keep ||
	    !dedup_is_plain_path(r->keep))
		return -EINVAL;
	json_array_foreach(names, i, name) {
		if (array_add_string(&r->paths, &r->path_count,
				     json_get_path(name, "path")) ||
		    !dedup_is_plain_path(r->paths[i]))
			return -EINVAL;
	}
	return r->path_count ? 0 : -EINVAL;
}

/* Root must not do what another user wrote. */
static int open_journal(const char *path, FILE **out)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat st;
	int err = 0;

	if (fd < 0 || fstat(fd, &st))
		err = -errno;
	else if (!S_ISREG(st.st_mode))
		err = -EINVAL;
	else if (st.st_uid != geteuid() || st.st_mode & (S_IWGRP | S_IWOTH))
		err = -EPERM;
	else if (flock(fd, LOCK_SH | LOCK_NB) && errno == EWOULDBLOCK)
		err = -EBUSY;
	else if (!(*out = fdopen(fd, "r")))
		err = -errno;
	if (err && fd >= 0)
		close(fd);
	return err;
}

static int take_line(json_t *steps, json_t *o)
{
	json_t *last = json_array_get(steps, json_array_size(steps) - 1),
	       *done = json_object_get(o, "done");
	struct record r;
	int err;

	if (done)
		return json_object_set(last, "done", done) ? -EINVAL : 0;
	err = parse_record(o, &r);
	record_release(&r);
	return err ? err : json_array_append(steps, o) ? -ENOMEM : 0;
}

/* The steps, each with "done" if its end is told: to be dropped in any case.  A
 * last line that is cut was never acted upon: the step begins after it is
 * synced. */
static int read_journal(const char *path, json_t **out)
{
	struct lines lines = { 0 };
	json_t *steps = *out = json_array();
	int err = steps ? open_journal(path, &lines.in) : -ENOMEM, more = 0;

	while (!err && (more = lines_next(&lines)) > 0) {
		if (lines.number > 1)
			err = take_line(steps, lines.line);
		else if (json_integer_value(json_object_get(
				 lines.line, FORMAT_KEY)) != FORMAT)
			err = -EINVAL;
	}
	if (!err && !(more == -EINVAL && lines.number > 1 && feof(lines.in)))
		err = more || lines.number ? more : -EINVAL;
	lines_close(&lines);
	return err;
}

/* ---- taking it back ---- */

/*
 * A step that was begun left each name of the file in one of four states,
 * whatever the journal says of its end; which one is seen from the inode
 * numbers of the path and of the name beside it:
 *
 *   path          name beside it   what happened            what undo does
 *   old file      -                nothing, or undone       nothing
 *   old file      link to kept     not yet renamed          removes the name
 *   link, or -    old file         not yet removed          renames it back
 *   link, or -    -                all of it                links the old file,
 *                                                           or a copy, again
 *
 * A copy has the bytes, owner, mode, attributes and times of the old file, and
 * a new inode.  It is made once: the other names become links of it.
 *
 * The kept file may be another user's by now.  So what is copied is hashed as it
 * is written, and compared before the copy gets its owner, mode and name.
 */

static bool is_kept(const struct record *r, const struct stat *st)
{
	return st->st_nlink &&
	       inode_number_is_same(st->st_ino, (uint64_t)r->keep_inode);
}

/* The old file, or a copy of it: nobody else gives a file that owner. */
static bool is_old(const struct record *r, const struct stat *st)
{
	return S_ISREG(st->st_mode) && !is_kept(r, st) &&
	       st->st_size == r->size && st->st_uid == r->uid &&
	       st->st_gid == r->gid && st->st_mtim.tv_sec == r->mtime[0] &&
	       st->st_mtim.tv_nsec == r->mtime[1];
}

/* Where one of its names still has it, the old file need not be copied: its
 * descriptor, or -1. */
static int find_old(const struct record *r, const struct dedup_spot *spots)
{
	const struct dedup_spot *s;
	const char *name;
	struct stat st;
	size_t i;

	for (i = 0; i < 2 * r->path_count; i++) {
		s = &spots[i / 2];
		name = i % 2 ? s->name : s->beside;
		st = dedup_look(s->directory, name);
		if (is_old(r, &st))
			return openat(s->directory, name,
				      O_PATH | O_NOFOLLOW | O_CLOEXEC);
	}
	return -1;
}

/* Whether another user could have chosen what is to get these rights. */
static bool crosses_users(const struct record *r, const struct stat *kept)
{
	bool rights = r->mode & (S_ISUID | S_ISGID) ||
		      json_object_get(r->attributes, DEDUP_CAPABILITY);

	return kept->st_uid != r->uid ||
	       (rights &&
		(kept->st_gid != r->gid || (kept->st_mode & 07777) != r->mode));
}

static int set_metadata(int fd, const struct record *r)
{
	const struct timespec times[2] = { { r->atime[0], r->atime[1] },
					   { r->mtime[0], r->mtime[1] } };
	struct stat st;
	int err;

	if (fstat(fd, &st))
		return -errno;
	if ((st.st_uid != r->uid || st.st_gid != r->gid) &&
	    fchown(fd, (uid_t)r->uid, (gid_t)r->gid))
		return -errno;
	err = dedup_write_attributes(fd, r->attributes);
	if (err)
		return err;
	return fchmod(fd, (mode_t)r->mode & 07777) || futimens(fd, times) ||
			       fsync(fd) ?
		       -errno :
		       0;
}

/* Where the path is a link to it, that is the kept file, wherever it is by now.
 * Nobody writes to it while the lease is held.  The copy, or an error. */
static int make_copy(const struct record *r, const struct dedup_spot *s,
		     const char *name, bool force)
{
	enum { FLAGS = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC };
	struct dedup_hashes hashes = { .wants_sha256 = true };
	struct dedup_view kept = {
		.fd = r->links ? file_open_to_read(s->directory, s->name) :
				 dedup_open(r->keep, DEDUP_READ),
	};
	int err = kept.fd < 0 ? kept.fd : 0, to = -1;

	if (!err && fstat(kept.fd, &kept.st))
		err = -errno;
	if (!err && !S_ISREG(kept.st.st_mode))
		err = -ESTALE;
	if (!err && crosses_users(r, &kept.st) && !force)
		err = -EKEYREJECTED;
	if (!err && lease_take(kept.fd) == -EAGAIN)
		err = -ETXTBSY;
	if (!err) {
		to = openat(s->directory, name, FLAGS, 0600);
		err = to < 0 ? -errno : dedup_pass(&kept, 1, to, true, &hashes);
	}
	if (!err && strcmp(hashes.sha256, r->sha256) != 0)
		err = -ESTALE;
	if (!err)
		err = set_metadata(to, r);
	if (kept.fd >= 0)
		close(kept.fd);
	if (err && to >= 0)
		close(to);
	return err ? err : to;
}

/* fd_io: of the old file; -1: a copy is to be made.  1: it is back; 0: it was
 * not gone. */
static int undo_name(const struct record *r, const struct dedup_spot *s,
		     bool force, int *fd_io)
{
	const struct stat at = dedup_look(s->directory, s->name),
			  beside = dedup_look(s->directory, s->beside);
	const unsigned how = r->links ? RENAME_EXCHANGE : RENAME_NOREPLACE;
	char copy[NAME_MAX + 1];
	const char *from;
	struct stat old;
	int err = 0;

	if (s->directory < 0)
		return s->directory;
	/* Half a copy, of an undo that was killed, has a name of its own: its
	 * inode may have the number of the old file. */
	(void)snprintf(copy, sizeof(copy), "%.240s.copy", s->beside);
	(void)unlinkat(s->directory, copy, 0);
	if (r->links ? !is_kept(r, &at) : at.st_nlink) {
		/* A link to the kept file that is not its last name. */
		if (is_kept(r, &beside) && beside.st_nlink > 1)
			(void)unlinkat(s->directory, s->beside, 0);
		/* The step was not done: the old file may have been changed
		 * since.  Else its number may be that of a new one. */
		return is_old(r, &at) || (!r->done && at.st_nlink &&
					  at.st_ino == (ino_t)r->inode) ?
			       0 :
			       -ESTALE;
	}
	from = *fd_io >= 0 && is_old(r, &beside) ? s->beside : copy;
	if (from == copy)
		err = *fd_io >= 0 ? file_link(*fd_io, s->directory, copy) :
				    (*fd_io = make_copy(r, s, copy, force));
	if (err >= 0)
		err = fstat(*fd_io, &old) ? -errno : 0;
	/* In place of the path's link to the kept file, or of nothing.  What
	 * another program put there, or beside, meanwhile stays. */
	if (!err)
		err = dedup_swap(s->directory, from, s->name, how, old.st_ino,
				 at.st_ino);
	if (!err && r->links && unlinkat(s->directory, from, 0))
		err = -errno;
	if (err)
		(void)unlinkat(s->directory, copy, 0);
	return err ? err : 1;
}

static int undo_step(json_t *o, struct dedup_undo *u)
{
	struct dedup_spot *spots = NULL;
	struct dedup_result result;
	struct record r;
	size_t failed = u->failed, i;
	bool restored = false;
	int fd, back, err = parse_record(o, &r);

	if (!err)
		spots = dedup_spots_open(r.paths, r.path_count, r.temporary);
	fd = spots ? find_old(&r, spots) : -1;
	for (i = 0; spots && i < r.path_count; i++) {
		back = undo_name(&r, &spots[i], u->force_metadata, &fd);
		restored |= back > 0;
		u->failed += back < 0;
		if (back < 0) {
			(void)dedup_explain(&result, "it cannot be restored",
					    back);
			u->tell(r.paths[i], result.reason);
		}
	}
	u->restored += restored;
	u->nothing += !restored && failed == u->failed;
	if (fd >= 0)
		close(fd);
	dedup_spots_close(spots, r.path_count);
	record_release(&r);
	/* The record was checked when the journal was read. */
	return err || !spots ? -ENOMEM : 0;
}

int dedup_undo(const char *journal, struct dedup_undo *u)
{
	json_t *steps;
	int err = read_journal(journal, &steps);
	size_t i = json_array_size(steps);

	while (i-- > 0 && !err)
		err = undo_step(json_array_get(steps, i), u);
	json_decref(steps);
	return err;
}
