/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_BASE_DATAGRAM_H
#define CORE_BASE_DATAGRAM_H

#include <stddef.h>

/* Sends one datagram and a descriptor with it to the unix socket at a path
 * below a directory, without waiting.  Needs no connect(), which the daemon's
 * sandbox refuses.  0, or a negative errno: -ENOENT, -ECONNREFUSED: nobody
 * listens there. */
int datagram_send(int directory, const char *path, const void *data, size_t len,
		  int fd);

#endif
