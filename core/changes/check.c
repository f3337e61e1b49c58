/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "core/changes/changes_impl.h"

/*
 * What a watcher may know of an event.
 *
 * One that is trusted is told what was committed.  For any other watcher each
 * path must lead to the file on disk, and the watcher must be able to read it.
 */
struct event_check {
	struct changes_watcher *w;
	const struct catalog_event *event;
	struct changes_position at;
	/* The last move of a directory was told as such. */
	bool move_told;
};

static bool has_path(const struct event_check *k, const char *path)
{
	return search_paths_have(&k->w->within, path);
}

static int tell(const struct event_check *k, enum catalog_event_kind kind,
		const char *path)
{
	const struct path_event e = {
		.kind = kind,
		.path = path,
		.from = k->w->caller.trusted ? k->event->from : NULL,
		.event = k->event,
		.at = k->at,
	};

	return list_add(&k->w->list, &e);
}

static int check_trusted(struct event_check *k)
{
	const struct catalog_event *ev = k->event;
	const char *path = ev->path;

	switch (ev->kind) {
	case TREE_DIRECTORY_MOVED:
		return k->move_told ? tell(k, ev->kind, path) : 0;
	case TREE_CHANGED:
		while (*path && !has_path(k, path))
			path += strlen(path) + 1;
		return *path && !ev->same ? tell(k, ev->kind, path) : 0;
	case TREE_NAMED:
	case TREE_UNNAMED:
		break;
	}
	if ((ev->moved && k->move_told) || !has_path(k, path))
		return 0;
	return tell(k, ev->kind, path);
}

static bool may_know(const struct event_check *k, const char *path)
{
	return has_path(k, path) &&
	       search_hit_holds(k->w->changes->source, path, &k->event->key,
				NULL);
}

/* The first of its paths that the watcher may know. */
static int check_untrusted(struct event_check *k)
{
	const struct catalog_event *ev = k->event;
	enum catalog_event_kind kind = ev->kind;
	const char *path = ev->path;

	if (kind == TREE_UNNAMED || ev->moved ||
	    (kind == TREE_NAMED && ev->inherits && ev->pending))
		return 0;
	if (kind != TREE_CHANGED)
		return may_know(k, path) ? tell(k, kind, path) : 0;
	while (*path && !may_know(k, path))
		path += strlen(path) + 1;
	if (ev->change.replaced)
		kind = TREE_NAMED;
	return *path ? tell(k, kind, path) : 0;
}

int check_batch(struct changes_watcher *w, const struct changes_batch *b)
{
	const struct credentials *own = &w->changes->own;
	const bool trusted = w->caller.trusted;
	struct event_check k = { .w = w, .at = { b->time_ns, 0 } };
	size_t i;
	int err = trusted ? 0 : credentials_enter(&w->caller.credentials, own);

	if (err)
		return err;
	for (i = 0; i < b->count && !err; i++) {
		k.event = &b->events[i];
		k.at.event = (uint32_t)i + 1;
		if (k.event->kind == TREE_DIRECTORY_MOVED)
			k.move_told = has_path(&k, k.event->path) &&
				      has_path(&k, k.event->from);
		/* Those before belong to the cursor. */
		if (w->at.time_ns == b->time_ns && w->at.event > i)
			continue;
		err = trusted ? check_trusted(&k) : check_untrusted(&k);
	}
	if (!trusted)
		credentials_leave(own);
	return err;
}
