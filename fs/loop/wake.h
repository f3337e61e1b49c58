/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FS_LOOP_WAKE_H
#define FS_LOOP_WAKE_H

#include <pthread.h>

/*
 * Interrupts a thread that waits in a system call, by a signal with an empty
 * handler.  A signal that arrives just before the call has no effect, so the
 * sender repeats it, with a pause, until the thread has left the call.
 */

/* Installs the handler; called before the first thread.  A negative errno. */
int wake_open(void);

/* Unblocks the signal in the calling thread. */
void wake_allow(void);

void wake_thread(pthread_t thread);

/* Sleeps for a millisecond before the next wake_thread(). */
void wake_pause(void);

#endif
