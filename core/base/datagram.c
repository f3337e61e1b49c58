/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/datagram.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

union descriptors {
	struct cmsghdr align;
	char bytes[CMSG_SPACE(DATAGRAM_DESCRIPTORS * sizeof(int))];
};

int descriptors_send(int socket, const struct sockaddr_un *to, const void *data,
		     size_t len, const int *fds, size_t count, int flags)
{
	union descriptors control = { .bytes = { 0 } };
	struct iovec part = { (void *)data, len };
	struct msghdr message = { .msg_name = (void *)to,
				  .msg_namelen = to ? sizeof(*to) : 0,
				  .msg_iov = &part,
				  .msg_iovlen = 1 };
	struct cmsghdr *c;

	if (count) {
		message.msg_control = &control;
		message.msg_controllen = CMSG_SPACE(count * sizeof(int));
		c = CMSG_FIRSTHDR(&message);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(count * sizeof(int));
		memcpy(CMSG_DATA(c), fds, count * sizeof(int));
	}
	return sendmsg(socket, &message, flags) < 0 ? -errno : 0;
}

ssize_t descriptors_receive(int socket, void *data, size_t room, int flags,
			    int fds[DATAGRAM_DESCRIPTORS], size_t *count_out)
{
	union descriptors control;
	struct iovec part = { data, room };
	struct msghdr message = { .msg_iov = &part,
				  .msg_iovlen = 1,
				  .msg_control = &control,
				  .msg_controllen = sizeof(control) };
	ssize_t len = recvmsg(socket, &message, MSG_CMSG_CLOEXEC | flags);
	struct cmsghdr *c = len >= 0 ? CMSG_FIRSTHDR(&message) : NULL;

	*count_out = 0;
	if (len < 0)
		return -errno;
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS) {
		*count_out = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		memcpy(fds, CMSG_DATA(c), *count_out * sizeof(int));
	}
	return len;
}

int datagram_send(int directory, const char *path, const void *data, size_t len,
		  int fd)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int err, s = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (s < 0)
		return -errno;
	/* The path of the directory may be longer than that of a socket. */
	(void)snprintf(address.sun_path, sizeof(address.sun_path),
		       "/proc/self/fd/%d/%s", directory, path);
	err = descriptors_send(s, &address, data, len, &fd, 1,
			       MSG_DONTWAIT | MSG_NOSIGNAL);
	(void)close(s);
	return err;
}

ssize_t datagram_receive(int socket, void *data, size_t room, int flags,
			 int *fd_out)
{
	int fds[DATAGRAM_DESCRIPTORS];
	size_t count;
	ssize_t len =
		descriptors_receive(socket, data, room, flags, fds, &count);

	if (len < 0)
		return len;
	if (count == 1 && len) {
		*fd_out = fds[0];
		return len;
	}
	while (count)
		(void)close(fds[--count]);
	return -EINVAL;
}
