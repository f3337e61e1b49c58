/* SPDX-License-Identifier: Apache-2.0 */
#include "core/digest/sif/sif.h"

#include <errno.h>
#include <string.h>

#include "core/base/bytes.h"
#include "core/digest/sif/sif_bits.h"
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
 * Bits are filled in from the lowest of each byte on; the unused ones of the
 * last byte are 0.
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
#define LACKING_BITS 5
#define LOW_BITS 5

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

/*
 * Values in full are most of all that is read.  The next bits are held in a
 * word, which is filled up once a value, so that the place of a value in the
 * word does not wait for a load.
 */
struct value_reader {
	const uint8_t *from, *next; /* next: of the bytes not held in whole */
	uint64_t held;
	unsigned count; /* of the bits that are held */
	unsigned lacking, low;
	uint64_t upper; /* of the last value */
	uint64_t
		longer_from; /* upper bits that are one bit longer than these */
	unsigned lower;      /* lower_bits() of these */
};

static size_t value_reader_at(const struct value_reader *v)
{
	return 8 * (size_t)(v->next - v->from) - v->count;
}

static void value_reader_seek(struct value_reader *v, size_t at)
{
	v->next = v->from + at / 8 + 1;
	v->held = v->from[at / 8] >> at % 8;
	v->count = 8 - at % 8;
}

/* At least HELD bits; what is held beyond count is right, too. */
#define HELD 56

static inline void fill_up(struct value_reader *v)
{
	v->held |= load_word(v->next) << v->count;
	v->next += (63 - v->count) / 8;
	v->count |= HELD;
}

static inline void read_longer(struct value_reader *v)
{
	while (v->longer_from <= v->upper)
		v->longer_from *= 2;
	v->lower = lower_bits(v->upper, v->lacking);
}

/* Any gap, and the bits that follow it. */
static bool get_any_gap(struct value_reader *v, size_t end, uint64_t *gap)
{
	struct bit_reader r = { .from = v->from, .end = end };

	r.at = value_reader_at(v);
	if (r.at > end || !get_rice(&r, v->low, gap))
		return false;
	value_reader_seek(v, r.at);
	fill_up(v);
	return true;
}

/* Multiplications take the place of shifts by numbers that are not
 * constants. */
static inline bool get_value(struct value_reader *v, size_t end, uint64_t *out)
{
	const uint64_t most = (UINT64_C(1) << SIF_VALUE_BITS) - 1;
	const uint64_t low_unit = UINT64_C(1) << v->low;
	unsigned zeros, before;
	uint64_t gap, bits;

	fill_up(v);
	zeros = (unsigned)__builtin_ctzll(v->held |
					  UINT64_C(1) << (RICE_ZEROS + 1));
	before = zeros + 1 + v->low;
	if (before + v->lacking <= HELD && zeros < RICE_ZEROS) {
		bits = v->held >> (zeros + 1);
		gap = zeros * low_unit + (bits & (low_unit - 1));
		bits >>= v->low;
	} else if (get_any_gap(v, end, &gap)) {
		bits = v->held;
		before = 0;
	} else {
		return false;
	}
	if (gap > most - v->upper)
		return false;
	v->upper += gap;
	if (v->upper >= v->longer_from)
		read_longer(v);
	v->held >>= before + v->lower;
	v->count -= before + v->lower;
	bits &= (UINT64_C(1) << v->lower) - 1;
	*out = (v->upper << v->lower | bits) << (v->lacking - v->lower);
	return true;
}

/* Bytes behind the end are 0, which is no value, so a check for the end of what
 * is held suffices. */
static bool get_in_full(struct bit_reader *r, struct sif_sketch *s)
{
	struct value_reader v = { .from = r->from, .longer_from = 1 };
	const uint8_t *past = r->from + r->end / 8 + PAD - sizeof(v.held);
	size_t i;

	v.lacking = (unsigned)get_bits(r, LACKING_BITS);
	v.low = (unsigned)get_bits(r, LOW_BITS);
	if (v.lacking > SIF_BITS - SIF_VALUE_BITS)
		return false;
	read_longer(&v);
	value_reader_seek(&v, r->at);
	for (i = 0; i < s->count; i++)
		if (v.next > past || !get_value(&v, r->end, &s->values[i]))
			return false;
	r->at = value_reader_at(&v);
	return r->at <= r->end && v.low == low_bits_in_full(s) &&
	       v.lacking == sif_dropped_bits(s->values[s->count - 1]);
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

/* What precedes the bits.  window and distinct are set already. */
static bool read_head(const uint8_t **at, const uint8_t *end,
		      struct sif_sketch *out)
{
	uint64_t count, rest;

	if (!load_varint(at, end, &out->windows) ||
	    !load_varint(at, end, &count) || !load_varint(at, end, &rest) ||
	    count > SIF_MAX_VALUES || rest > SIF_MAX_VALUES - count)
		return false;
	out->count = count;
	out->rest = rest;
	out->rest_shift = 0;
	if (rest && *at < end)
		out->rest_shift = *(*at)++;
	return out->rest_shift < SIF_BITS && (count || !rest);
}

/* The bits from at to end, copied to where they can be read past the end. */
struct padded_bits {
	uint8_t bytes[SIF_PACKED_MAX + PAD];
	struct bit_reader reader;
};

static bool begin_bits(struct padded_bits *p, const uint8_t *at,
		       const uint8_t *end)
{
	size_t len = (size_t)(end - at);

	if (len > SIF_PACKED_MAX)
		return false;
	memcpy(p->bytes, at, len);
	memset(p->bytes + len, 0, PAD);
	p->reader = (struct bit_reader){ .from = p->bytes, .end = 8 * len };
	return true;
}

bool sif_unpack_body(const uint8_t *bytes, size_t len, struct sif_sketch *out)
{
	const uint8_t *at = bytes, *end = bytes + len;
	struct padded_bits bits;
	struct bit_reader *r = &bits.reader;

	if (!read_head(&at, end, out))
		return false;
	if (!out->count)
		return at == end && sif_is_sound(out);
	return begin_bits(&bits, at, end) && get_in_full(r, out) &&
	       get_rest(r, out) && get_times(r, out) && r->end - r->at < 8 &&
	       peek_bits(r) == 0 && sif_is_sound(out);
}

/* ---- places ---- */

#define PLACED 0x80 /* with the window */
#define PLACE_BITS 6

static size_t places_bytes(uint64_t count)
{
	return (size_t)(count * PLACE_BITS + 7) / 8;
}

size_t sif_pack_places(const uint8_t *places, size_t count, uint8_t *bytes)
{
	struct bit_writer w = { .to = bytes };
	size_t i;

	for (i = 0; i < count; i++)
		put_bits(&w, places[i], PLACE_BITS);
	return places_bytes(count);
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

size_t sif_pack_head(unsigned window, bool is_placed, uint64_t distinct,
		     uint8_t *bytes)
{
	bytes[0] = (uint8_t)(window | (is_placed ? PLACED : 0));
	return 1 + store_varint(bytes + 1, distinct);
}

size_t sif_pack(const struct sif_sketch *sketch, uint8_t *bytes)
{
	uint8_t *p = bytes;

	p += sif_pack_head(sketch->window, sketch->is_placed, sketch->distinct,
			   p);
	p += sif_pack_body(sketch, p);
	if (sketch->is_placed)
		p += sif_pack_places(sketch->places, sketch->count, p);
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

int sif_unpack_in_full(const uint8_t *bytes, size_t len, struct sif_sketch *out)
{
	const uint8_t *at = bytes, *end = bytes + len;
	struct padded_bits bits;

	if (!len)
		return -EINVAL;
	out->window = *at++ & ~PLACED;
	if (!load_varint(&at, end, &out->distinct) || !read_head(&at, end, out))
		return -EINVAL;
	if (out->count &&
	    !(begin_bits(&bits, at, end) && get_in_full(&bits.reader, out)))
		return -EINVAL;
	out->rest = 0;
	out->is_placed = false;
	return sif_is_sound(out) ? 0 : -EINVAL;
}
