/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FS_SANDBOX_H
#define FS_SANDBOX_H

#include <stdbool.h>

/*
 * Restricts the daemon before it serves.
 *
 * The daemon parses contents and requests of other users, so a bug in it must
 * give an attacker as little as possible.  The daemon keeps only capabilities
 * that filesystem operations need.  It cannot execute programs, gain
 * privileges, use the network, trace processes, mount, load modules or leave a
 * core dump.  Refused system calls fail with EPERM.
 *
 * An ordinary user's daemon needs the set-user-ID program fusermount3 to
 * unmount, which it cannot execute any more; see fs/unmounter.h.
 */
struct fs;

/* Starts the unmounter; called before the mount. */
void sandbox_prepare(struct fs *fs);

/* Enters the sandbox; called after the mount, before any thread is started.
 * Restrictions that the kernel refuses are logged and left out. */
void sandbox_enter(const struct fs *fs);

/* Whether the filesystem is still mounted.  Called before libfuse closes its
 * descriptor. */
bool sandbox_is_attached(const struct fs *fs);

#endif
