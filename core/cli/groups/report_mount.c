/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/groups/report_mount.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/array.h"
#include "core/cli/similar/similar.h"
#include "core/cli/status_list.h"

enum { ASKED = 128 }; /* directories */

struct like_directory {
	char *path; /* below the root */
	int score;
};

struct report_pairs {
	struct report *report;
	struct similar_job job;      /* the mount is borrowed */
	struct like_directory *like; /* those of one directory */
	size_t count;
};

/* ---- pairs ---- */

static const char *below_root(const struct mount *mount, const char *path)
{
	size_t len = strcmp(mount->root, "/") ? strlen(mount->root) : 0;

	return path[len] == '/' ? path + len + 1 : path + len;
}

static int take_directory(void *arg, int score, const char *path)
{
	struct report_pairs *p = arg;
	struct like_directory *like =
		array_with_room(p->like, p->count, sizeof(*like));

	if (!like)
		return -ENOMEM;
	p->like = like;
	like += p->count;
	*like = (struct like_directory){
		strdup(below_root(&p->job.mount, path)), score
	};
	p->count += like->path != NULL;
	return like->path ? 0 : -ENOMEM;
}

/* The best first, and a directory before those within it. */
static int by_score(const void *a, const void *b)
{
	const struct like_directory *x = a, *y = b;

	return x->score != y->score ? y->score - x->score :
				      strcmp(x->path, y->path);
}

/* A directory that went away meanwhile has no view. */
static int ask_directory(struct report_pairs *p, const char *path)
{
	char *view = similar_format("%s/%s/.dirs", p->job.listings, path);
	size_t i;
	int err =
		view ? similar_each(&p->job, view, take_directory, p) : -ENOMEM;

	free(view);
	if (err == -ENOENT || err == -ENOTDIR || err == -EACCES)
		err = 0;
	if (p->count)
		qsort(p->like, p->count, sizeof(*p->like), by_score);
	for (i = 0; i < p->count && !err; i++)
		err = report_add_pair(p->report, p->like[i].score, path,
				      p->like[i].path);
	while (p->count)
		free(p->like[--p->count].path);
	return err;
}

static int ask_pairs(struct report *report, const struct mount *mount, bool bar)
{
	struct report_pairs p = { .report = report, .job.mount = *mount };
	struct buf path = { 0 };
	int i, err = 0;

	if (mount_find_listings(mount->root, &p.job.listings) ||
	    !p.job.listings)
		return 0;
	for (i = 1; i <= ASKED && !err; i++) {
		err = report_next_directory(report, &path);
		if (err <= 0)
			break;
		if (bar)
			fprintf(stderr, "\rcomparing directories, %d\033[K", i);
		err = ask_directory(&p, path.data);
	}
	buf_release(&path);
	free(p.like);
	free(p.job.listings);
	return err;
}

/* ---- files without digests ---- */

struct report_unread {
	struct report *report;
	const struct mount *mount;
};

static int take_unread(void *arg, const char *state, const char *path)
{
	struct report_unread *u = arg;

	return report_add_unread(u->report, below_root(u->mount, path), state);
}

static int ask_unread(struct report *report, const struct mount *mount)
{
	const struct status_list what = { .failed = true, .skipped = true };
	const struct mount all = { .root = mount->root, .rel = "" };
	struct report_unread u = { report, mount };

	return status_list_each(&what, &all, take_unread, &u);
}

int report_ask_mount(struct report *report, const struct mount *mount)
{
	bool bar = isatty(STDERR_FILENO);
	int err = ask_pairs(report, mount, bar);

	if (!err && bar)
		fputs("\rlooking for files without digests\033[K", stderr);
	if (!err)
		err = ask_unread(report, mount);
	if (bar)
		fputs("\r\033[K", stderr);
	if (!err)
		return EXIT_OK;
	cli_complain_errno(mount->root, err);
	return EXIT_FAILED;
}
