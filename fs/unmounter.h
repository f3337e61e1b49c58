/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FS_UNMOUNTER_H
#define FS_UNMOUNTER_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * A child process that runs fusermount3 -u for the daemon.
 *
 * An ordinary user needs that set-user-ID program to unmount, and the daemon
 * cannot execute it in its sandbox.  So a shell is started before.  It waits
 * for a line, then it executes fusermount3.  If the daemon dies, the shell ends
 * without that.
 */
struct unmounter {
	pid_t pid; /* 0: there is none */
	int fd;    /* the shell's standard input */
};

/* All descriptors above standard error must be CLOEXEC.  A negative errno. */
int unmounter_start(const char *mountpoint, struct unmounter *out);
/* Ends the child, after it has unmounted if unmount is true.  Does nothing if
 * there is no child. */
void unmounter_end(struct unmounter *u, bool unmount);

#endif
