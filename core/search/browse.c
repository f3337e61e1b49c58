/* SPDX-License-Identifier: Apache-2.0 */
#include "core/search/search_ctx.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/array.h"
#include "core/source/file.h"
#include "core/source/source.h"

/*
 * Which entries of a directory have something that resembles them, or have it
 * below them.  For a content the answer is remembered, and only what the index
 * got since is searched the next time; the files are looked at every time.
 * What is remembered holds for the viewers who may see everything: to others
 * fewer contents are there, and other values are common.
 */

/* ---- whether a file has any ---- */

static struct near memory_get(struct look *l, uint32_t content)
{
	struct inquiry *q = &l->e->inquiry;
	struct near near = { .content = content, .upto = 1 };

	if (l->viewer)
		return near;
	pthread_mutex_lock(&q->lock);
	near = q->near[content % NEAR_SLOTS];
	pthread_mutex_unlock(&q->lock);
	if (near.content != content)
		near = (struct near){ .content = content, .upto = 1 };
	return near;
}

static void memory_put(struct look *l, const struct near *near)
{
	struct inquiry *q = &l->e->inquiry;

	if (l->viewer)
		return;
	pthread_mutex_lock(&q->lock);
	q->near[near->content % NEAR_SLOTS] = *near;
	pthread_mutex_unlock(&q->lock);
}

/* Among the contents that nobody looked at yet; any: one is enough. */
static int matches_since(struct look *l, const struct near *near, bool any,
			 struct index_match **out, size_t *count_out)
{
	struct near_query q = { .first_content = near->upto, .any = any };
	struct sif_sketch sketch;
	struct digests d;
	int err = catalog_content_get(l->txn, near->content, &d);

	if (err)
		return err;
	err = catalog_sketch_get(l->txn, near->content, &sketch);
	q.digests = &d;
	q.sketch = err ? NULL : &sketch;
	if (!err || err == -ENOENT)
		err = near_contents(l, &q, out, count_out);
	digests_release(&d);
	return err;
}

/* 1 when a match has a file to show, 0 when not. */
static int search_some(struct look *l, struct near *near, bool any,
		       size_t *count_out)
{
	struct index_match *matches;
	size_t count, i;
	int err = matches_since(l, near, any, &matches, &count);

	if (err)
		return err;
	for (i = 0; i < count && !err; i++) {
		err = content_has_hit(l, matches[i].content);
		if (err == 1)
			near->near = matches[i].content;
	}
	free(matches);
	*count_out = count;
	return err;
}

/* Most often the first match has a file to show. */
static int search_near(struct look *l, struct near *near)
{
	uint32_t end = index_end(l->e->index);
	size_t count = 0;
	int err = 0;

	if (near->upto < end)
		err = search_some(l, near, true, &count);
	if (!err && count)
		err = search_some(l, near, false, &count);
	if (!err && !count)
		near->upto = end;
	if (err >= 0)
		memory_put(l, near);
	return err;
}

/* 1 when the file has a near-duplicate, 0 when not. */
static int has_near(struct look *l, const struct file_key *key,
		    const struct file_record *rec)
{
	struct near near;
	int err;

	if (rec->state != FILE_FRESH || !rec->identity.size ||
	    !file_is_visible(l, key))
		return 0;
	l->self = *key;
	l->self_content = rec->content;
	err = content_has_hit(l, rec->content);
	if (err)
		return err;
	near = memory_get(l, rec->content);
	if (near.near) {
		err = content_has_hit(l, near.near);
		if (err)
			return err;
		near.near = 0;
		near.upto = 1;
	}
	return search_near(l, &near);
}

/* ---- directories ---- */

static int note_child(void *arg, struct catalog_name name,
		      const struct file_key *key)
{
	(void)name;
	return key_list_add(arg, key);
}

static int directory_has_near(struct look *l, const struct file_key *dir)
{
	struct key_list stack = { 0 };
	int err = key_list_add(&stack, dir);

	while (err == 0 && stack.count && !look_is_stopping(l)) {
		struct file_key key = stack.keys[--stack.count];
		struct file_record rec;

		if (catalog_file_get(l->txn, &key, &rec))
			continue;
		if (rec.state != FILE_DIRECTORY)
			err = has_near(l, &key, &rec);
		else if (directory_is_visible(l, &key))
			err = catalog_directory_each(l->txn, &key, note_child,
						     &stack);
	}
	free(stack.keys);
	return err;
}

/* 1 when the entry is to be shown. */
static int is_worth_showing(struct look *l, int dir_fd, const char *name,
			    struct stat *st)
{
	struct file_identity identity;
	struct file_record rec;
	struct file_key key;

	if (fstatat(dir_fd, name, st, AT_SYMLINK_NOFOLLOW))
		return 0;
	if (!S_ISREG(st->st_mode) && !S_ISDIR(st->st_mode))
		return 0;
	source_get_entry_key(&l->e->source, dir_fd, name, st, &key);
	if (S_ISDIR(st->st_mode))
		return directory_has_near(l, &key);
	if (catalog_file_get(l->txn, &key, &rec))
		return 0;
	source_get_identity(st, &identity);
	if (!file_identity_equal(&identity, &rec.identity))
		return 0;
	return has_near(l, &key, &rec);
}

static int entry_add(struct engine_entries *entries, const char *name,
		     const struct stat *st)
{
	struct engine_entry *entry;

	entry = array_with_room(entries->entries, entries->count,
				sizeof(*entry));
	if (!entry)
		return -ENOMEM;
	entries->entries = entry;
	entry = &entries->entries[entries->count];
	entry->name = strdup(name);
	entry->directory = S_ISDIR(st->st_mode);
	if (!entry->name)
		return -ENOMEM;
	entries->count++;
	return 0;
}

struct browsing {
	struct look look;
	struct engine_entries entries;
};

static int browse_entry(void *arg, int dir_fd, const char *name)
{
	struct browsing *b = arg;
	struct stat st;
	int err;

	if (look_is_stopping(&b->look))
		return -ECANCELED;
	err = is_worth_showing(&b->look, dir_fd, name, &st) ?: b->look.err;
	return err == 1 ? entry_add(&b->entries, name, &st) : err;
}

static int compare_entries(const void *a, const void *b)
{
	const struct engine_entry *x = a, *y = b;

	return strcmp(x->name, y->name);
}

int near_browse(struct request *r, struct engine_entries *entries_out)
{
	struct browsing b = { .entries = { 0 } };
	int fd = file_open_beneath(r->fd, "", O_RDONLY | O_DIRECTORY), err;

	if (fd < 0)
		return fd;
	err = look_begin(r, &b.look);
	if (!err) {
		err = file_each_in(fd, browse_entry, &b);
		look_end(&b.look);
	}
	close(fd);
	if (err) {
		engine_entries_release(&b.entries);
		return err;
	}
	if (b.entries.count)
		qsort(b.entries.entries, b.entries.count,
		      sizeof(*b.entries.entries), compare_entries);
	*entries_out = b.entries;
	return 0;
}

void engine_entries_release(struct engine_entries *entries)
{
	size_t i;

	for (i = 0; i < entries->count; i++)
		free(entries->entries[i].name);
	free(entries->entries);
	*entries = (struct engine_entries){ 0 };
}
