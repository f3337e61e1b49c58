/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_DIGEST_SIF_SIF_PLACES_H
#define CORE_DIGEST_SIF_SIF_PLACES_H

#include <stddef.h>
#include <stdint.h>

/*
 * Where in a stream the fingerprints that may belong to its sketch were seen
 * last, in units of WINDOW_SAMPLE_UNIT bytes.
 *
 * A hash table of all fingerprints up to the bound of the sample.  The bound
 * falls, so a slot with a greater fingerprint is free.  The first unit is not
 * noted: what is not in the table was seen there alone, and small files cost
 * nothing.
 *
 * A fingerprint that finds no slot among SIF_PLACES_PROBES is left out.  That
 * takes a file that was made for it.
 */
#define SIF_PLACES_SLOTS 16384
#define SIF_PLACES_PROBES 16

struct sif_places {
	size_t mask;
	uint64_t hashes[SIF_PLACES_SLOTS]; /* 0: free */
	uint32_t units[SIF_PLACES_SLOTS];
};

/* For a sketch of at most max values. */
void sif_places_begin(struct sif_places *p, size_t max);

/* The bound of the sample at this moment is not less than hash. */
void sif_places_add(struct sif_places *p, uint64_t hash, uint64_t bound,
		    uint32_t unit);

uint32_t sif_places_find(const struct sif_places *p, uint64_t hash);

#endif
