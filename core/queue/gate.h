/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_QUEUE_GATE_H
#define CORE_QUEUE_GATE_H

#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Lets a thread, the committer or the scan, work in the background although it
 * is not under SCHED_IDLE: it must be able to finish at normal priority, and an
 * unprivileged thread cannot leave SCHED_IDLE.
 *
 * The thread works in slices of GATE_SLICE_MS.  Before each slice it waits
 * until the throttle allows background work; when a user waits for that, it goes
 * on at once.  Then it rests if it had to wait for a processor since the last
 * slice, because others want to compute: GATE_RESTS times as long as it waited,
 * GATE_REST_MS at most.  Beside as many busy threads as there are processors it
 * waits 4 ms for each turn of 4 ms, and so works for 4 of 40 ms.
 */
struct throttle;

enum { GATE_SLICE_MS = 1, GATE_RESTS = 16, GATE_REST_MS = 32 };

struct gate {
	sem_t opened; /* posted when the gate is opened */
	atomic_bool open;
	struct throttle *throttle; /* NULL: work may always begin */
	int64_t throttle_ns;       /* see throttle_due_ns(); the thread's */
	int64_t slice_ns; /* when the present slice began; 0: it is over */
	/* How long the thread had waited for a processor when the last slice
	 * began; its own. */
	uint64_t waited_ns;
};

int gate_init(struct gate *g, struct throttle *throttle);
void gate_release(struct gate *g);

/* While the gate is open, gate_pass() does not wait: a request waits for the
 * thread. */
void gate_set(struct gate *g, bool open);

/* Waits if the present slice is over; to be called often, by one
 * thread. */
void gate_pass(struct gate *g);

#endif
