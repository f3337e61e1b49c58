/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_DIGEST_REFERENCE_SI2_H
#define CORE_DIGEST_REFERENCE_SI2_H

#include <stdint.h>

/*
 * The SimHash of the Similarity Index v2.0 (Roth, 2013) as its author computes
 * it: the sum of the signs of the fingerprints of all distinct shingles of 4
 * characters.  Every byte is a character; a shingle is hashed as UTF-16,
 * big-endian.  The fingerprint is a reflected CRC of 64 bits.
 *
 * The set of shingles has no bound but their number, 2^32: this one is for
 * comparison with the original, not for every file.  It is a bitmap in parts,
 * of which those exist that have a shingle: 536 MiB at most, until final.  A file
 * of less than SI2_SHINGLE bytes has the result 0.
 */
#define SI2_SHINGLE 4
#define SI2_PART 4096 /* shingles */
#define SI2_PARTS ((size_t)1 << 20)

/* The state of digest_si2 (digest.h). */
struct si2 {
	uint32_t shingle;  /* the last bytes, the newest in the low ones */
	unsigned fill;     /* bytes seen, up to SI2_SHINGLE - 1 */
	uint64_t count;    /* distinct shingles */
	uint64_t ones[64]; /* how many have this bit of the fingerprint set */
	struct si2_part {
		struct si2_part *next;
		uint64_t bits[SI2_PART / 64]; /* one for every shingle */
	} * *parts, *last; /* owned; the list of all begins with the last */
	uint64_t table[4][256]; /* fingerprint, by character of the shingle */
};

#endif
