/* SPDX-License-Identifier: Apache-2.0 */
#include "core/queue/gate.h"

#include <errno.h>
#include <time.h>

#include "core/base/clock.h"
#include "core/base/thread.h"

static void *gate_run(void *arg)
{
	struct gate *g = arg;

	thread_set_name("kinfs-gate");
	thread_enter_background();
	while (!atomic_load(&g->stopped)) {
		if (sem_wait(&g->wanted))
			continue; /* EINTR */
		atomic_store(&g->waiting, false);
		sem_post(&g->granted);
	}
	return NULL;
}

/* Waits until until_ns, or until granted is posted. */
static void wait_granted(struct gate *g, int64_t until_ns)
{
	struct timespec until = { until_ns / 1000000000,
				  until_ns % 1000000000 };

	while (sem_clockwait(&g->granted, CLOCK_MONOTONIC, &until) &&
	       errno == EINTR)
		;
}

/* True: a user waits for the work. */
static bool wait_due(struct gate *g)
{
	int64_t due_ns;

	while (!atomic_load(&g->open)) {
		due_ns = g->due_ns(g->arg);
		if (due_ns <= clock_now_ns())
			return due_ns == 0;
		wait_granted(g, due_ns);
	}
	return true;
}

static void wait_turn(struct gate *g)
{
	while (!sem_trywait(&g->granted))
		;
	if (!atomic_exchange(&g->waiting, true))
		sem_post(&g->wanted);
	/* sem_trywait() above may have taken the post of gate_set(). */
	if (!atomic_load(&g->open))
		wait_granted(g, clock_now_ns() + GATE_MS * INT64_C(1000000));
}

void gate_pass(struct gate *g, int64_t *slice_ns)
{
	int64_t now = clock_now_ns();

	if (atomic_load(&g->open) ||
	    now - *slice_ns < GATE_SLICE_MS * INT64_C(1000000))
		return;
	if (!g->due_ns || !wait_due(g))
		wait_turn(g);
	*slice_ns = clock_now_ns();
}

void gate_set(struct gate *g, bool open)
{
	if (atomic_exchange(&g->open, open) != open && open)
		sem_post(&g->granted);
}

int gate_init(struct gate *g)
{
	if (sem_init(&g->wanted, 0, 0) || sem_init(&g->granted, 0, 0))
		return -errno;
	return 0;
}

int gate_start(struct gate *g)
{
	int err = -pthread_create(&g->thread, NULL, gate_run, g);

	g->started = !err;
	return err;
}

void gate_stop(struct gate *g)
{
	atomic_store(&g->stopped, true);
	gate_set(g, true);
	sem_post(&g->wanted);
	if (g->started)
		pthread_join(g->thread, NULL);
	g->started = false;
}

void gate_release(struct gate *g)
{
	sem_destroy(&g->wanted);
	sem_destroy(&g->granted);
}
