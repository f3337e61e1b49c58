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
#include "core/base/lease.h"
#include "core/client/client.h"
#include "core/source/file.h"
#include "core/act/dedup/dedup_impl.h"

/*
 * A journal is lines of JSON.  The first one is {"kin_dedup_journal": 3}; a
 * step has one line before it begins, with all that undo needs, and one after
 * it ended.  A step that shares blocks has none: no content changes.  Numbers
 * and times, as [seconds, nanoseconds], are those of stat(2).
 */
#define FORMAT_KEY "kin_dedup_journal"
enum { FORMAT = 3 };

struct dedup_journal {
	FILE *file;
	json_int_t steps;
};

/* Takes the object. */
static int write_line(struct dedup_journal *j, json_t *object)
{
	int err = json_write_line(j->file, object);

	return !err && fflush(j->file) ? -errno : err;
}

/* The path is the user's own: links on it are followed. */
static int open_directory_of(const char *path, const char **name_out)
{
	const char *slash = strrchr(path, '/');
	char *directory =
		slash ? strndup(path, (size_t)(slash - path + 1)) : strdup(".");
	int fd;

	if (!directory)
		return -ENOMEM;
	fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	free(directory);
	*name_out = slash ? slash + 1 : path;
	return fd < 0 ? -errno : fd;
}

/* In a directory of another user, or where others may remove files, they could
 * put another journal.  The caller's own group may write to it. */
static int check_directory(int fd)
{
	struct stat st;
	mode_t others = S_IWOTH | S_IWGRP;

	if (fstat(fd, &st))
		return -errno;
	if (st.st_gid == getegid())
		others = S_IWOTH;
	if (st.st_uid != geteuid() && st.st_uid != 0)
		return -EPERM;
	return st.st_mode & others && !(st.st_mode & S_ISVTX) ? -EPERM : 0;
}

int dedup_journal_create(const char *path, struct dedup_journal **out)
{
	enum { FLAGS = O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC };
	struct dedup_journal *j = calloc(1, sizeof(*j));
	const char *name;
	int directory = open_directory_of(path, &name), fd = -1;
	int err = directory < 0 ? directory : check_directory(directory);

	err = j ? err : -ENOMEM;
	if (!err) {
		fd = openat(directory, name, FLAGS, 0600);
		j->file = fd < 0 ? NULL : fdopen(fd, "a");
		err = j->file ? 0 : -errno;
		if (err && fd >= 0)
			close(fd);
	}
	if (!err) {
		(void)flock(fd, LOCK_EX | LOCK_NB);
		err = write_line(j, json_pack("{s:i}", FORMAT_KEY, FORMAT));
	}
	if (!err && (fsync(fd) || fsync(directory)))
		err = -errno;
	if (directory >= 0)
		close(directory);
	if (err)
		dedup_journal_free(j);
	else
		*out = j;
	return err;
}

void dedup_journal_free(struct dedup_journal *j)
{
	if (j && j->file)
		(void)fclose(j->file);
	free(j);
}

/* ---- writing steps ---- */

int dedup_journal_begin(struct dedup_journal *j, struct dedup_record *r)
{
	const struct stat *st = &r->st;
	json_t *o = json_pack(
		"{s:I, s:s, s:I, s:I, s:I, s:[I,I], s:[I,I], s:i, s:I, s:I, "
		"s:s, s:O, s:o}",
		"step", r->step = ++j->steps, "method",
		dedup_method_names[r->method], "inode", (json_int_t)st->st_ino,
		"keep_inode", (json_int_t)r->keep_inode, "size",
		(json_int_t)st->st_size, "mtime",
		(json_int_t)st->st_mtim.tv_sec, (json_int_t)st->st_mtim.tv_nsec,
		"atime", (json_int_t)st->st_atim.tv_sec,
		(json_int_t)st->st_atim.tv_nsec, "mode",
		(int)(st->st_mode & 07777), "uid", (json_int_t)st->st_uid,
		"gid", (json_int_t)st->st_gid, "sha256", r->sha256,
		"attributes", r->attributes, "names",
		json_paths((const char *const *)r->paths, r->path_count));
	int err;

	if (!o || json_set_path(o, "keep", r->keep) ||
	    json_set_path(o, "temporary", r->temporary)) {
		json_decref(o);
		return -ENOMEM;
	}
	err = write_line(j, o);
	return !err && fdatasync(fileno(j->file)) ? -errno : err;
}

int dedup_journal_end(struct dedup_journal *j, const struct dedup_record *r,
		      bool done)
{
	return write_line(
		j, json_pack("{s:I, s:b}", "end", r->step, "done", done));
}

/* ---- reading ---- */

static void record_release(struct dedup_record *r)
{
	while (r->path_count)
		free(r->paths[--r->path_count]);
	free(r->paths);
	free(r->keep);
	free(r->temporary);
	json_decref(r->attributes);
}

/* temporary: a name that a run makes: undo removes nothing else. */
static bool is_record(const struct dedup_record *r)
{
	const char *t = r->temporary;
	size_t i;

	for (i = 0; i < r->path_count; i++)
		if (!dedup_is_plain_path(r->paths[i]))
			return false;
	return r->path_count && r->keep && dedup_is_plain_path(r->keep) &&
	       json_is_object(r->attributes) && strlen(r->sha256) == 64 && t &&
	       !strncmp(t, DEDUP_TEMPORARY, strlen(DEDUP_TEMPORARY)) &&
	       !strchr(t, '/');
}

static int parse_record(json_t *o, struct dedup_record *r)
{
	json_int_t inode, keep_inode, size, mode, uid, gid, mtime[2], atime[2];
	const char *method, *sha256;
	json_t *names, *attributes;
	size_t count;
	bool links;

	*r = (struct dedup_record){ .path_count = 0 };
	if (json_unpack(o,
			"{s:I, s:s, s:I, s:I, s:I, s:[I,I], s:[I,I], s:I, s:I, "
			"s:I, s:s, s:o, s:o}",
			"step", &r->step, "method", &method, "inode", &inode,
			"keep_inode", &keep_inode, "size", &size, "mtime",
			&mtime[0], &mtime[1], "atime", &atime[0], &atime[1],
			"mode", &mode, "uid", &uid, "gid", &gid, "sha256",
			&sha256, "attributes", &attributes, "names", &names))
		return -EINVAL;
	r->st.st_ino = (ino_t)inode;
	r->st.st_size = (off_t)size;
	r->st.st_mtim = (struct timespec){ mtime[0], mtime[1] };
	r->st.st_atim = (struct timespec){ atime[0], atime[1] };
	r->st.st_mode = (mode_t)mode & 07777;
	r->st.st_uid = (uid_t)uid;
	r->st.st_gid = (gid_t)gid;
	r->keep_inode = (ino_t)keep_inode;
	(void)snprintf(r->sha256, sizeof(r->sha256), "%s", sha256);
	r->attributes = json_incref(attributes);
	r->keep = json_get_path(o, "keep");
	r->temporary = json_get_path(o, "temporary");
	links = !strcmp(method, dedup_method_names[DEDUP_HARDLINK]);
	r->method = links ? DEDUP_HARDLINK : DEDUP_REMOVE;
	count = json_array_size(names);
	r->paths = calloc(count + 1, sizeof(*r->paths));
	while (r->paths && r->path_count < count &&
	       (r->paths[r->path_count] = json_get_path(
			json_array_get(names, r->path_count), "path")))
		r->path_count++;
	if (r->path_count == count && is_record(r) &&
	    (links || !strcmp(method, dedup_method_names[DEDUP_REMOVE])))
		return 0;
	record_release(r);
	return -EINVAL;
}

/* Root must not do what another user wrote. */
static int check_file(int fd)
{
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	if (st.st_uid != geteuid() || st.st_mode & (S_IWGRP | S_IWOTH))
		return -EPERM;
	return flock(fd, LOCK_SH | LOCK_NB) && errno == EWOULDBLOCK ? -EBUSY :
								      0;
}

static int open_journal(const char *path, FILE **out)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	int err = fd < 0 ? -errno : check_file(fd);

	if (!err) {
		*out = fdopen(fd, "r");
		err = *out ? 0 : -errno;
	}
	if (err && fd >= 0)
		close(fd);
	return err;
}

struct records {
	struct dedup_record *all; /* owned; in the order of the journal */
	size_t count;
};

static void records_release(struct records *r)
{
	while (r->count)
		record_release(&r->all[--r->count]);
	free(r->all);
}

static int take_line(struct records *r, json_t *o)
{
	struct dedup_record *all = r->all, *end = all + r->count;
	const json_t *step = json_object_get(o, "end");
	int err;

	if (step) {
		while (end-- > all)
			if (end->step == json_integer_value(step)) {
				end->ended = true;
				end->done = json_is_true(
					json_object_get(o, "done"));
				break;
			}
		return 0;
	}
	all = array_with_room(all, r->count, sizeof(*all));
	if (!all)
		return -ENOMEM;
	r->all = all;
	err = parse_record(o, &all[r->count]);
	r->count += !err;
	return err;
}

/* To be released in any case.  A last line that is cut was never acted upon: the
 * step begins after it is synced. */
static int read_journal(const char *path, struct records *out)
{
	struct lines lines = { 0 };
	json_t *o;
	int err = open_journal(path, &lines.in), more = 0;

	*out = (struct records){ 0 };
	while (!err && (more = lines_next(&lines, CLIENT_LINE_MAX)) > 0) {
		o = json_loadb(lines.text, lines.len, 0, NULL);
		if (!o && feof(lines.in) && lines.number > 1)
			break;
		if (lines.number > 1)
			err = take_line(out, o);
		else if (json_integer_value(json_object_get(o, FORMAT_KEY)) !=
			 FORMAT)
			err = -EINVAL;
		json_decref(o);
	}
	if (!err)
		err = more < 0 ? more : lines.number ? 0 : -EINVAL;
	if (lines.in)
		fclose(lines.in);
	lines_release(&lines);
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

/* st_nlink 0: there is none. */
static struct stat look(int directory, const char *name)
{
	struct stat st;

	if (directory < 0 || fstatat(directory, name, &st, AT_SYMLINK_NOFOLLOW))
		return (struct stat){ 0 };
	return st;
}

static bool is_kept(const struct dedup_record *r, const struct stat *st)
{
	return st->st_nlink && inode_number_is_same(st->st_ino, r->keep_inode);
}

/* The old file, or a copy of it: nobody else gives a file that owner. */
static bool is_old(const struct dedup_record *r, const struct stat *st)
{
	return S_ISREG(st->st_mode) && !is_kept(r, st) &&
	       st->st_size == r->st.st_size && st->st_uid == r->st.st_uid &&
	       st->st_gid == r->st.st_gid &&
	       timespec_to_ns(&st->st_mtim) == timespec_to_ns(&r->st.st_mtim);
}

/* ---- a copy ---- */

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

/* Whether another user could have chosen what is to get these rights. */
static bool crosses_users(const struct dedup_record *r, const struct stat *kept)
{
	bool rights = r->st.st_mode & (S_ISUID | S_ISGID) ||
		      json_object_get(r->attributes, DEDUP_CAPABILITY);

	return kept->st_uid != r->st.st_uid ||
	       (rights && (kept->st_gid != r->st.st_gid ||
			   (kept->st_mode & 07777) != r->st.st_mode));
}

/* Where the path is a link to it, that is the kept file, wherever it is by now.
 * Nobody writes to it while the lease is held.  The copy, or an error. */
static int make_copy(const struct dedup_record *r, const struct dedup_spot *s,
		     const char *name, bool force)
{
	enum { FLAGS = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC };
	int from = r->method == DEDUP_HARDLINK ?
			   dedup_open_at(s->directory, s->name) :
			   dedup_open_file(r->keep);
	int err = from < 0 ? from : 0, to = -1;
	struct stat st;

	if (!err && fstat(from, &st))
		err = -errno;
	if (!err && crosses_users(r, &st) && !force)
		err = -EKEYREJECTED;
	if (!err && lease_take(from) == -EAGAIN)
		err = -ETXTBSY;
	if (!err) {
		to = openat(s->directory, name, FLAGS, 0600);
		err = to < 0 ? -errno : dedup_copy(from, to, r->sha256);
	}
	if (!err)
		err = set_metadata(to, r);
	if (from >= 0)
		close(from);
	if (err && to >= 0)
		close(to);
	return err ? err : to;
}

/* ---- one step ---- */

/* In place of the path's link to the kept file, or of nothing.  If another
 * program put something else there, or beside, meanwhile, that stays. */
static int put_back(const struct dedup_record *r, const struct dedup_spot *s,
		    const char *beside, int fd)
{
	bool links = r->method == DEDUP_HARDLINK;
	unsigned flags = links ? RENAME_EXCHANGE : RENAME_NOREPLACE;
	struct stat st, kept;

	if (fstat(fd, &st) ||
	    renameat2(s->directory, beside, s->directory, s->name, flags))
		return -errno;
	kept = look(s->directory, beside);
	if (dedup_has_inode(s->directory, s->name, st.st_ino) &&
	    (!links || is_kept(r, &kept)))
		return links && unlinkat(s->directory, beside, 0) ? -errno : 0;
	(void)renameat2(s->directory, s->name, s->directory, beside, flags);
	return -ESTALE;
}

/* Where one of its names still has it, the old file need not be copied: its
 * descriptor, or -1. */
static int find_old(const struct dedup_record *r,
		    const struct dedup_spot *spots)
{
	const struct dedup_spot *s;
	const char *name;
	struct stat st;
	size_t i;

	for (i = 0; i < 2 * r->path_count; i++) {
		s = &spots[i / 2];
		name = i % 2 ? s->name : s->beside;
		st = look(s->directory, name);
		if (is_old(r, &st))
			return openat(s->directory, name,
				      O_PATH | O_NOFOLLOW | O_CLOEXEC);
	}
	return -1;
}

/* fd_io: of the old file; -1: a copy is to be made.  1: it is back; 0: it was
 * not gone. */
static int undo_name(const struct dedup_record *r, const struct dedup_spot *s,
		     bool force, int *fd_io)
{
	const struct stat at = look(s->directory, s->name),
			  beside = look(s->directory, s->beside);
	bool links = r->method == DEDUP_HARDLINK;
	char copy[NAME_MAX + 1];
	int err = 0;

	if (s->directory < 0)
		return s->directory;
	/* Half a copy, of an undo that was killed, has a name of its own: its
	 * inode may have the number of the old file. */
	(void)snprintf(copy, sizeof(copy), "%.240s.copy", s->beside);
	(void)unlinkat(s->directory, copy, 0);
	if (links ? !is_kept(r, &at) : at.st_nlink) {
		/* A link to the kept file that is not its last name. */
		if (is_kept(r, &beside) && beside.st_nlink > 1)
			(void)unlinkat(s->directory, s->beside, 0);
		/* The step was not done: the old file may have been changed
		 * since.  Else its number may be that of a new one. */
		return is_old(r, &at) || (!r->done && at.st_nlink &&
					  at.st_ino == r->st.st_ino) ?
			       0 :
			       -ESTALE;
	}
	if (*fd_io >= 0 && is_old(r, &beside)) {
		err = put_back(r, s, s->beside, *fd_io);
		return err ? err : 1;
	}
	if (*fd_io >= 0)
		err = file_link(*fd_io, s->directory, copy);
	else
		*fd_io = err = make_copy(r, s, copy, force);
	if (err >= 0)
		err = put_back(r, s, copy, *fd_io);
	if (err)
		(void)unlinkat(s->directory, copy, 0);
	return err ? err : 1;
}

static bool has_temporary(const struct dedup_record *r,
			  const struct dedup_spot *spots)
{
	size_t i;

	for (i = 0; i < r->path_count; i++)
		if (look(spots[i].directory, spots[i].beside).st_nlink)
			return true;
	return false;
}

/* killed: only if it left a temporary name.  1: it was taken back. */
static int undo_step(const struct dedup_record *r, bool force, bool killed,
		     dedup_tell *tell, void *arg,
		     struct dedup_undo_counts *counts)
{
	struct dedup_spot *spots = NULL;
	struct dedup_result result;
	bool failed = false, restored = false;
	size_t i;
	int fd, err = dedup_spots_open(r, true, &spots);

	if (err)
		return err;
	if (killed && !has_temporary(r, spots)) {
		dedup_spots_close(spots, r->path_count);
		return 0;
	}
	fd = find_old(r, spots);
	for (i = 0; i < r->path_count; i++) {
		err = undo_name(r, &spots[i], force, &fd);
		restored |= err > 0;
		failed |= err < 0;
		counts->failed += err < 0;
		if (err < 0 && tell) {
			(void)dedup_explain(&result, "it cannot be restored",
					    err);
			tell(arg, r->paths[i], result.reason);
		}
	}
	counts->restored += restored;
	counts->nothing += !restored && !failed;
	if (fd >= 0)
		close(fd);
	dedup_spots_close(spots, r->path_count);
	return 1;
}

int dedup_undo(const char *journal, bool force_metadata, dedup_tell *tell,
	       void *arg, struct dedup_undo_counts *out)
{
	struct records records;
	size_t i;
	int err = read_journal(journal, &records);

	*out = (struct dedup_undo_counts){ 0 };
	for (i = records.count; i-- > 0 && err >= 0;)
		err = undo_step(&records.all[i], force_metadata, false, tell,
				arg, out);
	records_release(&records);
	return err < 0 ? err : 0;
}

int dedup_settle(const char *journal)
{
	struct dedup_undo_counts counts = { 0 };
	const struct dedup_record *last;
	struct records records;
	int err = read_journal(journal, &records);

	if (!err && records.count) {
		last = &records.all[records.count - 1];
		if (!last->ended)
			err = undo_step(last, false, true, NULL, NULL, &counts);
	}
	records_release(&records);
	return err;
}
