/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_ENGINE_QUERY_IOCTL_H
#define CORE_ENGINE_QUERY_IOCTL_H

#include <sys/ioctl.h>

/*
 * On a read-only mount the kernel refuses to open .query for writing.  There a
 * program opens it for reading and sends its query by ioctl() instead of
 * write(), in pieces of at most QUERY_PIECE_MAX bytes.
 */
#define QUERY_PIECE_MAX 8192
#define QUERY_IOCTL(size) _IOC(_IOC_WRITE, 'k', 1, (size))

#endif
