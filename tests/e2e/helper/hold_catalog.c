/* SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * Preloaded into kinfs: the seal of its catalog cannot be read while the file
 * exists that the environment variable HELD_BY names, as if the catalog were
 * very large.
 */
enum { PAUSE_US = 10000 };

static int is_seal(int fd)
{
	char link[64], path[PATH_MAX];
	ssize_t len;

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, path, sizeof(path) - 1);
	if (len < 0)
		return 0;
	path[len] = '\0';
	return len > 7 && strcmp(path + len - 7, "/sealed") == 0;
}

ssize_t read(int fd, void *buffer, size_t size)
{
	static ssize_t (*next)(int fd, void *buffer, size_t size);
	const char *held_by = getenv("HELD_BY");
	void *found;

	if (!next) {
		found = dlsym(RTLD_NEXT, "read");
		memcpy(&next, &found, sizeof(next));
	}
	while (held_by && is_seal(fd) && access(held_by, F_OK) == 0)
		(void)usleep(PAUSE_US);
	return next(fd, buffer, size);
}
