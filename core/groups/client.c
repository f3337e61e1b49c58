/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/hex.h"
#include "core/base/text.h"
#include "core/engine/query_ioctl.h"
#include "core/groups/groups.h"

/* ---- the query ---- */

static int add_path(struct buf *out, const char *path)
{
	size_t len = strlen(path);
	char *hex = malloc(2 * len + 1);
	int err = -ENOMEM;

	if (hex) {
		hex_encode((const uint8_t *)path, len, hex);
		err = buf_append_format(out, "within=%s\n", hex);
	}
	free(hex);
	return err;
}

static int make_query(const struct groups_wish *wish, struct buf *out)
{
	size_t i;
	int err = buf_append_format(
		out, "relation=groups\nexact=%d\nmin_size=%llu\n", wish->exact,
		(unsigned long long)wish->min_size);

	if (!err && wish->every)
		err = buf_append_text(out, "every=1\n");
	if (!err && wish->threshold)
		err = buf_append_format(out, "threshold=%d\n", wish->threshold);
	for (i = 0; i < wish->within_count && !err; i++)
		err = add_path(out, wish->within[i]);
	return err;
}

/* A mount that is read-only takes a query by ioctl(). */
static int put_piece(int fd, bool writable, char *data, size_t len)
{
	ssize_t done = writable ? write(fd, data, len) :
		       ioctl(fd, QUERY_IOCTL(len), data) < 0 ? -1 :
							       (ssize_t)len;

	if (done < 0)
		return -errno;
	return (size_t)done == len ? 0 : -EIO;
}

static int put_query(int fd, bool writable, const struct buf *query)
{
	size_t at, len;
	int err = 0;

	for (at = 0; at < query->len && !err; at += len) {
		len = query->len - at;
		if (len > QUERY_PIECE_MAX)
			len = QUERY_PIECE_MAX;
		err = put_piece(fd, writable, query->data + at, len);
	}
	return err;
}

/* Another user's mount could lead to any file by symbolic links. */
static int open_query(int directory, bool *writable_out)
{
	struct stat st;
	int fd = openat(directory, ".query", O_RDWR | O_NOFOLLOW | O_CLOEXEC);

	*writable_out = fd >= 0 || errno != EROFS;
	if (!*writable_out)
		fd = openat(directory, ".query",
			    O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode))
		return fd;
	close(fd);
	return -EBADMSG;
}

int query_ask(const char *listings, const struct buf *query, int *fd_out)
{
	int directory =
		open(listings, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int fd = directory < 0 ? -errno : 0, err;
	bool writable = true;

	if (directory >= 0) {
		fd = open_query(directory, &writable);
		close(directory);
	}
	if (fd < 0)
		return fd;
	err = put_query(fd, writable, query);
	if (err)
		close(fd);
	else
		*fd_out = fd;
	return err;
}

/* ---- the answer ---- */

struct answer {
	struct groups_reader *reader;
	struct found_group group; /* at hand */
	unsigned long number;     /* ... in the answer */
	unsigned long long all;   /* groups that were found */
	bool has_left_out;        /* files of this one, which are internal */
	bool leaves_out;          /* ... the last file */
	bool ended;
};

static int hand_over(struct answer *a, struct found_group *group)
{
	struct groups_totals *t = &a->reader->totals;

	if (!found_group_finish(group, a->reader->wish))
		return 0;
	t->groups++;
	t->files += group->files;
	t->exact_bytes += group->saved_exact;
	t->near_bytes += group->saved_near;
	return a->reader->group(a->reader->arg, group);
}

static bool has_head(const struct found_group *group)
{
	size_t i;

	for (i = 0; i < group->count; i++)
		if (group->members[i].score == 100)
			return true;
	return false;
}

/*
 * Without its head, nothing says that the members are alike: the copies of each
 * are a group.  Either the head was left out, or every file of it changed a
 * moment ago.
 */
static int hand_over_each(struct answer *a)
{
	size_t i;
	int err = 0;

	a->reader->totals.incomplete |= !a->has_left_out;
	for (i = 0; i < a->group.count && !err; i++) {
		struct found_group alone = { .members = &a->group.members[i],
					     .count = 1 };

		alone.members->score = 100;
		err = hand_over(a, &alone);
	}
	return err;
}

static int end_group(struct answer *a)
{
	int err = 0;

	if (a->group.count)
		err = has_head(&a->group) ? hand_over(a, &a->group) :
					    hand_over_each(a);
	a->has_left_out = false;
	found_group_release(&a->group);
	return err;
}

static bool is_left_out(const struct answer *a, const char *path)
{
	const struct groups_wish *wish = a->reader->wish;

	return !wish->vcs && !wish->every && keep_is_internal(path);
}

/* "file GROUP SCORE SIZE DISK XXH128 MTIME/PATH" */
static int take_file(struct answer *a, const char *record)
{
	struct found_file file = { 0 };
	unsigned long long size, disk;
	long long mtime_ns;
	unsigned long number;
	char xxh128[33];
	int score, at = -1, err = 0;

	if (sscanf(record, "file %lu %d %llu %llu %32[0-9a-f] %lld/%n", &number,
		   &score, &size, &disk, xxh128, &mtime_ns, &at) != 6 ||
	    at < 0 || strlen(xxh128) != 32 || !text_is_plain_path(record + at))
		return -EBADMSG;
	if (number != a->number)
		err = end_group(a);
	a->number = number;
	file.path = (char *)record + at;
	file.mtime_ns = mtime_ns;
	file.disk = disk;
	a->leaves_out = is_left_out(a, file.path);
	if (a->leaves_out) {
		a->has_left_out = true;
		return err;
	}
	return err ? err :
		     found_group_add(&a->group, score, size, xxh128, &file);
}

/* "digests GROUP", behind a file of that group, and lines. */
static int take_digests(struct answer *a, const char *record)
{
	struct found_member *m;
	unsigned long number;
	int at = -1;

	if (sscanf(record, "digests %lu%n", &number, &at) != 1 || at < 0 ||
	    record[at] != '\n' || number != a->number || a->group.count != 1)
		return -EBADMSG;
	m = &a->group.members[0];
	if (m->digests)
		return -EBADMSG;
	m->digests = strdup(record + at + 1);
	return m->digests ? 0 : -ENOMEM;
}

/* What is said of the file before. */
static int take_name(struct answer *a, const char *record)
{
	struct found_member *m;
	struct found_file *file;
	unsigned long long nlink;

	if (a->leaves_out)
		return 0;
	if (!a->group.count)
		return -EBADMSG;
	m = &a->group.members[a->group.count - 1];
	file = &m->files[m->file_count - 1];
	if (sscanf(record, "nlink %llu", &nlink) == 1) {
		file->nlink = nlink;
		return 0;
	}
	record += strlen("link ");
	if (!text_is_plain_path(record))
		return -EBADMSG;
	/* As if it were not seen: the file stays. */
	return is_left_out(a, record) ?
		       0 :
		       found_file_add_link(file, strdup(record));
}

static void tell_progress(const struct answer *a, bool found, double share)
{
	if (a->reader->progress)
		a->reader->progress(a->reader->arg, found, share);
}

static int take_record(struct answer *a, const char *record)
{
	unsigned thousandths;

	if (!strncmp(record, "file ", 5))
		return take_file(a, record);
	if (!strncmp(record, "link ", 5) || !strncmp(record, "nlink ", 6))
		return take_name(a, record);
	if (!strncmp(record, "digests ", 8))
		return take_digests(a, record);
	if (sscanf(record, "progress %u", &thousandths) == 1 &&
	    thousandths <= 1000)
		tell_progress(a, false, thousandths / 1000.0);
	else if (sscanf(record, "groups %llu", &a->all) == 1)
		tell_progress(a, true, 0);
	else if (!strcmp(record, "incomplete"))
		a->reader->totals.incomplete = true;
	else if (!strcmp(record, "end"))
		a->ended = true;
	else if (sscanf(record, "threshold %d", &a->reader->totals.threshold) !=
		 1)
		return -EBADMSG;
	return a->ended ? end_group(a) : 0;
}

/* Takes the complete records of the text; the unfinished one stays. */
static int take_records(struct answer *a, struct buf *text)
{
	size_t at = 0;
	char *stop;
	int err = 0;

	while (!err && (stop = memchr(text->data + at, '\0', text->len - at))) {
		err = take_record(a, text->data + at);
		at = (size_t)(stop - text->data) + 1;
	}
	if (err)
		return err;
	memmove(text->data, text->data + at, text->len - at);
	text->len -= at;
	if (a->all)
		tell_progress(a, true, (double)a->number / (double)a->all);
	if (a->reader->idle)
		a->reader->idle(a->reader->arg);
	return 0;
}

static int read_answer(int fd, struct groups_reader *r)
{
	enum { PIECE = 1 << 16 };
	struct answer a = { .reader = r };
	struct buf text = { 0 };
	ssize_t len = 1;
	int err = 0;

	tell_progress(&a, false, 0);
	while (!err && len) {
		err = buf_reserve(&text, PIECE);
		len = err ? 0 : read(fd, text.data + text.len, PIECE);
		if (len < 0)
			err = errno == EINTR ? 0 : -errno;
		if (len <= 0)
			continue;
		text.len += (size_t)len;
		err = take_records(&a, &text);
	}
	if (!err && !a.ended)
		err = -EBADMSG;
	found_group_release(&a.group);
	buf_release(&text);
	return err;
}

int groups_find(const char *listings, struct groups_reader *r)
{
	struct buf query = { 0 };
	int fd, err = make_query(r->wish, &query);

	if (!err)
		err = query_ask(listings, &query, &fd);
	buf_release(&query);
	if (err)
		return err;
	err = read_answer(fd, r);
	close(fd);
	return err;
}
