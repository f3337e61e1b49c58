/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/array.h"
#include "core/base/clock.h"
#include "core/base/err.h"
#include "core/dedup/dedup_impl.h"

const char *const dedup_method_names[DEDUP_METHODS] = {
	[DEDUP_HARDLINK] = "hardlink",
	[DEDUP_REFLINK] = "reflink",
	[DEDUP_REMOVE] = "remove",
};

static void skip(const struct dedup_plan *p, const char *path,
		 const char *reason)
{
	if (p->skip)
		p->skip(p->arg, path, reason);
}

/* ---- files ---- */

static int add_file(struct dedup_plan *p, const char *path,
		    const struct stat *st)
{
	struct dedup_file *files =
		array_with_room(p->files, p->file_count, sizeof(*files));
	char *copy = strdup(path);

	if (files)
		p->files = files;
	if (!files || !copy) {
		free(copy);
		return -ENOMEM;
	}
	files[p->file_count++] = (struct dedup_file){ copy, *st };
	return 0;
}

/* Adds those of the paths that are regular files of the size of the first one. */
static int add_files(struct dedup_plan *p, const struct dedup_rules *rules,
		     const char *const *paths, size_t count)
{
	size_t first = p->file_count, i;
	struct stat st;
	int err = 0;

	for (i = 0; i < count && !err; i++) {
		if (lstat(paths[i], &st))
			skip(p, paths[i], err_text(errno));
		else if (!S_ISREG(st.st_mode))
			skip(p, paths[i], "it is not a regular file any more");
		else if (!st.st_size || (uint64_t)st.st_size < rules->min_size)
			continue;
		else if (p->file_count > first &&
			 p->files[first].st.st_size != st.st_size)
			skip(p, paths[i], "it has another size by now");
		else
			err = add_file(p, paths[i], &st);
	}
	return err;
}

/* ---- which one is kept ---- */

static bool is_below(const char *path, const char *directory)
{
	size_t len = strlen(directory);

	while (len && directory[len - 1] == '/')
		len--;
	return !strncmp(path, directory, len) && path[len] == '/';
}

static bool is_protected(const struct dedup_rules *rules,
			 const struct dedup_file *f)
{
	size_t i;

	for (i = 0; i < rules->directory_count; i++)
		if (is_below(f->path, rules->directories[i]))
			return true;
	return false;
}

static int compare_numbers(int64_t a, int64_t b)
{
	return (a > b) - (a < b);
}

/* Negative when a is to be kept rather than b. */
static int compare_worth(const struct dedup_rules *rules,
			 const struct dedup_file *a, const struct dedup_file *b)
{
	int64_t a_ns = timespec_to_ns(&a->st.st_mtim);
	int64_t b_ns = timespec_to_ns(&b->st.st_mtim);
	int order = is_protected(rules, b) - is_protected(rules, a);

	if (!order && rules->keep == DEDUP_KEEP_OLDEST)
		order = compare_numbers(a_ns, b_ns);
	if (!order && rules->keep == DEDUP_KEEP_NEWEST)
		order = compare_numbers(b_ns, a_ns);
	if (!order)
		order = compare_numbers((int64_t)strlen(a->path),
					(int64_t)strlen(b->path));
	return order ? order : strcmp(a->path, b->path);
}

/* The file that stays for the others to be made of; extents and links are
 * shared within one filesystem only. */
static size_t find_keeper(const struct dedup_plan *p,
			  const struct dedup_rules *rules, size_t first,
			  dev_t device)
{
	size_t i, best = p->file_count;

	for (i = first; i < p->file_count; i++) {
		if (rules->method != DEDUP_REMOVE &&
		    p->files[i].st.st_dev != device)
			continue;
		if (best == p->file_count ||
		    compare_worth(rules, &p->files[i], &p->files[best]) < 0)
			best = i;
	}
	return best;
}

/* ---- steps ---- */

static bool same_inode(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

static int add_step(struct dedup_plan *p, size_t keep, size_t replace)
{
	struct dedup_step *steps =
		array_with_room(p->steps, p->step_count, sizeof(*steps));

	if (!steps)
		return -ENOMEM;
	p->steps = steps;
	steps[p->step_count++] =
		(struct dedup_step){ .keep = keep, .replace = replace };
	return 0;
}

/* An inode is free once all its names are gone, so its blocks count for the
 * step that takes the last of them; extents are shared with the first one. */
static void count_bytes(struct dedup_plan *p, const struct dedup_rules *rules,
			size_t first_step)
{
	struct dedup_step *steps = p->steps;
	size_t i, j, names;

	for (i = first_step; i < p->step_count; i++) {
		const struct stat *st = &p->files[steps[i].replace].st;

		for (names = 1, j = first_step; j < i; j++)
			names += same_inode(st, &p->files[steps[j].replace].st);
		if (rules->method == DEDUP_REFLINK ? names == 1 :
						     names == st->st_nlink)
			steps[i].bytes = (uint64_t)st->st_blocks * 512;
		p->bytes += steps[i].bytes;
	}
}

int dedup_plan_add(struct dedup_plan *p, const struct dedup_rules *rules,
		   const char *const *paths, size_t count)
{
	size_t first = p->file_count, first_step = p->step_count, i;
	int err = add_files(p, rules, paths, count);

	for (i = first; i < p->file_count && !err; i++) {
		size_t keep =
			find_keeper(p, rules, first, p->files[i].st.st_dev);

		if (same_inode(&p->files[i].st, &p->files[keep].st))
			continue;
		if (is_protected(rules, &p->files[i]))
			continue;
		err = add_step(p, keep, i);
	}
	if (!err)
		count_bytes(p, rules, first_step);
	return err;
}

void dedup_plan_release(struct dedup_plan *p)
{
	size_t i;

	for (i = 0; i < p->file_count; i++)
		free(p->files[i].path);
	free(p->files);
	free(p->steps);
	p->files = NULL;
	p->steps = NULL;
	p->file_count = p->step_count = 0;
}
