/* SPDX-License-Identifier: Apache-2.0 */
#include "core/search/ignored.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"

int ignored_init(struct ignored *i, const char *directory,
		 const struct logger *log)
{
	*i = (struct ignored){ .log = log };
	i->directory = strdup(directory);
	if (!i->directory)
		return -ENOMEM;
	i->made = !pthread_mutex_init(&i->lock, NULL);
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

static bool is_same_file(const struct stat *a, const struct stat *b)
{
	return a->st_ino == b->st_ino && a->st_dev == b->st_dev &&
	       a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
	       a->st_mtim.tv_nsec == b->st_mtim.tv_nsec &&
	       a->st_ctim.tv_sec == b->st_ctim.tv_sec &&
	       a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

static void log_problem(const struct ignored *i, const char *what)
{
	struct buf message = { 0 };

	if (!buf_append_format(&message, "%s/" IGNORE_FILE ": %s", i->directory,
			       what))
		logger_print(i->log, "%s", message.data);
	buf_release(&message);
}

/* Keeps the present pairs when the file cannot be read. */
static void load_pairs(struct ignored *i)
{
	struct ignore_set set;
	struct stat st;
	int err = ignore_load(i->directory, &set, &st);

	if (err && err != i->error)
		log_problem(
			i, "cannot be read; the pairs to ignore stay what they "
			   "were");
	i->error = err;
	if (err)
		return;
	if (set.damaged)
		log_problem(
			i,
			"has damaged lines, which are passed over; kin ignore "
			"--list names them");
	ignore_set_release(&i->set);
	i->set = set;
	i->seen = st;
	i->read = true;
}

void ignored_refresh(struct ignored *i)
{
	struct buf path = { 0 };
	struct stat st = { 0 };

	if (!buf_append_format(&path, "%s/" IGNORE_FILE, i->directory) &&
	    lstat(path.data, &st))
		st = (struct stat){ 0 };
	buf_release(&path);
	pthread_mutex_lock(&i->lock);
	if (!i->read || !is_same_file(&st, &i->seen))
		load_pairs(i);
	pthread_mutex_unlock(&i->lock);
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

bool ignored_any(struct ignored *i)
{
	bool any;

	pthread_mutex_lock(&i->lock);
	any = i->set.count != 0;
	pthread_mutex_unlock(&i->lock);
	return any;
}
