/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_BASE_LEASE_H
#define CORE_BASE_LEASE_H

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>

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
