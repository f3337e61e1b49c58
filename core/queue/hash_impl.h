/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_QUEUE_HASH_IMPL_H
#define CORE_QUEUE_HASH_IMPL_H

#include "core/queue/hash.h"

struct fingerprint;

enum { HASH_CHUNK = 256 * 1024 };

struct hash_worker {
	struct hasher *h;
	const struct engine_parts *context; /* of h */
	enum worker_kind kind;
	struct fingerprint *fp;
	char *chunk; /* of HASH_CHUNK bytes */
	struct gate gate;
};

/* Does the job and ends it (queue_finish() and the functions after it). */
void worker_do_job(struct hash_worker *w, struct job *job);

/* The same of a job for a text: texts.c. */
void worker_make_text(struct hash_worker *w, struct job *job);

/* Whether the file behind fd is in that state. */
bool worker_has_identity(int fd, const struct file_identity *identity);

/* Opens the regular file with that key for reading.  -EAGAIN: it is not in that
 * state, or is being written.  The caller closes out->fd. */
int worker_open_same(const struct engine_parts *c, const struct file_key *key,
		     const struct file_identity *identity,
		     struct source_found *out);

#endif
