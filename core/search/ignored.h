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
 * The daemon's copy of the pairs that the user ignores (core/ignore).  It is
 * read again when the file has changed.
 *
 * Any thread may call these functions.  The lock is a leaf and guards all
 * fields below it; it is held while the file is read.
 */
struct ignored {
	char *directory; /* owned */
	const struct logger *log;
	pthread_mutex_t lock;
	bool made;        /* the lock was initialised */
	bool read;        /* the file was read, or there was none */
	int error;        /* of the last attempt to read the file */
	struct stat seen; /* of the file that set was read from */
	struct ignore_set set;
};

int ignored_init(struct ignored *i, const char *directory,
		 const struct logger *log);
void ignored_release(struct ignored *i);

/* Reads the file again if it has changed, with the process's credentials. */
void ignored_refresh(struct ignored *i);

bool ignored_has(struct ignored *i, const struct digests *a,
		 const struct digests *b);

bool ignored_any(struct ignored *i);

#endif
