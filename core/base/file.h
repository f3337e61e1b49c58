/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_BASE_FILE_H
#define CORE_BASE_FILE_H

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

/* ---- what of a file is to be read ---- */

/*
 * Holes of sparse files, which need not be read: they are zeros.  Short ones
 * are not worth it and count as data.
 */
#define HOLE_LEAST (1 << 20)

/* A part of a file: a hole, or bytes to be read. */
struct hole_part {
	bool hole;
	uint64_t end; /* of the part */
};

/*
 * The part of the file that begins at, which is below size; it may be followed
 * by another of its kind.  Where the filesystem does not tell, all is to be
 * read.  Moves the position of fd.
 */
void hole_find(int fd, uint64_t at, uint64_t size, struct hole_part *out);

/*
 * Some filesystems tell sizes that are not those of the contents: 0 for all
 * files (procfs, cgroups, tracefs, FUSE filesystems that make their contents
 * when they are read), or a page (sysfs).
 */

/* Whether a file of that size may have content all the same, as far as its
 * filesystem is known for that.  fd may be O_PATH. */
bool told_size_may_be_wrong(int fd, uint64_t size);

/* Whether the content ends at size, as the file says: 0, or -EFBIG.  Reads at
 * most one byte, and nothing where reading has effects. */
int told_size_check(int fd, uint64_t size);

/* ---- whether it stays as it is ---- */

/*
 * A read lease: the kernel's word that no process on this machine has the
 * file open for writing, or mapped so, for as long as it is held.  An open() or
 * truncate() that would break it waits until the lease is dropped (with
 * O_NONBLOCK it fails with EWOULDBLOCK), so a lease is held for a few system
 * calls and no longer.
 *
 * fd is open for reading, and no other descriptor shares its description.  A
 * break is told by a signal that is ignored by default, not by SIGIO, which
 * ends a process.
 */

/* 0; -EAGAIN: the file is open for writing; or why there is no lease to be had:
 * neither the owner nor CAP_LEASE (-EACCES), or not on this filesystem. */
static inline int lease_take(int fd)
{
	if (fcntl(fd, F_SETSIG, SIGURG) || fcntl(fd, F_SETLEASE, F_RDLCK))
		return -errno;
	return 0;
}

/* Whether it was held from lease_take() to this moment. */
static inline bool lease_holds(int fd)
{
	return fcntl(fd, F_GETLEASE) == F_RDLCK;
}

static inline void lease_drop(int fd)
{
	(void)fcntl(fd, F_SETLEASE, F_UNLCK);
}

#endif
