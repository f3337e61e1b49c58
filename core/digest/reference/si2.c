/* SPDX-License-Identifier: Apache-2.0 */
#include "core/digest/reference/si2.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define POLYNOMIAL UINT64_C(0xd74307d3fd3382db) /* and what it starts with */

/* ---- the fingerprint ---- */

static uint64_t step(uint64_t f, unsigned times)
{
	while (times--)
		f = f >> 1 ^ (f & 1 ? POLYNOMIAL : 0);
	return f;
}

/*
 * All but the start is linear: the fingerprint is the exclusive or of what the
 * characters contribute, the start among the first one's.  The low byte of
 * character i is byte 2 * i + 1 of 8: it is shifted for itself and for those
 * that follow.
 */
static void fill_table(struct si2 *s)
{
	uint64_t start = step(POLYNOMIAL, 64);
	unsigned i, c;

	for (i = 0; i < SI2_SHINGLE; i++)
		for (c = 0; c < 256; c++)
			s->table[i][c] =
				step(c, 8 * (7 - 2 * i)) ^ (i == 0 ? start : 0);
}

static uint64_t fingerprint(const struct si2 *s, uint32_t shingle)
{
	return s->table[0][shingle >> 24] ^ s->table[1][shingle >> 16 & 0xff] ^
	       s->table[2][shingle >> 8 & 0xff] ^ s->table[3][shingle & 0xff];
}

/* ---- the set of shingles ---- */

static uint32_t *find_slot(uint32_t *slots, size_t slot_count, uint32_t shingle)
{
	/* The golden ratio sends neighbours far apart, and the upper bits of
	 * the product are the good ones. */
	uint32_t product = shingle * UINT32_C(0x9e3779b1);
	size_t i = (size_t)((uint64_t)product * slot_count >> 32);

	while (slots[i] != 0 && slots[i] != shingle)
		i = (i + 1) & (slot_count - 1);
	return &slots[i];
}

static bool set_bit(uint64_t *bitmap, uint32_t shingle)
{
	uint64_t bit = UINT64_C(1) << (shingle & 63);
	uint64_t *word = &bitmap[shingle >> 6];
	bool is_new = !(*word & bit);

	*word |= bit;
	return is_new;
}

static int become_bitmap(struct si2 *s)
{
	uint64_t *bitmap = calloc((size_t)1 << 26, sizeof(*bitmap));
	size_t i;

	if (!bitmap)
		return -ENOMEM;
	for (i = 0; i < s->slot_count; i++)
		if (s->slots[i] != 0)
			(void)set_bit(bitmap, s->slots[i]);
	free(s->slots);
	s->slots = NULL;
	s->bitmap = bitmap;
	return 0;
}

static int grow(struct si2 *s)
{
	size_t i, slot_count = 2 * s->slot_count;
	uint32_t *slots;

	if (slot_count > s->max_slots)
		return become_bitmap(s);
	slots = calloc(slot_count, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	for (i = 0; i < s->slot_count; i++)
		if (s->slots[i] != 0)
			*find_slot(slots, slot_count, s->slots[i]) =
				s->slots[i];
	free(s->slots);
	s->slots = slots;
	s->slot_count = slot_count;
	return 0;
}

/* ---- the sum of the signs ---- */

static void add_recent(struct si2 *s)
{
	unsigned bit;

	for (bit = 0; bit < 64; bit++)
		s->ones[bit] += s->recent[bit % 8] >> bit / 8 * 8 & 0xff;
	memset(s->recent, 0, sizeof(s->recent));
	s->recent_count = 0;
}

static void count_shingle(struct si2 *s, uint32_t shingle)
{
	const uint64_t low_bits = 0x0101010101010101;
	uint64_t f = fingerprint(s, shingle);
	unsigned b;

	s->count++;
	for (b = 0; b < 8; b++)
		s->recent[b] += f >> b & low_bits;
	if (++s->recent_count == 255)
		add_recent(s);
}

/* ---- the stream ---- */

static int add_to_slots(struct si2 *s, uint32_t shingle)
{
	uint32_t *slot = find_slot(s->slots, s->slot_count, shingle);

	if (*slot == shingle)
		return 0;
	*slot = shingle;
	count_shingle(s, shingle);
	return s->count > s->slot_count / 2 ? grow(s) : 0;
}

static int add_shingle(struct si2 *s, uint32_t shingle)
{
	if (shingle == 0) {
		if (!s->has_zero)
			count_shingle(s, 0);
		s->has_zero = true;
		return 0;
	}
	if (s->slots)
		return add_to_slots(s, shingle);
	if (set_bit(s->bitmap, shingle))
		count_shingle(s, shingle);
	return 0;
}

int si2_init(struct si2 *s)
{
	*s = (struct si2){
		.slot_count = SI2_MIN_SLOTS,
		.max_slots = SI2_MAX_SLOTS,
	};
	s->slots = calloc(s->slot_count, sizeof(s->slots[0]));
	if (!s->slots)
		return -ENOMEM;
	fill_table(s);
	return 0;
}

void si2_release(struct si2 *s)
{
	free(s->slots);
	free(s->bitmap);
	s->slots = NULL;
	s->bitmap = NULL;
}

int si2_update(struct si2 *s, const void *data, size_t len)
{
	const uint8_t *bytes = data;
	size_t i;
	int err;

	for (i = 0; i < len; i++) {
		s->shingle = s->shingle << 8 | bytes[i];
		if (s->fill < SI2_SHINGLE - 1) {
			s->fill++;
			continue;
		}
		err = add_shingle(s, s->shingle);
		if (err)
			return err;
	}
	return 0;
}

uint64_t si2_final(const struct si2 *s)
{
	uint64_t ones, result = 0;
	unsigned bit;

	for (bit = 0; bit < 64; bit++) {
		ones = s->ones[bit] +
		       (s->recent[bit % 8] >> bit / 8 * 8 & 0xff);
		if (2 * ones > s->count)
			result |= UINT64_C(1) << bit;
	}
	return result;
}
