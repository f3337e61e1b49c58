/* SPDX-License-Identifier: Apache-2.0 */
#include "core/kernel/window.h"

static const struct window_ops *forced;

const struct window_ops *const *window_all(size_t *count_out)
{
	static const struct window_ops *const all[] = {
		&window_scalar,
#if defined(__x86_64__)
		&window_avx2,
		&window_avx512,
#endif
	};
	size_t count = 1;

#if defined(__x86_64__)
	if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
	    __builtin_cpu_supports("popcnt"))
		count = 2;
	if (count == 2 && __builtin_cpu_supports("avx512f") &&
	    __builtin_cpu_supports("avx512bw") &&
	    __builtin_cpu_supports("avx512dq") &&
	    __builtin_cpu_supports("avx512vl"))
		count = 3;
#endif
	*count_out = count;
	return all;
}

const struct window_ops *window_best(void)
{
	const struct window_ops *const *all;
	size_t count;

	if (forced)
		return forced;
	all = window_all(&count);
	return all[count - 1];
}

void window_use(const struct window_ops *ops)
{
	forced = ops;
}
