/* SPDX-License-Identifier: Apache-2.0 */
#include "core/digest/simhash.h"

#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

/* Windows that are looked up together. */
#define BATCH 64

/* A window is kept as its 8 bytes, in the machine's own order. */

static inline uint64_t load_window(const uint8_t *bytes)
{
	uint64_t window;

	memcpy(&window, bytes, sizeof(window));
	return window;
}

static inline uint64_t window_key(uint64_t window)
{
	return XXH3_64bits_withSeed(&window, sizeof(window), 1);
}

static inline uint64_t window_value(uint64_t window)
{
	return XXH3_64bits(&window, sizeof(window));
}

/* ---- the set of windows: open addressing, linear probing ---- */

/*
 * The slot of a window, or the empty one where it belongs.  Keys in the set
 * share their high bits, so the low ones place them.  One test for "empty" and
 * "found": which of them it is no processor can foresee.
 */
static inline uint64_t *find_slot(uint64_t *slots, size_t mask, uint64_t window,
				  uint64_t key)
{
	size_t i = key & mask;

	while ((slots[i] != 0) & (slots[i] != window))
		i = (i + 1) & mask;
	return &slots[i];
}

static void clear_slots(struct simhash *s, size_t slot_count)
{
	memset(s->slots, 0, slot_count * sizeof(s->slots[0]));
	s->slot_count = slot_count;
}

/* Writes the windows with keys up to the limit to scratch.  No branches: they
 * could not be foreseen either. */
static size_t collect_windows(struct simhash *s)
{
	size_t i, kept = 0, count = s->has_zero;

	s->scratch[0] = 0;
	for (i = 0; i < s->slot_count; i++) {
		s->scratch[count] = s->slots[i];
		count += s->slots[i] != 0;
	}
	if (s->limit == UINT64_MAX)
		return count;
	for (i = 0; i < count; i++) {
		s->scratch[kept] = s->scratch[i];
		kept += window_key(s->scratch[i]) <= s->limit;
	}
	return kept;
}

/* Moves the windows with keys up to the limit to a table of slot_count. */
static void rebuild(struct simhash *s, size_t slot_count)
{
	size_t i;
	uint64_t window;

	s->count = collect_windows(s);
	s->has_zero = s->count > 0 && s->scratch[0] == 0;
	clear_slots(s, slot_count);
	for (i = s->has_zero; i < s->count; i++) {
		window = s->scratch[i];
		*find_slot(s->slots, slot_count - 1, window,
			   window_key(window)) = window;
	}
}

/* Room for so many new windows, at most half full; the largest table is cut
 * down when it becomes too full. */
static void reserve(struct simhash *s, size_t more)
{
	size_t slot_count = s->slot_count;

	while (slot_count < SIMHASH_MAX_SLOTS &&
	       slot_count / 2 <= s->count + more)
		slot_count *= 2;
	if (slot_count > s->slot_count)
		rebuild(s, slot_count);
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

/* Makes the limit the key of the last window that belongs to the sample.
 * Later windows can only bring it down further. */
static void lower_limit(struct simhash *s)
{
	size_t i, count = collect_windows(s);

	for (i = 0; i < count; i++)
		s->scratch[i] = window_key(s->scratch[i]);
	s->limit = select_rank(s->scratch, count, SIMHASH_SAMPLE - 1);
}

/* ---- the stream ---- */

static void add_zero(struct simhash *s)
{
	s->count += !s->has_zero;
	s->has_zero = true;
}

static inline void add_window(struct simhash *s, uint64_t window, uint64_t key)
{
	uint64_t *slot = find_slot(s->slots, s->slot_count - 1, window, key);

	s->count += *slot == 0;
	*slot = window;
}

/* Windows that may belong to the sample. */
struct batch {
	uint64_t windows[BATCH];
	uint64_t keys[BATCH];
	size_t count;
};

/* Picks those of count windows, at most BATCH, that are within the limit, and
 * has their slots fetched: the table is larger than the nearest cache. */
static inline void pick_windows(const struct simhash *s, const uint8_t *bytes,
				size_t count, struct batch *out)
{
	size_t mask = s->slot_count - 1;
	uint64_t limit = s->limit;
	size_t i, picked = 0;

	for (i = 0; i < count; i++) {
		out->windows[picked] = load_window(bytes + i);
		out->keys[picked] = window_key(out->windows[picked]);
		picked += out->keys[picked] <= limit;
	}
	for (i = 0; i < picked; i++)
		__builtin_prefetch(&s->slots[out->keys[i] & mask], 1);
	out->count = picked;
}

static void add_batch(struct simhash *s, const struct batch *batch)
{
	size_t i;

	for (i = 0; i < batch->count; i++) {
		if (batch->windows[i] == 0)
			add_zero(s);
		else
			add_window(s, batch->windows[i], batch->keys[i]);
	}
}

static void add_windows(struct simhash *s, const uint8_t *bytes, size_t count)
{
	struct batch batch;
	size_t i, part;

	reserve(s, count);
	for (i = 0; i < count; i += part) {
		part = count - i < BATCH ? count - i : BATCH;
		pick_windows(s, bytes + i, part, &batch);
		add_batch(s, &batch);
		if (s->count >= SIMHASH_MAX_FILL) {
			lower_limit(s);
			rebuild(s, SIMHASH_MAX_SLOTS);
		}
	}
}

void simhash_init(struct simhash *s)
{
	s->limit = UINT64_MAX;
	s->count = 0;
	s->has_zero = false;
	s->tail_len = 0;
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

/* Adds three words bit by bit: returns the low bits of the sums. */
static inline uint64_t add_bits(uint64_t a, uint64_t b, uint64_t c,
				uint64_t *carry_out)
{
	uint64_t half = a ^ b;

	*carry_out = (a & b) | (half & c);
	return half ^ c;
}

/*
 * Bit by bit sums of the values of many windows.  Bit i of low[k] is bit k of
 * the sum for bit i.  What carries beyond goes to bytes: byte i of bytes[b]
 * counts, in eights, bit b of byte i.
 */
struct sums {
	uint64_t low[3];
	uint64_t bytes[8];
};

static inline void add_eight(struct sums *s, const uint64_t *windows)
{
	const uint64_t ones = 0x0101010101010101;
	uint64_t v[8], twos[4], fours[2], eights;
	unsigned i;

	for (i = 0; i < 8; i++)
		v[i] = window_value(windows[i]);
	for (i = 0; i < 4; i++)
		s->low[0] =
			add_bits(s->low[0], v[2 * i], v[2 * i + 1], &twos[i]);
	for (i = 0; i < 2; i++)
		s->low[1] = add_bits(s->low[1], twos[2 * i], twos[2 * i + 1],
				     &fours[i]);
	s->low[2] = add_bits(s->low[2], fours[0], fours[1], &eights);
	for (i = 0; i < 8; i++)
		s->bytes[i] += eights >> i & ones;
}

/* counts[i]: how many values of the windows have bit i set.  At most 2040
 * windows, so that no byte of the sums overflows. */
static void count_bits(const uint64_t *windows, size_t count,
		       uint32_t counts[64])
{
	struct sums s = { 0 };
	uint64_t value;
	size_t i;
	unsigned bit;

	for (i = 0; i + 8 <= count; i += 8)
		add_eight(&s, windows + i);
	for (bit = 0; bit < 64; bit++)
		counts[bit] += (uint32_t)(8 * (s.bytes[bit % 8] >> bit / 8 * 8 &
					       0xff) +
					  4 * (s.low[2] >> bit & 1) +
					  2 * (s.low[1] >> bit & 1) +
					  (s.low[0] >> bit & 1));
	for (; i < count; i++) {
		value = window_value(windows[i]);
		for (bit = 0; bit < 64; bit++)
			counts[bit] += (uint32_t)(value >> bit & 1);
	}
}

/* Bit i is set where more than half of the values have it set. */
static uint64_t majority(const uint64_t *windows, size_t count)
{
	uint32_t counts[64] = { 0 };
	uint64_t result = 0;
	size_t i, part;

	for (i = 0; i < count; i += part) {
		part = count - i < 2040 ? count - i : 2040;
		count_bits(windows + i, part, counts);
	}
	for (i = 0; i < 64; i++)
		if (2 * (size_t)counts[i] > count)
			result |= UINT64_C(1) << i;
	return result;
}

uint64_t simhash_final(struct simhash *s)
{
	if (s->count == 0)
		return s->tail_len ? XXH3_64bits(s->tail, s->tail_len) : 0;
	if (s->count > SIMHASH_SAMPLE)
		lower_limit(s);
	return majority(s->scratch, collect_windows(s));
}
