/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_BASE_DATAGRAM_H
#define CORE_BASE_DATAGRAM_H

#include <stddef.h>
#include <sys/types.h>

/* Descriptors go with data over unix sockets. */
enum { DATAGRAM_DESCRIPTORS = 2 };

/* Sends data with count descriptors over a connected socket, or to an address
 * (NULL: it is connected).  flags: of sendmsg().  0, or a negative errno. */
struct sockaddr_un;
int descriptors_send(int socket, const struct sockaddr_un *to, const void *data,
		     size_t len, const int *fds, size_t count, int flags);

/* Receives data, and how many descriptors came with it, DATAGRAM_DESCRIPTORS at most;
 * more are closed: the length of the data.  flags: of recvmsg(). */
ssize_t descriptors_receive(int socket, void *data, size_t room, int flags,
			    int fds[DATAGRAM_DESCRIPTORS], size_t *count_out);

/* Sends one datagram and a descriptor with it to the unix socket at a path
 * below a directory, without waiting.  Needs no connect(), which the daemon's
 * sandbox refuses.  0, or a negative errno: -ENOENT, -ECONNREFUSED: nobody
 * listens there. */
int datagram_send(int directory, const char *path, const void *data, size_t len,
		  int fd);

/* Receives one, and the descriptor that came with it: its length.  -EINVAL:
 * there was none, or more than one, which are closed, or the datagram is empty.
 * flags: of recvmsg(). */
ssize_t datagram_receive(int socket, void *data, size_t room, int flags,
			 int *fd_out);

#endif
