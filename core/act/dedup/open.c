/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/text.h"
#include "core/client/client.h"
#include "core/source/file.h"
#include "core/act/dedup/dedup_impl.h"

/*
 * Reaching files without trusting directories.  Another user may put a symbolic
 * link where a directory was, so no component of a path may be a link, and ".."
 * is none: the path that was planned is the path that is changed.
 */

bool dedup_is_plain_path(const char *path)
{
	return *path == '/' && text_is_plain_path(path + 1);
}

int dedup_open_parent(const char *path, const char **name_out)
{
	const char *slash = strrchr(path, '/');
	char *directory = NULL;
	int root, fd;

	if (!dedup_is_plain_path(path))
		return -EINVAL;
	/* With "." behind it, so that the directory itself is no link. */
	if (asprintf(&directory, "%.*s.", (int)(slash - path), path + 1) < 0)
		return -ENOMEM;
	root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	fd = root < 0 ?
		     -errno :
		     file_open_beneath(root, directory, O_PATH | O_DIRECTORY);
	if (root >= 0)
		close(root);
	free(directory);
	*name_out = slash + 1;
	return fd;
}

int dedup_open_at(int directory, const char *name)
{
	enum {
		FLAGS = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY |
			O_CLOEXEC
	};
	struct stat st;
	int fd;

	/* The type first: to open a device or a FIFO may do something. */
	if (fstatat(directory, name, &st, AT_SYMLINK_NOFOLLOW))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -ESTALE;
	fd = openat(directory, name, FLAGS);
	return fd < 0 ? -errno : fd;
}

int dedup_open_file(const char *path)
{
	const char *name;
	int directory = dedup_open_parent(path, &name), fd;

	if (directory < 0)
		return directory;
	fd = dedup_open_at(directory, name);
	close(directory);
	return fd;
}

/* ---- all names of a file ---- */

int dedup_spots_open(char *const *paths, size_t count, const char *temporary,
		     bool lenient, struct dedup_spot **out)
{
	struct dedup_spot *spots = calloc(count, sizeof(*spots)), *s;
	size_t i;
	int err = spots ? 0 : -ENOMEM;

	for (i = 0; i < count && !err; i++) {
		s = &spots[i];
		s->directory = dedup_open_parent(paths[i], &s->name);
		if (s->directory < 0 && !lenient)
			err = s->directory;
		/* Several names in one directory. */
		(void)snprintf(s->beside, sizeof(s->beside),
			       i ? "%.200s-%zu" : "%.200s", temporary, i);
	}
	if (err)
		dedup_spots_close(spots, i);
	else
		*out = spots;
	return err;
}

void dedup_spots_close(struct dedup_spot *spots, size_t count)
{
	size_t i;

	for (i = 0; spots && i < count; i++)
		if (spots[i].directory >= 0)
			close(spots[i].directory);
	free(spots);
}

bool dedup_has_inode(int directory, const char *name, ino_t inode)
{
	struct stat st;

	return !fstatat(directory, name, &st, AT_SYMLINK_NOFOLLOW) &&
	       st.st_ino == inode;
}

/* ---- below a mount ---- */

void dedup_mount_release(struct dedup_mount *m)
{
	free(m->root);
	free(m->source);
	*m = (struct dedup_mount){ 0 };
}

char *dedup_real_path(struct dedup_mount *m, const char *path)
{
	struct mount mount = { 0 };
	char *real = NULL;

	if (!m->root || !dedup_is_below(path, m->root)) {
		if (mount_find(path, &mount))
			return NULL;
		dedup_mount_release(m);
		m->root = strdup(mount.root);
		m->source = mount_get_place(&mount, NULL, "source");
		mount_release(&mount);
	}
	if (!m->root || !m->source ||
	    asprintf(&real, "%s%s", m->source, path + strlen(m->root)) < 0)
		return NULL;
	return real;
}
