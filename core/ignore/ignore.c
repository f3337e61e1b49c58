/* SPDX-License-Identifier: Apache-2.0 */
#include "core/ignore/ignore.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "core/base/array.h"
#include "core/base/hex.h"
#include "core/base/text.h"

#define NEW_FILE IGNORE_FILE ".new"

enum { HASH_DIGITS = 32 };

/* ---- order ---- */

static int compare_contents(const struct ignore_content *a,
			    const struct ignore_content *b)
{
	int order = memcmp(a->xxh128, b->xxh128, sizeof(a->xxh128));

	return order ? order : (a->size > b->size) - (a->size < b->size);
}

static int compare_pairs(const struct ignore_pair *a,
			 const struct ignore_pair *b)
{
	int order = compare_contents(&a->a, &b->a);

	return order ? order : compare_contents(&a->b, &b->b);
}

static struct ignore_pair pair_of(const struct ignore_content *a,
				  const struct ignore_content *b)
{
	if (compare_contents(a, b) > 0)
		return (struct ignore_pair){ *b, *a };
	return (struct ignore_pair){ *a, *b };
}

/* Of equal pairs the first in the file comes first. */
static int compare_lines(const void *a, const void *b)
{
	const struct ignore_line *x = a, *y = b;
	int order = compare_pairs(&x->pair, &y->pair);

	return order ? order :
		       (x->number > y->number) - (x->number < y->number);
}

/* Where the pair is, or would be. */
static size_t find_place(const struct ignore_set *set,
			 const struct ignore_pair *pair, bool *found_out)
{
	size_t low = 0, high = set->pair_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare_pairs(&set->pairs[middle].pair, pair) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	*found_out = low < set->pair_count &&
		     !compare_pairs(&set->pairs[low].pair, pair);
	return low;
}

/* ---- text ---- */

const char *ignore_format(const struct ignore_content *c,
			  char out[IGNORE_TEXT_ROOM])
{
	hex_encode(c->xxh128, sizeof(c->xxh128), out);
	(void)snprintf(out + HASH_DIGITS, IGNORE_TEXT_ROOM - HASH_DIGITS,
		       ":%llu", (unsigned long long)c->size);
	return out;
}

static bool parse_content(const char **text, const char *end,
			  struct ignore_content *out)
{
	const char *p = *text;

	if (end - p <= HASH_DIGITS || p[HASH_DIGITS] != ':' ||
	    hex_decode(p, HASH_DIGITS, out->xxh128, sizeof(out->xxh128)))
		return false;
	*text = p + HASH_DIGITS + 1;
	return text_number(text, end, &out->size);
}

static bool skip_blanks(const char **text, const char *end)
{
	const char *start = *text;

	while (*text < end &&
	       (**text == ' ' || **text == '\t' || **text == '\r'))
		++*text;
	return *text > start;
}

static bool parse_pair(const char *p, size_t len, struct ignore_pair *out)
{
	const char *end = p + len;
	struct ignore_content a, b;

	if (!parse_content(&p, end, &a) || !skip_blanks(&p, end) ||
	    !parse_content(&p, end, &b))
		return false;
	if (p < end && (!skip_blanks(&p, end) || (p < end && *p != '#')))
		return false;
	*out = pair_of(&a, &b);
	return true;
}

/* Copies the text. */
static int append_line(struct ignore_line **lines, size_t *count,
		       const struct ignore_line *line)
{
	struct ignore_line *all = array_with_room(*lines, *count, sizeof(*all));
	char *text = malloc(line->len + 1);

	*lines = all ? all : *lines;
	if (!all || !text) {
		free(text);
		return -ENOMEM;
	}
	memcpy(text, line->text, line->len);
	text[line->len] = '\0';
	all[*count] = *line;
	all[(*count)++].text = text;
	return 0;
}

/* Puts the pairs in order, each once. */
static void sort_pairs(struct ignore_set *set)
{
	size_t i, kept = 0;

	if (set->pair_count)
		qsort(set->pairs, set->pair_count, sizeof(*set->pairs),
		      compare_lines);
	for (i = 0; i < set->pair_count; i++)
		if (kept && !compare_pairs(&set->pairs[kept - 1].pair,
					   &set->pairs[i].pair))
			free(set->pairs[i].text);
		else
			set->pairs[kept++] = set->pairs[i];
	set->pair_count = kept;
}

int ignore_set_parse(const char *data, size_t len, struct ignore_set *out)
{
	const char *end = len ? data + len : data, *stop;
	struct ignore_set set = { 0 };
	struct ignore_line line = { 0 };
	int err = 0;

	for (; data < end && !err; data = stop + (stop < end)) {
		stop = memchr(data, '\n', (size_t)(end - data)) ?: end;
		line.text = (char *)data;
		line.len = (size_t)(stop - data);
		line.number++;
		line.damaged = false;
		if (parse_pair(data, line.len, &line.pair)) {
			err = append_line(&set.pairs, &set.pair_count, &line);
			continue;
		}
		line.damaged = line.len && *data != '#';
		set.damaged_count += line.damaged;
		err = append_line(&set.others, &set.other_count, &line);
	}
	if (err) {
		ignore_set_release(&set);
		return err;
	}
	sort_pairs(&set);
	*out = set;
	return 0;
}

void ignore_set_release(struct ignore_set *set)
{
	while (set->pair_count)
		free(set->pairs[--set->pair_count].text);
	while (set->other_count)
		free(set->others[--set->other_count].text);
	free(set->pairs);
	free(set->others);
	*set = (struct ignore_set){ 0 };
}

/* ---- looking up and changing ---- */

bool ignore_set_has(const struct ignore_set *set,
		    const struct ignore_content *a,
		    const struct ignore_content *b)
{
	const struct ignore_pair pair = pair_of(a, b);
	bool found;

	(void)find_place(set, &pair, &found);
	return found;
}

int ignore_set_add(struct ignore_set *set, const struct ignore_content *a,
		   const struct ignore_content *b, const char *remark)
{
	struct ignore_line line = { .pair = pair_of(a, b) };
	char a_text[IGNORE_TEXT_ROOM], b_text[IGNORE_TEXT_ROOM];
	struct buf text = { 0 };
	bool found;
	size_t place = find_place(set, &line.pair, &found);
	int err;

	if (found)
		return 0;
	err = buf_append_format(&text, "%s %s # %s",
				ignore_format(&line.pair.a, a_text),
				ignore_format(&line.pair.b, b_text), remark);
	line.text = text.data;
	line.len = text.len;
	if (!err)
		err = append_line(&set->pairs, &set->pair_count, &line);
	buf_release(&text);
	if (err)
		return err;
	line = set->pairs[set->pair_count - 1];
	memmove(&set->pairs[place + 1], &set->pairs[place],
		(set->pair_count - 1 - place) * sizeof(line));
	set->pairs[place] = line;
	return 1;
}

bool ignore_set_remove(struct ignore_set *set, const struct ignore_content *a,
		       const struct ignore_content *b)
{
	const struct ignore_pair pair = pair_of(a, b);
	bool found;
	size_t place = find_place(set, &pair, &found);

	if (!found)
		return false;
	free(set->pairs[place].text);
	set->pair_count--;
	memmove(&set->pairs[place], &set->pairs[place + 1],
		(set->pair_count - place) * sizeof(*set->pairs));
	return true;
}

int ignore_set_format(const struct ignore_set *set, struct buf *out)
{
	size_t i;
	int err = 0;

	for (i = 0; i < set->other_count + set->pair_count && !err; i++) {
		const struct ignore_line *line =
			i < set->other_count ?
				&set->others[i] :
				&set->pairs[i - set->other_count];

		err = buf_append(out, line->text, line->len);
		if (!err)
			err = buf_append(out, "\n", 1);
	}
	return err;
}

/* ---- the file ---- */

static int open_in(const char *directory, const char *name, int flags)
{
	int top = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC), fd, err;

	if (top < 0) /* -ENOENT is that of the file */
		return errno == ENOENT ? -ENOTDIR : -errno;
	fd = openat(top, name, flags | O_CLOEXEC | O_NOFOLLOW, 0600);
	err = fd < 0 ? -errno : fd;
	close(top);
	return err;
}

int ignore_load(const char *directory, struct ignore_set *out,
		struct stat *st_out)
{
	int fd = open_in(directory, IGNORE_FILE, O_RDONLY | O_NONBLOCK);
	struct buf data = { 0 };
	struct stat st = { 0 };
	ssize_t got = 1;
	size_t size;
	int err = fd < 0 && fd != -ENOENT ? fd : 0;

	if (fd >= 0 && fstat(fd, &st))
		err = -errno;
	else if (fd >= 0 && !S_ISREG(st.st_mode))
		err = -EINVAL;
	size = (size_t)st.st_size;
	if (!err && size > IGNORE_MAX_BYTES)
		err = -EFBIG;
	if (!err)
		err = buf_reserve(&data, size + 1);
	while (!err && fd >= 0 && got) {
		got = read(fd, data.data + data.len, size + 1 - data.len);
		if (got < 0 && errno != EINTR)
			err = -errno;
		data.len += got > 0 ? (size_t)got : 0;
	}
	if (!err && data.len > size)
		err = -EAGAIN;
	if (!err)
		err = ignore_set_parse(data.data, data.len, out);
	if (!err && st_out)
		*st_out = st;
	buf_release(&data);
	if (fd >= 0)
		close(fd);
	return err;
}

int ignore_lock(const char *directory, int *fd_out)
{
	int fd = open_in(directory, IGNORE_LOCK_FILE, O_RDWR | O_CREAT);
	int err = fd < 0 ? fd : 0;

	while (!err && flock(fd, LOCK_EX))
		err = errno == EINTR ? 0 : -errno;
	if (!err)
		*fd_out = fd;
	else if (fd >= 0)
		close(fd);
	return err;
}

int ignore_save(const char *directory, const struct ignore_set *set)
{
	enum { FLAGS = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW };
	struct buf data = { 0 };
	int top = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC), fd = -1;
	int err = top < 0 ? -errno : ignore_set_format(set, &data);
	ssize_t put;
	size_t at = 0;

	/* One that a killed program left behind. */
	if (!err && unlinkat(top, NEW_FILE, 0) && errno != ENOENT)
		err = -errno;
	if (!err) {
		fd = openat(top, NEW_FILE, FLAGS, 0600);
		err = fd < 0 ? -errno : 0;
	}
	while (!err && at < data.len) {
		put = write(fd, data.data + at, data.len - at);
		if (put < 0 && errno != EINTR)
			err = -errno;
		at += put > 0 ? (size_t)put : 0;
	}
	if (!err && fsync(fd))
		err = -errno;
	if (fd >= 0 && close(fd) && !err)
		err = -errno;
	if (!err && renameat(top, NEW_FILE, top, IGNORE_FILE))
		err = -errno;
	if (err && fd >= 0)
		(void)unlinkat(top, NEW_FILE, 0);
	if (!err && fsync(top))
		err = -errno;
	if (top >= 0)
		close(top);
	buf_release(&data);
	return err;
}
