/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/array.h"
#include "core/cli/cli.h"
#include "core/source/file.h"

/* A directory above the entry at hand. */
struct tree_level {
	const char **names; /* of its entries, in order; owned */
	size_t count, next;
	size_t path_len;
};

struct tree_walk {
	struct tree_entry entry; /* at hand */
	int options;
	int error;   /* that ends the walk */
	bool begun;  /* the entry at the top was given */
	bool enters; /* the entry is a directory to be read next */
	dev_t device;
	struct buf path; /* of the entry */
	struct tree_level *levels;
	size_t depth;
};

struct tree_walk *tree_walk_begin(const char *path, int options)
{
	struct tree_walk *w = calloc(1, sizeof(*w));

	if (w) {
		w->options = options;
		w->error = buf_append_text(&w->path, path);
	}
	return w;
}

static int by_name(const void *a, const void *b)
{
	const char *const *x = a, *const *y = b;

	return strcmp(*x, *y);
}

static void leave_level(struct tree_walk *w)
{
	struct tree_level *l = &w->levels[--w->depth];

	while (l->count)
		free((void *)l->names[--l->count]);
	free(l->names);
}

/* The names up to the first error, which is returned. */
static int read_names(const char *path, int flags, struct tree_level *out)
{
	const int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | flags);
	const char *name;
	DIR *dir = NULL;
	int err = fd < 0 ? -errno : file_names_begin(fd, &dir);

	while (!err && (err = file_names_next(dir, &name)) == 1)
		err = array_add_string(&out->names, &out->count, strdup(name));
	if (dir)
		closedir(dir);
	if (fd >= 0)
		close(fd);
	if (out->count)
		qsort(out->names, out->count, sizeof(*out->names), by_name);
	return err;
}

/* The directory at hand; its error is that of one more entry. */
static int enter_level(struct tree_walk *w)
{
	const bool follows = w->options & TREE_FOLLOW_TOP && !w->depth;
	struct tree_level *l = array_with_room(w->levels, w->depth, sizeof(*l));

	if (!l)
		return -ENOMEM;
	w->levels = l;
	l += w->depth++;
	*l = (struct tree_level){ .path_len = w->path.len };
	return read_names(w->path.data, follows ? 0 : O_NOFOLLOW, l);
}

/* Looks at the entry of the path. */
static void look(struct tree_walk *w)
{
	const bool follows = w->options & TREE_FOLLOW_TOP && !w->depth;
	struct tree_entry *e = &w->entry;

	*e = (struct tree_entry){ .is_top = !w->depth };
	if (fstatat(AT_FDCWD, w->path.data, &e->st,
		    follows ? 0 : AT_SYMLINK_NOFOLLOW)) {
		e->error = -errno;
		return;
	}
	e->is_file = S_ISREG(e->st.st_mode);
	e->is_directory = S_ISDIR(e->st.st_mode);
	if (!w->depth)
		w->device = e->st.st_dev;
	w->enters = e->is_directory && (!(w->options & TREE_ONE_DEVICE) ||
					e->st.st_dev == w->device);
}

/* The path of the next name; false: there is none. */
static bool next_path(struct tree_walk *w)
{
	struct tree_level *l;
	bool slash;

	if (!w->begun)
		return w->begun = true;
	while (w->depth) {
		l = &w->levels[w->depth - 1];
		if (l->next == l->count) {
			leave_level(w);
			continue;
		}
		w->path.len = l->path_len;
		slash = l->path_len && w->path.data[l->path_len - 1] == '/';
		w->error = buf_append_format(&w->path, "%s%s", slash ? "" : "/",
					     l->names[l->next++]);
		return true;
	}
	return false;
}

const struct tree_entry *tree_walk_next(struct tree_walk *w)
{
	int err;

	if (w->enters) {
		w->enters = false;
		err = enter_level(w);
		if (err == -ENOMEM)
			w->error = err;
		w->entry = (struct tree_entry){ .error = err,
						.is_directory = true,
						.is_top = w->entry.is_top };
		if (err && !w->error)
			goto out;
	}
	if (w->error || !next_path(w) || w->error)
		return NULL;
	look(w);
out:
	w->entry.path = w->path.data;
	return &w->entry;
}

void tree_walk_skip(struct tree_walk *w)
{
	w->enters = false;
}

int tree_walk_end(struct tree_walk *w, int code)
{
	if (!w)
		return code ? code : -ENOMEM;
	if (!code)
		code = w->error;
	while (w->depth)
		leave_level(w);
	free(w->levels);
	buf_release(&w->path);
	free(w);
	return code;
}
