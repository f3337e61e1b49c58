/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CATALOG_INSPECT_H
#define CORE_CATALOG_INSPECT_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * The inspection of a data file without a seal, in a process of its own.
 *
 * LMDB believes its file: a wrong offset in a page is a wild pointer.  So a
 * child process reads every record through LMDB's own calls and decodes it.
 * When the file is damaged it is the child that crashes.  Nothing here knows
 * LMDB's format.
 *
 * A file whose records can be read may still break a writer: the free space of
 * a page and the list of free pages are believed by writes alone.  So the child
 * writes all records, as it reads them, to a new file, which then replaces the
 * old one: the process that goes on to write does so to a file that LMDB has
 * just made.
 *
 * The child is forked, not executed: this happens before the calling process
 * has other threads and before it gives up its rights (fs/sandbox.c), and the
 * child needs nothing but the path.  It dies with its parent.
 */
struct inspection {
	pid_t pid;
	int fd; /* the verdict comes from here */
};

enum inspect_mode {
	INSPECT_READ, /* only */
	INSPECT_COPY, /* and replace the file; not where there is no room */
};

/* The calling process must have one thread. */
int inspection_start(const char *directory, enum inspect_mode mode,
		     struct inspection *out);

/* Blocks until the child has ended.  0, -EUCLEAN: damaged, -EMEDIUMTYPE: of
 * another format, or an error of the system. */
int inspection_wait(struct inspection *i);

/* Makes inspection_wait() return -ECANCELED soon; from any thread. */
void inspection_cancel(const struct inspection *i);

#endif
