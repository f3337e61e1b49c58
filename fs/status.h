/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FS_STATUS_H
#define FS_STATUS_H

#include <stdbool.h>

#include "core/base/buf.h"

struct fs;

/* The value of user.kinfs.status: a JSON object.  Only root and the owner of
 * the mount may be told the whole. */
int status_text(struct fs *fs, bool whole, struct buf *out);

#endif
