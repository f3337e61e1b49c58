/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_BASE_LEASE_H
#define CORE_BASE_LEASE_H

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
int lease_take(int fd);

/* Whether it was held from lease_take() to this moment. */
bool lease_holds(int fd);

void lease_drop(int fd);

#endif
