/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "core/base/array.h"
#include "core/base/clock.h"
#include "core/base/err.h"
#include "core/client/client.h"
#include "core/act/dedup/dedup_impl.h"

const char *const dedup_method_names[DEDUP_METHODS] = {
	[DEDUP_HARDLINK] = "hardlink",
	[DEDUP_REFLINK] = "reflink",
	[DEDUP_REMOVE] = "remove",
	[DEDUP_BLOCKS] = "blocks",
};

/* ---- files ---- */

static int compare_inodes(const void *a, const void *b)
{
	const struct dedup_file *x = a, *y = b;

	if (x->st.st_dev != y->st.st_dev)
		return x->st.st_dev < y->st.st_dev ? -1 : 1;
	return (x->st.st_ino > y->st.st_ino) - (x->st.st_ino < y->st.st_ino);
}

/* The file that the plan has, or a new one, which has no paths yet. */
static struct dedup_file *find_file(struct dedup_plan *p, const struct stat *st)
{
	struct dedup_file **files =
				  array_with_room(p->files, p->file_count,
						  sizeof(struct dedup_file *)),
			  *new = calloc(1, sizeof(*new)), **found = NULL;

	p->files = files ? files : p->files;
	if (files && new) {
		new->st = *st;
		found = tsearch(new, &p->known, compare_inodes);
	}
	if (found && *found == new)
		files[p->file_count++] = new;
	else
		free(new);
	return found ? *found : NULL;
}

/* The path of the file below the mount that it is in, to be freed; NULL: it is
 * in none, or not to be reached there. */
static char *path_below_mount(struct mount *mount, const char *path)
{
	const char *rel = mount->root ? path_below(path, mount->root) : NULL;
	struct mount found = { 0 };
	char *source, *real = NULL;

	/* By a bind mount it need not be below the root. */
	if (!rel) {
		if (mount_find(path, &found))
			return NULL;
		mount_release(mount);
		*mount = found;
		rel = found.rel;
	}
	source = mount_get_place(mount, NULL, "source");
	if (source && asprintf(&real, "%s/%s", source, rel) < 0)
		real = NULL;
	free(source);
	return real;
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
static uint64_t find_filesystem(const struct dedup_plan *p, const char *path,
				const struct stat *st)
{
	struct btrfs_info info = { 0 };
	uint64_t filesystem = st->st_dev;
	struct stat below;
	int fd = dedup_open(path, DEDUP_READ);

	if (fd >= 0 && !fstat(fd, &below))
		filesystem = below.st_dev;
	if (fd >= 0 && dedup_is_sharing(p->rules.method) &&
	    !ioctl(fd, BTRFS_INFO, &info))
		memcpy(&filesystem, info.fsid, sizeof(filesystem));
	if (fd >= 0)
		close(fd);
	return filesystem;
}

/* Adds the absolute path of a file, which it takes.  internal: path_is_internal()
 * says so of the path as the group has it. */
static int add_path(struct dedup_plan *p, const struct found_member *m,
		    size_t first, const struct stat *st, bool internal,
		    char *path)
{
	const struct dedup_rules *rules = &p->rules;
	struct dedup_file *f = find_file(p, st);
	const char *below;
	size_t i;
	int err;

	/* An earlier member has it: the list has a group twice. */
	if (!f || (f->found.name_count && f->first != first)) {
		free(path);
		return f ? 0 : -ENOMEM;
	}
	if (!f->found.name_count) {
		f->first = first;
		f->found.internal = true;
		f->found.mtime_ns = time_in_order(timespec_to_ns(&st->st_mtim));
		f->below = path_below_mount(&p->mount, path);
		if (rules->method != DEDUP_REMOVE)
			f->filesystem = find_filesystem(
				p, f->below ? f->below : path, st);
		memcpy(f->xxh128, m->xxh128, sizeof(f->xxh128));
	}
	f->found.internal &= internal;
	err = array_add_string(&f->found.names, &f->found.name_count, path);
	for (i = 0; i < rules->directories.count && !err; i++) {
		below = path_below(path, rules->directories.names[i]);
		if (below && *below)
			f->found.keep = rules->used[i] = true;
	}
	return err;
}

/* Looks at what is there, if no directory of the path is a symbolic link. */
static int look_at(const char *path, struct stat *out)
{
	int fd = dedup_open(path, O_PATH), err;

	if (fd < 0)
		return fd;
	err = fstat(fd, out) ? -errno : 0;
	close(fd);
	return err;
}

/* Adds a name as a group has it, if the file may be used.  base: what it is
 * relative to, and if is_root must not lead out of. */
static int add_listed(struct dedup_plan *p, const struct found_member *m,
		      size_t first, const char *base, bool is_root,
		      const char *name)
{
	const bool is_absolute = *name == '/';
	const char *reason = NULL, *below;
	struct stat st;
	char *path;
	int err;

	if (asprintf(&path, "%s%s%s", is_absolute ? "" : base,
		     is_absolute ? "" : "/", name) < 0)
		return -ENOMEM;
	below = is_root ? path_below(path, base) : path;
	if (!dedup_is_plain_path(path) || !below || !*below) {
		p->refused = name;
		free(path);
		return -EXDEV;
	}
	err = look_at(path, &st);
	if (err)
		reason = err == -ELOOP ? "a directory of its path is a "
					 "symbolic link" :
					 err_text(err);
	else if (!S_ISREG(st.st_mode))
		reason = "it is not a regular file any more";
	else if (m->has_size && (uint64_t)st.st_size != m->size)
		reason = "it has another size than the groups say";
	else if (p->file_count > first &&
		 p->files[first]->st.st_size != st.st_size)
		reason = "it has another size by now";
	if (!reason && st.st_size &&
	    (uint64_t)st.st_size >= p->rules.filter.min_size)
		return add_path(p, m, first, &st,
				path_is_internal(is_root ? below : name), path);
	if (reason)
		p->skip(path, reason);
	free(path);
	return 0;
}

/* By filesystem; in each the one that is to be kept first. */
static int compare_files(const void *a, const void *b, void *order)
{
	const struct dedup_file *x = *(struct dedup_file *const *)a,
				*y = *(struct dedup_file *const *)b;

	if (x->filesystem != y->filesystem)
		return x->filesystem < y->filesystem ? -1 : 1;
	return keep_compare(*(enum keep_order *)order, &x->found, &y->found);
}

/* ---- what becomes of them ---- */

/* Extents and links are shared within one filesystem only: the first file of
 * each stays for the others to be made of.  *head_io: of the group, to share
 * blocks with; NULL: none yet. */
static void choose(struct dedup_plan *p, size_t first,
		   struct dedup_file **head_io)
{
	const size_t end = p->file_count;
	struct dedup_file *f, *keep = NULL, *head;
	size_t i;

	for (i = first; i < end; i++) {
		f = p->files[i];
		head = *head_io;
		if (keep && keep->filesystem == f->filesystem) {
			f->keep = f->found.keep ? NULL : keep;
			continue;
		}
		keep = f;
		p->linked_count += f->found.name_count - 1;
		if (!head || p->rules.method != DEDUP_BLOCKS) {
			if (end - first > 1 &&
			    (i + 1 == end ||
			     p->files[i + 1]->filesystem != f->filesystem))
				p->skip(f->found.names[0],
					"no copy is on its filesystem");
			*head_io = f;
		} else if (head->filesystem != f->filesystem) {
			p->skip(f->found.names[0],
				"it is on another filesystem than "
				"the one it resembles");
		} else if (!f->found.keep) {
			f->keep = head;
		} else if (!head->found.keep && !head->keep) {
			head->keep = f;
		}
	}
}

static bool is_internal(const struct found_file *f)
{
	size_t i = 0;

	while (i < f->name_count && path_is_internal(f->names[i]))
		i++;
	return i == f->name_count;
}

int dedup_plan_add(struct dedup_plan *p, const char *root,
		   const struct found_group *group)
{
	char *base = root ? strdup(root) : getcwd(NULL, 0);
	size_t len = base ? strlen(base) : 0, first, i, k;
	struct dedup_rules *rules = &p->rules;
	const struct found_member *m = group->members;
	struct dedup_file *head = NULL;
	const struct found_file *f;
	int err = base ? 0 : -errno;

	while (len && base[len - 1] == '/')
		base[--len] = '\0';
	for (; m < group->members + group->count && !err; m++) {
		if (rules->method != DEDUP_BLOCKS && m->file_count == 1 &&
		    m->files->name_count == 1)
			continue;
		first = p->file_count;
		for (i = 0; i < m->file_count && !err; i++) {
			f = &m->files[i];
			if ((!rules->internal && is_internal(f)) ||
			    !filter_takes(&rules->filter, f->names[0],
					  UINT64_MAX))
				continue;
			for (k = 0; !err && k < f->name_count; k++)
				err = add_listed(p, m, first, base, root,
						 f->names[k]);
		}
		if (err || p->file_count == first)
			continue;
		qsort_r(p->files + first, p->file_count - first, sizeof(f),
			compare_files, &rules->keep);
		choose(p, first, &head);
	}
	free(base);
	return err;
}

/* ---- two files by themselves ---- */

static int find_one(struct mount *mount, const struct found_file *found,
		    struct dedup_file *out)
{
	char *path;
	int err;

	if (asprintf(&path, "%s/%s", mount->root, found->names[0]) < 0)
		return -ENOMEM;
	err = look_at(path, &out->st);
	out->below = err ? NULL : path_below_mount(mount, path);
	if (array_add_string(&out->found.names, &out->found.name_count, path))
		return -ENOMEM;
	return err;
}

int dedup_verify(struct mount *mount, const struct found_file *keep,
		 const struct found_file *copy, struct dedup_result *out)
{
	struct dedup_file kept = { 0 }, other = { .keep = &kept };
	int err = find_one(mount, keep, &kept);

	if (!err)
		err = find_one(mount, copy, &other);
	*out = (struct dedup_result){ .reason = "" };
	if (err)
		err = dedup_explain(out, "cannot be opened", err);
	else
		err = dedup_compare(&other, out);
	found_file_release(&kept.found);
	found_file_release(&other.found);
	free(kept.below);
	free(other.below);
	return err;
}
