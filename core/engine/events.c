/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/engine/engine_impl.h"

/* Changes become events for the committer.  When there is no memory for an
 * event, the whole tree is scanned instead. */

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

static struct event *name_event(enum event_kind kind,
				const struct file_key *parent, const char *name)
{
	struct event *ev = event_new(kind);

	if (!ev)
		return NULL;
	ev->parent = *parent;
	ev->name = strdup(name);
	if (ev->name)
		return ev;
	event_free(ev);
	return NULL;
}

void engine_name_added(struct engine *e, const struct file_key *parent,
		       const char *name, const struct file_key *key,
		       bool directory)
{
	struct event *ev = name_event(EVENT_NAME_ADDED, parent, name);

	commit_names_changed(&e->commit, parent);
	if (!ev) {
		scan_request_tree(&e->scan);
		return;
	}
	ev->key = *key;
	ev->directory = directory;
	(void)commit_post(&e->commit, ev);
}

void engine_name_removed(struct engine *e, const struct file_key *parent,
			 const char *name)
{
	struct event *ev = name_event(EVENT_NAME_REMOVED, parent, name);

	commit_names_changed(&e->commit, parent);
	if (ev)
		(void)commit_post(&e->commit, ev);
	else
		scan_request_tree(&e->scan);
}

void engine_name_moved(struct engine *e, const struct engine_move *m)
{
	struct event *ev = name_event(EVENT_NAME_MOVED, m->parent, m->name);

	commit_names_changed(&e->commit, m->parent);
	commit_names_changed(&e->commit, m->new_parent);
	tell_scan_of_move(e, m);
	if (ev)
		ev->new_name = strdup(m->new_name);
	if (!ev || !ev->new_name) {
		event_free(ev);
		scan_request_tree(&e->scan);
		return;
	}
	ev->new_parent = *m->new_parent;
	ev->exchange = m->exchange;
	ev->known = m->key != NULL;
	ev->directory = m->directory;
	if (m->key)
		ev->key = *m->key;
	(void)commit_post(&e->commit, ev);
}

/* ---- from the scan ---- */

int engine_post_listing(void *engine, struct source_listing *l)
{
	struct engine *e = engine;
	struct event *ev = event_new(EVENT_LISTING);

	if (!ev) {
		source_listing_free(l);
		return -ENOMEM;
	}
	ev->listing = l;
	return commit_post(&e->commit, ev);
}

int engine_post_name(void *engine, const struct file_key *parent,
		     const char *name, const struct file_key *key,
		     bool directory, unsigned version)
{
	struct engine *e = engine;
	struct event *ev = name_event(EVENT_NAME_ADDED, parent, name);

	if (!ev)
		return -ENOMEM;
	ev->key = *key;
	ev->directory = directory;
	ev->learned = true;
	ev->version = version;
	return commit_post(&e->commit, ev);
}

/* ---- content ---- */

/* Puts the file on the catalog's pending list. */
static void post_pending(struct engine *e, const struct file_key *key,
			 const struct file_identity *identity)
{
	struct event *ev = event_new(EVENT_PENDING);

	if (!ev) {
		scan_request_tree(&e->scan);
		return;
	}
	ev->key = *key;
	ev->identity = *identity;
	(void)commit_post(&e->commit, ev);
}

void engine_file_opened(struct engine *e, const struct file_key *key,
			const struct file_identity *identity)
{
	if (source_get_times(&e->source, key) == TIMES_DOUBTFUL)
		post_pending(e, key, identity);
}

void engine_file_closed(struct engine *e, const struct file_key *key,
			const struct file_identity *identity)
{
	int err = source_get_times(&e->source, key) == TIMES_DOUBTFUL ?
			  queue_push_changed(&e->queue, key, identity) :
			  queue_push(&e->queue, key, JOB_CLOSED, identity);

	if (err && err != -ECANCELED)
		post_pending(e, key, identity);
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
