/* SPDX-License-Identifier: Apache-2.0 */
#include "core/digest/short_sketch.h"

#include <errno.h>
#include <string.h>

#include "core/base/text.h"
#include "core/base/bytes.h"

#define PREFIX "sif8:"
#define RICE_BITS 6 /* a distance is 64 to 128 slots on average */

/* A slot has so many values of SHORT_SKETCH_BITS, as a power of two. */
static unsigned slot_bits(uint64_t distinct)
{
	unsigned bits = SHORT_SKETCH_BITS - RICE_BITS;

	for (; distinct > 1 && bits > 0; distinct >>= 1)
		bits--;
	return bits;
}

/* ---- making ---- */

static uint64_t estimate(uint64_t last, size_t count)
{
	uint64_t number =
		((uint64_t)(count - 1) << SHORT_SKETCH_BITS) / (last + 1);

	return number > count ? number : count + 1;
}

void short_sketch_read(struct simhash *s, struct short_sketch *out)
{
	struct bottom_k *b = &s->sample.smallest;
	const unsigned dropped = 64 - SHORT_SKETCH_BITS;
	uint64_t *keys = b->scratch;
	bool complete;
	unsigned bits;
	size_t i;

	bottom_k_sort(b);
	complete = b->count < b->max;
	memcpy(keys, b->values, b->count * sizeof(keys[0]));
	out->count = window_drop_runs(keys, b->count);
	if (!complete && out->count < 2)
		out->count = 0;
	out->distinct = out->count;
	if (!complete && out->count)
		out->distinct =
			estimate(keys[out->count - 1] >> dropped, out->count);
	bits = dropped + slot_bits(out->distinct);
	for (i = 0; i < out->count; i++)
		out->slots[i] = (uint32_t)(keys[i] >> bits);
}

/* ---- bytes ---- */

/* Bits of a record, the first in the lowest place of a byte. */
struct record_bits {
	uint8_t *at, *end;
	uint64_t waiting;
	unsigned count; /* of the bits that wait */
};

/* At most 32 at once. */
static void add_bits(struct record_bits *r, uint64_t value, unsigned count)
{
	r->waiting |= value << r->count;
	for (r->count += count; r->count >= 8; r->count -= 8) {
		*r->at++ = (uint8_t)r->waiting;
		r->waiting >>= 8;
	}
}

/* The quotient by 2^RICE_BITS as so many ones and a zero, then the rest. */
static void add_distance(struct record_bits *r, uint32_t distance)
{
	uint32_t ones = distance >> RICE_BITS;
	uint64_t rest = distance & ((1 << RICE_BITS) - 1);

	for (; ones > 16; ones -= 16)
		add_bits(r, 0xffff, 16);
	add_bits(r, ((UINT64_C(1) << ones) - 1) | rest << (ones + 1),
		 ones + 1 + RICE_BITS);
}

size_t short_sketch_store(const struct short_sketch *sketch,
			  uint8_t bytes[static SHORT_SKETCH_BYTES])
{
	struct record_bits r = { .at = bytes };
	uint32_t before = 0;
	size_t i;

	r.at += store_varint(r.at, sketch->distinct);
	r.at += store_varint(r.at, sketch->count);
	for (i = 0; i < sketch->count; i++) {
		add_distance(&r, sketch->slots[i] - before);
		before = sketch->slots[i];
	}
	if (r.count)
		*r.at++ = (uint8_t)r.waiting;
	return (size_t)(r.at - bytes);
}

/* So that more than 32 bits wait, if there are. */
static void fetch_bits(struct record_bits *r)
{
	for (; r->count <= 32 && r->at < r->end; r->count += 8)
		r->waiting |= (uint64_t)*r->at++ << r->count;
}

static void drop_bits(struct record_bits *r, unsigned count)
{
	r->waiting >>= count;
	r->count -= count;
}

/* All bits that follow those that wait are 0. */
static bool take_distance(struct record_bits *r, uint32_t *out)
{
	uint32_t ones, whole = 0;

	for (;;) {
		fetch_bits(r);
		ones = (uint32_t)__builtin_ctzll(~r->waiting);
		whole += ones << RICE_BITS;
		if (ones < r->count)
			break;
		if (!ones)
			return false;
		drop_bits(r, ones);
	}
	drop_bits(r, ones + 1);
	fetch_bits(r);
	if (r->count < RICE_BITS)
		return false;
	*out = whole + (uint32_t)(r->waiting & ((1u << RICE_BITS) - 1));
	drop_bits(r, RICE_BITS);
	return true;
}

/* Whether a record may begin with these numbers. */
static bool is_sound(uint64_t distinct, uint64_t count)
{
	if (count > SHORT_SKETCH_VALUES ||
	    distinct >> (SHORT_SKETCH_BITS - RICE_BITS))
		return false;
	return distinct == count || (distinct > count && count >= 2);
}

/* All slots of the values of a file; those of a sample lie in the first
 * ones. */
static uint64_t slots_end(const struct short_sketch *sketch)
{
	uint64_t all = UINT64_C(1)
		       << (SHORT_SKETCH_BITS - slot_bits(sketch->distinct));
	uint64_t most = ((uint64_t)sketch->count + 1) << (RICE_BITS + 1);

	return all < most ? all : most;
}

static bool load_slots(struct record_bits *r, struct short_sketch *out)
{
	uint64_t slot = 0, end = slots_end(out);
	uint32_t distance;
	size_t i;

	for (i = 0; i < out->count; i++) {
		if (!take_distance(r, &distance))
			return false;
		slot += distance;
		if (slot >= end)
			return false;
		out->slots[i] = (uint32_t)slot;
	}
	/* Zeros fill the last byte. */
	fetch_bits(r);
	return r->at == r->end && r->count < 8 && !r->waiting;
}

bool short_sketch_load(const uint8_t *bytes, size_t len,
		       struct short_sketch *out)
{
	const uint8_t *at = bytes, *end = bytes + len;
	struct record_bits r;
	uint64_t count;

	if (len > SHORT_SKETCH_BYTES ||
	    !load_varint(&at, end, &out->distinct) ||
	    !load_varint(&at, end, &count) || !is_sound(out->distinct, count))
		return false;
	out->count = (size_t)count;
	r = (struct record_bits){ (uint8_t *)at, (uint8_t *)end, 0, 0 };
	return load_slots(&r, out);
}

/* ---- text ---- */

int short_sketch_format(const struct short_sketch *sketch, struct buf *out)
{
	uint8_t bytes[SHORT_SKETCH_BYTES + 2];
	char text[(sizeof(bytes) + 2) / 3 * 4];
	size_t len = short_sketch_store(sketch, bytes), i;
	char *at = text;
	unsigned three;
	int err = buf_append_text(out, PREFIX);

	bytes[len] = bytes[len + 1] = 0;
	for (i = 0; i < len; i += 3) {
		three = (unsigned)bytes[i] << 16 | (unsigned)bytes[i + 1] << 8 |
			bytes[i + 2];
		*at++ = base64_digits[three >> 18];
		*at++ = base64_digits[three >> 12 & 63];
		*at++ = base64_digits[three >> 6 & 63];
		*at++ = base64_digits[three & 63];
	}
	return err ? err : buf_append(out, text, (8 * len + 5) / 6);
}

/* The record of a text, or 0 when there is none. */
static size_t read_record(const char *text, size_t len,
			  uint8_t bytes[SHORT_SKETCH_BYTES + 2])
{
	const size_t prefix = sizeof(PREFIX) - 1;
	size_t chars, i, bit, record;
	unsigned code;

	if (len < prefix || memcmp(text, PREFIX, prefix) != 0)
		return 0;
	text += prefix;
	chars = len - prefix;
	record = chars * 6 / 8;
	if (chars > SHORT_SKETCH_BYTES * 8 / 6 || (8 * record + 5) / 6 != chars)
		return 0;
	memset(bytes, 0, SHORT_SKETCH_BYTES + 2);
	for (i = 0; i < chars; i++) {
		code = base64_codes[(uint8_t)text[i]];
		if (!code)
			return 0;
		bit = 6 * i;
		code = (code - 1) << (10 - bit % 8);
		bytes[bit / 8] |= (uint8_t)(code >> 8);
		bytes[bit / 8 + 1] |= (uint8_t)code;
	}
	return bytes[record] ? 0 : record;
}

int short_sketch_parse(const char *text, size_t len, struct short_sketch *out)
{
	uint8_t bytes[SHORT_SKETCH_BYTES + 2], again[SHORT_SKETCH_BYTES];
	size_t record = read_record(text, len, bytes);

	/* There is one text for a sketch. */
	if (!record || !short_sketch_load(bytes, record, out) ||
	    short_sketch_store(out, again) != record)
		return -EINVAL;
	return 0;
}

size_t short_sketch_pack_text(const char *text, size_t len,
			      uint8_t bytes_out[SHORT_SKETCH_BYTES])
{
	uint8_t bytes[SHORT_SKETCH_BYTES + 2];
	size_t record = read_record(text, len, bytes);

	memcpy(bytes_out, bytes, record);
	return record;
}

/* ---- two sketches ---- */

/* One of two sketches, with slots of the larger of both sizes. */
struct coarse_sketch {
	const struct short_sketch *sketch;
	unsigned shift;
};

static uint64_t coarse_slot(const struct coarse_sketch *c, size_t i)
{
	/* More than all bits of a slot go if the other content is that much
	 * larger. */
	return (uint64_t)c->sketch->slots[i] >> c->shift;
}

/* The sketch knows of all values in the slots below that one. */
static uint64_t known_end(const struct coarse_sketch *c, uint64_t all)
{
	const struct short_sketch *s = c->sketch;

	return s->distinct == s->count ? all : coarse_slot(c, s->count - 1);
}

static size_t count_below(const struct coarse_sketch *c, uint64_t end)
{
	size_t count = c->sketch->count;

	while (count > 0 && coarse_slot(c, count - 1) >= end)
		count--;
	return count;
}

static size_t count_common(const struct coarse_sketch *a, size_t a_count,
			   const struct coarse_sketch *b, size_t b_count)
{
	size_t i = 0, j = 0, common = 0;
	uint64_t x, y;

	while (i < a_count && j < b_count) {
		x = coarse_slot(a, i);
		y = coarse_slot(b, j);
		common += x == y;
		i += x <= y;
		j += y <= x;
	}
	return common;
}

/* A value that is not shared lies in a slot of another's with the probability
 * chance. */
static double share(size_t common, size_t samples, double chance)
{
	double seen = samples ? (double)common / (double)samples : 0;

	if (chance >= 1 || seen <= chance)
		return 0;
	return (seen - chance) / (1 - chance);
}

void short_sketch_compare(const struct short_sketch *a,
			  const struct short_sketch *b,
			  struct short_relation *out)
{
	unsigned a_bits = slot_bits(a->distinct);
	unsigned b_bits = slot_bits(b->distinct);
	unsigned bits = a_bits > b_bits ? a_bits : b_bits;
	struct coarse_sketch x = { a, bits - a_bits }, y = { b, bits - b_bits };
	uint64_t all = UINT64_C(1) << (SHORT_SKETCH_BITS - bits);
	uint64_t x_end = known_end(&x, all), y_end = known_end(&y, all);
	uint64_t end = x_end < y_end ? x_end : y_end;
	size_t common;

	out->a_samples = count_below(&x, end);
	out->b_samples = count_below(&y, end);
	common = count_common(&x, out->a_samples, &y, out->b_samples);
	out->a_in_b = share(
		common, out->a_samples,
		end ? (double)(out->b_samples - common) / (double)end : 1);
	out->b_in_a = share(
		common, out->b_samples,
		end ? (double)(out->a_samples - common) / (double)end : 1);
}
