/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_DIGEST_SIF_SIF_IMPL_H
#define CORE_DIGEST_SIF_SIF_IMPL_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "core/digest/sif/sif.h"

/* Private to core/digest/sif. */

static inline uint64_t load_word(const uint8_t *p)
{
	uint64_t word;

	memcpy(&word, p, sizeof(word));
	return le64toh(word);
}

static inline void store_word(uint8_t *p, uint64_t word)
{
	word = htole64(word);
	memcpy(p, &word, sizeof(word));
}

/* So many of the lowest bits of a value in full are 0 (sif_round_values()). */
static inline unsigned sif_dropped_bits(uint64_t value)
{
	return value >> SIF_VALUE_BITS ?
		       64 - SIF_VALUE_BITS - (unsigned)__builtin_clzll(value) :
		       0;
}

/* The binary form without the window and the number of distinct windows, which
 * a text has as such.  It writes up to SIF_PACKED_SPARE bytes behind what it
 * returns. */
#define SIF_PACKED_SPARE 8
size_t sif_pack_body(const struct sif_sketch *sketch, uint8_t *bytes);

/* What comes before and behind it; SIF_HEAD_MAX bytes, and 6 bits a place.  Up
 * to SIF_PACKED_SPARE bytes are written behind the places. */
#define SIF_HEAD_MAX 11
size_t sif_pack_head(unsigned window, bool is_placed, uint64_t distinct,
		     uint8_t *bytes);
size_t sif_pack_places(const uint8_t *places, size_t count, uint8_t *bytes);

/* window and distinct are set already.  False when it is no such form, or not
 * of a sound sketch. */
bool sif_unpack_body(const uint8_t *bytes, size_t len, struct sif_sketch *out);

#endif
