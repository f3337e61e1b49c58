/* SPDX-License-Identifier: Apache-2.0 */
#include <locale.h>
#include <malloc.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "core/extract/reader.h"

/* A request and its descriptor.  Whether there was one. */
static bool receive(struct extract_request *request, int *fd_out)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec part = { request, sizeof(*request) };
	struct msghdr message = { .msg_iov = &part,
				  .msg_iovlen = 1,
				  .msg_control = &control,
				  .msg_controllen = sizeof(control) };
	const struct cmsghdr *c;

	if (recvmsg(EXTRACT_REQUEST_FD, &message, 0) != sizeof(*request))
		return false;
	c = CMSG_FIRSTHDR(&message);
	if (!c || c->cmsg_type != SCM_RIGHTS ||
	    c->cmsg_len != CMSG_LEN(sizeof(int)))
		return false;
	memcpy(fd_out, CMSG_DATA(c), sizeof(int));
	return true;
}

int serve_requests(void)
{
	static struct extract_output out;
	struct extract_request request;
	struct extract_input in = { 0 };
	char seed;

	/* Not readable for others of the same user, not even before. */
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) ||
	    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) || confine_limits())
		return 1;
	(void)setlocale(LC_CTYPE, "C.UTF-8");
	tzset();
	/* What the C library needs for this later, it sets up with calls that
	 * are forbidden then (from 2.41 on). */
	if (getrandom(&seed, sizeof(seed), 0) != sizeof(seed) ||
	    reader_warm_up() || confine_calls())
		return 1;
	out.fd = EXTRACT_ANSWER_FD;
	output_ready(out.fd);
	while (receive(&request, &in.fd)) {
		out.limits = request.limits;
		out.inflated = out.members = 0;
		in.size = request.size;
		reader_read(&out, &in);
		(void)close(in.fd);
		(void)malloc_trim(0);
	}
	return 0;
}
