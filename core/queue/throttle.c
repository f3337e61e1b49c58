/* SPDX-License-Identifier: Apache-2.0 */
#include "core/queue/throttle.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/thread.h"

#define MS_NS INT64_C(1000000)

/* Smaller reads are charged as this: the disk reads a page anyway. */
enum { LEAST_READ = 4096 };

static int64_t sooner(int64_t a_ns, int64_t b_ns)
{
	return a_ns < b_ns ? a_ns : b_ns;
}

static int64_t later(int64_t a_ns, int64_t b_ns)
{
	return a_ns > b_ns ? a_ns : b_ns;
}

/* ---- when work may begin; with the lock ---- */

static void note_requests(struct throttle *t, bool had_requests, int64_t now_ns)
{
	int64_t pause_ns = now_ns - t->quiet_ns;

	if (!had_requests) {
		if (now_ns >= t->busy_ns)
			t->quiet_ns = sooner(t->quiet_ns, now_ns);
		return;
	}
	if (pause_ns > 0)
		t->alone_ns = later(
			t->alone_ns,
			now_ns + sooner(pause_ns, THROTTLE_ALONE_MS * MS_NS));
	t->quiet_ns = INT64_MAX;
	t->busy_ns = now_ns + THROTTLE_QUIET_MS * MS_NS;
}

/* When the host has had no request for THROTTLE_LATELY_MS. */
static int64_t lately_ns(const struct throttle *t)
{
	return t->busy_ns + (THROTTLE_LATELY_MS - THROTTLE_QUIET_MS) * MS_NS;
}

/* When work may begin, or when to look again; a time in the past means now.
 * 0: a user waits for the work. */
static int64_t due_ns(const struct throttle *t, int64_t now_ns)
{
	if (t->stopped || now_ns < t->hurry_ns)
		return 0;
	if (now_ns < t->busy_ns)
		return sooner(later(t->work_ns, t->alone_ns), t->busy_ns);
	return now_ns < lately_ns(t) ? sooner(t->work_ns, lately_ns(t)) :
				       now_ns;
}

/* Adds to the debt that is paid off at *due_ns. */
static void charge(int64_t *due_ns, int64_t cost_ns, int64_t now_ns)
{
	*due_ns = later(*due_ns, now_ns - THROTTLE_SAVED_MS * MS_NS) + cost_ns;
}

/* Charges a piece of work that began at since_ns. */
static void charge_work(struct throttle *t, int64_t since_ns, int64_t now_ns)
{
	int64_t worked_ns =
		sooner(now_ns - since_ns, THROTTLE_PIECE_MS * MS_NS);
	unsigned percent = since_ns < t->busy_ns ? THROTTLE_BUSY_PERCENT :
						   THROTTLE_LATELY_PERCENT;

	charge(&t->work_ns, worked_ns * 100 / (percent * t->workers), now_ns);
}

/* ---- life ---- */

int throttle_init(struct throttle *t)
{
	int64_t now_ns = clock_now_ns();
	int err = -pthread_mutex_init(&t->lock, NULL);

	t->busy_ns = now_ns - THROTTLE_LATELY_MS * MS_NS;
	t->quiet_ns = t->work_ns = t->read_ns = now_ns;
	return err ? err : cond_init_monotonic(&t->wake);
}

void throttle_release(struct throttle *t)
{
	pthread_cond_destroy(&t->wake);
	pthread_mutex_destroy(&t->lock);
}

void throttle_stop(struct throttle *t)
{
	pthread_mutex_lock(&t->lock);
	t->stopped = true;
	pthread_cond_broadcast(&t->wake);
	pthread_mutex_unlock(&t->lock);
}

void throttle_hurry(struct throttle *t, int64_t until_ms)
{
	pthread_mutex_lock(&t->lock);
	t->hurry_ns = until_ms * MS_NS;
	pthread_cond_broadcast(&t->wake);
	pthread_mutex_unlock(&t->lock);
}

/* ---- gates ---- */

/* With the lock.  Waits until until_ns, or for a shorter time. */
static void sleep_locked(struct gate *g, int64_t until_ns)
{
	struct throttle *t = g->throttle;

	if (!atomic_load(&g->open) && !t->stopped)
		cond_wait_until(&t->wake, &t->lock,
				(until_ns + MS_NS - 1) / MS_NS);
}

/* True: a user waits for the work. */
static bool wait_due(struct gate *g)
{
	struct throttle *t = g->throttle;
	int64_t now_ns = 0, when_ns = INT64_MAX;

	while (!atomic_load(&g->open) && when_ns > now_ns) {
		bool had_requests = t->had_requests && t->had_requests(t->ctx);

		pthread_mutex_lock(&t->lock);
		now_ns = clock_now_ns();
		if (g->since_ns)
			charge_work(t, g->since_ns, now_ns);
		g->since_ns = 0;
		note_requests(t, had_requests, now_ns);
		when_ns = due_ns(t, now_ns);
		if (when_ns > now_ns)
			sleep_locked(g, when_ns);
		else if (when_ns && now_ns < lately_ns(t))
			g->since_ns = now_ns;
		pthread_mutex_unlock(&t->lock);
	}
	return when_ns > now_ns || !when_ns;
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

	if (!rest_ns)
		return;
	pthread_mutex_lock(&g->throttle->lock);
	sleep_locked(g,
		     clock_now_ns() +
			     (int64_t)(rest_ns < most_ns ? rest_ns : most_ns));
	pthread_mutex_unlock(&g->throttle->lock);
}

void gate_pass(struct gate *g)
{
	int64_t slice_ns = g->is_idle ? 0 : GATE_SLICE_MS * MS_NS;

	if (!g->throttle || atomic_load(&g->open) ||
	    clock_now_ns() - g->slice_ns < slice_ns)
		return;
	if (!wait_due(g) && !g->is_idle)
		rest(g);
	g->slice_ns = clock_now_ns();
}

void gate_pass_read(struct gate *g)
{
	struct throttle *t = g->throttle;

	gate_pass(g);
	if (!t || !t->rate)
		return;
	pthread_mutex_lock(&t->lock);
	while (!atomic_load(&g->open) && !t->stopped &&
	       t->read_ns > clock_now_ns())
		sleep_locked(g, t->read_ns);
	pthread_mutex_unlock(&t->lock);
}

void gate_charge_read(struct gate *g, size_t bytes)
{
	struct throttle *t = g->throttle;

	if (!t || !t->rate || atomic_load(&g->open))
		return;
	if (bytes < LEAST_READ)
		bytes = LEAST_READ;
	pthread_mutex_lock(&t->lock);
	charge(&t->read_ns, (int64_t)(bytes * UINT64_C(1000000000) / t->rate),
	       clock_now_ns());
	pthread_mutex_unlock(&t->lock);
}

void gate_set(struct gate *g, bool open)
{
	struct throttle *t = g ? g->throttle : NULL;

	if (!g || atomic_exchange(&g->open, open) == open || !open || !t)
		return;
	pthread_mutex_lock(&t->lock);
	pthread_cond_broadcast(&t->wake);
	pthread_mutex_unlock(&t->lock);
}
