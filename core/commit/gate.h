/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_COMMIT_GATE_H
#define CORE_COMMIT_GATE_H

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * For a thread that must be able to finish at normal priority, and work in the
 * background until then: what it could not do under SCHED_IDLE, as no thread
 * without privileges gets out of that again.  It works in slices.  Before each
 * it waits until the host may be disturbed, and has a thread of the idle class
 * run for a moment: so there is a processor that no other thread wants.  When
 * there is none it goes on after GATE_MS all the same.
 */
enum { GATE_SLICE_MS = 1, GATE_MS = 20 };

struct gate {
	sem_t wanted, granted;
	atomic_bool waiting; /* for a processor */
	atomic_bool open;
	atomic_bool stopped;
	/* From when on the host may be disturbed, or is to be asked again,
	 * by clock_now_ns(); NULL: always.  Set before gate_start(). */
	int64_t (*due_ns)(void *arg);
	void *arg;
	pthread_t thread;
	bool started;
};

int gate_init(struct gate *g);
int gate_start(struct gate *g);
void gate_stop(struct gate *g);
void gate_release(struct gate *g);

/* Open, it lets the thread pass at once: a request waits for the work. */
void gate_set(struct gate *g, bool open);

/* To be called often; *slice_ns is when the present slice began, 0 at first.
 * One thread at a time. */
void gate_pass(struct gate *g, int64_t *slice_ns);

#endif
