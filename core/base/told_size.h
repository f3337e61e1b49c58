/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_BASE_TOLD_SIZE_H
#define CORE_BASE_TOLD_SIZE_H

#include <stdbool.h>
#include <stdint.h>

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

#endif
