/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_DIGEST_TLSH_TLSH_H
#define CORE_DIGEST_TLSH_TLSH_H

#include <stddef.h>
#include <stdint.h>

/*
 * TLSH (Oliver, Cheng, Chen: "TLSH - A Locality Sensitive Hash", 2013), as
 * version 4.12.1 of its authors' program computes it from all bytes at once:
 * 128 buckets, a checksum of one byte, a window of five bytes.
 *
 * Of each window six triplets of bytes that have the newest one are hashed into
 * buckets.  The digest says of each bucket in which quarter of all its count
 * is, how the quarters relate, and how long the content is.
 */
enum {
	TLSH_BUCKETS = 128, /* hashes from here on count for nothing */
	TLSH_WINDOW = 5,
	TLSH_TRIPLETS = 6,
	TLSH_BYTES = 3 + TLSH_BUCKETS / 4, /* of a digest */
	TLSH_MIN_BYTES = 50,               /* of a content with a digest */
	TLSH_MIN_BUCKETS = 65,             /* in use */
	TLSH_LENGTHS = 170
};

/* Of the program. */
extern const uint8_t tlsh_pearson[256];
extern const uint32_t tlsh_lengths[TLSH_LENGTHS];

/* The longest content with a digest. */
#define TLSH_MAX_BYTES UINT64_C(4224281216)

struct tlsh {
	uint64_t size;
	/* In six tables, so that increments seldom wait for each other; only
	 * the first TLSH_BUCKETS of each are looked at. */
	uint32_t counts[TLSH_TRIPLETS][256];
	uint8_t checksum;
	uint8_t last[TLSH_WINDOW - 1]; /* bytes, the newest at the end */
};

struct tlsh_digest {
	uint8_t checksum, length;        /* length: the code */
	uint8_t ratios[2];               /* 0..15 */
	uint8_t codes[TLSH_BUCKETS / 4]; /* 2 bits each, bucket 0 lowest */
};

void tlsh_begin(struct tlsh *t);
void tlsh_update(struct tlsh *t, const void *data, size_t len);
/* Adds zero bytes as if they were data, whose number does not matter. */
void tlsh_update_zeros(struct tlsh *t, uint64_t len);

/* -ENODATA: too short or too long, or of too little variety. */
int tlsh_final(const struct tlsh *t, struct tlsh_digest *out);

/* The binary form, of which the text is "T1" and the upper-case hex digits; it
 * is read in either case, with or without "T1". */
void tlsh_pack(const struct tlsh_digest *d, uint8_t bytes[static TLSH_BYTES]);
void tlsh_unpack(const uint8_t bytes[static TLSH_BYTES],
		 struct tlsh_digest *out);

/* 0 (most alike) to 2473; with the lengths. */
int tlsh_distance(const struct tlsh_digest *a, const struct tlsh_digest *b);

#endif
