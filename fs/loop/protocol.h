/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FS_LOOP_PROTOCOL_H
#define FS_LOOP_PROTOCOL_H

#include <fuse_lowlevel.h>
#include <stdbool.h>

/*
 * Features of the FUSE protocol that libfuse may be too old for.
 *
 * Passthrough (Linux 6.9) is supported from libfuse 3.17 on; that a writer has no
 * CAP_FSETID, which a host with HANDLE_KILLPRIV_V2 (Linux 5.12) has to know, from
 * 3.18.3 on; kernels are often newer than their libraries.  Both need only a few
 * bits in messages that an older libfuse also reads and writes.  So these bits
 * are set and read between libfuse and the device, unless libfuse supports both.
 */

/* After the mount, before the first request.  0 or a negative errno. */
int protocol_open(struct fuse_session *session);

/* Called by init(): requests the feature; false: the kernel does not support
 * it. */
bool protocol_want_passthrough(struct fuse_conn_info *conn);
bool protocol_want_killpriv(struct fuse_conn_info *conn);

/* Called by init(): whether the kernel supports protocol_expire_names(). */
bool protocol_can_expire_names(const struct fuse_conn_info *conn);
/* Has the kernel look up again all names that it has cached
 * (FUSE_NOTIFY_INC_EPOCH, Linux 6.16).  Unlike the invalidation of one name, it
 * takes no lock of the kernel that a request may hold. */
void protocol_expire_names(struct fuse_session *session);

/* Sets the id of the backing file (FUSE_DEV_IOC_BACKING_OPEN) in this thread's
 * next reply to open() or create().  0: none. */
void protocol_show_backing(struct fuse_file_info *fi, int id);

/* For a write request: whether the kernel says that the writer has no
 * CAP_FSETID. */
bool protocol_kills_setid(const struct fuse_file_info *fi);

#endif
