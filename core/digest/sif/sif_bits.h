/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_DIGEST_SIF_SIF_BITS_H
#define CORE_DIGEST_SIF_SIF_BITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/digest/sif/sif.h"
#include "core/digest/sif/sif_impl.h"

/*
 * Numbers as bits, as the binary form of a sketch has them (sif_pack.c), filled
 * in from the lowest bit of each byte on.
 */

#define RICE_ZEROS 20 /* most zeros before the one of a Rice code */
#define PAD 16        /* bytes that can be read behind the end; they are 0 */

struct bit_writer {
	uint8_t *to;
	uint64_t held; /* fewer than 8 bits, but within put_bits() */
	unsigned count;
};

/* At most 56 of them. */
static inline void put_bits(struct bit_writer *w, uint64_t bits, unsigned count)
{
	w->held |= bits << w->count;
	w->count += count;
	store_word(w->to, w->held);
	w->to += w->count / 8;
	w->held >>= w->count & ~7u;
	w->count &= 7;
}

static inline void put_rice(struct bit_writer *w, uint64_t number, unsigned low)
{
	uint64_t zeros = number >> low;

	if (zeros + 1 + low <= 56 && zeros < RICE_ZEROS) {
		number &= (UINT64_C(1) << low) - 1;
		put_bits(w, (number << 1 | 1) << zeros,
			 (unsigned)zeros + 1 + low);
		return;
	}
	if (zeros < RICE_ZEROS) {
		put_bits(w, UINT64_C(1) << zeros, (unsigned)zeros + 1);
		put_bits(w, number & ((UINT64_C(1) << low) - 1), low);
		return;
	}
	put_bits(w, UINT64_C(1) << RICE_ZEROS, RICE_ZEROS + 1);
	put_bits(w, number, SIF_BITS);
}

static inline void put_gamma(struct bit_writer *w, uint32_t number)
{
	unsigned length = 31 - (unsigned)__builtin_clz(number);

	put_bits(w, UINT64_C(1) << length, length + 1);
	put_bits(w, number & ((UINT32_C(1) << length) - 1), length);
}

struct bit_reader {
	const uint8_t *from; /* PAD bytes longer than they are */
	size_t at, end;      /* in bits */
};

/* At least 57 of the next bits; those behind the end are 0. */
static inline uint64_t peek_bits(const struct bit_reader *r)
{
	return load_word(r->from + r->at / 8) >> r->at % 8;
}

static inline uint64_t get_bits(struct bit_reader *r, unsigned count)
{
	uint64_t bits = peek_bits(r) & ((UINT64_C(1) << count) - 1);

	r->at += count;
	return bits;
}

/* False when it goes past the end, or is not as put_rice() writes it. */
static inline bool get_rice(struct bit_reader *r, unsigned low, uint64_t *out)
{
	uint64_t bits = peek_bits(r) | UINT64_C(1) << (RICE_ZEROS + 1);
	unsigned zeros = (unsigned)__builtin_ctzll(bits);

	r->at += zeros + 1;
	if (r->at > r->end || zeros > RICE_ZEROS)
		return false;
	if (zeros < RICE_ZEROS) {
		*out = (uint64_t)zeros << low | get_bits(r, low);
		return r->at <= r->end;
	}
	*out = get_bits(r, SIF_BITS);
	return r->at <= r->end && *out >> low >= RICE_ZEROS;
}

static inline bool get_gamma(struct bit_reader *r, uint32_t *out)
{
	uint64_t bits = peek_bits(r) | UINT64_C(1) << (RICE_ZEROS + 1);
	unsigned length = (unsigned)__builtin_ctzll(bits);

	if (length > RICE_ZEROS)
		return false;
	r->at += length + 1;
	if (r->at > r->end)
		return false;
	*out = UINT32_C(1) << length | (uint32_t)get_bits(r, length);
	return r->at <= r->end;
}

#endif
