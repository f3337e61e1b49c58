/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FS_UNMOUNTER_H
#define FS_UNMOUNTER_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * A process that waits to run fusermount3 -u.
 *
 * An ordinary user needs that set-user-ID program to unmount, which the daemon
 * in its sandbox cannot start.  So it is started before: a shell that waits for
 * a line.  When the daemon ends without a word, so does the shell.
 */
struct unmounter {
	pid_t pid; /* 0: there is none */
	int fd;    /* the shell's standard input */
};

/* Nothing but CLOEXEC descriptors may be open beyond standard error.  Negative
 * errno. */
int unmounter_start(const char *mountpoint, struct unmounter *out);
/* Lets it unmount, or not, and waits for its end.  Does nothing when there is
 * none. */
void unmounter_end(struct unmounter *u, bool unmount);

#endif
