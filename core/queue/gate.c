/* SPDX-License-Identifier: Apache-2.0 */
#include "core/queue/gate.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/queue/throttle.h"

/* Waits until until_ns, or until the gate is opened. */
static void wait_opened(struct gate *g, int64_t until_ns)
{
	struct timespec until = { until_ns / 1000000000,
				  until_ns % 1000000000 };

	while (!atomic_load(&g->open) &&
	       sem_clockwait(&g->opened, CLOCK_MONOTONIC, &until) &&
	       errno == EINTR)
		;
}

/* True: a user waits for the work. */
static bool wait_due(struct gate *g)
{
	int64_t due_ns;

	while (!atomic_load(&g->open)) {
		due_ns = throttle_due_ns(g->throttle, &g->throttle_ns);
		if (due_ns <= clock_now_ns())
			return due_ns == 0;
		wait_opened(g, due_ns);
	}
	return true;
}

/* How long the thread has waited for a processor since the last call; 0 where
 * the kernel does not tell. */
static uint64_t new_waits_ns(struct gate *g)
{
	uint64_t before_ns = g->waited_ns;
	int fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
	char text[64], *end;
	ssize_t len = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	text[len > 0 ? len : 0] = '\0';
	/* The time on a processor, the time that it waited for one, ... */
	(void)strtoull(text, &end, 10);
	g->waited_ns = strtoull(end, NULL, 10);
	return before_ns && g->waited_ns > before_ns ?
		       g->waited_ns - before_ns :
		       0;
}

static void rest(struct gate *g)
{
	uint64_t most_ns = GATE_REST_MS * UINT64_C(1000000);
	uint64_t rest_ns = new_waits_ns(g) * GATE_RESTS;

	if (rest_ns > most_ns)
		rest_ns = most_ns;
	if (rest_ns)
		wait_opened(g, clock_now_ns() + (int64_t)rest_ns);
}

void gate_pass(struct gate *g)
{
	int64_t now = clock_now_ns();

	if (atomic_load(&g->open) ||
	    now - g->slice_ns < GATE_SLICE_MS * INT64_C(1000000))
		return;
	while (!sem_trywait(&g->opened))
		;
	if (!g->throttle || !wait_due(g))
		rest(g);
	g->slice_ns = clock_now_ns();
}

void gate_set(struct gate *g, bool open)
{
	if (atomic_exchange(&g->open, open) != open && open)
		sem_post(&g->opened);
}

int gate_init(struct gate *g, struct throttle *throttle)
{
	g->throttle = throttle;
	return sem_init(&g->opened, 0, 0) ? -errno : 0;
}

void gate_release(struct gate *g)
{
	sem_destroy(&g->opened);
}
