/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_ENGINE_QUERY_IOCTL_H
#define CORE_ENGINE_QUERY_IOCTL_H

#include <sys/ioctl.h>

/*
 * Of a mount that is read-only, the kernel opens nothing for writing.  There
 * a program opens .query for reading and puts its question by ioctl(), in
 * pieces of at most QUERY_PIECE_MAX bytes, instead of write().
 */
#define QUERY_PIECE_MAX 8192
#define QUERY_IOCTL(size) _IOC(_IOC_WRITE, 'k', 1, (size))

#endif
