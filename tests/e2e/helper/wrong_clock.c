/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Preloaded: the clock of the host is wrong by WRONG_CLOCK seconds.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

static time_t offset(void)
{
	const char *text = getenv("WRONG_CLOCK");

	return text ? (time_t)strtoll(text, NULL, 10) : 0;
}

int clock_gettime(clockid_t clock, struct timespec *out)
{
	int (*real)(clockid_t, struct timespec *);
	int result;

	*(void **)&real = dlsym(RTLD_NEXT, "clock_gettime");
	result = real(clock, out);
	if (clock == CLOCK_REALTIME)
		out->tv_sec += offset();
	return result;
}

int gettimeofday(struct timeval *restrict out, void *restrict zone)
{
	struct timespec now;

	(void)zone;
	(void)clock_gettime(CLOCK_REALTIME, &now);
	out->tv_sec = now.tv_sec;
	out->tv_usec = now.tv_nsec / 1000;
	return 0;
}

time_t time(time_t *out)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	if (out)
		*out = now.tv_sec;
	return now.tv_sec;
}
