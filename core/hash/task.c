/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/hole.h"
#include "core/base/told_size.h"
#include "core/base/thread.h"
#include "core/digest/fingerprint.h"
#include "core/digest/team.h"
#include "core/hash/hash_impl.h"
#include "core/source/file.h"

enum {
	CHECK_BYTES = 16 << 20, /* the identity is compared this often */
	/* When less is left, the worker finishes the file. */
	HAND_OVER_BYTES = 8 << 20,
	HELP_BYTES = 64 << 20,  /* from here on helper threads are used */
	HOLE_BYTES = 256 << 20, /* of a hole between two checks */
};

static void add_done(struct hash_task *t, uint64_t bytes)
{
	t->done += bytes;
	meter_add(&t->w->h->meter, bytes, clock_now_ms());
}

/* ---- reading ---- */

static ssize_t read_chunk(struct hash_task *t, void *buffer, size_t len)
{
	ssize_t n;

	if (!t->job->served)
		return file_read_uncached(t->fd, buffer, len, t->done);
	n = pread(t->fd, buffer, len, (off_t)t->done);
	return n < 0 ? -errno : n;
}

bool task_is_changed(const struct hash_task *t)
{
	struct file_identity now;
	struct stat st;

	if (fstat(t->fd, &st))
		return true;
	source_get_identity(&st, &now);
	return !file_identity_equal(&now, &t->identity);
}

/* Whether the queue wants the job back, and it is worth handing it over. */
static bool is_recalled(const struct hash_task *t)
{
	uint64_t left = t->identity.size - t->done;

	if (!left)
		return false;
	switch (queue_recall(t->w->context->queue, t->job)) {
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

/* Why to stop early: -EAGAIN, the file changed; -EINTR, the job is recalled;
 * -ECANCELED, all workers end. */
static int check_interrupt(struct hash_task *t)
{
	if (atomic_load(t->w->context->stopping))
		return -ECANCELED;
	if (is_recalled(t))
		return -EINTR;
	if (t->done - t->checked < CHECK_BYTES)
		return 0;
	t->checked = t->done;
	return task_is_changed(t) ? -EAGAIN : 0;
}

/* Waits until the background may go on; false when the job was recalled. */
static bool wait_for_turn(struct hash_task *t)
{
	struct throttle *throttle = t->w->context->throttle;

	if (t->done && !throttle_wait(throttle, t->job, &t->w->throttle_ns))
		return false;
	return throttle_wait_read(throttle, t->job);
}

static ssize_t read_in_turn(struct hash_task *t, void *buffer, size_t len)
{
	bool in_turn = !t->job->served && wait_for_turn(t);
	ssize_t n;

	t->stop = check_interrupt(t);
	if (t->stop)
		return 0;
	n = read_chunk(t, buffer, len);
	if (n == 0) /* the file was truncated, or tells a wrong size */
		return task_is_changed(t) ? -EAGAIN : -ENODATA;
	if (in_turn && n > 0)
		throttle_charge_read(t->w->context->throttle, (size_t)n);
	return n;
}

/* Reads the next bytes up to t->end.  0: the end, or t->stop is set; the bytes
 * read before are digested all the same. */
static ssize_t fill_buffer(void *arg, void *buffer, size_t len)
{
	struct hash_task *t = arg;
	uint64_t left = t->end - t->done;
	ssize_t n;

	if (!left)
		return 0;
	n = read_in_turn(t, buffer, left < len ? (size_t)left : len);
	if (n > 0)
		add_done(t, (uint64_t)n);
	return n;
}

static int read_alone(struct hash_task *t)
{
	ssize_t n;
	int err = 0;

	while (!err && (n = fill_buffer(t, t->w->chunk, HASH_CHUNK)) != 0)
		err = n < 0 ? (int)n :
			      fingerprint_update(t->w->fp, t->w->chunk,
						 (size_t)n);
	return err;
}

/* Digests a hole without reading it. */
static int digest_hole(struct hash_task *t)
{
	uint64_t left;
	int err = 0;

	while (!err && (left = t->end - t->done) > 0) {
		if (!t->job->served)
			(void)wait_for_turn(t);
		t->stop = check_interrupt(t);
		if (t->stop)
			break;
		if (left > HOLE_BYTES)
			left = HOLE_BYTES;
		err = fingerprint_update_zeros(t->w->fp, left);
		add_done(t, left);
	}
	return err;
}

/* ---- large files ---- */

static void enter_background(void *arg)
{
	(void)arg;
	thread_enter_background();
}

/* The helper threads of the worker's kind; NULL: another worker uses them, the
 * host is busy, or they cannot be started. */
static struct hash_team *team_take(struct hash_worker *w)
{
	struct hash_team *team = &w->h->teams[w->background];
	unsigned count = w->context->workers - 1;

	if (w->background && throttle_was_busy(w->context->throttle))
		return NULL;
	if (!count || atomic_exchange(&team->taken, true))
		return NULL;
	if (count > FINGERPRINT_PARTS - 1)
		count = FINGERPRINT_PARTS - 1;
	if (!team->team &&
	    team_new(count, w->background ? enter_background : NULL, NULL,
		     &team->team)) {
		atomic_store(&team->taken, false);
		return NULL;
	}
	return team;
}

/* Digests the next data or hole of the file. */
static int digest_part(struct hash_task *t, struct hash_team *team)
{
	struct hole_part part;

	hole_find(t->fd, t->done, t->identity.size, &part);
	t->end = part.end;
	if (part.hole)
		return digest_hole(t);
	return team ? team_update(team->team, t->w->fp, fill_buffer, t) :
		      read_alone(t);
}

int task_digest(struct hash_task *t, struct digests *out)
{
	struct hash_team *team = NULL;
	int err = 0;

	if (!t->done)
		err = fingerprint_begin_file(t->w->fp, "", t->identity.size, 0);
	if (err)
		return err;
	if (t->identity.size >= HELP_BYTES)
		team = team_take(t->w);
	meter_begin(&t->w->h->meter, t->identity.size, t->done);
	while (!err && !t->stop && t->done < t->identity.size)
		err = digest_part(t, team);
	meter_end(&t->w->h->meter, t->identity.size, t->done);
	if (team)
		atomic_store(&team->taken, false);
	if (!err)
		err = t->stop;
	if (!err)
		err = told_size_check(t->fd, t->identity.size);
	return err ? err : fingerprint_final(t->w->fp, out);
}
