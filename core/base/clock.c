/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/clock.h"

int64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return timespec_to_ns(&now);
}

int64_t clock_now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

int64_t clock_now_ms(void)
{
	return clock_now_ns() / 1000000;
}
