/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/status_list.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>

#include "core/base/err.h"
#include "core/cli/cli.h"
#include "core/cli/table.h"

struct state_walk {
	struct status_list *list;
	const char *listings; /* with similar=show the root lists it */
	bool owner;           /* the caller owns the mount, or is root */
};

/* A file that the caller may not read is told of to the owner alone. */
static int tell_error(struct state_walk *w, int err, const char *path)
{
	char state[64];

	if (err == -ENOENT || (err == -EACCES && !w->owner))
		return 0;
	if (err != -EACCES) {
		cli_complain_errno(path, err);
		w->list->is_damaged = true;
		return 0;
	}
	(void)snprintf(state, sizeof(state), "error:%s", err_name(err));
	return w->list->failed ? w->list->take(w->list->arg, state, path) : 0;
}

/* Every word for a state is short; many files are asked for it.  A directory
 * has one only when all that is in it is skipped. */
static int take_entry(void *arg, FTS *fts, FTSENT *entry)
{
	struct state_walk *w = arg;
	struct status_list *l = w->list;
	const bool is_directory = entry->fts_info == FTS_D;
	const char *path = entry->fts_path;
	char state[128];
	ssize_t len;

	if (cli_walk_failed(entry))
		return tell_error(w, -entry->fts_errno, path);
	if (!is_directory && entry->fts_info != FTS_F)
		return 0;
	if (is_directory && w->listings && !strcmp(path, w->listings)) {
		(void)fts_set(fts, entry, FTS_SKIP);
		return 0;
	}
	len = getxattr(path, STATE_ATTRIBUTE, state, sizeof(state) - 1);
	if (len < 0)
		return is_directory ? 0 : tell_error(w, -errno, path);
	state[len] = '\0';
	l->pending += !strcmp(state, "pending") || !strcmp(state, "busy");
	if (is_directory)
		(void)fts_set(fts, entry, FTS_SKIP);
	return (l->failed && !strncmp(state, "error:", 6)) ||
			       (l->skipped && !strncmp(state, "skipped:", 8)) ?
		       l->take(l->arg, state, path) :
		       0;
}

int status_list_each(struct status_list *l, const struct mount *mount)
{
	struct state_walk w = {
		.list = l,
		.listings = mount->listings,
		.owner = json_object_get(mount->status, "failed") != NULL,
	};
	char *path = path_shown(mount->root, mount->rel, NULL);
	int err =
		path ? cli_walk(path, FTS_XDEV, NULL, take_entry, &w) : -ENOMEM;

	free(path);
	return err;
}
