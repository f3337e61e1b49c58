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

static int open_plain(const char *path, int flags)
{
	int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC), fd;

	if (root < 0)
		return -errno;
	fd = file_open_beneath(root, path + 1, flags);
	close(root);
	return fd;
}

int dedup_open_parent(const char *path, const char **name_out)
{
	const char *slash = strrchr(path, '/');
	char *directory;
	int fd;

	if (!dedup_is_plain_path(path))
		return -EINVAL;
	/* With "." behind it, so that the directory itself is no link. */
	if (asprintf(&directory, "%.*s/.", (int)(slash - path), path) < 0)
		return -ENOMEM;
	fd = open_plain(directory, O_PATH | O_DIRECTORY);
	free(directory);
	*name_out = slash + 1;
	return fd;
}

int dedup_open_file(const char *path)
{
	return dedup_is_plain_path(path) ?
		       open_plain(path, O_RDONLY | O_NONBLOCK | O_NOCTTY) :
		       -EINVAL;
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

struct stat dedup_look(int directory, const char *name)
{
	struct stat st;

	if (directory < 0 || fstatat(directory, name, &st, AT_SYMLINK_NOFOLLOW))
		return (struct stat){ 0 };
	return st;
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
