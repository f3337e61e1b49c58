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
#include "core/base/clock.h"
#include "core/base/hex.h"
#include "core/base/replace.h"
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
static int compare_known(const void *a, const void *b)
{
	const struct ignore_known *x = a, *y = b;
	int order = compare_pairs(&x->pair, &y->pair);

	return order ? order : (x->line > y->line) - (x->line < y->line);
}

/* Where the pair is, or would be. */
static size_t find_place(const struct ignore_set *set,
			 const struct ignore_pair *pair, bool *found_out)
{
	size_t low = 0, high = set->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare_pairs(&set->pairs[middle].pair, pair) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	*found_out =
		low < set->count && !compare_pairs(&set->pairs[low].pair, pair);
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

bool ignore_next_line(const struct buf *text, struct ignore_line *l)
{
	const char *stop;

	l->at += l->number ? l->len + 1 : 0;
	if (l->at >= text->len)
		return false;
	l->number++;
	l->text = text->data + l->at;
	stop = memchr(l->text, '\n', text->len - l->at);
	l->len = stop ? (size_t)(stop - l->text) : text->len - l->at;
	l->is_pair = parse_pair(l->text, l->len, &l->pair);
	l->damaged = !l->is_pair && l->len && *l->text != '#';
	return true;
}

static int insert(struct ignore_set *set, size_t place,
		  const struct ignore_known *known)
{
	struct ignore_known *pairs =
		array_with_room(set->pairs, set->count, sizeof(*pairs));

	if (!pairs)
		return -ENOMEM;
	set->pairs = pairs;
	memmove(&pairs[place + 1], &pairs[place],
		(set->count++ - place) * sizeof(*pairs));
	pairs[place] = *known;
	return 0;
}

int ignore_set_parse(const char *data, size_t len, struct ignore_set *out)
{
	struct ignore_set set = { 0 };
	struct ignore_line line = { 0 };
	size_t i, kept = 0;
	int err = buf_append(&set.text, data, len);

	while (!err && ignore_next_line(&set.text, &line)) {
		set.damaged += line.damaged;
		if (line.is_pair)
			err = insert(
				&set, set.count,
				&(struct ignore_known){ line.pair, line.at });
	}
	if (!err && len && data[len - 1] != '\n')
		err = buf_append_text(&set.text, "\n");
	if (err) {
		ignore_set_release(&set);
		return err;
	}
	if (set.count)
		qsort(set.pairs, set.count, sizeof(*set.pairs), compare_known);
	for (i = 0; i < set.count; i++)
		if (!kept || compare_pairs(&set.pairs[kept - 1].pair,
					   &set.pairs[i].pair) != 0)
			set.pairs[kept++] = set.pairs[i];
	set.count = kept;
	*out = set;
	return 0;
}

void ignore_set_release(struct ignore_set *set)
{
	buf_release(&set->text);
	free(set->pairs);
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
	const struct ignore_known known = { pair_of(a, b), set->text.len };
	char a_text[IGNORE_TEXT_ROOM], b_text[IGNORE_TEXT_ROOM];
	bool found;
	size_t place = find_place(set, &known.pair, &found);
	int err;

	if (found)
		return 0;
	err = buf_append_format(&set->text, "%s %s # %s\n",
				ignore_format(&known.pair.a, a_text),
				ignore_format(&known.pair.b, b_text), remark);
	if (!err)
		err = insert(set, place, &known);
	return err ? err : 1;
}

bool ignore_set_remove(struct ignore_set *set, const struct ignore_content *a,
		       const struct ignore_content *b)
{
	const struct ignore_pair pair = pair_of(a, b);
	bool found;
	size_t place = find_place(set, &pair, &found);

	if (found)
		memmove(&set->pairs[place], &set->pairs[place + 1],
			(--set->count - place) * sizeof(*set->pairs));
	return found;
}

int ignore_set_format(const struct ignore_set *set, struct buf *out)
{
	struct ignore_line line = { 0 };
	bool found;
	int err = 0;

	while (!err && ignore_next_line(&set->text, &line)) {
		found = true;
		if (line.is_pair)
			(void)find_place(set, &line.pair, &found);
		if (found)
			err = buf_append(out, line.text, line.len + 1);
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
	struct buf data = { 0 };
	int top = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int err = top < 0 ? -errno : ignore_set_format(set, &data);

	if (!err)
		err = file_replace(top, IGNORE_FILE, NEW_FILE, &data, 0600);
	if (top >= 0)
		close(top);
	buf_release(&data);
	return err;
}

/* ---- the daemon's copy ---- */

int ignored_init(struct ignored *i, const char *directory,
		 const struct logger *log)
{
	*i = (struct ignored){ .log = log, .directory = strdup(directory) };
	i->made = i->directory && !pthread_mutex_init(&i->lock, NULL);
	return i->made ? 0 : -ENOMEM;
}

void ignored_release(struct ignored *i)
{
	ignore_set_release(&i->set);
	free(i->directory);
	if (i->made)
		pthread_mutex_destroy(&i->lock);
	*i = (struct ignored){ 0 };
}

/* Keeps the present pairs when the file cannot be read. */
static void load_pairs(struct ignored *i)
{
	struct ignore_set set;
	int err = ignore_load(i->directory, &set, &i->seen);

	if (err && err != i->error)
		logger_print(i->log,
			     "%s/" IGNORE_FILE ": cannot be read; the pairs to "
			     "ignore stay what they were",
			     i->directory);
	i->error = err;
	i->read = !err;
	if (err)
		return;
	if (set.damaged)
		logger_print(i->log,
			     "%s/" IGNORE_FILE ": has damaged lines, which are "
			     "passed over; kin ignore --list names them",
			     i->directory);
	ignore_set_release(&i->set);
	i->set = set;
}

/* A program that writes the file makes a new one; an editor may not. */
bool ignored_refresh(struct ignored *i)
{
	struct buf path = { 0 };
	struct stat st = { 0 };
	bool any;

	if (!buf_append_format(&path, "%s/" IGNORE_FILE, i->directory) &&
	    lstat(path.data, &st))
		st = (struct stat){ 0 };
	buf_release(&path);
	pthread_mutex_lock(&i->lock);
	if (!i->read || st.st_ino != i->seen.st_ino ||
	    st.st_dev != i->seen.st_dev || st.st_size != i->seen.st_size ||
	    timespec_to_ns(&st.st_ctim) != timespec_to_ns(&i->seen.st_ctim))
		load_pairs(i);
	any = i->set.count != 0;
	pthread_mutex_unlock(&i->lock);
	return any;
}

static struct ignore_content content_of(const struct digests *d)
{
	struct ignore_content c = { .size = d->size };

	memcpy(c.xxh128, d->xxh128, sizeof(c.xxh128));
	return c;
}

bool ignored_has(struct ignored *i, const struct digests *a,
		 const struct digests *b)
{
	const struct ignore_content x = content_of(a), y = content_of(b);
	bool has;

	pthread_mutex_lock(&i->lock);
	has = ignore_set_has(&i->set, &x, &y);
	pthread_mutex_unlock(&i->lock);
	return has;
}
