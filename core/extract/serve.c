/* SPDX-License-Identifier: Apache-2.0 */
#include <locale.h>
#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "core/base/datagram.h"
#include "core/extract/reader.h"

static int compare_bytes(const void *a, const void *b)
{
	return *(const char *)a - *(const char *)b;
}

/*
 * What the C library needs for these later, it sets up with calls that are
 * forbidden then: for random bytes (from 2.41 on), and for sorting more than
 * 1 KiB, where until 2.36 it asks how much memory the machine has.
 */
static int warm_up(void)
{
	enum { MUCH = 2048 };
	char bytes[MUCH] = { 0 };

	if (getrandom(bytes, 1, 0) != 1)
		return -1;
	qsort(bytes, MUCH, 1, compare_bytes);
	return reader_warm_up();
}

int serve_requests(void)
{
	static struct extract_output out;
	struct extract_request request;
	struct extract_input in = { 0 };

	/* Not readable for others of the same user, not even before. */
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) ||
	    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) ||
	    confine_limits(reader_memory))
		return 1;
	(void)setlocale(LC_CTYPE, "C.UTF-8");
	tzset();
	if (warm_up() || confine_calls())
		return 1;
	out.fd = EXTRACT_ANSWER_FD;
	output_ready(out.fd);
	while (datagram_receive(EXTRACT_REQUEST_FD, &request, sizeof(request),
				0, &in.fd) == sizeof(request)) {
		out.limits = request.limits;
		out.inflated = out.members = 0;
		in.size = request.size;
		reader_read(&out, &in);
		(void)close(in.fd);
		(void)malloc_trim(0);
	}
	return 0;
}
