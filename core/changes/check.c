/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/changes/changes_impl.h"
#include "core/search/search.h"
#include "core/source/file.h"

/*
 * What a watcher may know of an event.
 *
 * One that is trusted is told what was committed, by the paths that the catalog
 * has.  For any other watcher each path must lead to the file on disk, and the
 * watcher must be able to read it.
 */
struct event_check {
	struct changes *changes;
	const struct changes_watcher *w;
	struct catalog_txn *txn;
	const struct catalog_event *event;
	struct file_record rec;
	struct pending_change **end; /* of the list */
	int64_t time_ns;
};

static int add(struct event_check *k, const char *path, unsigned is)
{
	const struct catalog_event *ev = k->event;
	struct pending_change *p = calloc(1, sizeof(*p));

	if (p)
		p->path = strdup(path);
	if (p && is & IS_MOVED && ev->path && k->w->caller.trusted)
		p->from = strdup(ev->path);
	if (!p || !p->path ||
	    (is & IS_MOVED && ev->path && !p->from && k->w->caller.trusted)) {
		if (p)
			free(p->path);
		free(p);
		return -ENOMEM;
	}
	p->is = is;
	p->directory = ev->directory;
	p->kept = is & IS_CHANGED ? ev->change.kept : -1;
	p->size = k->rec.identity.size;
	p->time_ns = k->time_ns;
	*k->end = p;
	k->end = &p->next;
	return 0;
}

static unsigned what_is(const struct event_check *k)
{
	const struct catalog_event *ev = k->event;
	bool trusted = k->w->caller.trusted;

	switch (ev->kind) {
	case CONTENT_NEW:
		return IS_NEW;
	case CONTENT_CHANGED:
		if (!ev->change.replaced)
			return IS_CHANGED;
		return trusted ? IS_CHANGED | IS_REPLACED : IS_NEW;
	case CONTENT_MOVED:
		return trusted || ev->directory ? IS_MOVED : IS_NEW;
	case CONTENT_REMOVED:
		break;
	}
	return IS_REMOVED;
}

static bool may_know(const struct event_check *k, const char *path)
{
	return k->w->caller.trusted ||
	       search_hit_holds(k->changes->source, path, &k->event->key, NULL);
}

/* 1: the path is told. */
static int try_path(struct event_check *k, const char *path)
{
	if (!search_paths_have(&k->w->within, path) || !may_know(k, path))
		return 0;
	return add(k, path, what_is(k)) ?: 1;
}

static int try_paths(struct event_check *k)
{
	struct catalog_walk *walk = NULL;
	const char *path;
	int err = catalog_paths_begin(k->txn, &k->changes->source->root,
				      &k->event->key, &walk);

	while (!err && (err = catalog_paths_next(walk, &path)) == 1)
		err = try_path(k, path);
	catalog_walk_end(walk);
	return err;
}

/* Where there is a file of that name again, its own event tells. */
static int check_removed(struct event_check *k)
{
	const struct changes *c = k->changes;
	const char *path = k->event->path;
	struct stat st;
	bool is_back;
	int fd;

	if (!k->w->caller.trusted || !search_paths_have(&k->w->within, path))
		return 0;
	fd = file_open_beneath(c->source->fd, path, O_PATH);
	is_back = fd >= 0 && !fstat(fd, &st) && S_ISREG(st.st_mode);
	if (fd >= 0)
		close(fd);
	k->rec = (struct file_record){ 0 };
	return is_back ? 0 : add(k, path, IS_REMOVED);
}

/* By its path, or the first of its paths that the watcher may know. */
static int check_event(struct event_check *k)
{
	const struct catalog_event *ev = k->event;
	int err;

	if (ev->kind == CONTENT_REMOVED)
		return check_removed(k);
	err = catalog_file_get(k->txn, &ev->key, &k->rec);
	if (err || (!ev->directory && k->rec.state == FILE_DIRECTORY))
		return err == -ENOENT ? 0 : err;
	if (ev->kind == CONTENT_NEW && ev->path)
		err = try_path(k, ev->path);
	else
		err = try_paths(k);
	return err < 0 ? err : 0;
}

static int check_events(struct event_check *k, const struct changes_batch *b)
{
	size_t i;
	int err = catalog_read(k->changes->catalog, &k->txn);

	if (err)
		return err;
	for (i = 0; i < b->count && !err; i++) {
		k->event = &b->events[i];
		err = check_event(k);
	}
	catalog_abort(k->txn);
	return err;
}

int check_batch(struct changes *c, const struct changes_watcher *w,
		const struct changes_batch *b, struct pending_change **out)
{
	struct event_check k = {
		.changes = c, .w = w, .end = out, .time_ns = b->time_ns
	};
	bool trusted = w->caller.trusted;
	int err = trusted ? 0 :
			    credentials_enter(&w->caller.credentials, &c->own);

	if (err)
		return err;
	err = check_events(&k, b);
	if (!trusted)
		credentials_leave(&c->own);
	return err;
}
