/* SPDX-License-Identifier: Apache-2.0 */
#include "core/digest/simhash.h"

#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "core/kernel/kernel.h"

/* Windows whose keys are taken together. */
#define BATCH 1024

/* ---- the set of keys ---- */

static void clear_slots(struct simhash *s, size_t slot_count)
{
	memset(s->set.slots, 0, slot_count * sizeof(s->set.slots[0]));
	s->set.slot_count = slot_count;
	s->set.count = 0;
}

/* Drops the keys above the limit; slot_count as in window.h. */
static void sift(struct simhash *s, size_t slot_count)
{
	size_t strays = s->ops->sift(&s->set, slot_count, s->limit, s->scratch);

	s->ops->insert(&s->set, s->scratch, strays);
}

/* Room for so many new windows, at most three quarters full; the largest table
 * is cut down when it becomes too full. */
static void reserve(struct simhash *s, size_t more)
{
	size_t slot_count = s->set.slot_count;

	while (slot_count < SIMHASH_MAX_SLOTS &&
	       slot_count / 4 * 3 <= s->set.count + more)
		slot_count *= 2;
	if (slot_count > s->set.slot_count && s->set.count == 0)
		clear_slots(s, slot_count);
	while (s->set.slot_count < slot_count)
		sift(s, s->set.slot_count * 2);
}

/*
 * The value that has rank smaller ones before it in order; rank < count.
 * Radix selection: what can not be the answer is dropped, byte after byte
 * from the top.  Reorders values.
 */
static uint64_t select_rank(uint64_t *values, size_t count, size_t rank)
{
	size_t histogram[256];
	size_t i, kept;
	unsigned byte;
	int shift;

	for (shift = 56; shift >= 0 && count > 1; shift -= 8) {
		memset(histogram, 0, sizeof(histogram));
		for (i = 0; i < count; i++)
			histogram[values[i] >> shift & 0xff]++;
		for (byte = 0; rank >= histogram[byte]; byte++)
			rank -= histogram[byte];
		kept = 0;
		for (i = 0; i < count; i++)
			if ((values[i] >> shift & 0xff) == byte)
				values[kept++] = values[i];
		count = kept;
	}
	return values[0];
}

/*
 * The key of the set that has rank smaller ones before it, looked for where it
 * should be: keys are spread evenly up to the limit.  0 when it is elsewhere.
 */
static uint64_t guess_rank(struct simhash *s, size_t rank)
{
	const size_t slack = SIMHASH_SAMPLE / 64;
	uint64_t step = s->limit / s->set.count;
	uint64_t low = step * (rank - slack), high = step * (rank + slack);
	size_t below, inside;

	if (rank + slack >= s->set.count)
		return 0;
	below = s->ops->between(s->set.slots, s->set.slot_count, 1, low,
				s->scratch);
	inside = s->ops->between(s->set.slots, s->set.slot_count, low + 1, high,
				 s->scratch);
	if (rank < below || rank >= below + inside)
		return 0;
	return select_rank(s->scratch, inside, rank - below);
}

/* Makes the limit the key of the last window that belongs to the sample.
 * Later windows can only bring it down further. */
static void lower_limit(struct simhash *s)
{
	size_t rank = SIMHASH_SAMPLE - 1 - s->has_zero;
	uint64_t limit = guess_rank(s, rank);

	if (limit == 0) {
		(void)s->ops->between(s->set.slots, s->set.slot_count, 1,
				      UINT64_MAX, s->scratch);
		limit = select_rank(s->scratch, s->set.count, rank);
	}
	s->limit = limit;
}

/* ---- the stream ---- */

/* Whether all windows are the same; the first two tell most often. */
static bool is_run(const uint8_t *bytes, size_t count)
{
	return memcmp(bytes, bytes + 1, SIMHASH_WINDOW - 1) == 0 &&
	       memcmp(bytes, bytes + 1, count + SIMHASH_WINDOW - 2) == 0;
}

static void add_batch(struct simhash *s, const uint8_t *bytes, size_t count)
{
	uint64_t keys[BATCH];
	size_t i, picked;

	if (is_run(bytes, count))
		count = 1;
	picked = s->ops->pick(bytes, count, 0, s->limit, keys);
	for (i = 0; i < picked; i++)
		s->has_zero |= keys[i] == 0;
	s->ops->insert(&s->set, keys, picked);
}

static void add_windows(struct simhash *s, const uint8_t *bytes, size_t count)
{
	size_t i, part;

	reserve(s, count);
	for (i = 0; i < count; i += part) {
		part = count - i < BATCH ? count - i : BATCH;
		add_batch(s, bytes + i, part);
		if (s->set.count >= SIMHASH_MAX_FILL) {
			lower_limit(s);
			sift(s, SIMHASH_MAX_SLOTS);
		}
	}
}

void simhash_init(struct simhash *s)
{
	uintptr_t begin = (uintptr_t)s->memory;
	size_t skip = -begin % WINDOW_ALIGN / sizeof(s->memory[0]);

	s->ops = kernel_best()->window;
	s->limit = UINT64_MAX;
	s->has_zero = false;
	s->tail_len = 0;
	s->set.slots = s->memory + skip;
	clear_slots(s, SIMHASH_MIN_SLOTS);
}

void simhash_update(struct simhash *s, const void *data, size_t len)
{
	const size_t most = SIMHASH_WINDOW - 1;
	const uint8_t *bytes = data;
	uint8_t seam[2 * SIMHASH_WINDOW];
	size_t head = len < most ? len : most;
	size_t seam_len = s->tail_len + head;

	/* First the windows that begin before data. */
	if (len == 0)
		return;
	memcpy(seam, s->tail, s->tail_len);
	memcpy(seam + s->tail_len, bytes, head);
	if (seam_len > most)
		add_windows(s, seam, seam_len - most);
	if (len > most)
		add_windows(s, bytes, len - most);

	if (len >= most) {
		memcpy(s->tail, bytes + len - most, most);
		s->tail_len = most;
	} else {
		s->tail_len = seam_len < most ? seam_len : most;
		memcpy(s->tail, seam + seam_len - s->tail_len, s->tail_len);
	}
}

/* ---- the result ---- */

/* Bit i is set where more than half of the values have it set. */
static uint64_t majority(const struct simhash *s, size_t count)
{
	uint32_t sums[64] = { 0 };
	uint64_t result = 0;
	size_t i;

	s->ops->sum(s->scratch, count, sums);
	for (i = 0; i < 64; i++)
		if (2 * (size_t)sums[i] > count)
			result |= UINT64_C(1) << i;
	return result;
}

uint64_t simhash_final(struct simhash *s)
{
	size_t count = s->set.count + s->has_zero;

	if (count == 0)
		return s->tail_len ? XXH3_64bits(s->tail, s->tail_len) : 0;
	if (count > SIMHASH_SAMPLE)
		lower_limit(s);
	count = s->ops->between(s->set.slots, s->set.slot_count, 1, s->limit,
				s->scratch);
	if (s->has_zero)
		s->scratch[count++] = 0;
	return majority(s, count);
}
