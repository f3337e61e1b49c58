/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/client/client.h"
#include "core/act/dedup/dedup_impl.h"

void dedup_mount_release(struct dedup_mount *m)
{
	free(m->root);
	free(m->source);
	*m = (struct dedup_mount){ 0 };
}

/* Finds the mount of a path; false when it is in none. */
static bool find(struct dedup_mount *m, const char *path)
{
	struct mount mount = { 0 };
	struct stat st;

	if (lstat(path, &st) || (m->has_none && m->none == st.st_dev))
		return false;
	if (!mount_find(path, &mount)) {
		free(m->root);
		free(m->source);
		m->root = strdup(mount.root);
		m->source = mount_get_place(&mount, NULL, "source");
	} else {
		m->has_none = true;
		m->none = st.st_dev;
	}
	mount_release(&mount);
	return !m->has_none || m->none != st.st_dev;
}

char *dedup_real_path(struct dedup_mount *m, const char *path)
{
	size_t len = m && m->root ? strlen(m->root) : 0;
	char *real = NULL;

	if (!m)
		return NULL;
	if (!len || strncmp(path, m->root, len) || path[len] != '/') {
		if (!find(m, path) || !m->root || !m->source)
			return NULL;
		len = strlen(m->root);
	}
	if (asprintf(&real, "%s%s", m->source, path + len) < 0)
		return NULL;
	return real;
}
