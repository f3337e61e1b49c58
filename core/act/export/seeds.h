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
 * Which base is better says base_is_better() (core/index/judge.h), by the values
 * that both have.  A base with less than BASE_LEAST per cent of them is none.
 * The contents that are compared are those that have a value of the wanted one,
 * rare values first, and the one at the same path: where very many files have one
 * frame, most values say nothing.
 *
 * A base may have the size and the time of the file that is to come, and another
 * content: rsync must not compare by these (-I).
 */
#define SEED_VALUES 12

/* Values that are kept of a content here.  The earlier version of a file has a few
 * values of its own, which must not push those out that both have: with 12, 2 of
 * 700 pages of one frame got the base of another page. */
#define SEED_KEPT 16

/* A value that more contents have tells little: so many of them are looked at. */
#define SEED_COMMON 512

/* The files of a tree; all zero: none.  Some 200 bytes a content, and its
 * files. */
struct seeds {
	struct seed_content *contents; /* by XXH128, then size */
	size_t content_count;
	/* The values of all contents, ascending: the number of the content times
	 * SEED_KEPT, and that of the value. */
	uint32_t *postings;
	size_t posting_count;
	struct seed_file *files; /* by path */
	size_t file_count;
	struct sketch sketch; /* the last one that was read */
	/* For seeds_find(). */
	uint32_t candidates[SEED_VALUES * SEED_COMMON + 1];
};

struct seed_base {
	const struct found_file *file;
	int score; /* 1..100; 100: an equal content */
	uint64_t size;
};

/* In place of all digests of a member, the sketch cut to a few values. */
int seed_keep(struct found_member *m);

/* Reads a tree to its end, or until an error, which r->err has.  -ENOMEM. */
int seeds_read(struct seeds *s, struct export_reader *r);

/* 1: there is a base for a content with these digests, size and XXH128 among
 * them, at that path; 0: none.  One thread at a time.  -ENOMEM, -EINVAL. */
int seeds_find(struct seeds *s, const struct digests *wanted, const char *path,
	       struct seed_base *out);

#endif
