/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNIT_FS_SESSION_H
#define TESTS_UNIT_FS_SESSION_H

#include "tests/support/test.h"

#include <fuse_lowlevel.h>
#include <stdio.h>
#include <sys/socket.h>

/* A session whose kernel is the other end of a socket: that is returned. */
static inline int session_on_socket(const struct fuse_lowlevel_ops *ops,
				    void *userdata,
				    struct fuse_session **session_out)
{
	char *argv[] = { "kinfs" };
	struct fuse_args args = FUSE_ARGS_INIT(1, argv);
	char device[32];
	int ends[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
	*session_out = fuse_session_new(&args, ops, sizeof(*ops), userdata);
	assert_non_null(*session_out);
	fuse_opt_free_args(&args);
	(void)snprintf(device, sizeof(device), "/dev/fd/%d", ends[1]);
	assert_int_equal(fuse_session_mount(*session_out, device), 0);
	return ends[0];
}

#endif
