/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_HASH_HASH_IMPL_H
#define CORE_HASH_HASH_IMPL_H

#include <sys/stat.h>

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

/* One file on its way through a worker. */
struct hash_task {
	struct hash_worker *w;
	struct job *job;
	int fd; /* for reading */
	struct file_identity identity;
	const struct stat *st;
	uint64_t done;    /* bytes read, including those of earlier tasks */
	uint64_t from;    /* bytes read by earlier tasks (struct kept) */
	uint64_t end;     /* of the data or hole that is being digested */
	uint64_t checked; /* done at the last check of the identity */
	int stop;         /* why to stop early, see check_interrupt() */
};

/* ---- task.c ---- */

/*
 * Reads the file and digests it.  -EAGAIN: the file changed meanwhile; -EINTR:
 * the job is recalled, so another worker goes on; -ECANCELED: context.stopping
 * is set; -ENOMEM; -ENODATA: the content ends before the size that the file
 * tells; -EFBIG: it goes on after that; else the error of reading.
 */
int task_digest(struct hash_task *t, struct digests *out);

/* Whether the identity of the file has changed since the task began. */
bool task_is_changed(const struct hash_task *t);

/* ---- worker.c ---- */

/* Does the job and ends it (queue_finish() and the functions after it). */
void worker_do_job(struct hash_worker *w, struct job *job);

/* ---- feed.c ---- */

/* Pushes the next files of the catalog's pending list. */
void feed_queue(struct hasher *h);

#endif
