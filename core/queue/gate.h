/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_QUEUE_GATE_H
#define CORE_QUEUE_GATE_H

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Lets a thread, the committer or the scan, work as if it were under SCHED_IDLE,
 * although it is not: it must be able to finish at normal priority, and an
 * unprivileged thread cannot leave SCHED_IDLE.
 *
 * The thread works in slices of GATE_SLICE_MS.  Before each slice it waits
 * until the throttle allows background work; when a user waits for that, it goes
 * on at once.  Then it waits until a helper
 * thread under SCHED_IDLE has run, which shows that a processor is idle; but it
 * waits GATE_MS at most.
 */
enum { GATE_SLICE_MS = 1, GATE_MS = 20 };

struct gate {
	sem_t wanted;        /* wakes the helper */
	sem_t granted;       /* the helper has run, or the gate was opened */
	atomic_bool waiting; /* wanted was posted, the helper has not run yet */
	atomic_bool open;
	atomic_bool stopped;
	/* As throttle_due_ns(); NULL: work may always begin.  Set before
	 * gate_start(). */
	int64_t (*due_ns)(void *arg);
	void *arg;
	pthread_t thread;
	bool started;
};

int gate_init(struct gate *g);
int gate_start(struct gate *g);
void gate_stop(struct gate *g);
void gate_release(struct gate *g);

/* While the gate is open, gate_pass() does not wait: a request waits for the
 * thread. */
void gate_set(struct gate *g, bool open);

/* Waits if the present slice is over; to be called often, by one thread.
 * *slice_ns is when the slice began, 0 at first. */
void gate_pass(struct gate *g, int64_t *slice_ns);

#endif
