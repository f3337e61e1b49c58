/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_BASE_CLOCK_H
#define CORE_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

/* The present time of that clock; see clock_gettime(2). */
int64_t clock_ns(clockid_t clock);

/* The present time of CLOCK_MONOTONIC. */
int64_t clock_now_ns(void);
int64_t clock_now_ms(void);

/* Beyond the year 2262 it wraps; such times are compared, not shown. */
static inline int64_t timespec_to_ns(const struct timespec *t)
{
	return (int64_t)((uint64_t)t->tv_sec * 1000000000 +
			 (uint64_t)t->tv_nsec);
}

#endif
