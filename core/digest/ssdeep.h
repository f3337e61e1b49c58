/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_DIGEST_SSDEEP_H
#define CORE_DIGEST_SSDEEP_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"

/*
 * Context triggered piecewise hashing (Kornblum, Digital Investigation 3S,
 * 2006) as ssdeep 2.14.1 computes and compares it, bit for bit, for exchange
 * with the tools that speak it.
 *
 * The file is cut into pieces where a rolling hash of 7 bytes says so; a piece
 * becomes a character, the low 6 bits of its FNV hash.  Block sizes are
 * 3 * 2^level.  A trigger of a level is one of every level below.  A part
 * that is full grows no further: its last character stands for all the rest.
 */
#define SSDEEP_MAX_CHARS 64  /* of the first part */
#define SSDEEP_HALF_CHARS 32 /* of the second, and the least that will do */
#define SSDEEP_LEVELS 31
#define SSDEEP_ROWS 32  /* the last one is the whole file */
#define SSDEEP_LANES 48 /* rows, and room for a wide load at any row */
#define SSDEEP_MAX_SIZE (UINT64_C(192) << (SSDEEP_LEVELS - 1))

/* One block size of a signature: 6 bits per character. */
struct ssdeep_part {
	size_t count;
	uint8_t chars[SSDEEP_MAX_CHARS];
};

struct ssdeep_signature {
	uint64_t block_size;
	struct ssdeep_part leading;
	struct ssdeep_part secondary; /* at twice the block size */
};

#define SSDEEP_WINDOW 7

/* The sums over the last bytes that make the rolling value. */
struct ssdeep_rolling {
	uint32_t h1, h2, h3;
};

/*
 * Needs neither memory of its own nor the size beforehand: every level grows,
 * until it is certain that it is too low.  Of the FNV states 6 bits count.
 */
struct ssdeep {
	uint64_t size;
	struct ssdeep_rolling rolling;
	uint8_t last[SSDEEP_WINDOW]; /* bytes, the newest last */
	unsigned low; /* levels below can not be in the result any more */
	/* State of the piece that is growing, were the level the first part
	 * of the result (whole) or the second (half). */
	uint16_t whole[SSDEEP_LANES];
	uint16_t half[SSDEEP_LANES];
	/* Characters so far; at SSDEEP_MAX_CHARS the last is replaced. */
	uint8_t counts[SSDEEP_LANES];
	uint8_t chars[SSDEEP_ROWS][SSDEEP_MAX_CHARS];
	/* The last character of the second part, if it is full. */
	uint8_t half_last[SSDEEP_ROWS];
};

/* Any number of files one after the other; final changes nothing. */
void ssdeep_init(struct ssdeep *s);
void ssdeep_update(struct ssdeep *s, const void *data, size_t len);

/* -EOVERFLOW for a file of more than SSDEEP_MAX_SIZE bytes (192 GiB): it has
 * no block size. */
int ssdeep_final(const struct ssdeep *s, struct ssdeep_signature *out);

/* Appends "48:chars:chars".  -ENOMEM. */
int ssdeep_format(const struct ssdeep_signature *sig, struct buf *out);

/* Takes second parts of up to SSDEEP_MAX_CHARS too, some tools do not cut
 * them.  No file name may follow.  -EINVAL when text is no signature; out is
 * not specified then. */
int ssdeep_parse(const char *text, size_t len, struct ssdeep_signature *out);

/* 0..100, the score of fuzzy_compare() in ssdeep's library: the same in both
 * orders. */
int ssdeep_score(const struct ssdeep_signature *a,
		 const struct ssdeep_signature *b);

#endif
