/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_ACT_EXPORT_SEEDS_H
#define CORE_ACT_EXPORT_SEEDS_H

#include "core/act/export/export.h"

/*
 * Bases for a transfer: which file of a tree here has most in common with one
 * that another machine is to send, so that only the difference travels.  RDC
 * keeps its similarity traits for that ([MS-RDC] 3.1.5.4); here it is the sketch,
 * cut to SEED_VALUES values, some 30 bytes.
 *
 * The best base is, in this order: an equal content; the content with most
 * values in common; the one at the same path; the one of the nearest size.  A
 * base with less than SEED_LEAST per cent of the values is none.
 *
 * A file of other content but the size and the time of the one that is to come
 * is never a base: rsync takes such a file for the one itself.
 */
#define SEED_VALUES 12
#define SEED_LEAST 5

/* A value that more contents have tells little: so many of them are looked at. */
#define SEED_COMMON 512

/* The files of a tree; all zero: none.  Some 300 bytes a content, and its
 * files. */
struct seeds {
	struct seed_content *contents; /* by XXH128, then size */
	size_t content_count;
	struct seed_posting *postings;
	size_t posting_count;
	struct sketch sketch; /* the last one that was read */
	uint32_t candidates[SEED_VALUES * SEED_COMMON]; /* for seeds_find() */
};

struct seed_base {
	const struct found_file *file;
	int score; /* 1..100; 100: an equal content */
};

/* In place of all digests of a member, the sketch cut to a few values. */
int seed_keep(struct found_member *m);

/* Reads a tree to its end, or until an error, which r->err has.  -ENOMEM. */
int seeds_read(struct seeds *s, struct export_reader *r);

/* 1: there is a base for a content with these digests, size and XXH128 among
 * them, at that path; 0: none.  One thread at a time.  -ENOMEM, -EINVAL. */
int seeds_find(struct seeds *s, const struct digests *wanted, const char *path,
	       int64_t mtime_ns, struct seed_base *out);

#endif
