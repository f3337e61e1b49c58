/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FS_MOUNT_HELPER_H
#define FS_MOUNT_HELPER_H

#include <stdbool.h>

/*
 * For "mount -t kinfs", mount(8) runs kinfs by the name mount.kinfs:
 * mount.TYPE SOURCE DIRECTORY [-sfnv] [-N namespace] [-o options]
 * [-t type.subtype].  Its options are not those of kinfs: -f means "mount
 * nothing".
 *
 * If argv[0] is such a name, removes the options of mount(8) from argv and
 * returns true.  *fake_out: -f was given.
 */
bool mount_helper_take(int *argc, char **argv, bool *fake_out);

#endif
