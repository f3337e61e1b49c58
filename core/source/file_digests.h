/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_SOURCE_FILE_DIGESTS_H
#define CORE_SOURCE_FILE_DIGESTS_H

#include "core/catalog/catalog.h"
#include "core/digest/digest.h"

/* The digests of a file's present content, or why there are none. */
enum engine_state {
	ENGINE_FRESH,   /* digests are those of the present content */
	ENGINE_PENDING, /* queued, being hashed, or not yet seen */
	ENGINE_BUSY,    /* open for writing and changed since */
	ENGINE_CLOSED,  /* the same, or pending: to be looked at again */
	ENGINE_SKIPPED, /* by a rule of the options */
	ENGINE_FAILED,  /* it cannot be read */
};

struct engine_answer {
	enum engine_state state;
	int error;              /* positive errno, ENGINE_FAILED only */
	char rule[32];          /* ENGINE_SKIPPED only: "min_size", ... */
	struct digests digests; /* ENGINE_FRESH only */
	/* Which file it is, and in which state it was looked at; not with
	 * ENGINE_SKIPPED. */
	struct file_key key;
	struct file_identity identity;
};

void engine_answer_release(struct engine_answer *answer);

#endif
