/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/engine/engine_impl.h"

/* Changes become events for the committer. */

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

	commit_names_changed(&e->commit, parent);
	if (ev) {
		ev->key = *key;
		ev->directory = directory;
	}
	(void)commit_post(&e->commit, ev);
}

void engine_name_removed(struct engine *e, const struct file_key *parent,
			 const char *name)
{
	struct event *ev = event_new_name(EVENT_NAME_REMOVED, parent, name);

	commit_names_changed(&e->commit, parent);
	(void)commit_post(&e->commit, ev);
}

void engine_name_moved(struct engine *e, const struct engine_move *m)
{
	struct event *ev = event_new_name(EVENT_NAME_MOVED, m->parent, m->name);

	commit_names_changed(&e->commit, m->parent);
	commit_names_changed(&e->commit, m->new_parent);
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
	(void)commit_post(&e->commit, ev);
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
	struct event *ev = event_new(EVENT_METADATA);

	if (!ev)
		return; /* costs nothing but hashing the file again */
	ev->key = *key;
	ev->before = *before;
	ev->identity = *after;
	(void)commit_post(&e->commit, ev);
}

bool engine_file_seen(struct engine *e, const struct stat *st)
{
	return !S_ISREG(st->st_mode) || scan_add_seen(&e->scan, st);
}
