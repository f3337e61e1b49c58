/* SPDX-License-Identifier: Apache-2.0 */
#include "core/ignore/ignore.h"

#include <errno.h>
#include <fcntl.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/hex.h"
#include "core/base/replace.h"
#include "core/base/text.h"

enum { HASH_DIGITS = 32 };

/* ---- order ---- */

static int compare_contents(const struct ignore_content *a,
			    const struct ignore_content *b)
{
	int order = memcmp(a->xxh128, b->xxh128, sizeof(a->xxh128));

	return order ? order : (a->size > b->size) - (a->size < b->size);
}

static int compare_pairs(const void *x, const void *y)
{
	const struct ignore_pair *a = x, *b = y;
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

/* 1: it was not there. */
static int insert(struct ignore_set *set, const struct ignore_pair *pair)
{
	struct ignore_pair *own = malloc(sizeof(*own)), **found = NULL;

	if (own) {
		*own = *pair;
		found = tsearch(own, &set->pairs, compare_pairs);
	}
	if (found && *found == own)
		return 1;
	free(own);
	return found ? 0 : -ENOMEM;
}

int ignore_set_parse(const char *data, size_t len, struct ignore_set *out)
{
	struct ignore_set set = { 0 };
	struct ignore_line line = { 0 };
	int err = buf_append(&set.text, data, len);

	if (!err && len && data[len - 1] != '\n')
		err = buf_append_text(&set.text, "\n");
	while (err >= 0 && ignore_next_line(&set.text, &line)) {
		set.damaged += line.damaged;
		if (line.is_pair)
			err = insert(&set, &line.pair);
	}
	if (err < 0) {
		ignore_set_release(&set);
		return err;
	}
	*out = set;
	return 0;
}

void ignore_set_release(struct ignore_set *set)
{
	buf_release(&set->text);
	tdestroy(set->pairs, free);
	*set = (struct ignore_set){ 0 };
}

/* ---- looking up and changing ---- */

bool ignore_set_has(const struct ignore_set *set,
		    const struct ignore_content *a,
		    const struct ignore_content *b)
{
	const struct ignore_pair pair = pair_of(a, b);

	return tfind(&pair, &set->pairs, compare_pairs) != NULL;
}

int ignore_set_add(struct ignore_set *set, const struct ignore_content *a,
		   const struct ignore_content *b, const char *remark)
{
	const struct ignore_pair pair = pair_of(a, b);
	char a_text[IGNORE_TEXT_ROOM], b_text[IGNORE_TEXT_ROOM];
	int added = insert(set, &pair), err;

	if (added <= 0)
		return added;
	err = buf_append_format(&set->text, "%s %s # %s\n",
				ignore_format(&pair.a, a_text),
				ignore_format(&pair.b, b_text), remark);
	return err ? err : 1;
}

bool ignore_set_remove(struct ignore_set *set, const struct ignore_content *a,
		       const struct ignore_content *b)
{
	const struct ignore_pair pair = pair_of(a, b);
	struct ignore_pair **found = tfind(&pair, &set->pairs, compare_pairs),
			   *own = found ? *found : NULL;

	(void)tdelete(&pair, &set->pairs, compare_pairs);
	free(own);
	return own;
}

int ignore_set_format(const struct ignore_set *set, struct buf *out)
{
	struct ignore_line line = { 0 };
	int err = 0;

	while (!err && ignore_next_line(&set->text, &line))
		if (!line.is_pair ||
		    ignore_set_has(set, &line.pair.a, &line.pair.b))
			err = buf_append(out, line.text, line.len + 1);
	return err;
}

/* ---- the file ---- */

int ignore_load(int directory, struct ignore_set *out, struct stat *st_out)
{
	enum { FLAGS = O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW };
	int fd = openat(directory, IGNORE_FILE, FLAGS);
	int err = fd < 0 && errno != ENOENT ? -errno : 0;
	struct buf data = { 0 };
	struct stat st = { 0 };
	ssize_t got = 1;

	if (fd >= 0 && fstat(fd, &st))
		err = -errno;
	else if (fd >= 0 && !S_ISREG(st.st_mode))
		err = S_ISDIR(st.st_mode) ? -EISDIR : -EINVAL;
	while (!err && fd >= 0 && got) {
		err = data.len > IGNORE_MAX_BYTES ? -EFBIG :
						    buf_reserve(&data, 1 << 16);
		got = err ? 0 : read(fd, data.data + data.len, 1 << 16);
		if (got < 0 && errno != EINTR)
			err = -errno;
		data.len += got > 0 ? (size_t)got : 0;
	}
	if (!err)
		err = ignore_set_parse(data.data, data.len, out);
	if (st_out)
		*st_out = st;
	buf_release(&data);
	if (fd >= 0)
		close(fd);
	return err;
}

int ignore_lock(int directory)
{
	int err = 0;

	while (!err && flock(directory, LOCK_EX))
		err = errno == EINTR ? 0 : -errno;
	return err;
}

int ignore_save(int directory, const struct ignore_set *set)
{
	struct buf data = { 0 };
	int err = ignore_set_format(set, &data);

	if (!err)
		err = file_replace(directory, IGNORE_FILE, IGNORE_FILE ".new",
				   &data, 0600);
	buf_release(&data);
	return err;
}

/* ---- the daemon's copy ---- */

int ignored_init(struct ignored *i, const char *directory,
		 const struct logger *log)
{
	*i = (struct ignored){ .log = log };
	i->directory = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (i->directory < 0)
		return -errno;
	i->made = !pthread_mutex_init(&i->lock, NULL);
	if (!i->made)
		close(i->directory);
	return i->made ? 0 : -ENOMEM;
}

void ignored_release(struct ignored *i)
{
	ignore_set_release(&i->set);
	if (i->made) {
		pthread_mutex_destroy(&i->lock);
		close(i->directory);
	}
	*i = (struct ignored){ 0 };
}

/* Keeps the present pairs when the file cannot be read. */
static void load_pairs(struct ignored *i)
{
	struct ignore_set set;
	int err = ignore_load(i->directory, &set, &i->seen);

	if (err && err != i->error)
		logger_print(i->log, IGNORE_FILE ", beside the catalog: cannot "
						 "be read; the pairs to ignore "
						 "stay what they were");
	i->error = err;
	if (err)
		return;
	if (set.damaged)
		logger_print(i->log,
			     IGNORE_FILE ", beside the catalog: has damaged "
					 "lines, which are passed over; kin "
					 "ignore --list names them");
	ignore_set_release(&i->set);
	i->set = set;
}

/* A program that writes the file makes a new one; an editor may not. */
bool ignored_refresh(struct ignored *i)
{
	struct stat st = { 0 };
	bool any;

	if (fstatat(i->directory, IGNORE_FILE, &st, AT_SYMLINK_NOFOLLOW))
		st = (struct stat){ 0 };
	pthread_mutex_lock(&i->lock);
	if (i->error || st.st_ino != i->seen.st_ino ||
	    st.st_dev != i->seen.st_dev || st.st_size != i->seen.st_size ||
	    timespec_to_ns(&st.st_ctim) != timespec_to_ns(&i->seen.st_ctim))
		load_pairs(i);
	any = i->set.pairs != NULL;
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
