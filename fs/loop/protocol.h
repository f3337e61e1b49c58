/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FS_LOOP_PROTOCOL_H
#define FS_LOOP_PROTOCOL_H

#include <fuse_lowlevel.h>
#include <stdbool.h>

/*
 * What the kernel can do and libfuse may be too old to say.
 *
 * Passthrough (Linux 6.9) came with libfuse 3.17, HANDLE_KILLPRIV_V2 (5.12)
 * with 3.18; a kernel is often newer than the libraries beside it.  Both take
 * no more than a few bits in messages that an older libfuse writes and reads,
 * too, so they are put in and taken out on the way.  Where libfuse knows them
 * it is asked, and nothing stands between it and the kernel.
 */

/* After the mount, before the first request.  0 or a negative errno. */
int protocol_open(struct fuse_session *session);

/* In init(): asks for the feature; false when the kernel has not got it. */
bool protocol_want_passthrough(struct fuse_conn_info *conn);
bool protocol_want_killpriv(struct fuse_conn_info *conn);

/* In init(): whether the kernel can be told to look all names up again. */
bool protocol_can_expire_names(const struct fuse_conn_info *conn);
/* Tells it so (FUSE_NOTIFY_INC_EPOCH, Linux 6.16): names that it learned before
 * are looked up again.  Takes no lock of the kernel's, unlike the invalidation
 * of one name. */
void protocol_expire_names(struct fuse_session *session);

/* The reply to open() or create() that this thread makes of fi says that the
 * kernel is to use the backing file of this id (FUSE_DEV_IOC_BACKING_OPEN);
 * 0: none. */
void protocol_show_backing(struct fuse_file_info *fi, int id);

/* In write(): whether the writer lacks CAP_FSETID, as far as is told. */
bool protocol_kills_setid(const struct fuse_file_info *fi);

#endif
