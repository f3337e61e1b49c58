/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/base/datagram.h"

/* The lowest descriptor that is free. */
static int lowest_free(void)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	close(fd);
	return fd;
}

TEST(test_a_datagram_without_data_leaves_no_descriptor_open)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	char directory[] = "/tmp/kinfs-datagram.XXXXXX";
	char data[16];
	int at, receiver, fd, free_fd;

	assert_non_null(mkdtemp(directory));
	at = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
	receiver = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s/s",
		       directory);
	assert_int_equal(
		bind(receiver, (struct sockaddr *)&address, sizeof(address)),
		0);
	free_fd = lowest_free();
	assert_int_equal(datagram_send(at, "s", "", 0, at), 0);
	assert_int_equal(datagram_receive(receiver, data, sizeof(data), 0, &fd),
			 -EINVAL);
	assert_int_equal(lowest_free(), free_fd);
	assert_int_equal(datagram_send(at, "s", "text", 4, at), 0);
	assert_int_equal(datagram_receive(receiver, data, sizeof(data), 0, &fd),
			 4);
	assert_int_equal(fd, free_fd);
	close(fd);
	close(receiver);
	close(at);
	(void)unlink(address.sun_path);
	(void)rmdir(directory);
}
