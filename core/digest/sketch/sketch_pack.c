/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "core/digest/sketch/sketch.h"

/*
 * The binary form of a sketch:
 *
 *	level       1 byte, with PLACED if there are places and UNION if there
 *	            are values and the number of windows is not known
 *	folded      a number (core/base/bytes.h)
 *	repeats     a number, the windows of one repeated byte; not of a union
 *	count       a number
 *	bits        values, times, places; from the lowest bit of each byte on,
 *	            the unused ones of the last byte are 0
 *
 * Values are ascending and as good as random, so what lies between one and the
 * next is written by Rice's code: as many zeros as the upper bits say, a one,
 * and the lower bits as they are.  Their number follows from level and count;
 * it makes the zeros of all values at most four to a value, even if somebody
 * has made a content whose values lie far apart.
 *
 * This is done with the highest SKETCH_VALUE_BITS bits that a value of the level
 * can have, the upper bits.  Smaller values have more bits, which follow those
 * of the value; there is one of them a value on average.  For example, with
 * three bits for a value: of 1010000, 0110100 and 0001101, the upper bits are
 * 101, 011 and 000; the second has one bit more, 0, and the third has three,
 * which are 110.
 *
 * Most windows occur once.  The others are a list: how many, the gaps between
 * their numbers by Rice's code, and with each its times, numbered in the order
 * of those that sketch_round_times() knows.  How many and times are written by
 * Elias' gamma code.  Of a union there is no list.
 *
 * There is one form for each sketch, which is compared by its bytes elsewhere.
 */
#define PLACED 0x40
#define UNION 0x80
#define LEVEL_MASK 0x3f
#define PLACE_BITS 6

/* ---- bits ---- */

struct bit_sink {
	uint8_t *to;
	uint64_t held; /* fewer than 8 bits between calls */
	unsigned count;
};

/* At most 56; up to 8 bytes are written. */
static inline void put_bits(struct bit_sink *w, uint64_t bits, unsigned count)
{
	w->held |= bits << w->count;
	w->count += count;
	store_le64(w->to, w->held);
	w->to += w->count / 8;
	w->held >>= w->count & ~7u;
	w->count &= 7;
}

static inline uint64_t low_part(uint64_t number, unsigned bits)
{
	return number & ((UINT64_C(1) << bits) - 1);
}

static inline void put_rice(struct bit_sink *w, uint64_t number, unsigned low)
{
	uint64_t zeros = number >> low;

	for (; zeros > 28; zeros -= 28)
		put_bits(w, 0, 28);
	put_bits(w, (low_part(number, low) << 1 | 1) << zeros,
		 (unsigned)zeros + 1 + low);
}

/* 1 or more. */
static void put_gamma(struct bit_sink *w, uint32_t number)
{
	unsigned length = 31 - (unsigned)__builtin_clz(number);

	put_bits(w, UINT64_C(1) << length, length + 1);
	put_bits(w, low_part(number, length), length);
}

/* Behind the last byte all bits are 0; at can be there when it is not checked
 * yet. */
struct bit_source {
	const uint8_t *bytes;
	size_t len;
	size_t at; /* in bits */
};

#define PEEKED 56 /* bits, at least */

static inline uint64_t peek_bits(const struct bit_source *r)
{
	const size_t byte = r->at / 8;
	uint64_t bits = 0;
	size_t i;

	if (byte + 8 <= r->len)
		return load_le64(r->bytes + byte) >> r->at % 8;
	for (i = byte; i < r->len; i++)
		bits |= (uint64_t)r->bytes[i] << 8 * (i - byte);
	return bits >> r->at % 8;
}

static inline uint64_t get_bits(struct bit_source *r, unsigned count)
{
	uint64_t bits = low_part(peek_bits(r), count);

	r->at += count;
	return bits;
}

/* Skips zeros and the one behind them; returns the number of the zeros, or
 * UINT32_MAX if there is no one. */
static inline uint32_t get_zeros(struct bit_source *r)
{
	const size_t start = r->at;
	unsigned zeros;

	do {
		zeros = (unsigned)__builtin_ctzll(peek_bits(r) |
						  UINT64_C(1) << PEEKED);
		r->at += zeros;
	} while (zeros == PEEKED && r->at < 8 * r->len);
	return zeros == PEEKED ? UINT32_MAX : (uint32_t)(r->at++ - start);
}

/* UINT64_MAX, or another number that is larger than any, when there is none. */
static inline uint64_t get_rice(struct bit_source *r, unsigned low)
{
	uint64_t zeros = get_zeros(r);

	return zeros == UINT32_MAX ? UINT64_MAX :
				     zeros << low | get_bits(r, low);
}

/* 0: there is none. */
static uint32_t get_gamma(struct bit_source *r)
{
	uint32_t length = get_zeros(r);

	return length > 31 ?
		       0 :
		       UINT32_C(1) << length | (uint32_t)get_bits(r, length);
}

/* The lower bits for which Rice's code is shortest, of count numbers in a
 * range. */
static unsigned rice_bits(uint64_t range, uint64_t count)
{
	return range > count ? 63 - (unsigned)__builtin_clzll(range / count) :
			       0;
}

/* ---- values ---- */

/* Bits of the values of a level that are below the upper ones. */
static unsigned lower_bits(unsigned level)
{
	unsigned bits = SKETCH_KEY_BITS - level;

	return bits > SKETCH_VALUE_BITS ? bits - SKETCH_VALUE_BITS : 0;
}

/* How many of these a value with such upper bits has. */
static inline unsigned more_bits(uint64_t upper, unsigned lower)
{
	unsigned more = SKETCH_VALUE_BITS;

	if (upper)
		more -= 64 - (unsigned)__builtin_clzll(upper);
	return more < lower ? more : lower;
}

static void put_values(struct bit_sink *w, const struct sketch *s)
{
	const unsigned lower = lower_bits(s->level);
	const unsigned low =
		rice_bits(sketch_bound(s->level) >> lower, s->count);
	uint64_t before = 0, upper;
	unsigned more;
	size_t i;

	for (i = 0; i < s->count; i++) {
		upper = s->values[i] >> lower;
		put_rice(w, upper - before, low);
		more = more_bits(upper, lower);
		put_bits(w, low_part(s->values[i] >> (lower - more), more),
			 more);
		before = upper;
	}
}

static bool get_values(struct bit_source *r, struct sketch *s)
{
	const unsigned lower = lower_bits(s->level);
	const uint64_t range = sketch_bound(s->level) >> lower;
	const unsigned low = rice_bits(range, s->count);
	uint64_t gap, upper = 0;
	unsigned more;
	size_t i;

	for (i = 0; i < s->count; i++) {
		gap = get_rice(r, low);
		if (gap >= range - upper)
			return false;
		upper += gap;
		more = more_bits(upper, lower);
		s->values[i] = (upper << more | get_bits(r, more))
			       << (lower - more);
		if (i && s->values[i] <= s->values[i - 1])
			return false;
	}
	return true;
}

/* ---- times ---- */

/* The numbers that sketch_round_times() knows, counted from 0 for 1. */
static uint32_t times_code(uint32_t times)
{
	unsigned length = 31 - (unsigned)__builtin_clz(times);

	return times < 32 ?
		       times - 1 :
		       31 + (length - 5) * 16 + (times >> (length - 4) & 15);
}

#define TIMES_CODES (30 + 27 * 16) /* the largest */

static uint32_t times_of_code(uint32_t code)
{
	if (code < 31)
		return code + 1;
	return (16 | (code - 31) % 16) << ((code - 31) / 16 + 1);
}

static void put_times(struct bit_sink *w, const struct sketch *s)
{
	uint32_t more = 0;
	size_t i, next = 0;
	unsigned low;

	for (i = 0; i < s->count; i++)
		more += s->times[i] != 1;
	put_gamma(w, more + 1);
	low = more ? rice_bits(s->count, more) : 0;
	for (i = 0; more && i < s->count; i++) {
		if (s->times[i] == 1)
			continue;
		put_rice(w, i - next, low);
		put_gamma(w, times_code(s->times[i]));
		next = i + 1;
	}
}

/* All windows are no more than the content has. */
static bool get_times(struct bit_source *r, struct sketch *s)
{
	uint32_t code, more = get_gamma(r);
	uint64_t gap, sum = s->count;
	size_t next = 0;
	unsigned low;

	if (!more || --more > s->count)
		return false;
	low = more ? rice_bits(s->count, more) : 0;
	for (; more; more--) {
		gap = get_rice(r, low);
		code = get_gamma(r);
		if (gap >= s->count - next || !code || code > TIMES_CODES)
			return false;
		next += gap;
		s->times[next] = times_of_code(code);
		sum += s->times[next++] - 1;
	}
	return sum <= s->windows;
}

/* ---- all ---- */

static bool is_union(const struct sketch *s)
{
	return s->count && !s->windows;
}

size_t sketch_pack(const struct sketch *s,
		   uint8_t bytes[static SKETCH_PACKED_MAX])
{
	uint8_t *p = bytes;
	struct bit_sink w;
	size_t i;

	*p++ = (uint8_t)(s->level | (s->is_placed ? PLACED : 0) |
			 (is_union(s) ? UNION : 0));
	p += store_varint(p, s->folded);
	if (!is_union(s))
		p += store_varint(p,
				  sketch_windows_most(s->folded) - s->windows);
	p += store_varint(p, s->count);
	w = (struct bit_sink){ .to = p };
	if (!s->count)
		return (size_t)(p - bytes);
	put_values(&w, s);
	if (s->windows)
		put_times(&w, s);
	for (i = 0; s->is_placed && i < s->count; i++)
		put_bits(&w, s->places[i], PLACE_BITS);
	return (size_t)(w.to - bytes) + (w.count > 0);
}

static bool get_head(const uint8_t **at, const uint8_t *end, struct sketch *out)
{
	uint64_t most, repeats, count;
	uint8_t first;

	if (*at == end)
		return false;
	first = *(*at)++;
	out->level = first & LEVEL_MASK;
	out->is_placed = first & PLACED;
	out->bytes = 0;
	if (out->level > SKETCH_KEY_BITS || !load_varint(at, end, &out->folded))
		return false;
	most = repeats = sketch_windows_most(out->folded);
	if ((!(first & UNION) && !load_varint(at, end, &repeats)) ||
	    repeats > most || !load_varint(at, end, &count))
		return false;
	out->windows = most - repeats;
	if (count > most ||
	    count > (first & UNION ? SKETCH_MOST : sketch_most(out->folded)))
		return false;
	out->count = count;
	return is_union(out) == ((first & UNION) != 0) &&
	       (out->level || out->count || !out->windows) &&
	       (!out->is_placed ||
		(out->windows && out->count && out->folded >= SKETCH_PLACED));
}

static bool get_body(struct bit_source *r, struct sketch *out)
{
	size_t i;

	for (i = 0; i < out->count; i++)
		out->times[i] = 1;
	if (out->count &&
	    (!get_values(r, out) || (out->windows && !get_times(r, out))))
		return false;
	for (i = 0; out->is_placed && i < out->count; i++)
		out->places[i] = (uint8_t)get_bits(r, PLACE_BITS);
	return r->at <= 8 * r->len && 8 * r->len - r->at < 8 &&
	       peek_bits(r) == 0;
}

int sketch_unpack(const uint8_t *bytes, size_t len, struct sketch *out)
{
	const uint8_t *at = bytes, *end = bytes + len;
	struct bit_source r;

	if (!get_head(&at, end, out))
		return -EINVAL;
	r = (struct bit_source){ .bytes = at, .len = (size_t)(end - at) };
	return get_body(&r, out) ? 0 : -EINVAL;
}
