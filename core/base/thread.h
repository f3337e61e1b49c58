/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_BASE_THREAD_H
#define CORE_BASE_THREAD_H

#include <pthread.h>
#include <stdint.h>

/* Initialises a condition variable that waits on CLOCK_MONOTONIC. */
int cond_init_monotonic(pthread_cond_t *cond);

/* Waits until that time of CLOCK_MONOTONIC; INT64_MAX is for ever.  The
 * condition variable is one of cond_init_monotonic(). */
void cond_wait_until(pthread_cond_t *cond, pthread_mutex_t *lock,
		     int64_t until_ms);

/* Puts the calling thread under SCHED_IDLE and the idle I/O class. */
void thread_enter_background(void);

/* Disk requests of the calling thread come after those of other threads. */
void thread_lower_io(void);

/* Sets what top(1) shows of the calling thread: 15 characters at most. */
void thread_set_name(const char *name);

/* How many processors the calling thread may run on: those of its cpuset or
 * of taskset(1), not all that the machine has.  At least 1. */
unsigned processors_usable(void);

#endif
