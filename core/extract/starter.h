/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_EXTRACT_STARTER_H
#define CORE_EXTRACT_STARTER_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * A small process that starts and ends those that extract, for a caller that
 * gave up the right to.  It ends when its socket is closed, and all that it
 * started with it.
 */
enum starter_program {
	STARTER_DOCUMENTS,
	STARTER_PDF,
	STARTER_PICTURES,
	STARTER_PROGRAMS
};

/* A process that extracts, and the ends of what leads to it. */
struct started {
	pid_t pid; /* 0: there is none */
	int requests, answers;
};

/* -ENOENT: there is no such directory, or no kin-extract in it. */
int starter_open(const char *directory, int *socket_out);

/* background: it runs when nobody else wants the processor.  One thread at a time
 * may call it.  -ENOENT: that program is not installed. */
int starter_start(int socket, enum starter_program program, bool background,
		  struct started *out);

/* Kills the process; its descriptors are closed. */
void starter_end(int socket, struct started *s);

/* Sends one packet and, unless it is -1, a descriptor. */
int starter_send(int socket, const void *data, size_t len, int fd);

#endif
