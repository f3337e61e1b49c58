/* SPDX-License-Identifier: Apache-2.0 */
#include "core/scan/scan.h"

#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/thread.h"
#include "core/scan/scan_impl.h"

/* ---- seen files ---- */

/* Files that are compared with the catalog in one transaction.  Nearly all of
 * them have not changed and are not opened. */
enum { SEEN_BATCH = 32 };

/* many_out: more than half of what may wait is left. */
static size_t take_seen(struct scanner *s, struct seen_file *out,
			bool *many_out)
{
	size_t count = 0;

	pthread_mutex_lock(&s->lock);
	while (count < SEEN_BATCH && s->seen_count) {
		out[count++] = s->seen[s->seen_first];
		s->seen_first = (s->seen_first + 1) % SEEN_MAX;
		s->seen_count--;
	}
	s->checking = count > 0;
	*many_out = s->seen_count > SEEN_MAX / 2;
	pthread_mutex_unlock(&s->lock);
	return count;
}

/* Removes the files of SOURCE's own filesystem whose record has the same
 * identity; returns how many are left. */
static size_t drop_recorded(const struct engine_parts *c,
			    struct seen_file *seen, size_t count)
{
	struct catalog_txn *txn;
	size_t i, kept = 0;

	if (catalog_read(c->catalog, &txn))
		return 0;
	for (i = 0; i < count; i++)
		if (seen[i].device != c->source->device ||
		    catalog_file_is_recorded(txn, c->source->root.device,
					     seen[i].inode,
					     &seen[i].identity) != 1)
			seen[kept++] = seen[i];
	catalog_abort(txn);
	return kept;
}

static void set_seen(struct seen_file *out, const struct stat *st)
{
	out->device = st->st_dev;
	out->inode = st->st_ino;
	source_get_identity(st, &out->identity);
}

/* Reports the file if it still differs from its record: it may have changed
 * again since it was seen. */
static void check_file(const struct engine_parts *c,
		       const struct seen_file *seen)
{
	const struct source *source = c->source;
	struct file_identity now;
	struct file_key key;
	struct stat st;
	int fd;

	if (!source->open_known)
		return;
	fd = source->open_known(source->ctx, seen->device, seen->inode);
	if (fd < 0)
		return;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode)) {
		source_get_identity(&st, &now);
		source_get_key(source, fd, &st, &key);
		if (catalog_compare(c->catalog, &key, &now) != RECORD_EQUAL)
			hash_file_closed(c->hasher, &key, &now);
	}
	close(fd);
}

void scan_check_seen(struct scanner *s)
{
	const struct engine_parts *c = &s->context;
	struct seen_file seen[SEEN_BATCH];
	size_t i, count;
	bool many;

	while (!scan_is_stopping(s) &&
	       (count = take_seen(s, seen, &many)) > 0) {
		count = drop_recorded(c, seen, count);
		for (i = 0; i < count; i++)
			check_file(c, &seen[i]);
		if (!many)
			gate_pass(&s->gate);
	}
}

bool scan_add_seen(struct scanner *s, const struct stat *st)
{
	bool room;
	size_t end;

	pthread_mutex_lock(&s->lock);
	room = s->seen_count < SEEN_MAX && !s->stopped;
	if (room) {
		end = (s->seen_first + s->seen_count++) % SEEN_MAX;
		set_seen(&s->seen[end], st);
		if (s->seen_count == 1)
			pthread_cond_signal(&s->work);
	}
	pthread_mutex_unlock(&s->lock);
	return room;
}

/* ---- the thread ---- */

static void walk_tree(struct scanner *s)
{
	const struct engine_parts *c = &s->context;

	atomic_store(&s->files, 0);
	atomic_store(&s->skipped, 0);
	scan_walk(s, "", &c->source->root, 0, true);
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
	if (scan_next_request_ms(s) <= clock_now_ms())
		return scan_serve_request;
	return s->again_ms <= clock_now_ms() ? scan_try_again : NULL;
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
			const int64_t request_ms = scan_next_request_ms(s),
				      again_ms = s->again_ms;

			s->checking = false;
			cond_wait_until(&s->work, &s->lock,
					request_ms < again_ms ? request_ms :
								again_ms);
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
	s->again_ms = INT64_MAX;
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
