/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FS_LOOP_WAKE_H
#define FS_LOOP_WAKE_H

#include <pthread.h>

/*
 * Ends the wait of a thread in a system call by a signal that does nothing
 * else.  A signal that arrives just before the call is lost, so it is sent
 * again, with a pause, until the thread says that it is out.
 */

/* Once, before the first thread.  Negative errno. */
int wake_open(void);

/* The calling thread can be woken from now on. */
void wake_allow(void);

void wake_thread(pthread_t thread);

/* A millisecond, before the thread is woken again. */
void wake_pause(void);

#endif
