/* SPDX-License-Identifier: Apache-2.0 */
#include "core/digest/reference/si2.h"

#include <errno.h>
#include <stdlib.h>

#include "core/base/bytes.h"
#include "core/digest/digest.h"

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

/* ---- the stream ---- */

static int add_shingle(struct si2 *s, uint32_t shingle)
{
	struct si2_part **part = &s->parts[shingle / SI2_PART];
	const uint64_t bit = UINT64_C(1) << shingle % 64;
	uint64_t *word, f;
	unsigned i;

	if (!*part) {
		*part = calloc(1, sizeof(**part));
		if (!*part)
			return -ENOMEM;
		(*part)->next = s->last;
		s->last = *part;
	}
	word = &(*part)->bits[shingle % SI2_PART / 64];
	if (*word & bit)
		return 0;
	*word |= bit;
	s->count++;
	f = fingerprint(s, shingle);
	for (i = 0; i < 64; i++)
		s->ones[i] += f >> i & 1;
	return 0;
}

static void release(void *state)
{
	struct si2 *s = state;
	struct si2_part *part;

	while ((part = s->last)) {
		s->last = part->next;
		free(part);
	}
	free(s->parts);
	s->parts = NULL;
}

static int begin(void *state, const struct digest_stream *stream)
{
	struct si2 *s = state;

	(void)stream;
	release(s);
	*s = (struct si2){ .parts = calloc(SI2_PARTS, sizeof(*s->parts)) };
	if (!s->parts)
		return -ENOMEM;
	fill_table(s);
	return 0;
}

static int update(void *state, const void *data, size_t len)
{
	struct si2 *s = state;
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

static int final(void *state, struct buf *out)
{
	const struct si2 *s = state;
	uint64_t result = 0;
	uint8_t bytes[8];
	unsigned bit;

	for (bit = 0; bit < 64; bit++)
		if (2 * s->ones[bit] > s->count)
			result |= UINT64_C(1) << bit;
	release(state);
	store_be64(bytes, result);
	return buf_append(out, bytes, sizeof(bytes));
}

static const struct digest_part part = {
	.size = sizeof(struct si2),
	.begin = begin,
	.update = update,
	.release = release,
};

const struct digest_ops digest_si2 = {
	.id = DIGEST_SI2,
	.len = 8,
	.part = &part,
	.final = final,
};
