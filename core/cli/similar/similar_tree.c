/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/similar/similar_tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/array.h"
#include "core/base/hex.h"

/* ---- reading ---- */

/* Of an empty file it is all zeros here; the size tells it from others. */
static void read_content(const char *path, struct tree_file *file)
{
	struct buf text = { 0 };

	file->has_content =
		!file->size ||
		(!mount_get_attribute(
			 path, digest_infos[DIGEST_XXH128].attribute, &text) &&
		 !hex_decode(text.data, text.len, file->xxh128,
			     sizeof(file->xxh128)));
	buf_release(&text);
}

static int add_file(struct tree *t, const FTSENT *entry)
{
	struct tree_file *files, *file;

	files = array_with_room(t->files, t->count, sizeof(*files));
	if (!files)
		return -ENOMEM;
	t->files = files;
	file = &files[t->count];
	*file = (struct tree_file){
		.path = strdup(entry->fts_path + strlen(t->root) + 1),
		.size = (uint64_t)entry->fts_statp->st_size,
	};
	if (!file->path)
		return -ENOMEM;
	t->count++;
	read_content(entry->fts_path, file);
	t->unknown += !file->has_content;
	return 0;
}

static int walk_entry(void *arg, FTS *fts, FTSENT *entry)
{
	(void)fts;
	switch (entry->fts_info) {
	case FTS_F:
		return add_file(arg, entry);
	case FTS_DNR:
	case FTS_ERR:
	case FTS_NS:
		cli_complain_errno(entry->fts_path, -entry->fts_errno);
		return 0;
	default:
		return 0;
	}
}

static int by_path(const void *a, const void *b)
{
	const struct tree_file *x = a, *y = b;

	return strcmp(x->path, y->path);
}

static int compare_contents(const struct tree_file *x,
			    const struct tree_file *y)
{
	if (x->size != y->size)
		return x->size < y->size ? -1 : 1;
	return memcmp(x->xxh128, y->xxh128, sizeof(x->xxh128));
}

static int by_content(const void *a, const void *b)
{
	const struct tree_file *const *x = a, *const *y = b;

	if ((*x)->has_content != (*y)->has_content)
		return (*x)->has_content ? -1 : 1;
	return compare_contents(*x, *y);
}

static int tree_sort(struct tree *t)
{
	size_t i;

	t->contents = calloc(t->count + 1, sizeof(struct tree_file *));
	if (!t->contents)
		return -ENOMEM;
	if (!t->count)
		return 0;
	qsort(t->files, t->count, sizeof(*t->files), by_path);
	for (i = 0; i < t->count; i++)
		t->contents[i] = &t->files[i];
	qsort(t->contents, t->count, sizeof(struct tree_file *), by_content);
	return 0;
}

int tree_read(const char *root, struct tree *out)
{
	struct tree t = { .root = strdup(root) };
	int err = -ENOMEM;

	if (t.root)
		err = cli_walk(t.root, FTS_XDEV, NULL, walk_entry, &t);
	if (!err)
		err = tree_sort(&t);
	if (err)
		tree_release(&t);
	else
		*out = t;
	return err;
}

void tree_release(struct tree *t)
{
	size_t i;

	for (i = 0; i < t->count; i++) {
		similar_paths_release(&t->files[i].near);
		free(t->files[i].path);
	}
	free(t->files);
	free(t->contents);
	free(t->root);
	*t = (struct tree){ 0 };
}

/* ---- comparing ---- */

static bool has_content(const struct tree *t, const struct tree_file *file)
{
	return file->has_content && t->count &&
	       bsearch(&file, t->contents, t->count, sizeof(struct tree_file *),
		       by_content);
}

static void mark_same(struct tree *a, const struct tree *b)
{
	size_t i;

	for (i = 0; i < a->count; i++) {
		a->files[i].same = has_content(b, &a->files[i]);
		a->files[i].other = NULL;
		a->files[i].score = 0;
	}
}

/* A file that vanished meanwhile resembles nothing. */
static int near_ask(struct similar_job *job, const struct tree *t,
		    struct tree_file *file)
{
	const char *root = job->mount.root;
	size_t skip = strcmp(root, "/") != 0 ? strlen(root) : 0;
	char *listing;
	int err;

	if (file->near_known || !file->size)
		return 0;
	listing = similar_format("%s%s/%s", job->listings, t->root + skip,
				 file->path);
	if (!listing)
		return -ENOMEM;
	err = similar_each(job, listing, similar_paths_add, &file->near);
	free(listing);
	file->near_known = true;
	return err == -ENOENT || err == -ENOTDIR ? 0 : err;
}

/* The file of a tree with that full path. */
static struct tree_file *find_file(const struct tree *t, const char *path)
{
	size_t len = strlen(t->root);
	struct tree_file key = { 0 };

	if (strncmp(path, t->root, len) != 0 || path[len] != '/' || !t->count)
		return NULL;
	key.path = (char *)(uintptr_t)(path + len + 1);
	return bsearch(&key, t->files, t->count, sizeof(key), by_path);
}

static void pair_file(struct tree_file *file, const struct tree *b)
{
	size_t i;

	for (i = 0; i < file->near.count; i++) {
		struct tree_file *other = find_file(b, file->near.all[i].path);

		if (!other || other->same || other->other)
			continue;
		file->other = other;
		other->other = file;
		file->score = other->score = file->near.all[i].score;
		return;
	}
}

int tree_compare(struct similar_job *job, struct tree *a, struct tree *b)
{
	int err = 0;
	size_t i;

	mark_same(a, b);
	mark_same(b, a);
	for (i = 0; i < a->count && !err; i++) {
		if (a->files[i].same)
			continue;
		err = near_ask(job, a, &a->files[i]);
		pair_file(&a->files[i], b);
	}
	return err;
}
