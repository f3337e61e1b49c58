/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/array.h"
#include "core/base/clock.h"
#include "core/base/err.h"
#include "core/dedup/dedup_impl.h"

const char *const dedup_method_names[DEDUP_METHODS] = {
	[DEDUP_HARDLINK] = "hardlink",
	[DEDUP_REFLINK] = "reflink",
	[DEDUP_REMOVE] = "remove",
	[DEDUP_BLOCKS] = "blocks",
};

static void skip(const struct dedup_plan *p, const char *path,
		 const char *reason)
{
	if (p->skip)
		p->skip(p->arg, path, reason);
}

/* ---- files ---- */

static int add_file(struct dedup_plan *p, const char *path,
		    const struct stat *st, const char *xxh128)
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
	files[p->file_count] = (struct dedup_file){ .path = copy, .st = *st };
	if (xxh128)
		(void)snprintf(files[p->file_count].xxh128,
			       sizeof(files[0].xxh128), "%s", xxh128);
	p->file_count++;
	return 0;
}

/* Without following symbolic links; 0 or a negative errno. */
static int stat_file(const char *path, struct stat *out)
{
	const char *name;
	int directory = dedup_open_parent(path, &name), err = 0;

	if (directory < 0)
		return directory;
	if (fstatat(directory, name, out, AT_SYMLINK_NOFOLLOW))
		err = -errno;
	close(directory);
	return err;
}

static const char *text_of(int err)
{
	return err == -ELOOP ? "a directory of its path is a symbolic link" :
			       err_text(err);
}

/* NULL: it may be used. */
static const char *why_not(const struct dedup_plan *p,
			   const struct dedup_set *set, size_t first,
			   const struct stat *st)
{
	if (!S_ISREG(st->st_mode))
		return "it is not a regular file any more";
	if (set->has_size && (uint64_t)st->st_size != set->size)
		return "it has another size than the groups say";
	if (p->file_count > first && p->files[first].st.st_size != st->st_size)
		return "it has another size by now";
	return NULL;
}

/* Adds the path of a file that may be used. */
static int add_path(struct dedup_plan *p, const struct dedup_rules *rules,
		    const struct dedup_set *set, size_t first, const char *path)
{
	const char *reason;
	struct stat st;
	int err = stat_file(path, &st);

	if (err) {
		skip(p, path, text_of(err));
		return 0;
	}
	reason = why_not(p, set, first, &st);
	if (reason) {
		skip(p, path, reason);
		return 0;
	}
	if (!st.st_size || (uint64_t)st.st_size < rules->min_size)
		return 0;
	return add_file(p, path, &st, set->xxh128);
}

/* Adds those of the paths that are regular files of one size. */
static int add_files(struct dedup_plan *p, const struct dedup_rules *rules,
		     const struct dedup_set *set)
{
	size_t first = p->file_count, i;
	int err = 0;

	for (i = 0; i < set->count && !err; i++)
		err = add_path(p, rules, set, first, set->paths[i]);
	return err;
}

/* ---- which one is kept ---- */

bool dedup_is_below(const char *path, const char *directory)
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
		if (dedup_is_below(f->path, rules->directories[i]))
			return true;
	return false;
}

static struct keep_candidate candidate(const struct dedup_rules *rules,
				       const struct dedup_file *f)
{
	return (struct keep_candidate){
		.path = f->path,
		.mtime_ns = timespec_to_ns(&f->st.st_mtim),
		.is_protected = is_protected(rules, f),
	};
}

/* Negative when a is to be kept rather than b. */
static int compare_worth(const struct dedup_rules *rules,
			 const struct dedup_file *a, const struct dedup_file *b)
{
	const struct keep_candidate x = candidate(rules, a);
	const struct keep_candidate y = candidate(rules, b);

	return keep_compare(rules->keep, &x, &y);
}

/* The file that stays for the others to be made of; extents and links are
 * shared within one filesystem only. */
static size_t find_keeper(const struct dedup_plan *p,
			  const struct dedup_rules *rules, size_t first,
			  size_t end, dev_t device)
{
	size_t i, best = end;

	for (i = first; i < end; i++) {
		if (rules->method != DEDUP_REMOVE &&
		    p->files[i].st.st_dev != device)
			continue;
		if (best == end ||
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

/* Whether all other files of the set are on other filesystems. */
static bool is_alone(const struct dedup_plan *p,
		     const struct dedup_rules *rules, size_t first, size_t end,
		     size_t i)
{
	size_t other, here = 0;

	for (other = first; other < end; other++)
		here += p->files[other].st.st_dev == p->files[i].st.st_dev;
	return rules->method != DEDUP_REMOVE && here == 1 && end - first > 1;
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

		/* Most have one name: no need to look for others. */
		for (names = 1, j = first_step; j < i && st->st_nlink > 1; j++)
			names += same_inode(st, &p->files[steps[j].replace].st);
		if (rules->method == DEDUP_REFLINK ? names == 1 :
						     names == st->st_nlink)
			steps[i].bytes = (uint64_t)st->st_blocks * 512;
		p->bytes += steps[i].bytes;
	}
}

/* Within the files of one set. */
static int add_steps(struct dedup_plan *p, const struct dedup_rules *rules,
		     size_t first, size_t end)
{
	size_t i, keep = end;
	int err = 0;

	for (i = first; i < end && !err; i++) {
		if (keep == end ||
		    p->files[keep].st.st_dev != p->files[i].st.st_dev)
			keep = find_keeper(p, rules, first, end,
					   p->files[i].st.st_dev);
		if (same_inode(&p->files[i].st, &p->files[keep].st)) {
			p->linked_count += i != keep;
			if (i == keep && is_alone(p, rules, first, end, i))
				skip(p, p->files[i].path,
				     "no copy is on its filesystem");
		} else if (!is_protected(rules, &p->files[i])) {
			err = add_step(p, keep, i);
		}
	}
	return err;
}

int dedup_plan_add(struct dedup_plan *p, const struct dedup_rules *rules,
		   const struct dedup_set *set)
{
	size_t first = p->file_count, first_step = p->step_count;
	int err = add_files(p, rules, set);

	if (!err)
		err = add_steps(p, rules, first, p->file_count);
	if (!err)
		count_bytes(p, rules, first_step);
	return err;
}

/* ---- files that are alike ---- */

/* keep and other are files of two sets; one of them shares the other's. */
static int add_alike(struct dedup_plan *p, const struct dedup_rules *rules,
		     size_t keep, size_t other)
{
	if (same_inode(&p->files[keep].st, &p->files[other].st)) {
		p->linked_count++;
		return 0;
	}
	if (p->files[keep].st.st_dev != p->files[other].st.st_dev) {
		skip(p, p->files[other].path,
		     "it is on another filesystem than the one it resembles");
		return 0;
	}
	if (!is_protected(rules, &p->files[other]))
		return add_step(p, keep, other);
	if (!is_protected(rules, &p->files[keep]))
		return add_step(p, other, keep);
	return 0;
}

/* A step with another kept file than the one before costs reading that file, so
 * the steps with the first set's come first. */
int dedup_plan_add_alike(struct dedup_plan *p, const struct dedup_rules *rules,
			 const struct dedup_set *sets, size_t count)
{
	size_t *first = calloc(count + 1, sizeof(*first));
	size_t i, head = SIZE_MAX, keep;
	int err = first ? 0 : -ENOMEM;

	for (i = 0; i < count && !err; i++) {
		first[i] = p->file_count;
		err = add_files(p, rules, &sets[i]);
		first[i + 1] = p->file_count;
	}
	for (i = 0; i < count && !err; i++) {
		if (first[i] == first[i + 1])
			continue;
		keep = find_keeper(p, rules, first[i], first[i + 1],
				   p->files[first[i]].st.st_dev);
		if (head == SIZE_MAX)
			head = keep;
		else
			err = add_alike(p, rules, head, keep);
	}
	for (i = 0; i < count && !err; i++)
		err = add_steps(p, rules, first[i], first[i + 1]);
	free(first);
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
