/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FS_STATUS_H
#define FS_STATUS_H

#include "core/base/buf.h"

struct fs;

/* The value of user.kinfs.status: a JSON object. */
int status_text(struct fs *fs, struct buf *out);

#endif
