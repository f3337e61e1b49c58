/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "core/engine/engine_impl.h"

/* Requests that wait for a file, see queue.h. */

void engine_give_up(struct engine *e, uint64_t ticket)
{
	queue_give_up_waiting(&e->queue, ticket);
}

int engine_park(struct engine *e, int fd, const struct parked_request *parked)
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
	const struct parked_request parked = {
		.uid = uid,
		.deadline_ms = clock_now_ms() + timeout_ms,
		.done = done,
		.arg = arg,
	};

	return engine_park(e, fd, &parked);
}
