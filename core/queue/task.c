/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/hole.h"
#include "core/base/told_size.h"
#include "core/digest/fingerprint.h"
#include "core/queue/hash_impl.h"
#include "core/source/file.h"

enum {
	CHECK_BYTES = 16 << 20, /* the identity is compared this often */
	/* When less is left, the worker finishes the file. */
	HAND_OVER_BYTES = 8 << 20,
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

/* Digests the bytes up to t->end; when t->stop is set, those read before. */
static int digest_data(struct hash_task *t)
{
	uint64_t left;
	ssize_t n;
	int err = 0;

	while (!err && (left = t->end - t->done) > 0) {
		n = read_in_turn(t, t->w->chunk,
				 left < HASH_CHUNK ? (size_t)left : HASH_CHUNK);
		if (n <= 0)
			return (int)n;
		add_done(t, (uint64_t)n);
		err = fingerprint_update(t->w->fp, t->w->chunk, (size_t)n);
	}
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

/* Digests the next data or hole of the file. */
static int digest_part(struct hash_task *t)
{
	struct hole_part part;

	hole_find(t->fd, t->done, t->identity.size, &part);
	t->end = part.end;
	return part.hole ? digest_hole(t) : digest_data(t);
}

int task_digest(struct hash_task *t, struct digests *out)
{
	int err = 0;

	if (!t->done)
		err = fingerprint_begin_file(t->w->fp, "", t->identity.size, 0);
	if (err)
		return err;
	meter_begin(&t->w->h->meter, t->identity.size, t->done);
	while (!err && !t->stop && t->done < t->identity.size)
		err = digest_part(t);
	meter_end(&t->w->h->meter, t->identity.size, t->done);
	if (!err)
		err = t->stop;
	if (!err)
		err = told_size_check(t->fd, t->identity.size);
	return err ? err : fingerprint_final(t->w->fp, out);
}
