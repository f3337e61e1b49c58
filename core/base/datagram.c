/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/datagram.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* Room for one descriptor is aligned to that for two. */
#define FDS_ROOM ((CMSG_SPACE(sizeof(int)) - CMSG_LEN(0)) / sizeof(int))

int datagram_send(int directory, const char *path, const void *data, size_t len,
		  int fd)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = { .bytes = { 0 } };
	struct iovec part = { (void *)data, len };
	struct msghdr message = { .msg_name = &address,
				  .msg_namelen = sizeof(address),
				  .msg_iov = &part,
				  .msg_iovlen = 1,
				  .msg_control = &control,
				  .msg_controllen = sizeof(control) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&message);
	int err = 0, s = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (s < 0)
		return -errno;
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(fd));
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	/* The path of the directory may be longer than that of a socket. */
	(void)snprintf(address.sun_path, sizeof(address.sun_path),
		       "/proc/self/fd/%d/%s", directory, path);
	if (sendmsg(s, &message, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		err = -errno;
	(void)close(s);
	return err;
}

ssize_t datagram_receive(int socket, void *data, size_t room, int flags,
			 int *fd_out)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec part = { data, room };
	struct msghdr message = { .msg_iov = &part,
				  .msg_iovlen = 1,
				  .msg_control = &control,
				  .msg_controllen = sizeof(control) };
	ssize_t len = recvmsg(socket, &message, MSG_CMSG_CLOEXEC | flags);
	struct cmsghdr *head = len >= 0 ? CMSG_FIRSTHDR(&message) : NULL;
	int fds[FDS_ROOM];
	size_t count;

	if (len < 0)
		return -errno;
	if (!head || head->cmsg_level != SOL_SOCKET ||
	    head->cmsg_type != SCM_RIGHTS)
		return -EINVAL;
	count = (head->cmsg_len - CMSG_LEN(0)) / sizeof(int);
	memcpy(fds, CMSG_DATA(head), count * sizeof(int));
	if (count == 1 && len) {
		*fd_out = fds[0];
		return len;
	}
	while (count)
		(void)close(fds[--count]);
	return -EINVAL;
}
