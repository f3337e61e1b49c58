/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_SOURCE_FILE_DIGESTS_H
#define CORE_SOURCE_FILE_DIGESTS_H

#include "core/catalog/catalog.h"
#include "core/digest/digest.h"

/* The digests of a file's present content, or why there are none. */
enum digests_state {
	DIGESTS_FRESH,   /* digests are those of the present content */
	DIGESTS_PENDING, /* queued, being hashed, or not yet seen */
	DIGESTS_BUSY,    /* open for writing and changed since */
	DIGESTS_CLOSED,  /* the same, or pending: to be looked at again */
	DIGESTS_SKIPPED, /* by a rule of the options */
	DIGESTS_FAILED,  /* it cannot be read */
};

struct file_digests {
	enum digests_state state;
	int error;              /* positive errno, DIGESTS_FAILED only */
	char rule[32];          /* DIGESTS_SKIPPED only: "min_size", ... */
	struct digests digests; /* DIGESTS_FRESH only */
	/* Which file it is, and in which state it was looked at; not with
	 * DIGESTS_SKIPPED. */
	struct file_key key;
	struct file_identity identity;
};

void file_digests_release(struct file_digests *answer);

#endif
