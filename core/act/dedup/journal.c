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
	int fd;
	json_int_t steps;
};

/* Takes the object. */
static int write_line(struct dedup_journal *j, json_t *object)
{
	char *text = object ? json_dumps(object, JSON_COMPACT) : NULL, *line;
	size_t len = text ? strlen(text) + 1 : 0, done = 0;
	ssize_t n = 0;

	json_decref(object);
	line = text ? realloc(text, len + 1) : NULL;
	if (!line) {
		free(text);
		return -ENOMEM;
	}
	line[len - 1] = '\n';
	while (done < len && n >= 0) {
		n = write(j->fd, line + done, len - done);
		done += n > 0 ? (size_t)n : 0;
		if (n < 0 && errno == EINTR)
			n = 0;
	}
	free(line);
	return n < 0 ? -errno : 0;
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
	int directory = open_directory_of(path, &name);
	int err = directory < 0 ? directory : check_directory(directory);

	if (j)
		j->fd = -1;
	err = j ? err : -ENOMEM;
	if (!err) {
		j->fd = openat(directory, name, FLAGS, 0600);
		err = j->fd < 0 ? -errno : 0;
	}
	if (!err)
		(void)flock(j->fd, LOCK_EX | LOCK_NB);
	if (!err)
		err = write_line(j, json_pack("{s:i}", FORMAT_KEY, FORMAT));
	if (!err && (fsync(j->fd) || fsync(directory)))
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
	if (!j)
		return;
	if (j->fd >= 0)
		close(j->fd);
	free(j);
}

/* ---- writing steps ---- */

static json_t *names_to_json(const struct dedup_record *r)
{
	json_t *names = json_array(), *name;
	size_t i;

	for (i = 0; names && i < r->path_count; i++) {
		name = json_object();
		if (!name || json_set_path(name, "path", r->paths[i]) ||
		    json_array_append(names, name)) {
			json_decref(names);
			names = NULL;
		}
		json_decref(name);
	}
	return names;
}

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
		names_to_json(r));

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
	if (!err && r->temporary && fdatasync(j->fd))
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

static int64_t get_number(const json_t *o, const char *key)
{
	return json_integer_value(json_object_get(o, key));
}

static struct timespec get_time(const json_t *o, const char *key)
{
	const json_t *time = json_object_get(o, key);

	return (struct timespec){ json_integer_value(json_array_get(time, 0)),
				  json_integer_value(json_array_get(time, 1)) };
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

static int parse_method(const json_t *o, enum dedup_method *out)
{
	const char *text = json_string_value(json_object_get(o, "method"));
	int i;

	for (i = 0; text && i < DEDUP_METHODS; i++)
		if (!strcmp(text, dedup_method_names[i])) {
			*out = (enum dedup_method)i;
			return 0;
		}
	return -EINVAL;
}

static int parse_record(const json_t *o, struct dedup_record *r)
{
	const char *hash = json_string_value(json_object_get(o, "sha256"));
	const json_t *names = json_object_get(o, "names");
	size_t count = json_array_size(names);

	*r = (struct dedup_record){
		.step = get_number(o, "step"),
		.paths = calloc(count + 1, sizeof(*r->paths)),
		.keep = json_get_path(o, "keep"),
		.temporary = json_get_path(o, "temporary"),
		.st = { .st_ino = (ino_t)get_number(o, "inode"),
			.st_size = (off_t)get_number(o, "size"),
			.st_mtim = get_time(o, "mtime"),
			.st_atim = get_time(o, "atime"),
			.st_mode = (mode_t)get_number(o, "mode") & 07777,
			.st_uid = (uid_t)get_number(o, "uid"),
			.st_gid = (gid_t)get_number(o, "gid") },
		.keep_inode = (ino_t)get_number(o, "keep_inode"),
		.attributes = json_incref(json_object_get(o, "attributes")),
	};
	if (hash && strlen(hash) < sizeof(r->sha256))
		memcpy(r->sha256, hash, strlen(hash));
	while (r->paths && r->path_count < count &&
	       (r->paths[r->path_count] = json_get_path(
			json_array_get(names, r->path_count), "path")))
		r->path_count++;
	if (r->path_count == count && !parse_method(o, &r->method) &&
	    is_record(r))
		return 0;
	dedup_record_release(r);
	return -EINVAL;
}

struct journal_read {
	struct dedup_record *records;
	size_t count;
};

static void mark_ended(struct journal_read *read, const json_t *o)
{
	json_int_t step = get_number(o, "end");
	size_t i;

	for (i = read->count; i-- > 0;)
		if (read->records[i].step == step) {
			read->records[i].ended = true;
			read->records[i].done =
				json_is_true(json_object_get(o, "done"));
			return;
		}
}

static int take_line(struct journal_read *read, const json_t *o)
{
	struct dedup_record *records;
	int err;

	if (json_object_get(o, "end")) {
		mark_ended(read, o);
		return 0;
	}
	records = array_with_room(read->records, read->count, sizeof(*records));
	if (!records)
		return -ENOMEM;
	read->records = records;
	err = parse_record(o, &records[read->count]);
	read->count += !err;
	return err;
}

static int check_format(const json_t *o)
{
	return get_number(o, FORMAT_KEY) == FORMAT ? 0 : -EINVAL;
}

/* A last line that is cut was never acted upon: the step begins after it is
 * synced. */
static int read_lines(FILE *file, struct journal_read *read)
{
	char *line = NULL;
	size_t room = 0, n;
	ssize_t len;
	int err = 0;

	for (n = 0; !err && (len = getline(&line, &room, file)) > 0; n++) {
		json_t *o = json_loadb(line, (size_t)len, 0, NULL);

		if (line[len - 1] != '\n') {
			json_decref(o);
			err = n ? 0 : -EINVAL;
			break;
		}
		if (!json_is_object(o))
			err = -EINVAL;
		else
			err = n ? take_line(read, o) : check_format(o);
		json_decref(o);
	}
	if (!n && !err)
		err = -EINVAL;
	free(line);
	return err;
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
	FILE *file = NULL;
	struct journal_read read = { 0 };
	int err = open_journal(path, &file);

	if (err)
		return err;
	err = read_lines(file, &read);
	if (!err && ferror(file))
		err = -EIO;
	fclose(file);
	if (err) {
		while (read.count)
			dedup_record_release(&read.records[--read.count]);
		free(read.records);
		return err;
	}
	*out = read.records;
	*count_out = read.count;
	return 0;
}
