/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_KERNEL_CTPH_CTPH_H
#define CORE_KERNEL_CTPH_CTPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Context triggered piecewise hashing: where a file is cut, and the hashes of
 * the pieces.
 *
 * The rolling value after a byte is a function of it and the bytes before, as
 * many as the window has, b0 the newest:
 *
 *	r = 8*b0 + 7*b1 + ... + 2*b6 + (b0 ^ b1<<5 ^ b2<<10 ^ ... ^ b6<<30)
 *
 * Level k triggers where 3 * 2^k divides r + 1, and r + 1 is less than 2^32:
 * so does every level below.
 *
 * A piece is hashed with FNV-1, of which 12 bits count: they depend on nothing
 * above.  Every byte makes state * 403 ^ byte of the state.
 */
#define KERNEL_CTPH_WINDOW 7
#define KERNEL_CTPH_LEVELS 31 /* above, no rolling value triggers */
#define KERNEL_CTPH_PRIME 0x193
#define KERNEL_CTPH_MASK 0xfff

struct kernel_trigger {
	uint32_t end;   /* offset of the byte after the one that triggers */
	uint32_t level; /* the highest that triggers */
};

struct kernel_piece {
	const uint8_t *bytes; /* borrowed */
	uint32_t len;
	uint32_t state; /* before the bytes, then after them */
};

/* The window's bytes before those that are given are read too, in find and
 * find_last.  Lengths are below 2^31. */
struct kernel_ctph {
	/*
	 * The triggers of level and above, the first max of them; returns
	 * their number.
	 */
	size_t (*find)(const uint8_t *bytes, size_t len, unsigned level,
		       struct kernel_trigger *triggers_out, size_t max);

	/* The last of them; false when there is none. */
	bool (*find_last)(const uint8_t *bytes, size_t len, unsigned level,
			  struct kernel_trigger *trigger_out);

	/* Hashes pieces, of any bytes each.  Those that stand together and
	 * start at the same byte cost least. */
	void (*hash)(struct kernel_piece *pieces, size_t count);
};

extern const struct kernel_ctph ctph_scalar;
#ifdef __x86_64__
extern const struct kernel_ctph ctph_avx2;
extern const struct kernel_ctph ctph_avx512;
#endif

#endif
