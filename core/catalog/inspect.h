/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CATALOG_INSPECT_H
#define CORE_CATALOG_INSPECT_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * Inspects a data file without a seal, in a child process.
 *
 * LMDB trusts its file: a wrong offset in a page becomes an invalid pointer.
 * So a child process reads every record by LMDB's own calls and decodes it.  If
 * the file is damaged, the child may crash, but not the daemon.  Nothing here
 * depends on LMDB's file format.
 *
 * A file whose records can be read may still crash a writer: only writes use
 * the free space of a page and the list of free pages.  So the child also
 * writes all records to a new file, which then replaces the old one.  The
 * daemon writes only to a file that LMDB has just made.
 *
 * The child is forked and executes no program.  So the parent must have a
 * single thread, and it must not have entered its sandbox (fs/sandbox.c).  The
 * child is killed when its parent ends.
 */
struct inspection {
	pid_t pid;
	int fd; /* a socket that the child sends its result to */
};

enum inspect_mode {
	INSPECT_READ, /* read only */
	INSPECT_COPY, /* and replace the file by a copy if there is room */
};

/* The calling process must have a single thread. */
int inspection_start(const char *directory, enum inspect_mode mode,
		     struct inspection *out);

/* Blocks until the child has ended.  -EUCLEAN: the file is damaged;
 * -EMEDIUMTYPE: it has another format; or an error of the system. */
int inspection_wait(struct inspection *i);

/* Makes inspection_wait() return -ECANCELED soon; from any thread. */
void inspection_cancel(const struct inspection *i);

#endif
