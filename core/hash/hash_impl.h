/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_HASH_HASH_IMPL_H
#define CORE_HASH_HASH_IMPL_H

#include <sys/stat.h>

#include "core/hash/hash.h"

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
	/* Bytes digested, or read and on the way to it; some may have been done
	 * before the task, by the worker's fingerprint. */
	uint64_t done;
	uint64_t from;    /* bytes that were done before the task */
	uint64_t end;     /* of the part of the file that is being read */
	uint64_t checked; /* bytes done at the last look at the identity */
	int stop;         /* why to stop in the middle, see task_digest() */
};

/* ---- task.c ---- */

/*
 * Reads the file as its worker's kind does and digests it.  -EAGAIN: it changed
 * meanwhile; -EINTR: another worker shall go on; -ECANCELED: context.stopping;
 * -ENOMEM; else why it cannot be read.
 */
int task_digest(struct hash_task *t, struct digests *out);

/* Whether the file is no longer in the state the task began with. */
bool task_is_changed(const struct hash_task *t);

/* ---- worker.c ---- */

/* Does the job, and ends it in the queue. */
void worker_do_job(struct hash_worker *w, struct job *job);

/* ---- feed.c ---- */

/* Gives the queue the next pending files. */
void feed_queue(struct hasher *h);

#endif
