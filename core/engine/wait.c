/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "core/engine/engine_impl.h"

/* Requests that wait for the digests of a file, see digests_wait.h. */

/* A request is parked at most this often: otherwise it would wait for ever for
 * a file that changes all the time. */
enum { PARKED_MAX = 16 };

void engine_give_up(struct engine *e, uint64_t ticket)
{
	queue_give_up_waiting(&e->queue, ticket);
}

/* DIGESTS_CLOSED is waited for once.  If the file is in that state again after
 * the host has caught up, another descriptor is open for writing. */
static bool is_worth_parking(struct digests_wait *w, enum digests_state state)
{
	bool closed = state == DIGESTS_CLOSED && !w->closed;

	if (clock_now_ms() >= w->deadline_ms)
		return false;
	if (state != DIGESTS_PENDING && !closed)
		return false;
	w->closed = w->closed || closed;
	return w->times_parked++ < PARKED_MAX;
}

/* Makes an answer of the result; -ESTALE: the file has changed since. */
static int answer_with_result(struct engine *e, int fd,
			      const struct result *found,
			      struct file_digests *out)
{
	struct file_digests answer = {
		.state = found->error ? DIGESTS_FAILED : DIGESTS_FRESH,
		.error = found->error,
		.key = found->key,
		.identity = found->identity,
	};
	int err;

	if (!engine_digests_hold(e, fd, &answer))
		return -ESTALE;
	if (!found->error) {
		err = digests_copy(&found->digests, &answer.digests);
		if (err)
			return err;
	}
	*out = answer;
	return 0;
}

static int get_answer(struct engine *e, struct digests_wait *w,
		      const struct result *found, struct file_digests *out)
{
	int fd = w->open(w->arg), err = -ESTALE;

	if (fd < 0)
		return fd;
	if (found)
		err = answer_with_result(e, fd, found, out);
	if (err == -ESTALE)
		err = engine_ask(e, fd, w->wanted, out);
	w->close(w->arg);
	return err;
}

static void on_unparked(void *arg, int err, const struct result *found);

/* Answers the request, or parks it; the queue owns a parked one.  If this
 * function fails, the request is neither answered nor parked. */
static int answer_or_park(struct engine *e, struct digests_wait *w,
			  const struct result *found)
{
	struct file_digests answer;
	int err = get_answer(e, w, found, &answer);

	if (err)
		return err;
	if (is_worth_parking(w, answer.state))
		return queue_park(&e->queue, &answer.key,
				  &(struct parked_request){
					  .identity = &answer.identity,
					  .uid = w->uid,
					  .deadline_ms = w->deadline_ms,
					  .ticket = w->ticket,
					  .done = on_unparked,
					  .arg = w,
				  });
	w->done(w->arg, 0, &answer);
	return 0;
}

static void on_unparked(void *arg, int err, const struct result *found)
{
	struct digests_wait *w = arg;

	if (!err || err == -ETIMEDOUT)
		err = answer_or_park(w->answerer, w, found);
	if (err)
		w->done(w->arg, err, NULL);
}

int engine_wait(struct engine *e, struct digests_wait *w)
{
	w->answerer = e;
	return answer_or_park(e, w, NULL);
}
