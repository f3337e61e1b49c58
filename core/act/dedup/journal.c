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
#include "core/source/file.h"
#include "core/act/dedup/dedup_impl.h"

/*
 * A journal is lines of JSON.  The first one is {"kin_dedup_journal": 3}; a
 * step has one line before it begins, with all that undo needs, and one after
 * it ended.  Numbers and times, as [seconds, nanoseconds], are those of stat(2).
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

static json_t *record_to_json(const struct dedup_record *r)
{
	const struct stat *st = &r->st;
	json_t *o = json_pack(
		"{s:I, s:s, s:I, s:I, s:I, s:[I,I], s:[I,I], s:i, s:I, s:I, "
		"s:s, s:O, s:o}",
		"step", r->step, "method", dedup_method_names[r->method],
		"inode", (json_int_t)st->st_ino, "keep_inode",
		(json_int_t)r->keep_inode, "size", (json_int_t)st->st_size,
		"mtime", (json_int_t)st->st_mtim.tv_sec,
		(json_int_t)st->st_mtim.tv_nsec, "atime",
		(json_int_t)st->st_atim.tv_sec, (json_int_t)st->st_atim.tv_nsec,
		"mode", (int)(st->st_mode & 07777), "uid",
		(json_int_t)st->st_uid, "gid", (json_int_t)st->st_gid, "sha256",
		r->sha256, "attributes", r->attributes, "names",
		json_paths((const char *const *)r->paths, r->path_count));

	if (o &&
	    (json_set_path(o, "keep", r->keep) ||
	     (r->temporary && json_set_path(o, "temporary", r->temporary)))) {
		json_decref(o);
		return NULL;
	}
	return o;
}

int dedup_journal_begin(struct dedup_journal *j, struct dedup_record *r)
{
	int err;

	r->step = ++j->steps;
	err = write_line(j, record_to_json(r));
	/* To share blocks changes nothing that could be lost. */
	if (!err && r->temporary && fdatasync(fileno(j->file)))
		err = -errno;
	return err;
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

/* A name that a run makes: undo removes nothing else. */
static bool is_temporary(const char *name)
{
	return !strncmp(name, DEDUP_TEMPORARY, strlen(DEDUP_TEMPORARY)) &&
	       !strchr(name, '/');
}

static bool is_record(const struct dedup_record *r)
{
	size_t i;

	for (i = 0; i < r->path_count; i++)
		if (!dedup_is_plain_path(r->paths[i]))
			return false;
	if (!r->path_count || !r->keep || !dedup_is_plain_path(r->keep) ||
	    !json_is_object(r->attributes))
		return false;
	return dedup_is_sharing(r->method) ||
	       (r->temporary && is_temporary(r->temporary) &&
		strlen(r->sha256) == 64);
}

static int parse_record(json_t *o, struct dedup_record *r)
{
	json_int_t inode, keep_inode, size, mode, uid, gid, mtime[2], atime[2];
	const char *method, *sha256;
	json_t *names, *attributes;
	size_t count, how = 0;

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
	count = json_array_size(names);
	r->paths = calloc(count + 1, sizeof(*r->paths));
	while (r->paths && r->path_count < count &&
	       (r->paths[r->path_count] = json_get_path(
			json_array_get(names, r->path_count), "path")))
		r->path_count++;
	while (how < DEDUP_METHODS &&
	       strcmp(method, dedup_method_names[how]) != 0)
		how++;
	r->method = (enum dedup_method)how;
	if (r->path_count == count && how < DEDUP_METHODS && is_record(r))
		return 0;
	record_release(r);
	return -EINVAL;
}

static void mark_ended(struct dedup_record *records, size_t count,
		       const json_t *o)
{
	json_int_t step = json_integer_value(json_object_get(o, "end"));

	while (count && records[count - 1].step != step)
		count--;
	if (!count)
		return;
	records[count - 1].ended = true;
	records[count - 1].done = json_is_true(json_object_get(o, "done"));
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

/* All steps, in order; free each with record_release(), and the array. */
static int read_journal(const char *path, struct dedup_record **out,
			size_t *count_out)
{
	struct dedup_record *records = NULL, *more;
	char *line = NULL;
	size_t room = 0, lines = 0, count = 0;
	ssize_t len;
	FILE *file = NULL;
	int err = open_journal(path, &file);

	/* A last line that is cut was never acted upon: the step begins after
	 * it is synced. */
	while (!err && (len = getline(&line, &room, file)) > 0 &&
	       line[len - 1] == '\n') {
		json_t *o = json_loadb(line, (size_t)len, 0, NULL);

		if (!lines++) {
			if (json_integer_value(
				    json_object_get(o, FORMAT_KEY)) != FORMAT)
				err = -EINVAL;
		} else if (json_object_get(o, "end")) {
			mark_ended(records, count, o);
		} else {
			more = array_with_room(records, count, sizeof(*more));
			records = more ? more : records;
			err = more ? parse_record(o, &more[count]) : -ENOMEM;
			count += !err;
		}
		json_decref(o);
	}
	if (!err && ferror(file))
		err = -EIO;
	if (!err && !lines)
		err = -EINVAL;
	free(line);
	if (file)
		fclose(file);
	if (!err) {
		*out = records;
		*count_out = count;
		return 0;
	}
	while (count)
		record_release(&records[--count]);
	free(records);
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
struct undo_names {
	struct stat at, beside; /* st_nlink 0: there is none */
};

static struct stat look(int directory, const char *name)
{
	struct stat st;

	if (directory < 0 || fstatat(directory, name, &st, AT_SYMLINK_NOFOLLOW))
		return (struct stat){ 0 };
	return st;
}

static struct undo_names find_place(const struct dedup_spot *s)
{
	return (struct undo_names){ look(s->directory, s->name),
				    look(s->directory, s->beside) };
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

static bool is_replaced(const struct dedup_record *r,
			const struct undo_names *p)
{
	return r->method == DEDUP_HARDLINK ? is_kept(r, &p->at) :
					     !p->at.st_nlink;
}

/* A link to the kept file that is not needed, and not its last name. */
static bool is_spare(const struct dedup_record *r, const struct stat *st)
{
	return is_kept(r, st) && st->st_nlink > 1;
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

/* In place of the path's link to the kept file, or of nothing.  If another
 * program put something else there, or beside, meanwhile, that stays. */
static int put_back(const struct dedup_record *r, const struct dedup_spot *s,
		    const char *beside, int fd)
{
	bool links = r->method == DEDUP_HARDLINK;
	struct stat st, kept;

	if (fstat(fd, &st))
		return -errno;
	if (renameat2(s->directory, beside, s->directory, s->name,
		      links ? RENAME_EXCHANGE : RENAME_NOREPLACE))
		return -errno;
	kept = look(s->directory, beside);
	if (dedup_has_inode(s->directory, s->name, st.st_ino) &&
	    (!links || is_kept(r, &kept)))
		return links && unlinkat(s->directory, beside, 0) ? -errno : 0;
	(void)renameat2(s->directory, s->name, s->directory, beside,
			links ? RENAME_EXCHANGE : RENAME_NOREPLACE);
	return -ESTALE;
}

/* Half a copy, of an undo that was killed, has a name of its own: its inode may
 * have the number of the old file. */
static void name_copy(const struct dedup_spot *s, char out[NAME_MAX + 1])
{
	(void)snprintf(out, NAME_MAX + 1, "%.240s.copy", s->beside);
}

/* Where the path is a link to it, that is the kept file, wherever it is by now.
 * Nobody writes to it while the lease is held. */
static int make_copy(const struct dedup_record *r, const struct dedup_spot *s,
		     const char *name, bool force, int *fd_out)
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
	if (!err)
		*fd_out = to;
	else if (to >= 0)
		close(to);
	return err;
}

/* fd_io: the file that the names are to have again; -1: a copy is to be made. */
static int restore(const struct dedup_record *r, const struct dedup_spot *s,
		   bool force, int *fd_io)
{
	char name[NAME_MAX + 1];
	int err;

	name_copy(s, name);
	err = *fd_io < 0 ? make_copy(r, s, name, force, fd_io) :
			   file_link(*fd_io, s->directory, name);
	if (!err)
		err = put_back(r, s, name, *fd_io);
	if (err)
		(void)unlinkat(s->directory, name, 0);
	return err;
}

/* ---- one step ---- */

struct undoing {
	const struct dedup_record *r;
	struct dedup_spot *spots;
	bool force;
	int fd; /* of the old file, or of its copy; -1: there is none yet */
	bool restored;
};

/* Where one of its names still has it, it need not be copied. */
static void find_old(struct undoing *u)
{
	enum { FLAGS = O_PATH | O_NOFOLLOW | O_CLOEXEC };
	const struct dedup_record *r = u->r;
	size_t i;

	for (i = 0; i < r->path_count && u->fd < 0; i++) {
		const struct dedup_spot *s = &u->spots[i];
		struct undo_names p = find_place(s);

		if (is_old(r, &p.beside))
			u->fd = openat(s->directory, s->beside, FLAGS);
		else if (is_old(r, &p.at))
			u->fd = openat(s->directory, s->name, FLAGS);
	}
}

static int undo_name(struct undoing *u, const struct dedup_spot *s)
{
	const struct dedup_record *r = u->r;
	struct undo_names p = find_place(s);
	char copy[NAME_MAX + 1];
	int err;

	if (s->directory < 0)
		return s->directory;
	name_copy(s, copy);
	(void)unlinkat(s->directory, copy, 0);
	if (!is_replaced(r, &p)) {
		if (is_spare(r, &p.beside))
			(void)unlinkat(s->directory, s->beside, 0);
		/* The step was not done: the old file may have been changed
		 * since.  Else its number may be that of a new one. */
		return is_old(r, &p.at) || (!r->done && p.at.st_nlink &&
					    p.at.st_ino == r->st.st_ino) ?
			       0 :
			       -ESTALE;
	}
	if (u->fd >= 0 && is_old(r, &p.beside))
		err = put_back(r, s, s->beside, u->fd);
	else
		err = restore(r, s, u->force, &u->fd);
	u->restored |= !err;
	return err;
}

/* Shared extents are nothing that a reader could see. */
static int undo_step(const struct dedup_record *r, bool force,
		     void (*tell)(void *arg, const char *path,
				  const char *reason),
		     void *arg, struct dedup_undo_counts *counts)
{
	struct undoing u = { .r = r, .force = force, .fd = -1 };
	struct dedup_result result;
	size_t i, failed = counts->failed;
	int err;

	if (dedup_is_sharing(r->method)) {
		counts->nothing += r->ended && !r->done;
		counts->sharing += !r->ended || r->done;
		return 0;
	}
	err = dedup_spots_open(r->paths, r->path_count, r->temporary, true,
			       &u.spots);
	if (err)
		return err;
	find_old(&u);
	for (i = 0; i < r->path_count; i++) {
		err = undo_name(&u, &u.spots[i]);
		if (dedup_explain(&result, "it cannot be restored", err))
			tell(arg, r->paths[i], result.reason);
		counts->failed += err != 0;
	}
	counts->restored += u.restored;
	counts->nothing += !u.restored && counts->failed == failed;
	if (u.fd >= 0)
		close(u.fd);
	dedup_spots_close(u.spots, r->path_count);
	return 0;
}

int dedup_undo(const char *journal, bool force_metadata,
	       void (*tell)(void *arg, const char *path, const char *reason),
	       void *arg, struct dedup_undo_counts *out)
{
	struct dedup_record *records = NULL;
	size_t count = 0, i;
	int err = read_journal(journal, &records, &count);

	*out = (struct dedup_undo_counts){ 0 };
	for (i = count; i-- > 0;) {
		if (!err)
			err = undo_step(&records[i], force_metadata, tell, arg,
					out);
		record_release(&records[i]);
	}
	free(records);
	return err;
}

/* ---- a run that was killed ---- */

/* A name beside is removed when the path has its content; else it is the only
 * name of the old file and gets the path back. */
static bool settle_name(const struct dedup_record *r,
			const struct dedup_spot *s)
{
	struct undo_names p = find_place(s);

	if (!p.at.st_nlink && is_old(r, &p.beside))
		return !renameat2(s->directory, s->beside, s->directory,
				  s->name, RENAME_NOREPLACE);
	if (is_spare(r, &p.beside) ||
	    (r->method == DEDUP_HARDLINK && is_kept(r, &p.at) &&
	     is_old(r, &p.beside)))
		return !unlinkat(s->directory, s->beside, 0);
	return false;
}

int dedup_settle(const char *journal, bool *settled_out)
{
	struct dedup_record *records = NULL, *last;
	struct dedup_spot *spots = NULL;
	size_t count = 0, i;
	int err = read_journal(journal, &records, &count);

	if (err)
		return err;
	*settled_out = false;
	last = count ? &records[count - 1] : NULL;
	if (last && !last->ended && last->temporary &&
	    !dedup_spots_open(last->paths, last->path_count, last->temporary,
			      true, &spots)) {
		for (i = 0; i < last->path_count; i++)
			*settled_out |= settle_name(last, &spots[i]);
		dedup_spots_close(spots, last->path_count);
	}
	while (count)
		record_release(&records[--count]);
	free(records);
	return 0;
}
