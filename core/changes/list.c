/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "core/changes/changes_impl.h"

static int by_path(const void *a, const void *b)
{
	const struct path_change *x = a, *y = b;

	return strcmp(x->path, y->path);
}

static int by_file(const void *a, const void *b)
{
	const struct file_key *x = &((const struct path_change *)a)->key;
	const struct file_key *y = &((const struct path_change *)b)->key;

	if (x->inode != y->inode)
		return x->inode < y->inode ? -1 : 1;
	if (x->device != y->device)
		return x->device < y->device ? -1 : 1;
	return (int)x->generation - (int)y->generation;
}

static size_t bytes_of(const struct path_change *p)
{
	enum { NODES = 96 }; /* of the trees */

	return sizeof(*p) + NODES + strlen(p->path) +
	       (p->from ? strlen(p->from) : 0);
}

/* ---- files that have lost a path, or got one ---- */

static bool is_lost(const struct path_change *p)
{
	return p->reader_has && !p->tree_has;
}

static bool is_gained(const struct path_change *p)
{
	return !p->reader_has && p->tree_has;
}

static void file_forget(struct change_list *l, struct path_change *p)
{
	struct path_change **found = tfind(p, &l->by_file, by_file);

	if (found && *found == p)
		(void)tdelete(p, &l->by_file, by_file);
}

static void set_content(struct path_change *p, int kept)
{
	p->changed = true;
	if (kept >= 0 && (p->kept < 0 || kept < p->kept))
		p->kept = kept;
}

/* One path of a file was lost and another one gained: it was moved, with what
 * has become of its content.  Without memory it is two changes. */
static void file_note(struct change_list *l, struct path_change *p)
{
	struct path_change **found = tsearch(p, &l->by_file, by_file), *other;

	if (!found || *found == p)
		return;
	other = *found;
	if (is_lost(other) == is_lost(p)) {
		*found = p;
		return;
	}
	(void)tdelete(other, &l->by_file, by_file);
	p->other = other;
	other->other = p;
	if (is_lost(p) && p->changed)
		set_content(other, p->kept);
	else if (is_lost(other) && other->changed)
		set_content(p, other->kept);
}

/* The change is about to become another one. */
static void unpair(struct change_list *l, struct path_change *p)
{
	struct path_change *other = p->other;

	file_forget(l, p);
	if (!other)
		return;
	p->other = other->other = NULL;
	file_note(l, other);
}

/* ---- the list ---- */

static void change_free(struct path_change *p)
{
	free(p->path);
	free(p->from);
	free(p);
}

static void take_out(struct change_list *l, struct path_change *p)
{
	struct path_change **found = tfind(p, &l->by_path, by_path);

	if (found && *found == p)
		(void)tdelete(p, &l->by_path, by_path);
	file_forget(l, p);
	TAILQ_REMOVE(&l->changes, p, entry);
	l->bytes -= bytes_of(p);
}

static void drop(struct change_list *l, struct path_change *p)
{
	take_out(l, p);
	change_free(p);
}

static int append(struct change_list *l, const struct path_event *e,
		  struct path_change **out)
{
	struct path_change *p = calloc(1, sizeof(*p));

	if (p)
		p->path = strdup(e->path);
	if (p && e->from)
		p->from = strdup(e->from);
	if (!p || !p->path || (e->from && !p->from)) {
		if (p)
			change_free(p);
		return -ENOMEM;
	}
	p->first = e->at;
	p->time_ns = e->at.time_ns;
	p->kept = -1;
	p->key = e->event->key;
	TAILQ_INSERT_TAIL(&l->changes, p, entry);
	l->bytes += bytes_of(p);
	*out = p;
	return 0;
}

/* The change of that path. */
static int find(struct change_list *l, const struct path_event *e,
		struct path_change **out)
{
	const struct path_change key = { .path = (char *)(uintptr_t)e->path };
	struct path_change **found = tfind(&key, &l->by_path, by_path);
	int err;

	if (found) {
		*out = *found;
		(*out)->merged += (*out)->time_ns != e->at.time_ns;
		(*out)->time_ns = e->at.time_ns;
		return 0;
	}
	err = append(l, e, out);
	if (err)
		return err;
	(*out)->reader_has = (*out)->tree_has = e->kind != TREE_NAMED;
	if (tsearch(*out, &l->by_path, by_path))
		return 0;
	drop(l, *out);
	return -ENOMEM;
}

static void forget_node(void *node)
{
	(void)node;
}

static int add_directory(struct change_list *l, const struct path_event *e)
{
	struct path_change *p;
	int err = append(l, e, &p);

	if (err)
		return err;
	p->directory = true;
	tdestroy(l->by_path, forget_node);
	tdestroy(l->by_file, forget_node);
	l->by_path = l->by_file = NULL;
	return 0;
}

static void set_named(struct change_list *l, struct path_change *p,
		      const struct catalog_event *ev)
{
	unpair(l, p);
	/* To one that is not trusted the file before is none. */
	if (!l->is_trusted)
		p->reader_has = false;
	if (p->reader_has && !p->tree_has && !ev->inherits)
		p->changed = true;
	p->tree_has = true;
	p->key = ev->key;
	if (is_gained(p))
		file_note(l, p);
}

static void set_unnamed(struct change_list *l, struct path_change *p,
			const struct catalog_event *ev)
{
	struct path_change *from = p->other;

	if (from && p->changed)
		set_content(from, p->kept);
	unpair(l, p);
	/* Perhaps the reader has it, and perhaps not. */
	if (!p->reader_has && p->first.time_ns <= l->repeated_ns)
		p->reader_has = p->changed = true;
	p->tree_has = false;
	p->key = ev->key;
	if (p->reader_has)
		file_note(l, p);
	else
		drop(l, p);
}

int list_add(struct change_list *l, const struct path_event *e)
{
	struct path_change *p;
	int err;

	if (e->kind == TREE_DIRECTORY_MOVED)
		return add_directory(l, e);
	err = find(l, e, &p);
	if (err)
		return err;
	p->size = e->event->size;
	if (e->kind == TREE_NAMED)
		set_named(l, p, e->event);
	else if (e->kind == TREE_UNNAMED)
		set_unnamed(l, p, e->event);
	else
		set_content(p, l->is_trusted ? e->event->change.kept : -1);
	return 0;
}

/* ---- taking ---- */

bool list_has(struct change_list *l)
{
	struct path_change *p;

	while ((p = TAILQ_FIRST(&l->changes))) {
		if (p->directory || p->changed || p->reader_has != p->tree_has)
			return true;
		drop(l, p);
	}
	return false;
}

static enum change_kind kind_of(const struct path_change *p)
{
	if (p->directory)
		return CHANGE_MOVED;
	if (!p->tree_has)
		return CHANGE_REMOVED;
	return p->reader_has ? CHANGE_CHANGED : CHANGE_NEW;
}

static void tell(const struct path_change *p, enum change_kind kind,
		 struct content_change *out)
{
	*out = (struct content_change){
		.kind = kind,
		.directory = p->directory,
		.kept = kind == CHANGE_CHANGED ? p->kept : -1,
		.size = p->size,
		.time_ns = p->time_ns,
		.merged = p->merged,
	};
}

/* A file that was moved.  If it has changed, too, that is told next. */
static int take_move(struct change_list *l, struct path_change *p,
		     struct content_change *out)
{
	struct path_change *lost = p->other;

	tell(p, CHANGE_MOVED, out);
	p->other = lost->other = NULL;
	p->reader_has = true;
	out->path = strdup(p->path);
	take_out(l, lost);
	out->from = lost->path;
	lost->path = NULL;
	change_free(lost);
	return out->path ? 1 : -ENOMEM;
}

int list_take(struct change_list *l, struct content_change *out)
{
	struct path_change *p;

	if (!list_has(l))
		return 0;
	p = TAILQ_FIRST(&l->changes);
	if (p->other)
		return take_move(l, p->tree_has ? p : p->other, out);
	tell(p, kind_of(p), out);
	take_out(l, p);
	out->path = p->path;
	out->from = p->from;
	p->path = p->from = NULL;
	change_free(p);
	return 1;
}

void list_init(struct change_list *l, bool is_trusted)
{
	*l = (struct change_list){ .is_trusted = is_trusted,
				   .repeated_ns = INT64_MIN };
	TAILQ_INIT(&l->changes);
}

void list_release(struct change_list *l)
{
	struct path_change *p;

	tdestroy(l->by_path, forget_node);
	tdestroy(l->by_file, forget_node);
	l->by_path = l->by_file = NULL;
	while ((p = TAILQ_FIRST(&l->changes)))
		drop(l, p);
}
