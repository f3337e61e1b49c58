/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/thread.h"

#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int cond_init_monotonic(pthread_cond_t *cond)
{
	pthread_condattr_t attr;
	int err = -pthread_condattr_init(&attr);

	if (err)
		return err;
	err = -pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	if (!err)
		err = -pthread_cond_init(cond, &attr);
	pthread_condattr_destroy(&attr);
	return err;
}

void cond_wait_until(pthread_cond_t *cond, pthread_mutex_t *lock,
		     int64_t until_ms)
{
	struct timespec until = { until_ms / 1000, until_ms % 1000 * 1000000 };

	if (until_ms == INT64_MAX)
		pthread_cond_wait(cond, lock);
	else
		(void)pthread_cond_timedwait(cond, lock, &until);
}

/* ioprio_set(2) */
enum { WHO_PROCESS = 1, CLASS_BEST_EFFORT = 2 << 13, CLASS_IDLE = 3 << 13 };

static void set_io_priority(int priority)
{
	(void)syscall(SYS_ioprio_set, WHO_PROCESS, 0, priority);
}

void thread_enter_background(void)
{
	struct sched_param param = { 0 };

	(void)sched_setscheduler(0, SCHED_IDLE, &param);
	set_io_priority(CLASS_IDLE);
}

void thread_lower_io(void)
{
	set_io_priority(CLASS_BEST_EFFORT | 7);
}

void thread_set_name(const char *name)
{
	(void)pthread_setname_np(pthread_self(), name);
}

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
