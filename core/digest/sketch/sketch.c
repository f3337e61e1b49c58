/* SPDX-License-Identifier: Apache-2.0 */
#include "core/digest/sketch/sketch.h"

#include <stdlib.h>
#include <string.h>

#include "core/kernel/kernel.h"

/*
 * Pieces of the content are folded and scanned for windows whose filter says
 * that they may be in the sample; only of these the key is computed.  These
 * windows are collected, sorted and united with the sample, whose level rises
 * as keys become too many.  It never falls: so the level at which a slice is
 * scanned must not be above the level of the sketch of that slice.
 */

#define INDEX_BITS 16 /* of a window's number, below its key */

static uint64_t key_of(const uint8_t *window, uint32_t filter)
{
	uint64_t u = load_le64(window), v = load_le64(window + 8);
	__uint128_t x = (__uint128_t)(u ^ UINT64_C(0x9fb21c651e98df25)) *
			(v ^ UINT64_C(0xd6e8feb86659fd93));
	uint32_t low = (uint32_t)(x >> 64) ^ (uint32_t)x;

	return (uint64_t)filter << 16 | low >> 16;
}

/* The largest filter of a level.  Above 32 the rest of the key decides. */
static uint32_t filter_most(unsigned level)
{
	return level < 32 ? UINT32_MAX >> level : 0;
}

size_t sketch_most(uint64_t folded)
{
	uint64_t most = folded / SKETCH_RATE;

	if (most < SKETCH_LEAST)
		return SKETCH_LEAST;
	return most < SKETCH_MOST ? (size_t)most : SKETCH_MOST;
}

/* How many of the lowest bits of a key are not kept. */
static unsigned dropped_bits(uint64_t key)
{
	return key >> SKETCH_VALUE_BITS ?
		       64 - SKETCH_VALUE_BITS - (unsigned)__builtin_clzll(key) :
		       0;
}

uint32_t sketch_round_times(uint32_t times)
{
	unsigned dropped;

	if (times < 32)
		return times;
	dropped = 32 - 5 - (unsigned)__builtin_clz(times);
	return times >> dropped << dropped;
}

/* ---- the sample ---- */

static void fit(struct sketch_stream *s, size_t most)
{
	struct sketch_sample *sample = &s->samples[s->now];

	while (sample->count > most) {
		s->level++;
		sample->count = sketch_count_below(sample->keys, sample->count,
						   sketch_bound(s->level));
	}
}

static int by_key(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* By insertion, as there are few; but a content can be made for which they are
 * many. */
static void sort_bucket(uint64_t *keys, size_t count)
{
	size_t i, k, moves = 0;

	for (i = 1; i < count; i++) {
		const uint64_t key = keys[i];

		for (k = i; k > 0 && keys[k - 1] > key; k--)
			keys[k] = keys[k - 1];
		keys[k] = key;
		moves += i - k;
		if (moves > 32 * count) {
			qsort(keys, count, sizeof(*keys), by_key);
			return;
		}
	}
}

/* The pending windows by the first bits of their keys that differ. */
#define BUCKET_BITS 10

struct buckets {
	unsigned shift;
	uint16_t ends[1 << BUCKET_BITS];
};

static void fill_buckets(struct sketch_stream *s, struct buckets *b)
{
	unsigned bits = 31 - (unsigned)__builtin_clz((unsigned)s->pending);
	size_t i, key, end = 0;

	bits = bits < 1 ? 1 : bits > BUCKET_BITS ? BUCKET_BITS : bits;
	b->shift = 64 - bits - (s->level < 64 - bits ? s->level : 64 - bits);
	memset(b->ends, 0, sizeof(*b->ends) << bits);
	for (i = 0; i < s->pending; i++)
		b->ends[s->keys[i] >> b->shift]++;
	for (i = 0; i < (size_t)1 << bits; i++) {
		key = b->ends[i];
		b->ends[i] = (uint16_t)end; /* where it begins, so far */
		end += key;
	}
	for (i = 0; i < s->pending; i++)
		s->sorted[b->ends[s->keys[i] >> b->shift]++] = s->keys[i];
}

/* Unites the sample with the pending windows; a bucket is sorted when it is its
 * turn, as the sample may be full before. */
static void settle(struct sketch_stream *s)
{
	const struct sketch_sample *old = &s->samples[s->now];
	struct sketch_sample *new = &s->samples[!s->now];
	struct buckets buckets;
	size_t i = 0, end = 0, j = 0, n;

	if (!s->pending)
		return;
	fill_buckets(s, &buckets);
	for (n = 0; n <= s->most; n++) {
		uint64_t key = UINT64_MAX, last = 0, at;
		uint32_t times = 0;

		if (i == end && end < s->pending) {
			end = buckets.ends[s->sorted[i] >> buckets.shift];
			sort_bucket(s->sorted + i, end - i);
		}
		if (i < end)
			key = s->sorted[i] >> INDEX_BITS;
		if (j < old->count && old->keys[j] <= key) {
			key = old->keys[j];
			last = old->last[j];
			times = old->times[j++];
		}
		if (key == UINT64_MAX)
			break;
		for (; i < end && s->sorted[i] >> INDEX_BITS == key; i++) {
			/* Not quite in the order of their places. */
			at = s->places[s->sorted[i] & ((1 << INDEX_BITS) - 1)];
			last = at > last ? at : last;
			times += times < UINT32_MAX;
		}
		new->keys[n] = key;
		new->last[n] = last;
		new->times[n] = times;
	}
	new->count = n;
	s->now = !s->now;
	s->pending = 0;
	fit(s, s->most);
}

/* ---- the stream ---- */

void sketch_begin(struct sketch_stream *s, uint64_t size)
{
	s->kernel = kernel_best()->sketch;
	s->size = size;
	s->most = sketch_most(size);
	s->is_begun = false;
	s->folded = s->repeats = 0;
	s->level = 0;
	s->carried = s->pending = 0;
	s->now = 0;
	s->samples[0].count = 0;
}

/* The windows of a piece: those found that are below the level are pending
 * then.  Without a branch on what cannot be foreseen. */
static void scan_piece(struct sketch_stream *s, size_t windows, uint64_t place)
{
	const unsigned shift = SKETCH_KEY_BITS - s->level;
	size_t i, n = s->pending;
	size_t found = s->kernel->scan(s->piece, windows, filter_most(s->level),
				       s->filters, s->found);

	for (i = 0; i < found; i++) {
		const uint8_t *window = s->piece + s->found[i];
		uint64_t key = key_of(window, s->filters[i]);

		s->keys[n] = key << INDEX_BITS | n;
		s->places[n] = place + s->found[i];
		n += !sketch_is_repeat(window) & (key >> shift == 0);
	}
	s->pending = n;
	s->repeats += s->kernel->count_repeats(s->piece, windows);
}

static void scan(struct sketch_stream *s, const uint8_t *bytes, size_t len)
{
	size_t part, all, windows;

	for (; len > 0; len -= part, bytes += part) {
		part = len < SKETCH_PIECE ? len : SKETCH_PIECE;
		all = s->carried +
		      s->kernel->fold(bytes, part, s->piece + s->carried);
		windows = all < SKETCH_WINDOW ? 0 : all - SKETCH_WINDOW + 1;
		if (windows)
			scan_piece(s, windows, s->folded - s->carried);
		s->folded += all - s->carried;
		s->carried = all - windows;
		memmove(s->piece, s->piece + windows, s->carried);
		if (s->pending >= SKETCH_FULL)
			settle(s);
	}
}

/* A level at which a little more than so many keys are expected of so many
 * bytes: five of eight begin a new window. */
static unsigned guess_level(size_t len, size_t keys)
{
	unsigned level = 0;

	while (level < 32 && len / 8 * 5 >> (level + 1) > keys + keys / 7)
		level++;
	return level;
}

/*
 * The first slice.  Its windows are most of those of a small content, and all
 * would be found at level 0.  So a level is guessed, which is not too high if
 * there are more keys than a sketch has; else once more at a lower one.
 */
static void scan_first(struct sketch_stream *s, const uint8_t *bytes,
		       size_t len)
{
	const bool is_all = len == s->size;
	unsigned level =
		guess_level(len, is_all ? sketch_most(len - len / 6) : s->most);
	size_t count, most;

	for (;;) {
		s->level = level;
		scan(s, bytes, len);
		settle(s);
		count = s->samples[s->now].count;
		most = is_all ? sketch_most(s->folded) : s->most;
		if (!level || s->level > level || count > most)
			return;
		do {
			level--;
			count *= 2;
		} while (level && count < most + most / 4);
		s->folded = s->repeats = 0;
		s->carried = 0;
		s->samples[s->now].count = 0;
	}
}

void sketch_update(struct sketch_stream *s, const void *data, size_t len)
{
	if (s->is_begun)
		scan(s, data, len);
	else if (len > 0)
		scan_first(s, data, len);
	s->is_begun |= len > 0;
}

/* ---- the result ---- */

static uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 32) * UINT64_C(0xd6e8feb86659fd93);
	x = (x ^ x >> 32) * UINT64_C(0xd6e8feb86659fd93);
	return x ^ x >> 32;
}

/*
 * Adds up all 64 columns at once.  sums[k] has bit k of the sum of each column;
 * held[k] is a word that waits for another one, if bit k of the number of words
 * so far is set.  When the other one comes, both and sums[k] are added: the
 * lower bit of that stays, the upper one is a word for sums[k + 1].
 *
 * For example, of the words 1, 1, 0, 1 of a single column: 1 waits; with the
 * second, 0 + 1 + 1 = 2, so sums[0] is 0 and a 1 waits at sums[1]; 0 waits; with
 * the fourth, 0 + 0 + 1 = 1, so sums[0] is 1, and the 0 for sums[1] meets the 1
 * there: sums[1] is 1, and together the sum is 3.
 */
#define SUM_BITS 12

static uint64_t simhash_of(const uint64_t *keys, size_t count)
{
	uint64_t sums[SUM_BITS] = { 0 }, held[SUM_BITS] = { 0 };
	uint64_t word, differ, more = 0, equal = UINT64_MAX;
	size_t i, k, half = count / 2;

	for (i = 0; i < count; i++) {
		word = mix(keys[i]);
		for (k = 0; i >> k & 1; k++) {
			differ = sums[k] ^ held[k];
			held[k] &= sums[k];
			held[k] |= differ & word;
			sums[k] = differ ^ word;
			word = held[k];
		}
		held[k] = word;
	}
	/* No other one comes. */
	for (word = 0, k = 0; k < SUM_BITS; k++) {
		differ = count >> k & 1 ? held[k] : 0;
		more = (sums[k] & differ) | ((sums[k] ^ differ) & word);
		sums[k] ^= differ ^ word;
		word = more;
	}
	for (more = 0, k = SUM_BITS; k-- > 0;) {
		word = half >> k & 1 ? UINT64_MAX : 0;
		more |= equal & sums[k] & ~word;
		equal &= ~(sums[k] ^ word);
	}
	return more;
}

static void add_value(struct sketch *out, uint64_t value, uint32_t times,
		      uint64_t last)
{
	size_t n = out->count;
	/* The last window of all begins before the end. */
	uint8_t place = (uint8_t)(last * SKETCH_PLACES / out->folded);

	if (n && out->values[n - 1] == value) {
		n--;
		times = UINT32_MAX - times < out->times[n] ?
				UINT32_MAX :
				times + out->times[n];
		place = place > out->places[n] ? place : out->places[n];
	}
	out->values[n] = value;
	out->times[n] = times;
	out->places[n] = place;
	out->count = n + 1;
}

void sketch_final(struct sketch_stream *s, struct sketch *out,
		  uint64_t *simhash_out)
{
	const struct sketch_sample *sample;
	size_t i;

	settle(s);
	fit(s, sketch_most(s->folded));
	sample = &s->samples[s->now];
	*simhash_out = simhash_of(sample->keys, sample->count);
	out->bytes = 0;
	out->folded = s->folded;
	out->windows = sketch_windows_most(s->folded) - s->repeats;
	out->level = s->level;
	out->count = 0;
	for (i = 0; i < sample->count; i++)
		add_value(out,
			  sample->keys[i] >>
				  dropped_bits(sample->keys[i])
					  << dropped_bits(sample->keys[i]),
			  sample->times[i], sample->last[i]);
	for (i = 0; i < out->count; i++)
		out->times[i] = sketch_round_times(out->times[i]);
	out->is_placed = out->count && out->folded >= SKETCH_PLACED;
}

/* ---- levels and unions ---- */

size_t sketch_count_at_level(const struct sketch *sketch, unsigned level)
{
	return sketch_count_below(sketch->values, sketch->count,
				  sketch_bound(level));
}

void sketch_raise(struct sketch *sketch, unsigned level)
{
	sketch->count = sketch_count_at_level(sketch, level);
	sketch->level = level;
	sketch->is_placed &= sketch->count > 0;
}

void sketch_cut(struct sketch *sketch, size_t most)
{
	while (sketch->count > most)
		sketch_raise(sketch, sketch->level + 1);
}

void sketch_merge(struct sketch *into, const struct sketch *from)
{
	uint64_t both[SKETCH_MOST + 1];
	size_t i = 0, j = 0, n;

	sketch_raise(into, sketch_joint_level(into, from));
	/* One more than a sketch has tells that the level must rise. */
	for (n = 0; n <= SKETCH_MOST; n++) {
		uint64_t x = i < into->count ? into->values[i] : UINT64_MAX;
		uint64_t y = j < from->count ? from->values[j] : UINT64_MAX;

		both[n] = x < y ? x : y;
		if (both[n] >= sketch_bound(into->level))
			break;
		i += x <= y;
		j += y <= x;
	}
	while (n > SKETCH_MOST)
		n = sketch_count_below(both, n, sketch_bound(++into->level));
	into->folded += from->folded;
	into->windows = 0;
	into->is_placed = false;
	into->count = n;
	memcpy(into->values, both, n * sizeof(*both));
	for (i = 0; i < n; i++)
		into->times[i] = 1;
}
