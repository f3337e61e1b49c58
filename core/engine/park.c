/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "core/engine/engine_impl.h"

/* Requests that wait for a file, see queue.h. */

void engine_ticket_init(struct engine_ticket *ticket)
{
	static atomic_ullong last;

	ticket->number = atomic_fetch_add(&last, 1) + 1;
	atomic_init(&ticket->given_up, false);
}

void engine_give_up(struct engine *e, uint64_t number)
{
	queue_give_up_waiting(&e->queue, number);
}

int engine_park(struct engine *e, int fd, const struct engine_parked *parked)
{
	struct file_key key;
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	source_get_key(&e->source, fd, &st, &key);
	return queue_park(&e->queue, &key, parked);
}

int engine_wait(struct engine *e, int fd, uid_t uid, unsigned timeout_ms,
		void (*done)(void *arg, int result), void *arg)
{
	const struct engine_parked parked = {
		.uid = uid,
		.deadline_ms = clock_now_ms() + timeout_ms,
		.done = done,
		.arg = arg,
	};

	return engine_park(e, fd, &parked);
}
