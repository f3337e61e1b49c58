/* SPDX-License-Identifier: Apache-2.0 */
#include "core/digest/simhash.h"

#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "core/kernel/kernel.h"

#define BEFORE (SIMHASH_WINDOW - 1) /* bytes before the end of a window */

void simhash_init(struct simhash *s)
{
	s->ops = kernel_best()->window;
	s->started = false;
	s->tail_len = 0;
	bottom_k_begin(&s->smallest, SIMHASH_SAMPLE);
}

/* ---- the stream ---- */

/* The windows within the bytes. */
static void scan(struct simhash *s, const uint8_t *bytes, size_t len)
{
	struct bottom_k *b = &s->smallest;
	size_t count, part, some;

	if (len < SIMHASH_WINDOW)
		return;
	for (count = len - BEFORE; count > 0; count -= part) {
		part = bottom_k_part(b);
		part = count < part ? count : part;
		some = window_is_run(bytes, part) ? 1 : part;
		bottom_k_add(b, s->ops->pick(bytes, some, b->bound,
					     b->values + b->count));
		bytes += part;
	}
}

/* The first bytes, which often are the whole file. */
static void scan_first(struct simhash *s, const uint8_t *bytes, size_t len)
{
	bottom_k_guess(&s->smallest, len);
	do
		scan(s, bytes, len);
	while (!bottom_k_suffices(&s->smallest));
	s->started = true;
}

static void keep_tail(struct simhash *s, const uint8_t *end, size_t len)
{
	s->tail_len = len < BEFORE ? len : BEFORE;
	memcpy(s->tail, end - s->tail_len, s->tail_len);
}

void simhash_update(struct simhash *s, const void *data, size_t len)
{
	const uint8_t *bytes = data;
	uint8_t seam[2 * SIMHASH_WINDOW];
	size_t head = len < BEFORE ? len : BEFORE;
	size_t seam_len = s->tail_len + head;

	if (len == 0)
		return;
	/* The first windows begin in the update before. */
	memcpy(seam, s->tail, s->tail_len);
	memcpy(seam + s->tail_len, bytes, head);
	scan(s, seam, seam_len);
	if (s->started)
		scan(s, bytes, len);
	else
		scan_first(s, bytes, len);
	if (len >= BEFORE)
		keep_tail(s, bytes + len, len);
	else
		keep_tail(s, seam + seam_len, seam_len);
}

void simhash_update_zeros(struct simhash *s, uint64_t len)
{
	static const uint8_t zeros[2 * SIMHASH_WINDOW];

	/* One window of zeros is as good as many. */
	simhash_update(s, zeros,
		       len < sizeof(zeros) ? (size_t)len : sizeof(zeros));
}

/* ---- the result ---- */

/* Bit i is set where more than half of the values have it set. */
static uint64_t majority(const uint32_t sums[64], size_t count)
{
	uint64_t result = 0;
	size_t i;

	for (i = 0; i < 64; i++)
		if (2 * (size_t)sums[i] > count)
			result |= UINT64_C(1) << i;
	return result;
}

uint64_t simhash_final(struct simhash *s)
{
	const struct bottom_k *b = &s->smallest;
	uint32_t sums[64] = { 0 };

	if (b->count == 0) /* too short for a window */
		return s->tail_len ? XXH3_64bits(s->tail, s->tail_len) : 0;
	bottom_k_settle(&s->smallest);
	s->ops->sum(b->values, b->count, sums);
	return majority(sums, b->count);
}
