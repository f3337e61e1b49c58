/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FS_SIMILAR_LOOKUP_H
#define FS_SIMILAR_LOOKUP_H

#include <fuse_lowlevel.h>

/* The operation lookup. */
void similar_lookup(fuse_req_t req, fuse_ino_t parent, const char *name);

#endif
