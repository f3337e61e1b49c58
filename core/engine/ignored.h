/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_ENGINE_IGNORED_H
#define CORE_ENGINE_IGNORED_H

#include <pthread.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "core/base/logger.h"
#include "core/digest/digest.h"
#include "core/ignore/ignore.h"

/*
 * The pairs that the user ignores (core/ignore), as the daemon knows them: read
 * again when the file is another one than before.
 *
 * Threads: any.  The lock guards the set and what was read of the file; it is a
 * leaf, and held while the file is read.
 */
struct ignored {
	char *directory; /* owned */
	const struct logger *log;
	pthread_mutex_t lock;
	bool made; /* the lock */
	bool read; /* the file was, or there was none */
	int error; /* of the last attempt to read it */
	struct stat seen;
	struct ignore_set set;
};

int ignored_init(struct ignored *i, const char *directory,
		 const struct logger *log);
void ignored_release(struct ignored *i);

/* Looks whether the file has changed, with the credentials of the process. */
void ignored_refresh(struct ignored *i);

bool ignored_has(struct ignored *i, const struct digests *a,
		 const struct digests *b);

/* Whether there is any pair. */
bool ignored_any(struct ignored *i);

#endif
