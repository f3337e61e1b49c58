/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/scan/scan_impl.h"
#include "core/source/file.h"

/* How often a name is read when names in its directory change meanwhile. */
enum { REPORT_TRIES = 16 };

static bool has_path(struct scanner *s, const struct file_key *key)
{
	struct catalog_txn *txn;
	int found;

	if (catalog_read(s->context.catalog, &txn))
		return true; /* nothing can be reported now */
	found = catalog_has_path(txn, &s->context.source->root, key);
	catalog_abort(txn);
	return found == 1;
}

/* -ESTALE: names in the directory changed meanwhile. */
static int try_report_name(struct scanner *s, int dir_fd, const char *name,
			   const struct file_key *dir, struct file_key *key_out)
{
	struct event_list *events = s->context.events;
	unsigned version = events_names_version(events, dir);
	int fd = file_open_beneath(dir_fd, name, O_PATH), err;
	struct event *ev;
	struct stat st;

	if (fd < 0)
		return -ENOENT;
	if (fstat(fd, &st) || !(S_ISDIR(st.st_mode) || S_ISREG(st.st_mode))) {
		close(fd);
		return -ENOENT;
	}
	source_get_key(s->context.source, fd, &st, key_out);
	ev = event_new_name(EVENT_NAME_ADDED, dir, name);
	if (ev) {
		ev->key = *key_out;
		ev->directory = S_ISDIR(st.st_mode);
		ev->learned = true;
		ev->version = version;
	}
	err = events_post(events, ev);
	if (!err)
		return fd;
	close(fd);
	return err;
}

int scan_report_name(struct scanner *s, int dir_fd, const char *name,
		     struct file_key *key)
{
	struct file_key found;
	int fd = -ESTALE, tries;

	for (tries = 0; fd == -ESTALE && tries < REPORT_TRIES; tries++)
		fd = try_report_name(s, dir_fd, name, key, &found);
	if (fd >= 0)
		*key = found;
	return fd;
}

void scan_report_path(struct scanner *s, int fd, const struct file_key *key)
{
	const struct source *source = s->context.source;
	struct file_key at = source->root;
	int dir_fd = source->fd;
	char *path, *name, *rest = NULL;

	if (has_path(s, key) || source_get_path(source, fd, &path))
		return;
	for (name = strtok_r(path, "/", &rest); name && dir_fd >= 0;
	     name = strtok_r(NULL, "/", &rest)) {
		int next = scan_report_name(s, dir_fd, name, &at);

		if (dir_fd != source->fd)
			close(dir_fd);
		dir_fd = next;
	}
	if (dir_fd >= 0 && dir_fd != source->fd)
		close(dir_fd);
	free(path);
}
