/* SPDX-License-Identifier: Apache-2.0 */
#include "core/scan/scan.h"

#include "core/base/clock.h"
#include "core/base/err.h"
#include "core/base/thread.h"
#include "core/scan/scan_impl.h"

static void walk_tree(struct scanner *s)
{
	const struct engine_parts *c = &s->context;
	int err;

	atomic_store(&s->files, 0);
	atomic_store(&s->skipped, 0);
	err = scan_walk(s, "", &c->source->root, 0, true);
	if (err)
		logger_print(c->log, "scan: %s", err_text(err));
	/* All moves are to be reported by the end of the walk, see
	 * scan_directory_moved(). */
	(void)source_catch_up(c->source);
	(void)catalog_trim_rss(c->catalog);
	events_hurry(c->events);
	atomic_fetch_add(&s->walks, 1);
	pthread_mutex_lock(&s->lock);
	atomic_store(&s->running, false);
	pthread_mutex_unlock(&s->lock);
}

/* The function that does the next work, or NULL. */
static void (*next_work_locked(struct scanner *s))(struct scanner *s)
{
	if (s->wanted) {
		s->wanted = false;
		atomic_store(&s->running, true);
		return walk_tree;
	}
	if (s->seen_count)
		return scan_check_seen;
	return scan_next_request_ms(s) <= clock_now_ms() ? scan_serve_request :
							   NULL;
}

static void *scan_run(void *arg)
{
	struct scanner *s = arg;
	void (*work)(struct scanner * s);

	thread_set_name("kinfs-scan");
	thread_lower_io();
	pthread_mutex_lock(&s->lock);
	while (!s->stopped) {
		work = next_work_locked(s);
		if (!work) {
			s->checking = false;
			cond_wait_until(&s->work, &s->lock,
					scan_next_request_ms(s));
			continue;
		}
		pthread_mutex_unlock(&s->lock);
		work(s);
		pthread_mutex_lock(&s->lock);
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

void scan_request_tree(struct scanner *s)
{
	pthread_mutex_lock(&s->lock);
	s->wanted = true;
	pthread_cond_signal(&s->work);
	pthread_mutex_unlock(&s->lock);
}

bool scan_is_running(struct scanner *s)
{
	bool running;

	pthread_mutex_lock(&s->lock);
	running = s->wanted || atomic_load(&s->running);
	pthread_mutex_unlock(&s->lock);
	return running;
}

bool scan_is_idle(struct scanner *s)
{
	bool idle;

	pthread_mutex_lock(&s->lock);
	idle = !s->wanted && !atomic_load(&s->running) && !s->seen_count &&
	       !s->checking && !scan_has_early_requests(s);
	pthread_mutex_unlock(&s->lock);
	return idle;
}

int scan_init(struct scanner *s, const struct engine_parts *context)
{
	int err = -pthread_mutex_init(&s->lock, NULL);

	s->context = *context;
	if (!err)
		err = cond_init_monotonic(&s->work);
	s->gate.throttle = context->throttle;
	return err;
}

int scan_start(struct scanner *s)
{
	int err = -pthread_create(&s->thread, NULL, scan_run, s);

	s->started = !err;
	return err;
}

void scan_stop(struct scanner *s)
{
	pthread_mutex_lock(&s->lock);
	s->stopped = true;
	pthread_cond_signal(&s->work);
	pthread_mutex_unlock(&s->lock);
	gate_set(&s->gate, true);
	if (s->started)
		pthread_join(s->thread, NULL);
	s->started = false;
}

void scan_release(struct scanner *s)
{
	scan_drop_requests(s);
	pthread_cond_destroy(&s->work);
	pthread_mutex_destroy(&s->lock);
}
