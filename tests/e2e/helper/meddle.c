/* SPDX-License-Identifier: Apache-2.0 */

/*
 * meddle open|read FILE: when somebody opens or reads FILE, changes its first
 * byte before that goes on, and ends.  Says "ready", then "changed".  Exits
 * with 77 where the kernel does not let one wait for another.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/fanotify.h>
#include <unistd.h>

enum { NOT_HERE = 77 };

static int watch(const char *when, const char *path)
{
	uint64_t mask =
		strcmp(when, "open") == 0 ? FAN_OPEN_PERM : FAN_ACCESS_PERM;
	int fd = fanotify_init(FAN_CLASS_CONTENT | FAN_CLOEXEC, O_RDWR);

	if (fd < 0 ||
	    fanotify_mark(fd, FAN_MARK_ADD, mask, AT_FDCWD, path) != 0)
		return -1;
	return fd;
}

static int change(int fd)
{
	char byte;

	if (pread(fd, &byte, 1, 0) != 1)
		return -1;
	byte ^= 1;
	return pwrite(fd, &byte, 1, 0) == 1 ? 0 : -1;
}

/* The others are let go on when we end. */
int main(int argc, char **argv)
{
	struct fanotify_event_metadata events[8];
	int fd = argc == 3 ? watch(argv[1], argv[2]) : -1;

	if (fd < 0) {
		perror("meddle");
		return errno == EINVAL || errno == ENOSYS || errno == EPERM ?
			       NOT_HERE :
			       1;
	}
	puts("ready");
	fflush(stdout);
	if (read(fd, events, sizeof(events)) < (ssize_t)sizeof(events[0]) ||
	    change(events[0].fd) != 0) {
		perror("meddle");
		return 1;
	}
	puts("changed");
	return 0;
}
