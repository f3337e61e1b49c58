/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FS_SANDBOX_H
#define FS_SANDBOX_H

/*
 * What the daemon can do no more once it serves.
 *
 * It reads what others wrote and obeys what others ask, so whoever finds a
 * mistake in it shall find little to go on with: no capability that no
 * operation of a filesystem needs, no new program, no new privileges, no
 * network, no debugging of others, no mount, no module, no memory image.
 * Refused calls fail with EPERM.
 *
 * An ordinary user's daemon keeps the right to start programs unless it was
 * mounted with auto_unmount: when a signal ends it, only fusermount3, which is
 * set-user-ID, can unmount.  Without giving that up the kernel takes no filter
 * of system calls from it.
 */
struct fs;

/* Called when it is mounted, before any thread is started.  What the kernel
 * does not let us give up is logged, and kept. */
void sandbox_enter(const struct fs *fs);

#endif
