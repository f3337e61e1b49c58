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
 * An ordinary user needs the set-user-ID program fusermount3 to unmount, which
 * the daemon cannot execute any more.  So a shell is started before, the
 * unmounter.  It waits for a line, then it executes fusermount3.  If the daemon
 * dies, the shell ends without that.
 */
struct fs;

/* Starts the unmounter; called before the mount. */
void sandbox_prepare(struct fs *fs);

/* Enters the sandbox; called after the mount, before any thread is started.
 * Restrictions that the kernel refuses are logged and left out. */
void sandbox_enter(const struct fs *fs);

/* Ends the unmounter, after it has unmounted if unmount is true. */
void sandbox_end_unmounter(struct fs *fs, bool unmount);

/* Whether the filesystem is still mounted.  Called before libfuse closes its
 * descriptor. */
bool sandbox_is_attached(const struct fs *fs);

#endif
