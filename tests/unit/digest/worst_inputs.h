/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNIT_DIGEST_WORST_INPUTS_H
#define TESTS_UNIT_DIGEST_WORST_INPUTS_H

#include "core/base/bytes.h"
#include "core/digest/rdc/rdc.h"
#include "core/kernel/sketch/sketch.h"
#include "tests/support/recipe.h"

/* Contents that ask the most of a digest, or the least. */

#define WORST_MAX_PERIOD 64

enum worst_kind {
	WORST_RANDOM, /* what the others are compared with */
	WORST_ZEROS,
	WORST_ONES,
	WORST_NO_TRIGGER,
	WORST_TRIGGERS,      /* at every byte, of the highest level there is */
	WORST_HIGH_TRIGGERS, /* of all levels, every 7 bytes */
	WORST_CHUNKS,        /* as many as RDC can make */
	WORST_KEYS,          /* of a sketch, each smaller than those before */
	WORST_PERIODS,       /* 1 and so on */
	WORST_KINDS = WORST_PERIODS + WORST_MAX_PERIOD
};

static inline const char *worst_name(unsigned kind, char name[32])
{
	static const char *const names[] = {
		"random",   "zeros",         "0xff",   "no trigger",
		"triggers", "high triggers", "chunks", "falling keys",
	};

	if (kind < WORST_PERIODS)
		return names[kind];
	(void)snprintf(name, 32, "period %u", kind - WORST_PERIODS + 1);
	return name;
}

/* The level of a rolling value, 0 for none: a level's block size is
 * 3 * 2^(level - 1). */
static inline unsigned worst_level(uint32_t r)
{
	unsigned level = 0;

	while (level < 31 &&
	       r % (UINT64_C(3) << level) == (UINT64_C(3) << level) - 1)
		level++;
	return level;
}

/* Byte after byte the one that triggers the most or, with none of them, the
 * first that does not. */
static inline void worst_fill_triggers(struct bytes b, bool none)
{
	uint32_t h1 = 0, h2 = 0, h3 = 0, best;
	unsigned level, best_level;
	uint8_t out;
	size_t i, k;

	for (i = 0; i < b.len; i++) {
		out = i < 7 ? 0 : b.data[i - 7];
		best_level = none ? UINT32_MAX : 0;
		best = (uint32_t)(i * 37 % 256);
		for (k = 0; k < 256; k++) {
			uint32_t c = (uint32_t)(i * 37 + k) % 256;

			level = worst_level(h1 + c - out + h2 - h1 + 7 * c +
					    (h3 << 5 ^ c));
			if (none ? level < best_level : level > best_level) {
				best_level = level;
				best = c;
			}
		}
		b.data[i] = (uint8_t)best;
		h2 = h2 - h1 + 7 * best;
		h1 = h1 + best - out;
		h3 = h3 << 5 ^ best;
	}
}

static inline void worst_repeat(struct bytes b, size_t period)
{
	size_t i;

	for (i = period; i < b.len; i++)
		b.data[i] = b.data[i - period];
}

static inline bool worst_folds(const uint8_t *p, size_t len)
{
	while (len-- > 0)
		if (sketch_fold_byte(p[len]) != p[len])
			return true;
	return false;
}

/* What the filter of a window (core/kernel/sketch/sketch.h) is made of. */
static inline uint32_t worst_half(const uint8_t *p)
{
	return load_le32(p) * SKETCH_HALF_FACTOR + load_le32(p + 4);
}

/* Makes the filter of a window that one, by its last bytes: the function's steps
 * backwards. */
static inline void worst_set_filter(uint8_t window[16], uint32_t filter)
{
	/* That times the function's last factor is 1. */
	uint32_t m = filter * UINT32_C(0xa0fe3bcf);

	m ^= m >> 15 ^ m >> 30;
	m -= worst_half(window) * SKETCH_WINDOW_FACTOR;
	store_le32(window + 12, m - load_le32(window + 8) * SKETCH_HALF_FACTOR);
}

/* All belong in the sample when they come, and have most bits in common. */
static inline void worst_fill_keys(struct bytes b)
{
	size_t i;

	for (i = 0; i < b.len; i++)
		b.data[i] |= 0x80;
	for (i = 0; i + 16 <= b.len; i += 16) {
		uint32_t filter = (uint32_t)(0xffff - i / 16 % 0x10000);

		/* Any other would be folded, and the window with it. */
		for (worst_set_filter(b.data + i, filter);
		     worst_folds(b.data + i + 12, 4);
		     worst_set_filter(b.data + i, filter))
			b.data[i] = (uint8_t)(0x80 | (b.data[i] + 1));
	}
}

static inline struct bytes worst_input(unsigned kind, size_t len)
{
	/* Triggers all levels of SiSe and ssdeep. */
	static const uint8_t word[7] = { 0x88, 0x5e, 0x3f, 0x1f,
					 0x1f, 0x55, 0x49 };
	struct bytes b = recipe_random(kind + 1, len);

	switch (kind) {
	case WORST_RANDOM:
		break;
	case WORST_ZEROS:
	case WORST_ONES:
		memset(b.data, kind == WORST_ONES ? 0xff : 0, len);
		break;
	case WORST_NO_TRIGGER:
	case WORST_TRIGGERS:
		worst_fill_triggers(b, kind == WORST_NO_TRIGGER);
		break;
	case WORST_HIGH_TRIGGERS:
		memcpy(b.data, word, len < sizeof(word) ? len : sizeof(word));
		worst_repeat(b, sizeof(word));
		break;
	case WORST_KEYS:
		worst_fill_keys(b);
		break;
	case WORST_CHUNKS:
		/* Each period has one largest hash. */
		worst_repeat(b, RDC_HORIZON + 1);
		break;
	default:
		worst_repeat(b, kind - WORST_PERIODS + 1);
	}
	return b;
}

#endif
