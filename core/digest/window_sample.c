/* SPDX-License-Identifier: Apache-2.0 */
#include "core/digest/window_sample.h"

#include <string.h>

void window_sample_begin(struct window_sample *s, size_t window, size_t max,
			 window_pick_fn *pick, void *arg)
{
	s->window = window;
	s->pick = pick;
	s->arg = arg;
	s->started = false;
	s->length = 0;
	s->fill = 0;
	bottom_k_begin(&s->smallest, max);
}

/* How many of the windows that start at that place of the stream are given to
 * pick at once. */
static size_t part_of(const struct window_sample *s, size_t count, uint64_t at)
{
	size_t part = bottom_k_part(&s->smallest);
	size_t unit = WINDOW_SAMPLE_UNIT - at % WINDOW_SAMPLE_UNIT;

	part = count < part ? count : part;
	return part < unit ? part : unit;
}

/* In units of the stream. */
static uint32_t unit_of(uint64_t at)
{
	uint64_t unit = at / WINDOW_SAMPLE_UNIT;

	return unit < UINT32_MAX ? (uint32_t)unit : UINT32_MAX;
}

/* The windows within the bytes, which are at that place of the stream. */
static void scan(struct window_sample *s, const uint8_t *bytes, size_t len,
		 uint64_t at)
{
	struct bottom_k *b = &s->smallest;
	size_t count, part;

	if (len < s->window)
		return;
	for (count = len - s->window + 1; count > 0; count -= part) {
		part = part_of(s, count, at);
		bottom_k_add(b,
			     s->pick(s->arg, bytes, part, b->bound,
				     b->values + b->count),
			     unit_of(at));
		bytes += part;
		at += part;
	}
}

/*
 * How many windows of some bytes are distinct, if they are text: half of the
 * long ones, whatever their number; of short ones fewer the more there are, one
 * in three of 4 KiB, one in six of 256 KiB.  A guess that is too high makes
 * another scan necessary, one that is too low gives more hashes to sort.
 */
static uint64_t guess_distinct(const struct window_sample *s, size_t len)
{
	unsigned bits = 64 - (unsigned)__builtin_clzll(len);

	if (s->window >= WINDOW_SAMPLE_LONG || bits < 10)
		return len / 2;
	return len / (bits / 2 - 3);
}

/* The first bytes, which often are the whole file. */
static void scan_first(struct window_sample *s, const uint8_t *bytes,
		       size_t len)
{
	bottom_k_guess(&s->smallest, guess_distinct(s, len));
	do
		scan(s, bytes, len, s->length);
	while (!bottom_k_suffices(&s->smallest));
	s->started = true;
}

void window_sample_update(struct window_sample *s, const void *data, size_t len)
{
	const size_t before = s->window - 1;
	const uint8_t *bytes = data;
	uint8_t seam[2 * WINDOW_SAMPLE_MOST];
	size_t head = len < before ? len : before;

	if (len == 0)
		return;
	/* The first windows begin in the update before. */
	memcpy(seam, s->last, s->fill);
	memcpy(seam + s->fill, bytes, head);
	scan(s, seam, s->fill + head, s->length - s->fill);
	if (s->started)
		scan(s, bytes, len, s->length);
	else
		scan_first(s, bytes, len);
	s->length += len;
	if (len >= before) {
		s->fill = before;
		memcpy(s->last, bytes + len - before, before);
		return;
	}
	head += s->fill;
	s->fill = head < before ? head : before;
	memcpy(s->last, seam + head - s->fill, s->fill);
}

void window_sample_update_zeros(struct window_sample *s, uint64_t len)
{
	static const uint8_t zeros[2 * WINDOW_SAMPLE_MOST];

	size_t some = len < sizeof(zeros) ? (size_t)len : sizeof(zeros);

	/* One window of zeros is as good as many. */
	window_sample_update(s, zeros, some);
	s->length += len - some;
}
