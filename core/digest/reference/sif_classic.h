/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_DIGEST_REFERENCE_SIF_CLASSIC_H
#define CORE_DIGEST_REFERENCE_SIF_CLASSIC_H

#include <stddef.h>
#include <stdint.h>

/*
 * The original rule of sif (Manber, Finding Similar Files in a Large File
 * System, 1994).  Of all windows of 50 bytes, the fingerprints
 *
 *   (w[0] * p^49 + ... + w[48] * p + w[49]) mod 2^30
 *
 * whose last bits are zero, as a set.  It grows with the file: about one in
 * 2^zero_bits windows.  Windows that repeat one byte take part, so zeros always
 * have the fingerprint 0.
 */
#define SIF_CLASSIC_WINDOW 50
#define SIF_CLASSIC_BASE 7
#define SIF_CLASSIC_ZERO_BITS 8

/* The state of digest_sif_classic (digest.h). */
struct sif_classic {
	uint32_t base;
	uint32_t mask; /* of the bits that must be zero */
	uint32_t hash;
	size_t fill;
	uint8_t last[SIF_CLASSIC_WINDOW];
	uint32_t leave[256];
	uint32_t *values; /* owned */
	size_t count;
	size_t capacity;
};

/* base is p, not 0; zero_bits 0..30 (-EINVAL else). */
int sif_classic_init(struct sif_classic *s, uint32_t base, unsigned zero_bits);
void sif_classic_release(void *state);

/* -ENOMEM: it can only be released then. */
int sif_classic_update(void *state, const void *data, size_t len);

/* The fingerprints so far, ascending, without repeats; they stay s's and are
 * valid until the next call. */
const uint32_t *sif_classic_values(struct sif_classic *s, size_t *count_out);

#endif
