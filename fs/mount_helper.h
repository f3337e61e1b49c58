/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FS_MOUNT_HELPER_H
#define FS_MOUNT_HELPER_H

#include <stdbool.h>

/*
 * kinfs by the name mount.kinfs or mount.fuse.kinfs is what mount(8) runs for
 * "mount -t kinfs": mount.TYPE SOURCE DIRECTORY [-sfnv] [-N namespace]
 * [-o options] [-t type.subtype].  Letters mean something else there.
 *
 * True if argv[0] is such a name: what is for mount(8) alone is taken out of
 * argv then.  *fake_out: nothing is to be mounted (-f).
 */
bool mount_helper_take(int *argc, char **argv, bool *fake_out);

#endif
