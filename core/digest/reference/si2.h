/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_DIGEST_REFERENCE_SI2_H
#define CORE_DIGEST_REFERENCE_SI2_H

#include <stddef.h>
#include <stdint.h>

/*
 * The SimHash of the Similarity Index v2.0 (Roth, 2013) as its author computes
 * it: the sum of the signs of the fingerprints of all distinct shingles of 4
 * characters.  Every byte is a character; a shingle is hashed as UTF-16,
 * big-endian.  The fingerprint is a reflected CRC of 64 bits.
 *
 * The set of shingles has no bound but their number, 2^32: this one is for
 * comparison with the original, not for every file.  It is a bitmap in parts,
 * of which those exist that have a shingle: 536 MiB at most.
 */
#define SI2_SHINGLE 4
#define SI2_PART 4096 /* shingles */
#define SI2_PARTS ((size_t)1 << 20)

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

/* -ENOMEM. */
int si2_init(struct si2 *s);
void si2_release(struct si2 *s);

/* -ENOMEM: s can only be released then. */
int si2_update(struct si2 *s, const void *data, size_t len);

/* 0 for a file of less than SI2_SHINGLE bytes. */
uint64_t si2_final(const struct si2 *s);

#endif
