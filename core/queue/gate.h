/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_QUEUE_GATE_H
#define CORE_QUEUE_GATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/queue/throttle.h"

/*
 * Where a thread of the background waits.  It passes its gate between two short
 * pieces of work, and waits there until the throttle allows background work;
 * when a user waits for that, it goes on at once.
 *
 * Threads under SCHED_IDLE leave the processors to others.  A thread that a
 * request may wait for (the committer, the scan, a worker at a large file) is
 * not under SCHED_IDLE, because an unprivileged thread cannot leave that.  It
 * works in slices of GATE_SLICE_MS.  Before each slice it rests if it had to
 * wait for a processor since the last one, because others want to compute:
 * GATE_RESTS times as long as it waited, GATE_REST_MS at most.  Beside as many
 * busy threads as there are processors it waits 4 ms for each turn of 4 ms, and
 * so works for 4 of 40 ms.
 */
enum { GATE_SLICE_MS = 1, GATE_RESTS = 16, GATE_REST_MS = 32 };

struct gate {
	struct throttle *throttle; /* NULL: work may always begin; constant */
	bool is_idle;     /* its thread is under SCHED_IDLE; constant */
	atomic_bool open; /* a request waits for the thread */

	/* The thread's own. */
	int64_t since_ns; /* see throttle_due_ns() */
	int64_t slice_ns; /* when the present slice began; 0: it is over */
	/* How long the thread had waited for a processor when the last slice
	 * began. */
	uint64_t waited_ns;
};

/* While the gate is open, the thread does not wait there. */
void gate_set(struct gate *g, bool open);

/* Waits if the present slice is over; to be called often, by the gate's
 * thread. */
void gate_pass(struct gate *g);

/* As gate_pass(), before a read; afterwards its bytes are charged. */
void gate_pass_read(struct gate *g);
void gate_charge_read(struct gate *g, size_t bytes);

#endif
