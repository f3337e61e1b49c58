/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_KERNEL_TLSH_TLSH_H
#define CORE_KERNEL_TLSH_TLSH_H

#include <stddef.h>
#include <stdint.h>

/*
 * The six hashes of three bytes of every window of five bytes of a stream, as
 * TLSH counts them.
 *
 * The hash of x, y, z is T[T[T[T[salt] ^ x] ^ y] ^ z].  x is the newest byte of
 * the window; with p[0] newest, the triplets and their salts are
 *
 *	0   p[0] p[1] p[2]   2        3   p[0] p[2] p[4]   7
 *	1   p[0] p[1] p[3]   3        4   p[0] p[1] p[4]  11
 *	2   p[0] p[2] p[3]   5        5   p[0] p[3] p[4]  13
 *
 * The checksum is the hash of p[0], p[1] and the checksum before, salt 0.
 */
enum {
	KERNEL_TLSH_WINDOW = 5,
	KERNEL_TLSH_TRIPLETS = 6,
	KERNEL_TLSH_BUCKETS = 128, /* hashes from here on count for nothing */
};

/* Made by kernel_tlsh_init(). */
struct kernel_tlsh_table {
	uint8_t pearson[256];                    /* T */
	uint8_t salts[1 + KERNEL_TLSH_TRIPLETS]; /* T[salt]; the checksum's */
	uint64_t first[256]; /* byte i of first[x]: T[salts[i] ^ x] */
};

void kernel_tlsh_init(struct kernel_tlsh_table *table,
		      const uint8_t pearson[256]);

struct kernel_tlsh {
	/*
	 * Counts the hashes of all windows in len bytes, len - 4 or none;
	 * returns the checksum after them.  How often a hash below
	 * KERNEL_TLSH_BUCKETS came is the sum over the tables of counts; what
	 * is there for others means nothing.  No count overflows: the caller
	 * sees to that.
	 */
	uint8_t (*count)(const struct kernel_tlsh_table *table,
			 const uint8_t *bytes, size_t len,
			 uint32_t counts[KERNEL_TLSH_TRIPLETS][256],
			 uint8_t checksum);
};

extern const struct kernel_tlsh tlsh_scalar;

#endif
