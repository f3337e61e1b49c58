/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_BASE_CLOCK_H
#define CORE_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

/* Beyond the year 2262 it wraps, so that any two times differ; to be shown or
 * put in order they go through time_in_order(). */
static inline int64_t timespec_to_ns(const struct timespec *t)
{
	return (int64_t)((uint64_t)t->tv_sec * 1000000000 +
			 (uint64_t)t->tv_nsec);
}

/* The present time of that clock; see clock_gettime(2). */
static inline int64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return timespec_to_ns(&now);
}

/* The present time of CLOCK_MONOTONIC. */
static inline int64_t clock_now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

static inline int64_t clock_now_ms(void)
{
	return clock_now_ns() / 1000000;
}

/* A time of timespec_to_ns().  One before 1901, where the usual filesystems
 * have none, is one after 2262 that has wrapped: the last time that can be
 * told. */
static inline int64_t time_in_order(int64_t ns)
{
	return ns < INT32_MIN * INT64_C(1000000000) ? INT64_MAX : ns;
}

#endif
