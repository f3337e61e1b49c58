/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_QUEUE_THROTTLE_H
#define CORE_QUEUE_THROTTLE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Decides when threads of the background may work, so that users of the mount
 * do not notice them.
 *
 * SCHED_IDLE is not enough.  A normal thread that wakes up still waits until
 * an idle thread leaves the kernel, and finds the processor's caches cold.
 * Between control groups (sessions, services) an idle thread even counts as
 * much as any other.
 *
 * So the background is limited, depending on the host's requests:
 *
 *   a request within         Each worker may use THROTTLE_BUSY_PERCENT of the
 *   THROTTLE_QUIET_MS        time, so that hashing goes on, slowly, beside a
 *                            busy host.
 *   the first requests       The background stops for as long as the pause was,
 *   after a pause            THROTTLE_ALONE_MS at most.  Most commands of a
 *                            user are over by then.
 *   a request within         Each worker may use THROTTLE_LATELY_PERCENT of the
 *   THROTTLE_LATELY_MS       time, so that the next command finds free
 *                            processors and warm caches.
 *   no request for longer,   No limit.
 *   or throttle_hurry()
 *
 * Working time, and the bytes that the background reads, are debts: a thread
 * waits until there is none, works, and adds what it has used.  So it need not
 * know that beforehand, and the rate is exact in the long run.
 */
enum {
	THROTTLE_QUIET_MS = 4,
	THROTTLE_ALONE_MS = 1000,
	THROTTLE_BUSY_PERCENT = 5,
	THROTTLE_LATELY_MS = 3000,
	THROTTLE_LATELY_PERCENT = 25,
	/* Most that is charged for a piece of work: one that took longer did
	 * not run all the time, but waited for a processor. */
	THROTTLE_PIECE_MS = 10,
	/* A time without work counts as that much work at most. */
	THROTTLE_SAVED_MS = 100,
	THROTTLE_HURRY_MS = 2000,
};

struct throttle {
	/* Set by the owner; constant. */
	unsigned workers; /* of the background */
	uint64_t rate;    /* bytes read a second; 0: no limit */
	/* Whether the host had requests since the last call; NULL: never. */
	bool (*had_requests)(void *ctx);
	void *ctx;

	pthread_mutex_t lock; /* everything below; a leaf */
	pthread_cond_t wake;
	int64_t busy_ns;  /* the host counts as busy until then */
	int64_t quiet_ns; /* begin of the pause; INT64_MAX: there is none */
	int64_t alone_ns; /* until then the background stops while it is busy */
	int64_t hurry_ns; /* no limit until then */
	int64_t work_ns;  /* when the debt of working time is paid off */
	int64_t read_ns;  /* ... and that of bytes */
	bool stopped;
};

/* Any thread may call the functions. */
int throttle_init(struct throttle *t);
/* No thread waits any more. */
void throttle_stop(struct throttle *t);
void throttle_release(struct throttle *t);

/* A user waits for the background: lifts the limit of working time until
 * until_ms (clock_now_ms()); a time in the past ends that. */
void throttle_hurry(struct throttle *t, int64_t until_ms);

/*
 * Where a thread of the background waits.  It passes its gate between two short
 * pieces of work, and waits there until the throttle allows background work;
 * when a user waits for that, it goes on at once.
 *
 * Threads under SCHED_IDLE leave the processors to others.  A thread that a
 * request may wait for (the committer, the scan, a worker at a large file or at
 * texts) is not under SCHED_IDLE, because an unprivileged thread cannot leave
 * that.  It works in slices of GATE_SLICE_MS.  Before each slice it rests if it
 * had to wait for a processor since the last one, because others want to
 * compute: GATE_RESTS times as long as it waited, GATE_REST_MS at most.  Beside
 * as many busy threads as there are processors it waits 4 ms for each turn of
 * 4 ms, and so works for 4 of 40 ms.
 */
enum { GATE_SLICE_MS = 1, GATE_RESTS = 16, GATE_REST_MS = 32 };

struct gate {
	struct throttle *throttle; /* NULL: work may always begin; constant */
	bool is_idle;     /* its thread is under SCHED_IDLE; constant */
	atomic_bool open; /* a request waits for the thread */

	/* The thread's own. */
	int64_t since_ns; /* begin of the work to be charged; 0: none is */
	int64_t slice_ns; /* when the present slice began; 0: it is over */
	/* How long the thread had waited for a processor when the last slice
	 * began. */
	uint64_t waited_ns;
};

/* While the gate is open, the thread does not wait there.  NULL is allowed. */
void gate_set(struct gate *g, bool open);

/* Waits if the present slice is over; to be called often, by the gate's
 * thread. */
void gate_pass(struct gate *g);

/* As gate_pass(), before a read; afterwards its bytes are charged. */
void gate_pass_read(struct gate *g);
void gate_charge_read(struct gate *g, size_t bytes);

#endif
