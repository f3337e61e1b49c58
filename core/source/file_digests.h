/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_SOURCE_FILE_DIGESTS_H
#define CORE_SOURCE_FILE_DIGESTS_H

#include "core/catalog/catalog.h"
#include "core/digest/digest.h"

/* The digests of a file's present content, or why there are none. */
enum digests_state {
	DIGESTS_FRESH,   /* digests are those of the present content */
	DIGESTS_PENDING, /* to be hashed, or being hashed */
	DIGESTS_BUSY,    /* open for writing, and changed since the open */
	DIGESTS_CLOSED,  /* SOURCE_CLOSING: soon pending, or busy again */
	DIGESTS_SKIPPED, /* a rule excludes the file */
	DIGESTS_FAILED,  /* the file cannot be read */
};

struct file_digests {
	enum digests_state state;
	int error;              /* positive errno, DIGESTS_FAILED only */
	char rule[32];          /* DIGESTS_SKIPPED only: "min_size", ... */
	struct digests digests; /* DIGESTS_FRESH only */
	/* The file and its identity at that time; not with DIGESTS_SKIPPED. */
	struct file_key key;
	struct file_identity identity;
};

static inline void file_digests_release(struct file_digests *answer)
{
	digests_release(&answer->digests);
}

#endif
