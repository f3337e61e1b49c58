/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/engine/engine_impl.h"
#include "core/source/file.h"
#include "core/source/source.h"

enum { LEARN_TRIES = 16 };

/* ---- what the host tells ---- */

static struct event *name_event(enum event_kind kind,
				const struct file_key *parent, const char *name)
{
	struct event *ev = calloc(1, sizeof(*ev));

	if (!ev)
		return NULL;
	ev->kind = kind;
	ev->parent = *parent;
	ev->name = strdup(name);
	if (ev->name)
		return ev;
	free(ev);
	return NULL;
}

void engine_name_added(struct engine *e, const struct file_key *parent,
		       const char *name, const struct file_key *key,
		       bool directory)
{
	struct event *ev = name_event(EVENT_NAME_ADDED, parent, name);

	commit_names_changed(&e->commit, parent);
	if (!ev) {
		scan_want(e);
		return;
	}
	ev->key = *key;
	ev->directory = directory;
	(void)commit_post(e, ev);
}

void engine_name_removed(struct engine *e, const struct file_key *parent,
			 const char *name)
{
	struct event *ev = name_event(EVENT_NAME_REMOVED, parent, name);

	commit_names_changed(&e->commit, parent);
	if (ev)
		(void)commit_post(e, ev);
	else
		scan_want(e);
}

void engine_name_moved(struct engine *e, const struct engine_move *m)
{
	struct event *ev = name_event(EVENT_NAME_MOVED, m->parent, m->name);

	commit_names_changed(&e->commit, m->parent);
	commit_names_changed(&e->commit, m->new_parent);
	if (ev)
		ev->new_name = strdup(m->new_name);
	if (!ev || !ev->new_name) {
		if (ev)
			free(ev->name);
		free(ev);
		scan_want(e);
		return;
	}
	ev->new_parent = *m->new_parent;
	ev->exchange = m->exchange;
	ev->known = m->key != NULL;
	ev->directory = m->directory;
	if (m->key)
		ev->key = *m->key;
	(void)commit_post(e, ev);
}

/* ---- what a worker finds out ---- */

static int stop_at_first(void *arg, const char *path)
{
	(void)arg;
	(void)path;
	return 1;
}

static bool has_path(struct engine *e, const struct file_key *key)
{
	struct catalog_txn *txn;
	int found;

	if (catalog_read(e->catalog, &txn))
		return true; /* nothing can be learned now */
	found = catalog_path_each(txn, &e->source.root, key, stop_at_first,
				  NULL);
	catalog_abort(txn);
	return found == 1;
}

/* Opens a component of the directory and posts its name as it was read;
 * returns its descriptor, or -ESTALE when names changed meanwhile. */
static int learn_once(struct engine *e, int dir_fd, const char *name,
		      const struct file_key *dir, struct file_key *key_out)
{
	struct event *ev = name_event(EVENT_NAME_ADDED, dir, name);
	struct stat st;
	int fd, err;

	if (!ev)
		return -ENOMEM;
	ev->learned = true;
	ev->version = commit_names_version(&e->commit, dir);
	fd = file_open_beneath(dir_fd, name, O_PATH);
	if (fd < 0 || fstat(fd, &st) ||
	    !(S_ISDIR(st.st_mode) || S_ISREG(st.st_mode))) {
		free(ev->name);
		free(ev);
		if (fd >= 0)
			close(fd);
		return -ENOENT;
	}
	source_get_key(&e->source, fd, &st, key_out);
	ev->key = *key_out;
	ev->directory = S_ISDIR(st.st_mode);
	err = commit_post(e, ev);
	if (!err)
		return fd;
	close(fd);
	return err;
}

int names_learn_at(struct engine *e, int dir_fd, const char *name,
		   struct file_key *key)
{
	struct file_key found;
	int fd = -ESTALE, tries;

	for (tries = 0; fd == -ESTALE && tries < LEARN_TRIES; tries++)
		fd = learn_once(e, dir_fd, name, key, &found);
	if (fd >= 0)
		*key = found;
	return fd;
}

void names_learn(struct engine *e, int fd, const struct file_key *key)
{
	struct file_key at = e->source.root;
	int dir_fd = e->source.fd;
	char *path, *name, *rest = NULL;

	if (has_path(e, key) || source_get_path(&e->source, fd, &path))
		return;
	for (name = strtok_r(path, "/", &rest); name;
	     name = strtok_r(NULL, "/", &rest)) {
		int next = names_learn_at(e, dir_fd, name, &at);

		if (dir_fd != e->source.fd)
			close(dir_fd);
		dir_fd = next;
		if (dir_fd < 0)
			break;
	}
	if (dir_fd >= 0 && dir_fd != e->source.fd)
		close(dir_fd);
	free(path);
}
