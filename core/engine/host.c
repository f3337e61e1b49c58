/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/engine/engine_impl.h"

/* Changes that the host reports. */

/* ---- names ---- */

/* A running scan may miss a directory that moves into another one. */
static void tell_scan_of_move(struct engine *e, const struct engine_move *m)
{
	if (file_key_equal(m->parent, m->new_parent))
		return;
	if (m->exchange || !m->key) {
		scan_directory_moved(&e->scan, m->parent);
		scan_directory_moved(&e->scan, m->new_parent);
	} else if (m->directory) {
		scan_directory_moved(&e->scan, m->key);
	}
}

void engine_name_added(struct engine *e, const struct file_key *parent,
		       const char *name, const struct file_key *key,
		       bool directory)
{
	struct event *ev = event_new_name(EVENT_NAME_ADDED, parent, name);

	events_names_changed(&e->events, parent);
	if (ev) {
		ev->key = *key;
		ev->directory = directory;
	}
	(void)events_post(&e->events, ev);
}

void engine_name_removed(struct engine *e, const struct file_key *parent,
			 const char *name)
{
	struct event *ev = event_new_name(EVENT_NAME_REMOVED, parent, name);

	events_names_changed(&e->events, parent);
	(void)events_post(&e->events, ev);
}

void engine_name_moved(struct engine *e, const struct engine_move *m)
{
	struct event *ev = event_new_name(EVENT_NAME_MOVED, m->parent, m->name);

	events_names_changed(&e->events, m->parent);
	events_names_changed(&e->events, m->new_parent);
	tell_scan_of_move(e, m);
	if (ev) {
		ev->new_name = strdup(m->new_name);
		ev->new_parent = *m->new_parent;
		ev->exchange = m->exchange;
		ev->known = m->key != NULL;
		ev->directory = m->directory;
		if (m->key)
			ev->key = *m->key;
	}
	if (ev && !ev->new_name) {
		event_free(ev);
		ev = NULL;
	}
	(void)events_post(&e->events, ev);
}

/* ---- content ---- */

void engine_file_opened(struct engine *e, const struct file_key *key,
			const struct file_identity *identity)
{
	if (source_get_times(&e->source, key) == TIMES_DOUBTFUL)
		hash_file_pending(&e->hash, key, identity);
}

void engine_file_closed(struct engine *e, const struct file_key *key,
			const struct file_identity *identity)
{
	hash_file_closed(&e->hash, key, identity);
}

void engine_metadata_changed(struct engine *e, const struct file_key *key,
			     const struct file_identity *before,
			     const struct file_identity *after)
{
	struct event *ev = event_new(EVENT_METADATA, key);

	if (!ev)
		return; /* costs nothing but hashing the file again */
	ev->before = *before;
	ev->identity = *after;
	(void)events_post(&e->events, ev);
}

bool engine_file_seen(struct engine *e, const struct stat *st)
{
	return !S_ISREG(st->st_mode) || scan_add_seen(&e->scan, st);
}

/* ---- behind the mount ---- */

/* A file that is open for writing in the host is skipped: the host reports it
 * when it is closed. */
bool engine_file_changed(struct engine *e, int fd, const struct stat *st)
{
	struct file_identity identity;
	enum record_match match;
	struct file_key key;

	source_get_key(&e->source, fd, st, &key);
	source_get_identity(st, &identity);
	match = catalog_compare(e->catalog, &key, &identity);
	if (match == RECORD_DIFFERS &&
	    source_get_use(&e->source, st) == SOURCE_UNUSED)
		hash_file_closed(&e->hash, &key, &identity);
	return match != RECORD_NONE;
}

/* Whether the directory is SOURCE or below it, and no rule excludes it. */
static bool is_in_source(const struct engine *e, int fd,
			 const struct file_key *key, const struct stat *st)
{
	const struct source *source = &e->source;
	bool below;
	char *path;

	if (file_key_equal(key, &source->root))
		return true;
	if ((!source->rules.cross && st->st_dev != source->device) ||
	    source_get_path(source, fd, &path))
		return false;
	below = !source_is_excluded(source, path);
	free(path);
	return below;
}

bool engine_directory_changed(struct engine *e, int fd, const struct stat *st)
{
	struct file_key key;

	source_get_key(&e->source, fd, st, &key);
	if (!is_in_source(e, fd, &key, st))
		return false;
	scan_request_directory(&e->scan, &key, fd);
	return true;
}
