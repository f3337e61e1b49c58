/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_QUEUE_HASH_IMPL_H
#define CORE_QUEUE_HASH_IMPL_H

#include "core/queue/hash.h"

struct fingerprint;

enum { HASH_CHUNK = 256 * 1024 };

struct hash_worker {
	struct hasher *h;
	const struct hash_context *context; /* of h */
	bool background;
	struct fingerprint *fp;
	char *chunk;         /* of HASH_CHUNK bytes */
	int64_t throttle_ns; /* see throttle_wait() */
};

/* Does the job and ends it (queue_finish() and the functions after it). */
void worker_do_job(struct hash_worker *w, struct job *job);

#endif
