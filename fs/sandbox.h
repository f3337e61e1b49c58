/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FS_SANDBOX_H
#define FS_SANDBOX_H

#include <stdbool.h>

/*
 * What the daemon can do no more once it serves.
 *
 * It reads what others wrote and obeys what others ask, so an attacker that
 * finds a mistake in it shall find little to go on with: no capability that no
 * operation of a filesystem needs, no new program, no new privileges, no
 * network, no debugging of others, no mount, no module, no memory image.
 * Refused calls fail with EPERM.
 *
 * When a signal ends an ordinary user's daemon, only fusermount3, which is
 * set-user-ID, can unmount.  Another process is there for that, see
 * fs/unmounter.h.
 */
struct fs;

/* Called before it is mounted. */
void sandbox_prepare(struct fs *fs);

/* Called when it is mounted, before any thread is started.  What the kernel
 * does not let us give up is logged, and kept. */
void sandbox_enter(const struct fs *fs);

/* Whether the mount is still there, for the unmounter: asked before libfuse
 * closes its descriptor. */
bool sandbox_is_attached(const struct fs *fs);

#endif
