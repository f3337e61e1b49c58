/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_IGNORE_IGNORE_H
#define CORE_IGNORE_IGNORE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "core/base/buf.h"
#include "core/base/logger.h"
#include "core/digest/digest.h"

/*
 * Pairs of contents that the user knows to be alike.
 *
 * Such a decision is the user's data, not cache.  The decisions are a text
 * file, IGNORE_FILE, in the directory of the catalog but not in the catalog, so
 * they stay when the catalog is rebuilt.  kin ignore writes the file; the
 * daemon reads it, again when it has changed.
 *
 * The file has one line a pair:
 *
 *   XXH128:SIZE XXH128:SIZE # PATH PATH
 *
 * The lesser content comes first; what follows the sizes is a remark.  Lines
 * that begin with # and empty lines mean nothing.  A line that is none of these
 * is damaged: it decides nothing, and is kept.
 *
 * Writing: the program locks the directory (flock()), reads the file, and
 * replaces it (core/base/replace.h).  So two programs lose nothing of each other,
 * a reader needs no lock, and a kill at any moment leaves the old file or the
 * new one.
 *
 * Threads: one at a time may change a set; any number may look up.
 */
#define IGNORE_FILE "ignored"

/* A longer file is refused with -EFBIG. */
#define IGNORE_MAX_BYTES ((size_t)1 << 28)

struct ignore_content {
	uint64_t size;
	uint8_t xxh128[16];
};

/* XXH128:SIZE; returns out. */
enum { IGNORE_TEXT_ROOM = 56 };
const char *ignore_format(const struct ignore_content *c,
			  char out[IGNORE_TEXT_ROOM]);

/* The lesser content first. */
struct ignore_pair {
	struct ignore_content a, b;
};

/* The lines of a file one after the other; zeroed at first. */
struct ignore_line {
	size_t at, number; /* of it in the text; from 1 */
	const char *text;  /* len bytes, which may be NUL */
	size_t len;
	bool is_pair; /* pair has it */
	bool damaged; /* not a remark either */
	struct ignore_pair pair;
};
bool ignore_next_line(const struct buf *text, struct ignore_line *l);

struct ignore_set {
	struct buf text; /* of the file that was read, and of pairs since */
	void *pairs;     /* owned; for tsearch(3) */
	size_t damaged;  /* lines */
};

void ignore_set_release(struct ignore_set *set);

/* Reads the bytes of a file.  -ENOMEM; out is as before then. */
int ignore_set_parse(const char *data, size_t len, struct ignore_set *out);

bool ignore_set_has(const struct ignore_set *set,
		    const struct ignore_content *a,
		    const struct ignore_content *b);

/* 1: added; 0: it was there; -ENOMEM.  The remark is copied; it has neither
 * line breaks nor NUL bytes. */
int ignore_set_add(struct ignore_set *set, const struct ignore_content *a,
		   const struct ignore_content *b, const char *remark);

/* Whether the pair was there. */
bool ignore_set_remove(struct ignore_set *set, const struct ignore_content *a,
		       const struct ignore_content *b);

/* Appends the bytes of a file: the text without the pairs that were removed. */
int ignore_set_format(const struct ignore_set *set, struct buf *out);

/* ---- the file: in a directory that is open for reading ---- */

/* Reads the file; none is an empty set.  st_out, or NULL, gets the file's stat,
 * zeroed when there is none. */
int ignore_load(int directory, struct ignore_set *out, struct stat *st_out);

/* Waits for the lock, which belongs to the descriptor. */
int ignore_lock(int directory);

/* Replaces the file; the caller has the lock. */
int ignore_save(int directory, const struct ignore_set *set);

/* ---- the daemon's copy ---- */

/*
 * Read again when the file has changed.  Any thread may call these functions.
 * The lock is a leaf and guards all fields below it; it is held while the file
 * is read.
 */
struct ignored {
	int directory; /* owned */
	const struct logger *log;
	pthread_mutex_t lock;
	bool made;        /* directory and lock are there */
	int error;        /* of the last attempt to read the file */
	struct stat seen; /* of the file that was read at last */
	struct ignore_set set;
};

int ignored_init(struct ignored *i, const char *directory,
		 const struct logger *log);
void ignored_release(struct ignored *i);

/* Reads the file again if it has changed, with the process's credentials.
 * Whether there are pairs. */
bool ignored_refresh(struct ignored *i);

bool ignored_has(struct ignored *i, const struct digests *a,
		 const struct digests *b);

#endif
