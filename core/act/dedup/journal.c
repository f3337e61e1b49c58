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
#include "core/base/json.h"
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

void dedup_record_release(struct dedup_record *r)
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
	dedup_record_release(r);
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

int dedup_journal_read(const char *path, struct dedup_record **out,
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
		dedup_record_release(&records[--count]);
	free(records);
	return err;
}
