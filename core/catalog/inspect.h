/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CATALOG_INSPECT_H
#define CORE_CATALOG_INSPECT_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * Inspects a data file without a seal, in a child process.
 *
 * LMDB trusts its file: a wrong offset in a page becomes an invalid pointer.
 * So a child process reads every record by LMDB's own calls, compares its sum
 * (record_sum()), and writes it to a new file, which then replaces the old one.
 * If the file is damaged, the child may crash, but not the daemon.  Nothing here
 * depends on LMDB's file format.
 *
 * The copy is needed because a file whose records can be read may still crash a
 * writer: only writes use the free space of a page and the list of free pages.
 * (mdb_env_copy2() would copy pages as they are.)  It also has full pages, so a
 * process packs its own catalog in the same way (catalog_pack()).
 *
 * The child is forked and executes no program.  So the parent must have a
 * single thread, and it must not have entered its sandbox (fs/sandbox.c).  The
 * child is killed when its parent ends.
 */
struct inspection {
	pid_t pid;
	int fd; /* a socket that the child sends its result to */
};

/* The calling process must have a single thread.  If there is no room for
 * the copy, the file is only read. */
int inspection_start(const char *directory, struct inspection *out);

/* Blocks until the child has ended.  -EUCLEAN: the file is damaged;
 * -EMEDIUMTYPE: it has another format; or an error of the
 * system. */
int inspection_wait(struct inspection *i);

/* Makes inspection_wait() return -ECANCELED soon; from any thread. */
void inspection_cancel(const struct inspection *i);

#endif
