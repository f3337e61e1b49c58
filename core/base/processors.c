/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/processors.h"

#include <sched.h>
#include <unistd.h>

unsigned processors_usable(void)
{
	cpu_set_t set;
	long all;

	if (!sched_getaffinity(0, sizeof(set), &set))
		return (unsigned)CPU_COUNT(&set);
	/* There are more than the set has room for. */
	all = sysconf(_SC_NPROCESSORS_ONLN);
	return all > 0 ? (unsigned)all : 1;
}
