/* SPDX-License-Identifier: Apache-2.0 */
#include "core/queue/gate.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/base/clock.h"

/* True: a user waits for the work. */
static bool wait_due(struct gate *g)
{
	int64_t due_ns;

	while (!atomic_load(&g->open)) {
		due_ns = throttle_due_ns(g->throttle, &g->since_ns);
		if (due_ns <= clock_now_ns())
			return due_ns == 0;
		throttle_sleep(g->throttle, &g->open, due_ns);
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
		throttle_sleep(g->throttle, &g->open,
			       clock_now_ns() + (int64_t)rest_ns);
}

void gate_pass(struct gate *g)
{
	int64_t slice_ns = g->is_idle ? 0 : GATE_SLICE_MS * INT64_C(1000000);

	if (!g->throttle || atomic_load(&g->open) ||
	    clock_now_ns() - g->slice_ns < slice_ns)
		return;
	if (!wait_due(g) && !g->is_idle)
		rest(g);
	g->slice_ns = clock_now_ns();
}

void gate_pass_read(struct gate *g)
{
	int64_t due_ns;

	gate_pass(g);
	while (!atomic_load(&g->open) &&
	       (due_ns = throttle_read_due_ns(g->throttle)) > clock_now_ns())
		throttle_sleep(g->throttle, &g->open, due_ns);
}

void gate_charge_read(struct gate *g, size_t bytes)
{
	if (!atomic_load(&g->open))
		throttle_charge_read(g->throttle, bytes);
}

void gate_set(struct gate *g, bool open)
{
	if (atomic_exchange(&g->open, open) != open && open && g->throttle)
		throttle_wake(g->throttle);
}
