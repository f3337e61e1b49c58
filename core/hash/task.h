/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_HASH_TASK_H
#define CORE_HASH_TASK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "core/queue/queue.h"

struct fingerprint;

enum { TASK_CHUNK = 256 * 1024 };

struct worker {
	struct engine *e;
	bool idle; /* works in the background class */
	struct fingerprint *fp;
	char *chunk;      /* of TASK_CHUNK bytes */
	int64_t since_ns; /* see throttle_wait() */
};

/* One file on its way through a worker. */
struct task {
	struct worker *w;
	struct job *job;
	int fd; /* for reading */
	struct file_identity identity;
	const struct stat *st;
	/* Bytes digested, or read and on the way to it; some may have been done
	 * before the task, by the worker's fingerprint. */
	uint64_t done;
	uint64_t from;    /* bytes that were done before the task */
	uint64_t end;     /* of the part of the file that is being read */
	uint64_t checked; /* bytes done when it was last looked for a change */
	int stop;         /* why to stop in the middle, see task_digest() */
};

/*
 * Reads the file at the pace of its worker's kind and digests it.  -EAGAIN: it
 * changed meanwhile; -EINTR: hand it over; -ECANCELED: the engine ends; -ENOMEM;
 * else why it cannot be read.
 */
int task_digest(struct task *t, struct digests *out);

/* Whether the file is no longer in the state the task began with. */
bool task_is_changed(const struct task *t);

#endif
