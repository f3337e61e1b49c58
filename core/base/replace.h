/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_BASE_REPLACE_H
#define CORE_BASE_REPLACE_H

#include <sys/types.h>

#include "core/base/buf.h"

/*
 * Gives a file of that name in a directory, which is open for reading, a new
 * content at once: writes the file beside first, syncs it and renames it.  A
 * kill at any moment leaves the old file or the new one, and perhaps the file
 * beside, which the next call replaces.  The caller has a lock, or a name
 * beside that no other program uses.  A negative errno: the old file is there,
 * or, if only the directory could not be synced, the new one.
 */
int file_replace(int directory, const char *name, const char *beside,
		 const struct buf *data, mode_t mode);

#endif
