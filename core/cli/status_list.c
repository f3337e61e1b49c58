/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/status_list.h"

#include <errno.h>
#include <string.h>
#include <sys/xattr.h>

#include "core/base/err.h"
#include "core/base/text.h"
#include "core/cli/record.h"
#include "core/cli/table.h"

struct list_walk {
	const struct status_list *what;
	const struct mount *mount;
	json_t *status;
	struct table table;
	size_t told;
	/* What is called for each instead of printing it, or NULL. */
	int (*take)(void *arg, const char *state, const char *path);
	void *arg;
	bool owner;     /* the caller owns the mount, or is root */
	bool failed;    /* a message was printed */
	size_t pending; /* files whose state is not known yet */
};

/* ---- one file ---- */

static bool is_wanted(const struct status_list *what, const char *state)
{
	return (what->failed && !strncmp(state, "error:", 6)) ||
	       (what->skipped && !strncmp(state, "skipped:", 8));
}

static const struct column columns[] = {
	{ "reason", "REASON", COLUMN_WORD, COLUMN_SHOWN },
	{ "path", "PATH", COLUMN_PATH, COLUMN_SHOWN },
	{ 0 },
};

static int print(struct list_walk *w, const char *state, const char *path)
{
	const char *root = w->mount->root;
	const char *rel = path + strlen(root);
	const struct cell cells[] = { cell_word(state),
				      cell_path(rel + (*rel == '/'), root) };

	w->told++;
	return table_row(&w->table, cells) ? -EIO : 0;
}

static int tell(struct list_walk *w, const char *state, const char *path)
{
	if (!is_wanted(w->what, state))
		return 0;
	if (w->take)
		return w->take(w->arg, state, path);
	return print(w, state, path);
}

/* A file that the caller may not read is told of to the owner alone. */
static int tell_error(struct list_walk *w, int err, const char *path)
{
	char state[64];

	if (err == -ENOENT || (err == -EACCES && !w->owner))
		return 0;
	if (err != -EACCES) {
		cli_complain_errno(path, err);
		w->failed = true;
		return 0;
	}
	(void)snprintf(state, sizeof(state), "error:%s", err_name(err));
	return tell(w, state, path);
}

/* Every word for a state is short; many files are asked for it.  A directory
 * has one only when all that is in it is skipped. */
static int take_state(struct list_walk *w, FTS *fts, FTSENT *entry)
{
	const char *path = entry->fts_path;
	char state[128];
	ssize_t len = getxattr(path, STATE_ATTRIBUTE, state, sizeof(state) - 1);

	if (len < 0)
		return entry->fts_info == FTS_D ? 0 :
						  tell_error(w, -errno, path);
	state[len] = '\0';
	w->pending += !strcmp(state, "pending") || !strcmp(state, "busy");
	if (entry->fts_info == FTS_D)
		(void)fts_set(fts, entry, FTS_SKIP);
	return tell(w, state, path);
}

/* ---- all of them ---- */

/* With similar=show the root lists it. */
static bool is_listings(const struct list_walk *w, const FTSENT *entry)
{
	const char *name =
		json_string_value(json_object_get(w->status, "similar_name"));

	return name && !*w->mount->rel && entry->fts_level == 1 &&
	       !strcmp(entry->fts_name, name);
}

static int take_entry(void *arg, FTS *fts, FTSENT *entry)
{
	struct list_walk *w = arg;

	switch (entry->fts_info) {
	case FTS_D:
		if (!is_listings(w, entry))
			return take_state(w, fts, entry);
		(void)fts_set(fts, entry, FTS_SKIP);
		return 0;
	case FTS_F:
		return take_state(w, fts, entry);
	case FTS_DNR:
	case FTS_ERR:
	case FTS_NS:
		return tell_error(w, -entry->fts_errno, entry->fts_path);
	default:
		return 0;
	}
}

static int walk_path(struct list_walk *w)
{
	struct buf path = { 0 };
	int err = buf_append_text(&path, w->mount->root);

	if (!err && *w->mount->rel)
		err = buf_append_format(&path, "%s%s",
					strcmp(w->mount->root, "/") ? "/" : "",
					w->mount->rel);
	if (!err)
		err = cli_walk(path.data, FTS_XDEV, NULL, take_entry, w);
	buf_release(&path);
	return err;
}

/* ---- the answer ---- */

static int print_totals(const struct list_walk *w, bool complete)
{
	struct record r;

	record_totals(&r);
	record_number(&r, "files", (int64_t)w->told);
	record_complete(&r, complete, NULL);
	return record_print(&r);
}

static int finish(struct list_walk *w)
{
	int code = w->failed ? EXIT_FAILED : EXIT_OK;

	if (w->table.output.json && print_totals(w, !w->pending && !w->failed))
		code = EXIT_FAILED;
	if (!w->pending)
		return code;
	cli_complain(w->mount->root,
		     "%zu %s not hashed yet; kin wait waits for %s", w->pending,
		     text_plural(w->pending, "file is", "files are"),
		     text_plural(w->pending, "it", "them"));
	return code ? code : EXIT_INCOMPLETE;
}

static int walk_mount(struct list_walk *w)
{
	int err = mount_get_status(w->mount->root, &w->status);

	if (err)
		return err;
	w->owner = json_object_get(w->status, "failed") != NULL;
	return walk_path(w);
}

int status_list_each(const struct status_list *what, const struct mount *mount,
		     int (*take)(void *arg, const char *state,
				 const char *path),
		     void *arg)
{
	struct list_walk w = {
		.what = what, .mount = mount, .take = take, .arg = arg
	};
	int err = walk_mount(&w);

	json_decref(w.status);
	return err;
}

int status_list_print(const struct status_list *what, const struct mount *mount,
		      const char *base)
{
	struct list_walk w = { .what = what,
			       .mount = mount,
			       .table = { .columns = columns,
					  .output = what->output,
					  .base = base } };
	int err = walk_mount(&w), code = EXIT_FAILED;

	if (err)
		cli_complain_errno(mount->root, err);
	else
		code = finish(&w);
	json_decref(w.status);
	return code;
}
