/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "core/base/array.h"
#include "core/base/clock.h"
#include "core/base/err.h"
#include "core/act/dedup/dedup_impl.h"

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

struct known {
	dev_t device;
	ino_t inode;
	size_t file; /* its index; SIZE_MAX: it is new */
};

static int compare_known(const void *a, const void *b)
{
	const struct known *x = a, *y = b;

	if (x->device != y->device)
		return x->device < y->device ? -1 : 1;
	return (x->inode > y->inode) - (x->inode < y->inode);
}

static struct known *find_known(struct dedup_plan *p, const struct stat *st)
{
	struct known *new = malloc(sizeof(*new)), **found;

	if (!new)
		return NULL;
	*new = (struct known){ st->st_dev, st->st_ino, SIZE_MAX };
	found = tsearch(new, &p->known, compare_known);
	if (!found || *found != new)
		free(new);
	return found ? *found : NULL;
}

static int add_name(struct dedup_file *f, const char *path)
{
	char **paths = array_with_room(f->paths, f->path_count, sizeof(*paths));

	if (!paths)
		return -ENOMEM;
	f->paths = paths;
	paths[f->path_count] = strdup(path);
	if (!paths[f->path_count])
		return -ENOMEM;
	f->path_count++;
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

/* struct btrfs_ioctl_fs_info_args; its header has names that are banned. */
struct btrfs_info {
	uint64_t max_id, num_devices;
	uint8_t fsid[16];
	uint8_t rest[992];
};
#define BTRFS_INFO _IOR(0x94, 31, struct btrfs_info)

/* A mount shows one device, whatever is below.  The subvolumes of btrfs have a
 * device number each, and share blocks. */
static uint64_t find_filesystem(const struct dedup_rules *rules,
				const char *path, const struct stat *st)
{
	char *real = dedup_real_path(rules->mount, path);
	const char *at = real ? real : path;
	uint64_t device = st->st_dev;
	struct btrfs_info info = { 0 };
	struct statfs fs;
	struct stat below;
	int fd;

	if (real && !lstat(real, &below))
		device = below.st_dev;
	if (dedup_is_sharing(rules->method) && !statfs(at, &fs) &&
	    fs.f_type == BTRFS_SUPER_MAGIC) {
		fd = dedup_open_file(at);
		if (fd >= 0 && !ioctl(fd, BTRFS_INFO, &info))
			memcpy(&device, info.fsid, sizeof(device));
		if (fd >= 0)
			close(fd);
	}
	free(real);
	return device;
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

static int add_file(struct dedup_plan *p, const struct dedup_rules *rules,
		    const struct dedup_set *set, const struct stat *st,
		    const char *path)
{
	struct dedup_file *files =
		array_with_room(p->files, p->file_count, sizeof(*files));

	if (!files)
		return -ENOMEM;
	p->files = files;
	files += p->file_count++;
	*files = (struct dedup_file){
		.st = *st,
		.filesystem = rules->method == DEDUP_REMOVE ?
				      0 :
				      find_filesystem(rules, path, st),
		.links = st->st_nlink,
		.successor = SIZE_MAX,
	};
	if (set->xxh128)
		(void)snprintf(files->xxh128, sizeof(files->xxh128), "%s",
			       set->xxh128);
	return add_name(files, path);
}

/* Adds the path of a file that may be used. */
static int add_path(struct dedup_plan *p, const struct dedup_rules *rules,
		    const struct dedup_set *set, size_t first, const char *path)
{
	const char *reason;
	struct known *known;
	struct stat st;
	int err = stat_file(path, &st);

	if (err)
		reason = err == -ELOOP ? "a directory of its path is a "
					 "symbolic link" :
					 err_text(err);
	else
		reason = why_not(p, set, first, &st);
	if (reason) {
		skip(p, path, reason);
		return 0;
	}
	if (!st.st_size || (uint64_t)st.st_size < rules->min_size)
		return 0;
	known = find_known(p, &st);
	if (!known)
		return -ENOMEM;
	if (known->file == SIZE_MAX) {
		known->file = p->file_count;
		return add_file(p, rules, set, &st, path);
	}
	/* Else an earlier set has it: the list has a group twice. */
	return known->file < first ? 0 : add_name(&p->files[known->file], path);
}

bool dedup_is_below(const char *path, const char *directory)
{
	size_t len = strlen(directory);

	while (len && directory[len - 1] == '/')
		len--;
	return !strncmp(path, directory, len) && path[len] == '/';
}

/* The shortest first. */
static int compare_paths(const void *a, const void *b)
{
	const char *x = *(char *const *)a, *y = *(char *const *)b;
	size_t m = strlen(x), n = strlen(y);

	return m == n ? strcmp(x, y) : m < n ? -1 : 1;
}

/* Puts the names in order, each once, and says what the file is worth. */
static void finish_file(struct dedup_file *f, const struct dedup_rules *rules)
{
	size_t i, k, kept = 0;

	qsort(f->paths, f->path_count, sizeof(*f->paths), compare_paths);
	for (i = 0; i < f->path_count; i++)
		if (kept && !strcmp(f->paths[kept - 1], f->paths[i]))
			free(f->paths[i]);
		else
			f->paths[kept++] = f->paths[i];
	f->path_count = kept;
	f->worth = (struct keep_candidate){
		.path = f->paths[0],
		.mtime_ns = time_in_order(timespec_to_ns(&f->st.st_mtim)),
	};
	for (i = 0; i < rules->directory_count; i++)
		for (k = 0; k < kept; k++)
			f->worth.is_protected |= dedup_is_below(
				f->paths[k], rules->directories[i]);
}

/* Adds those of the paths that are regular files of one size. */
static int add_files(struct dedup_plan *p, const struct dedup_rules *rules,
		     const struct dedup_set *set)
{
	size_t first = p->file_count, i;
	int err = 0;

	for (i = 0; i < set->count && !err; i++)
		err = add_path(p, rules, set, first, set->paths[i]);
	for (i = first; i < p->file_count && !err; i++)
		finish_file(&p->files[i], rules);
	return err;
}

/* The file that stays for the others to be made of; extents and links are
 * shared within one filesystem only. */
static size_t find_keeper(const struct dedup_plan *p,
			  const struct dedup_rules *rules, size_t first,
			  size_t end, uint64_t filesystem)
{
	size_t i, best = end;

	for (i = first; i < end; i++)
		if (p->files[i].filesystem == filesystem &&
		    (best == end ||
		     keep_compare(rules->keep, &p->files[i].worth,
				  &p->files[best].worth) < 0))
			best = i;
	return best;
}

/* ---- steps ---- */

static int add_step(struct dedup_plan *p, size_t keep, size_t replace)
{
	struct dedup_step *steps =
		array_with_room(p->steps, p->step_count, sizeof(*steps));

	if (!steps)
		return -ENOMEM;
	p->steps = steps;
	steps[p->step_count++] = (struct dedup_step){
		.keep = keep,
		.replace = replace,
		.bytes = (uint64_t)p->files[replace].st.st_blocks * 512,
	};
	return 0;
}

/* Within the files of one set: each filesystem keeps one. */
static int add_steps(struct dedup_plan *p, const struct dedup_rules *rules,
		     size_t first, size_t end)
{
	size_t i, k, keep = end, others;
	int err = 0;

	for (i = first; i < end && !err; i++) {
		const struct dedup_file *f = &p->files[i];

		if (keep == end || p->files[keep].filesystem != f->filesystem)
			keep = find_keeper(p, rules, first, end, f->filesystem);
		if (i != keep) {
			if (!f->worth.is_protected)
				err = add_step(p, keep, i);
			continue;
		}
		p->linked_count += f->path_count - 1;
		for (k = first, others = 0; k < end; k++)
			others += k != i &&
				  p->files[k].filesystem == f->filesystem;
		if (!others && end - first > 1)
			skip(p, f->paths[0], "no copy is on its filesystem");
	}
	return err;
}

int dedup_plan_add(struct dedup_plan *p, const struct dedup_rules *rules,
		   const struct dedup_set *set)
{
	size_t first = p->file_count;
	int err = add_files(p, rules, set);

	return err ? err : add_steps(p, rules, first, p->file_count);
}

/* ---- files that are alike ---- */

/* keep and other are files of two sets; one of them shares the other's. */
static int add_alike(struct dedup_plan *p, size_t keep, size_t other)
{
	const struct dedup_file *k = &p->files[keep], *o = &p->files[other];

	if (k->filesystem != o->filesystem) {
		skip(p, o->paths[0],
		     "it is on another filesystem than the one it resembles");
		return 0;
	}
	if (!o->worth.is_protected)
		return add_step(p, keep, other);
	return k->worth.is_protected ? 0 : add_step(p, other, keep);
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
				   p->files[first[i]].filesystem);
		if (head == SIZE_MAX)
			head = keep;
		else
			err = add_alike(p, head, keep);
	}
	for (i = 0; i < count && !err; i++)
		err = add_steps(p, rules, first[i], first[i + 1]);
	free(first);
	return err;
}

void dedup_plan_release(struct dedup_plan *p)
{
	struct dedup_file *f;

	while (p->file_count) {
		f = &p->files[--p->file_count];
		while (f->path_count)
			free(f->paths[--f->path_count]);
		free(f->paths);
	}
	free(p->files);
	free(p->steps);
	tdestroy(p->known, free);
	dedup_blocks_free(p->blocks);
	*p = (struct dedup_plan){ .skip = p->skip, .arg = p->arg };
}
