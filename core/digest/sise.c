/* SPDX-License-Identifier: Apache-2.0 */
#include "core/digest/sise.h"

#include <stdbool.h>
#include <string.h>

#define FNV_START 0x967 /* the low 12 bits of 0x28021967 */
#define FNV_PRIME 0x193 /* and of 0x01000193 */
#define PAIR_MASK 0xfff
#define WHOLE (SISE_LANES - 1)

/*
 * All levels take the same step at the same byte, so their states sit side by
 * side in vectors of the size that every machine has.
 */
#define VECTOR_LANES 8

typedef uint16_t vector __attribute__((vector_size(2 * VECTOR_LANES)));

struct states {
	vector v0, v1, v2, v3;
};

static inline struct states load_states(const uint16_t fnv[SISE_LANES])
{
	struct states f;

	memcpy(&f, fnv, sizeof(f));
	return f;
}

static inline void store_states(uint16_t fnv[SISE_LANES],
				const struct states *f)
{
	memcpy(fnv, f, sizeof(*f));
}

static inline void step_states(struct states *f, uint8_t byte)
{
	vector c = (vector){ 0 } + byte;

	f->v0 = f->v0 * FNV_PRIME ^ c;
	f->v1 = f->v1 * FNV_PRIME ^ c;
	f->v2 = f->v2 * FNV_PRIME ^ c;
	f->v3 = f->v3 * FNV_PRIME ^ c;
}

/*
 * Level k triggers at rolling value r when r mod 3 * 2^k = 3 * 2^k - 1: when
 * 3 * 2^k divides r + 1 without overflow.  The powers of 2 come first, and are
 * said to be missing as a rule: whether 3 divides is one branch in three, which
 * no processor can foresee.  The multiplication by the inverse of 3 takes
 * exactly the multiples of 3 to the lowest third of all numbers.
 */
static inline bool triggers(uint32_t next, uint32_t low_mask)
{
	if (__builtin_expect((next & low_mask) != 0, 1))
		return false;
	return next * UINT32_C(0xaaaaaaab) <= UINT32_C(0x55555555) && next != 0;
}

/* The next rolling value + 1.  leaving is the byte SISE_WINDOW back. */
static inline uint32_t roll(struct sise_rolling *r, uint8_t byte,
			    uint8_t leaving)
{
	r->h2 += SISE_WINDOW * (uint32_t)byte - r->h1;
	r->h1 += (uint32_t)byte - leaving;
	r->h3 = r->h3 << 5 ^ byte;
	return r->h1 + r->h2 + r->h3 + 1;
}

/*
 * Takes bytes up to and with the next trigger of level low, or all of them,
 * and returns their number.  *next_out is the trigger's rolling value + 1, or
 * 0 when there was none.
 */
static size_t scan(struct sise *s, const uint8_t *bytes, size_t len,
		   uint32_t *next_out)
{
	const uint8_t *leaving = bytes - SISE_WINDOW;
	struct states f = load_states(s->fnv);
	struct sise_rolling r = s->rolling;
	uint32_t low_mask = (UINT32_C(1) << s->low) - 1;
	uint32_t next, trigger = 0;
	size_t i = 0;

	while (i < len) {
		step_states(&f, bytes[i]);
		next = roll(&r, bytes[i], leaving[i]);
		i++;
		if (triggers(next, low_mask)) {
			trigger = next;
			break;
		}
	}
	store_states(s->fnv, &f);
	s->rolling = r;
	s->size += i;
	*next_out = trigger;
	return i;
}

/* Whether the first block size tried for a file of size bytes is that of
 * level or a larger one: 3 * 2^(level - 1) is less than size / 64. */
static bool starts_at_or_above(uint64_t size, unsigned level)
{
	return level == 0 || size > UINT64_C(192) << (level - 1);
}

static bool has_enough(const struct sise *s, unsigned level)
{
	/* The end of the file makes one pair more. */
	return s->triggers[level] + 1 >= SISE_MIN_PAIRS;
}

/*
 * The result is the highest level that has enough pairs, from the one where
 * the file's size starts the search, and the level below.  Once a level within
 * reach of the search has enough, later bytes can only move the result up: what
 * is more than one level below is never needed again.
 */
static void raise_low(struct sise *s)
{
	while (s->low < SISE_LEVELS - 2 && has_enough(s, s->low + 2) &&
	       starts_at_or_above(s->size, s->low + 2))
		s->low++;
}

/* Ends the piece of every level that triggered. */
static void take_trigger(struct sise *s, uint32_t next)
{
	/* next is a multiple of 3, so this is below SISE_LEVELS. */
	unsigned highest = (unsigned)__builtin_ctz(next);
	unsigned level;

	for (level = s->low; level <= highest; level++) {
		if (s->triggers[level] < SISE_MAX_PAIRS)
			s->pairs[level][s->triggers[level]] =
				s->fnv[level] & PAIR_MASK;
		s->triggers[level]++;
		s->fnv[level] = FNV_START;
	}
	raise_low(s);
}

/* The bytes before these must be readable, as many as the window has. */
static void take_bytes(struct sise *s, const uint8_t *bytes, size_t len)
{
	uint32_t next;
	size_t used;

	while (len > 0) {
		used = scan(s, bytes, len, &next);
		if (next)
			take_trigger(s, next);
		bytes += used;
		len -= used;
	}
}

void sise_init(struct sise *s)
{
	unsigned i;

	s->size = 0;
	s->rolling = (struct sise_rolling){ 0 };
	s->low = 0;
	for (i = 0; i < SISE_LANES; i++)
		s->fnv[i] = FNV_START;
	memset(s->last, 0, sizeof(s->last));
	memset(s->triggers, 0, sizeof(s->triggers));
}

void sise_update(struct sise *s, const void *data, size_t len)
{
	const uint8_t *bytes = data;
	uint8_t seam[2 * SISE_WINDOW];
	size_t head = len < SISE_WINDOW ? len : SISE_WINDOW;

	if (len == 0)
		return;
	/* The first bytes follow those of the update before. */
	memcpy(seam, s->last, SISE_WINDOW);
	memcpy(seam + SISE_WINDOW, bytes, head);
	take_bytes(s, seam + SISE_WINDOW, head);
	take_bytes(s, bytes + head, len - head);
	if (len < SISE_WINDOW)
		memcpy(s->last, seam + head, SISE_WINDOW);
	else
		memcpy(s->last, bytes + len - SISE_WINDOW, SISE_WINDOW);
}

/* ---- the result ---- */

/* The pairs of a level and the one that the end of the file makes. */
static void copy_level(const struct sise *s, unsigned level,
		       struct sise_part *out)
{
	size_t count = SISE_MAX_PAIRS;

	if (s->triggers[level] < SISE_MAX_PAIRS)
		count = (size_t)s->triggers[level];
	memcpy(out->pairs, s->pairs[level], count * sizeof(out->pairs[0]));
	if (count < SISE_MAX_PAIRS)
		out->pairs[count++] = s->fnv[level] & PAIR_MASK;
	out->block_size = UINT64_C(3) << level;
	out->mod_value = out->block_size - 1;
	out->count = count;
}

/* What stands below the smallest block size: the file in one piece. */
static void copy_whole(const struct sise *s, struct sise_part *out)
{
	out->block_size = 1;
	out->mod_value = 0;
	out->count = 1;
	out->pairs[0] = s->fnv[WHOLE] & PAIR_MASK;
}

void sise_final(const struct sise *s, struct sise_signature *out)
{
	unsigned level = SISE_LEVELS - 1;

	while (level > s->low &&
	       !(has_enough(s, level) && starts_at_or_above(s->size, level)))
		level--;
	copy_level(s, level, &out->leading);
	if (level > 0)
		copy_level(s, level - 1, &out->secondary);
	else if (has_enough(s, 0))
		copy_whole(s, &out->secondary);
	else
		copy_level(s, 0, &out->secondary);
}
