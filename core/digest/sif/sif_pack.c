/* SPDX-License-Identifier: Apache-2.0 */
#include "core/digest/sif/sif.h"

#include <errno.h>
#include <string.h>

#include "core/base/bytes.h"
#include "core/digest/sif/sif_impl.h"

/*
 * The binary form of a sketch:
 *
 *	window           1 byte
 *	distinct         a number (core/base/bytes.h)
 *	windows          a number
 *	count            a number
 *	rest             a number
 *	rest_shift       1 byte, if there is a rest
 *	bits             the values, then the times
 *	places           6 bits for each value in full, if PLACED is set with
 *	                 the window
 *
 * Bits are filled in from the lowest of each byte on; the unused ones of the last
 * byte are 0.
 *
 * Values are ascending and as good as random, so what lies between one and the
 * next is written by Rice's code: with n lower bits as they are, behind them as
 * many zeros as the upper bits say, and a one.  n follows from the last value
 * in full.  So a value takes 1.5 bits more than the logarithm of the mean gap.
 * A gap of 2^n * RICE_ZEROS and more, as only a file that was made for it has,
 * is RICE_ZEROS zeros, a one, and the gap in SIF_BITS bits.
 *
 * Values in full are rounded.  Without the bits that the last one lacks, they
 * are written like this; then follow those of these bits that a smaller value
 * has, of which there is one a value on average.
 *
 * Most windows occur once.  Those that do not are a list: how many, the gaps
 * between their places by Rice's code, and for each its times, as one of the
 * numbers that sif_round() knows, by Elias' gamma code.
 *
 * There is one form for each sketch, which is compared by its bytes elsewhere.
 */
#define RICE_ZEROS 20
#define LACKING_BITS 5
#define LOW_BITS 5
#define PAD 16 /* bytes that can be read behind the end */

/* ---- bits ---- */

struct bit_writer {
	uint8_t *to;
	uint64_t held; /* fewer than 8 bits, but within put_bits() */
	unsigned count;
};

/* At most 56 of them. */
static inline void put_bits(struct bit_writer *w, uint64_t bits, unsigned count)
{
	w->held |= bits << w->count;
	w->count += count;
	store_word(w->to, w->held);
	w->to += w->count / 8;
	w->held >>= w->count & ~7u;
	w->count &= 7;
}

static inline void put_rice(struct bit_writer *w, uint64_t number, unsigned low)
{
	uint64_t zeros = number >> low;

	if (zeros + 1 + low <= 56 && zeros < RICE_ZEROS) {
		number &= (UINT64_C(1) << low) - 1;
		put_bits(w, (number << 1 | 1) << zeros,
			 (unsigned)zeros + 1 + low);
		return;
	}
	if (zeros < RICE_ZEROS) {
		put_bits(w, UINT64_C(1) << zeros, (unsigned)zeros + 1);
		put_bits(w, number & ((UINT64_C(1) << low) - 1), low);
		return;
	}
	put_bits(w, UINT64_C(1) << RICE_ZEROS, RICE_ZEROS + 1);
	put_bits(w, number, SIF_BITS);
}

static void put_gamma(struct bit_writer *w, uint32_t number)
{
	unsigned length = 31 - (unsigned)__builtin_clz(number);

	put_bits(w, UINT64_C(1) << length, length + 1);
	put_bits(w, number & ((UINT32_C(1) << length) - 1), length);
}

struct bit_reader {
	const uint8_t *from; /* PAD bytes longer than they are */
	size_t at, end;      /* in bits */
};

/* At least 57 of the next bits; those behind the end are 0. */
static inline uint64_t peek_bits(const struct bit_reader *r)
{
	return load_word(r->from + r->at / 8) >> r->at % 8;
}

static inline uint64_t get_bits(struct bit_reader *r, unsigned count)
{
	uint64_t bits = peek_bits(r) & ((UINT64_C(1) << count) - 1);

	r->at += count;
	return bits;
}

/* False when it goes past the end, or is not as put_rice() writes it. */
static inline bool get_rice(struct bit_reader *r, unsigned low, uint64_t *out)
{
	uint64_t bits = peek_bits(r) | UINT64_C(1) << (RICE_ZEROS + 1);
	unsigned zeros = (unsigned)__builtin_ctzll(bits);

	r->at += zeros + 1;
	if (r->at > r->end || zeros > RICE_ZEROS)
		return false;
	if (zeros < RICE_ZEROS) {
		*out = (uint64_t)zeros << low | get_bits(r, low);
		return r->at <= r->end;
	}
	*out = get_bits(r, SIF_BITS);
	return r->at <= r->end && *out >> low >= RICE_ZEROS;
}

static bool get_gamma(struct bit_reader *r, uint32_t *out)
{
	uint64_t bits = peek_bits(r) | UINT64_C(1) << (RICE_ZEROS + 1);
	unsigned length = (unsigned)__builtin_ctzll(bits);

	if (length > RICE_ZEROS)
		return false;
	r->at += length + 1;
	if (r->at > r->end)
		return false;
	*out = UINT32_C(1) << length | (uint32_t)get_bits(r, length);
	return r->at <= r->end;
}

/* The lower bits of gaps for which the code is shortest: the places in a range
 * of count numbers. */
static unsigned low_bits(uint64_t range, uint64_t count)
{
	return range > count ? 63 - (unsigned)__builtin_clzll(range / count) :
			       0;
}

/* Of the values in full, without the bits that the last one lacks. */
static unsigned low_bits_in_full(const struct sif_sketch *s)
{
	uint64_t last = s->values[s->count - 1];

	return low_bits((last >> sif_dropped_bits(last)) + 1, s->count);
}

/* How many of the bits that the last value lacks one has whose other bits are
 * upper. */
static inline unsigned lower_bits(uint64_t upper, unsigned lacking)
{
	unsigned has = upper ? 64 - (unsigned)__builtin_clzll(upper) : 0;

	return SIF_VALUE_BITS - has < lacking ? SIF_VALUE_BITS - has : lacking;
}

/* ---- times ---- */

/* The numbers that sif_round() knows, from 2 on, counted from 1. */
static uint32_t times_code(uint32_t times)
{
	unsigned length = 31 - (unsigned)__builtin_clz(times);

	return times < 32 ?
		       times - 1 :
		       31 + (length - 5) * 16 + (times >> (length - 4) & 15);
}

#define TIMES_CODES (30 + 27 * 16)

static uint32_t times_of_code(uint32_t code)
{
	if (code < 31)
		return code + 1;
	return (16 | (code - 31) % 16) << ((code - 31) / 16 + 1);
}

static size_t times_count(const struct sif_sketch *s)
{
	size_t i, count = 0;

	if (s->windows)
		for (i = 0; i < s->count + s->rest; i++)
			count += s->times[i] != 1;
	return count;
}

static void put_times(struct bit_writer *w, const struct sif_sketch *s)
{
	size_t i, next = 0, all = s->count + s->rest, more = times_count(s);
	unsigned low;

	put_rice(w, more, 8);
	low = more ? low_bits(all, more) : 0;
	for (i = 0; more && i < all; i++) {
		if (s->times[i] == 1)
			continue;
		put_rice(w, i - next, low);
		put_gamma(w, times_code(s->times[i]));
		next = i + 1;
	}
}

static bool get_times(struct bit_reader *r, struct sif_sketch *s)
{
	size_t i, all = s->count + s->rest, next = 0;
	uint64_t more, gap;
	uint32_t code;
	unsigned low;

	for (i = 0; i < all; i++)
		s->times[i] = 1;
	if (!get_rice(r, 8, &more) || more > all || (more && !s->windows))
		return false;
	low = more ? low_bits(all, more) : 0;
	for (; more; more--) {
		if (!get_rice(r, low, &gap) || !get_gamma(r, &code) ||
		    gap >= all - next || code > TIMES_CODES)
			return false;
		next += gap;
		s->times[next++] = times_of_code(code);
	}
	return true;
}

/* ---- values ---- */

static void put_in_full(struct bit_writer *w, const struct sif_sketch *s,
			unsigned lacking, unsigned low)
{
	uint64_t before = 0, upper, lower;
	unsigned count;
	size_t i;

	for (i = 0; i < s->count; i++) {
		upper = s->values[i] >> lacking;
		put_rice(w, upper - before, low);
		before = upper;
		count = lower_bits(upper, lacking);
		lower = s->values[i] >> (lacking - count);
		put_bits(w, lower & ((UINT64_C(1) << count) - 1), count);
	}
}

/* Bits between two values of the rest. */
static unsigned low_bits_of_rest(const struct sif_sketch *s)
{
	unsigned low = low_bits(s->values[s->count - 1] + 1, s->count);

	return low > s->rest_shift ? low - s->rest_shift : 0;
}

static void put_values(struct bit_writer *w, const struct sif_sketch *s)
{
	const uint64_t *rest = s->values + s->count;
	uint64_t before, last = s->values[s->count - 1];
	unsigned low = low_bits_in_full(s), lacking = sif_dropped_bits(last);
	size_t i;

	put_bits(w, lacking, LACKING_BITS);
	put_bits(w, low, LOW_BITS);
	put_in_full(w, s, lacking, low);
	before = last >> s->rest_shift;
	low = low_bits_of_rest(s);
	for (i = 0; i < s->rest; i++) {
		put_rice(w, (rest[i] >> s->rest_shift) - before, low);
		before = rest[i] >> s->rest_shift;
	}
}

/* No value can be too large for the next sum, as all of them are checked. */
static bool get_in_full(struct bit_reader *r, struct sif_sketch *s)
{
	unsigned lacking = (unsigned)get_bits(r, LACKING_BITS);
	unsigned low = (unsigned)get_bits(r, LOW_BITS), count;
	const uint64_t most = (UINT64_C(1) << SIF_VALUE_BITS) - 1;
	uint64_t upper = 0, gap;
	size_t i;

	if (lacking > SIF_BITS - SIF_VALUE_BITS)
		return false;
	for (i = 0; i < s->count; i++) {
		if (!get_rice(r, low, &gap) || gap > most - upper)
			return false;
		upper += gap;
		count = lower_bits(upper, lacking);
		s->values[i] = (upper << count | get_bits(r, count))
			       << (lacking - count);
	}
	return low == low_bits_in_full(s) &&
	       lacking == sif_dropped_bits(s->values[s->count - 1]);
}

static bool get_rest(struct bit_reader *r, struct sif_sketch *s)
{
	const uint64_t most = (UINT64_C(1) << SIF_BITS) - 1;
	unsigned low = low_bits_of_rest(s), shift = s->rest_shift;
	uint64_t value = s->values[s->count - 1] >> shift, gap;
	size_t i;

	for (i = s->count; i < s->count + s->rest; i++) {
		if (!get_rice(r, low, &gap) || gap > (most >> shift) - value)
			return false;
		value += gap;
		s->values[i] = value << shift;
	}
	return true;
}

/* ---- all ---- */

size_t sif_pack_body(const struct sif_sketch *s, uint8_t *bytes)
{
	uint8_t *p = bytes;
	struct bit_writer w;

	p += store_varint(p, s->windows);
	p += store_varint(p, s->count);
	p += store_varint(p, s->rest);
	if (s->rest)
		*p++ = (uint8_t)s->rest_shift;
	w = (struct bit_writer){ .to = p };
	if (!s->count)
		return (size_t)(p - bytes);
	put_values(&w, s);
	put_times(&w, s);
	return (size_t)(w.to - bytes) + (w.count > 0);
}

static bool read_body(const uint8_t *from, size_t len, size_t padded_from,
		      struct sif_sketch *out)
{
	struct bit_reader r = { .from = from,
				.at = 8 * padded_from,
				.end = 8 * len };

	return get_in_full(&r, out) && get_rest(&r, out) &&
	       get_times(&r, out) && r.end - r.at < 8 && peek_bits(&r) == 0;
}

bool sif_unpack_body(const uint8_t *bytes, size_t len, struct sif_sketch *out)
{
	uint8_t padded[SIF_PACKED_MAX + PAD];
	const uint8_t *at = bytes, *end = bytes + len;
	uint64_t count, rest;

	if (len > SIF_PACKED_MAX || !load_varint(&at, end, &out->windows) ||
	    !load_varint(&at, end, &count) || !load_varint(&at, end, &rest) ||
	    count > SIF_MAX_VALUES || rest > SIF_MAX_VALUES - count)
		return false;
	out->count = count;
	out->rest = rest;
	out->rest_shift = 0;
	if (rest && at < end)
		out->rest_shift = *at++;
	if (out->rest_shift >= SIF_BITS || (rest && !count))
		return false;
	if (count) {
		memcpy(padded, bytes, len);
		memset(padded + len, 0, PAD);
		if (!read_body(padded, len, (size_t)(at - bytes), out))
			return false;
	} else if (at != end) {
		return false;
	}
	return sif_is_sound(out);
}

/* ---- places ---- */

#define PLACED 0x80 /* with the window */
#define PLACE_BITS 6

static size_t places_bytes(uint64_t count)
{
	return (size_t)(count * PLACE_BITS + 7) / 8;
}

static size_t put_places(const struct sif_sketch *s, uint8_t *bytes)
{
	struct bit_writer w = { .to = bytes };
	size_t i;

	for (i = 0; i < s->count; i++)
		put_bits(&w, s->places[i], PLACE_BITS);
	return places_bytes(s->count);
}

/* The number of values in full, as a body says it. */
static bool read_count(const uint8_t *at, const uint8_t *end, uint64_t *out)
{
	uint64_t windows;

	return load_varint(&at, end, &windows) && load_varint(&at, end, out) &&
	       *out > 0 && *out <= SIF_MAX_VALUES;
}

/* Takes the places off the end of a body. */
static bool get_places(const uint8_t *at, const uint8_t **end,
		       struct sif_sketch *out)
{
	uint8_t padded[SIF_MAX_VALUES * PLACE_BITS / 8 + PAD] = { 0 };
	struct bit_reader r = { .from = padded };
	uint64_t count;
	size_t i, len;

	if (!read_count(at, *end, &count))
		return false;
	len = places_bytes(count);
	if ((size_t)(*end - at) < len)
		return false;
	*end -= len;
	memcpy(padded, *end, len);
	for (i = 0; i < count; i++)
		out->places[i] = (uint8_t)get_bits(&r, PLACE_BITS);
	return get_bits(&r, 8) == 0;
}

size_t sif_pack(const struct sif_sketch *sketch, uint8_t *bytes)
{
	uint8_t *p = bytes;

	*p++ = (uint8_t)(sketch->window | (sketch->is_placed ? PLACED : 0));
	p += store_varint(p, sketch->distinct);
	p += sif_pack_body(sketch, p);
	if (sketch->is_placed)
		p += put_places(sketch, p);
	return (size_t)(p - bytes);
}

int sif_unpack(const uint8_t *bytes, size_t len, struct sif_sketch *out)
{
	const uint8_t *at = bytes, *end = bytes + len;

	if (!len)
		return -EINVAL;
	out->is_placed = *at & PLACED;
	out->window = *at++ & ~PLACED;
	if (!load_varint(&at, end, &out->distinct) ||
	    (out->is_placed && !get_places(at, &end, out)))
		return -EINVAL;
	return sif_unpack_body(at, (size_t)(end - at), out) ? 0 : -EINVAL;
}
