/* SPDX-License-Identifier: Apache-2.0 */
#include "core/hash/task.h"

#include <errno.h>
#include <unistd.h>

#include "core/base/hole.h"
#include "core/digest/fingerprint.h"
#include "core/digest/team.h"
#include "core/engine/engine_impl.h"
#include "core/source/file.h"
#include "core/source/source.h"

enum {
	CHECK_BYTES = 16 << 20, /* look for a change this often */
	/* Less is quicker finished than begun anew. */
	HAND_OVER_BYTES = 8 << 20,
	CREW_BYTES = 64 << 20,  /* from here on several threads do one file */
	HOLE_BYTES = 256 << 20, /* of a hole at a time */
};

static void advance(struct task *t, uint64_t bytes)
{
	t->done += bytes;
	meter_add(&t->w->e->meter, bytes, clock_now_ms());
}

/* ---- reading ---- */

static ssize_t read_chunk(struct task *t, void *buffer, size_t len)
{
	ssize_t n;

	if (t->w->idle)
		return file_read_uncached(t->fd, buffer, len, t->done);
	n = pread(t->fd, buffer, len, (off_t)t->done);
	return n < 0 ? -errno : n;
}

bool task_is_changed(const struct task *t)
{
	struct file_identity now;
	struct stat st;

	if (fstat(t->fd, &st))
		return true;
	source_get_identity(&st, &now);
	return !file_identity_equal(&now, &t->identity);
}

/* Another worker should go on, or none now. */
static bool is_recalled(const struct task *t)
{
	uint64_t left = t->identity.size - t->done;

	if (!left)
		return false;
	switch (queue_recall(&t->w->e->queue, t->job)) {
	case QUEUE_WAITED:
	case QUEUE_ABANDONED:
		return left > HAND_OVER_BYTES;
	case QUEUE_TURN_OVER:
		return left > HAND_OVER_BYTES && t->done > t->from;
	case QUEUE_PAUSED:
		return true;
	case QUEUE_GO_ON:
		break;
	}
	return false;
}

/* Why to stop in the middle: -EAGAIN the file changed, -EINTR hand it over,
 * -ECANCELED the engine ends. */
static int check_interrupt(struct task *t)
{
	if (atomic_load(&t->w->e->stopping))
		return -ECANCELED;
	if (is_recalled(t))
		return -EINTR;
	if (t->done - t->checked < CHECK_BYTES)
		return 0;
	t->checked = t->done;
	return task_is_changed(t) ? -EAGAIN : 0;
}

/* Unless the file has become one that somebody waits for. */
static bool rest(struct task *t)
{
	struct engine *e = t->w->e;

	if (t->done && !throttle_wait(&e->throttle, t->job, &t->w->since_ns))
		return false;
	return !e->options.rate || throttle_wait_read(&e->throttle, t->job);
}

static ssize_t read_paced(struct task *t, void *buffer, size_t len)
{
	struct engine *e = t->w->e;
	bool rested = t->w->idle && rest(t);
	ssize_t n;

	t->stop = check_interrupt(t);
	if (t->stop)
		return 0;
	n = read_chunk(t, buffer, len);
	if (n == 0)
		return -EAGAIN; /* shorter than it was */
	if (rested && e->options.rate && n > 0)
		throttle_charge_read(&e->throttle, (size_t)n);
	return n;
}

/* The next bytes of the part, 0 at its end or when the task is to stop: what
 * was read before is digested then. */
static ssize_t fill(void *arg, void *buffer, size_t len)
{
	struct task *t = arg;
	uint64_t left = t->end - t->done;
	ssize_t n;

	if (!left)
		return 0;
	n = read_paced(t, buffer, left < len ? (size_t)left : len);
	if (n > 0)
		advance(t, (uint64_t)n);
	return n;
}

static int read_alone(struct task *t)
{
	ssize_t n;
	int err = 0;

	while (!err && (n = fill(t, t->w->chunk, TASK_CHUNK)) != 0)
		err = n < 0 ? (int)n :
			      fingerprint_update(t->w->fp, t->w->chunk,
						 (size_t)n);
	return err;
}

/* A hole is not read. */
static int pass_hole(struct task *t)
{
	uint64_t left;
	int err = 0;

	while (!err && (left = t->end - t->done) > 0) {
		if (t->w->idle)
			(void)rest(t);
		t->stop = check_interrupt(t);
		if (t->stop)
			break;
		if (left > HOLE_BYTES)
			left = HOLE_BYTES;
		err = fingerprint_update_zeros(t->w->fp, left);
		advance(t, left);
	}
	return err;
}

/* ---- large files ---- */

static void enter_background(void *arg)
{
	(void)arg;
	thread_enter_background();
}

/* The crew for the worker's kind of work; NULL: it is busy or should leave room
 * for others, or there are no more threads to be had. */
static struct crew *crew_take(struct worker *w)
{
	struct crew *crew = &w->e->crews[w->idle];
	unsigned helpers = w->e->options.workers - 1;

	if (w->idle && throttle_was_busy(&w->e->throttle))
		return NULL;
	if (!helpers || atomic_exchange(&crew->taken, true))
		return NULL;
	if (helpers > FINGERPRINT_PARTS - 1)
		helpers = FINGERPRINT_PARTS - 1;
	if (!crew->team && team_new(helpers, w->idle ? enter_background : NULL,
				    NULL, &crew->team)) {
		atomic_store(&crew->taken, false);
		return NULL;
	}
	return crew;
}

static int take_part(struct task *t, struct crew *crew)
{
	struct hole_part part;

	hole_find(t->fd, t->done, t->identity.size, &part);
	t->end = part.end;
	if (part.hole)
		return pass_hole(t);
	return crew ? team_update(crew->team, t->w->fp, fill, t) :
		      read_alone(t);
}

int task_digest(struct task *t, struct digests *out)
{
	struct crew *crew = NULL;
	int err = 0;

	if (!t->done)
		err = fingerprint_begin_file(t->w->fp, "", t->identity.size, 0);
	if (err)
		return err;
	if (t->identity.size >= CREW_BYTES)
		crew = crew_take(t->w);
	meter_begin(&t->w->e->meter, t->identity.size, t->done);
	while (!err && !t->stop && t->done < t->identity.size)
		err = take_part(t, crew);
	meter_end(&t->w->e->meter, t->identity.size, t->done);
	if (crew)
		atomic_store(&crew->taken, false);
	if (!err)
		err = t->stop;
	return err ? err : fingerprint_final(t->w->fp, out);
}
