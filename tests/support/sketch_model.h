/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SUPPORT_SKETCH_MODEL_H
#define TESTS_SUPPORT_SKETCH_MODEL_H

#include <ctype.h>
#include <stdbool.h>

#include "core/digest/sketch/sketch.h"
#include "tests/support/recipe.h"

/* The definition of the sketch by brute force: all windows, sorted. */

struct model_window {
	uint64_t key, place;
};

struct model_sample {
	uint64_t folded, windows;
	unsigned level;
	size_t count;
	uint64_t keys[SKETCH_MOST], last[SKETCH_MOST], times[SKETCH_MOST];
	uint64_t simhash;
};

static inline struct bytes model_fold(struct bytes b)
{
	struct bytes folded = bytes_new(b.len);
	size_t i;

	folded.len = 0;
	for (i = 0; i < b.len; i++)
		if (b.data[i] >= 0x80 || isalnum(b.data[i]) ||
		    (iscntrl(b.data[i]) && b.data[i] && !isspace(b.data[i])))
			folded.data[folded.len++] =
				(uint8_t)(b.data[i] < 0x80 ?
						  tolower(b.data[i]) :
						  b.data[i]);
	return folded;
}

/* len bytes, the first one lowest. */
static inline uint64_t model_word(const uint8_t *p, unsigned len)
{
	uint64_t word = 0;

	while (len-- > 0)
		word = word << 8 | p[len];
	return word;
}

static inline uint32_t model_filter(const uint8_t *p)
{
	uint64_t first = model_word(p, 4) * 0x9e3779b1 + model_word(p + 4, 4);
	uint64_t second =
		model_word(p + 8, 4) * 0x9e3779b1 + model_word(p + 12, 4);
	uint32_t m = (uint32_t)(first * 0x85ebca77 + second);

	return (m ^ m >> 15) * UINT32_C(0x27d4eb2f);
}

static inline uint64_t model_key(const uint8_t *p)
{
	__uint128_t u = model_word(p, 8) ^ UINT64_C(0x9fb21c651e98df25);
	__uint128_t x =
		u * (model_word(p + 8, 8) ^ UINT64_C(0xd6e8feb86659fd93));
	uint64_t halves = (uint64_t)(x >> 64) ^ (uint64_t)x;

	return (uint64_t)model_filter(p) << 16 | (halves >> 16 & 0xffff);
}

static inline bool model_is_repeat(const uint8_t *p)
{
	unsigned i;

	for (i = 1; i < 16; i++)
		if (p[i] != p[0])
			return false;
	return true;
}

static inline int by_window(const void *a, const void *b)
{
	const struct model_window *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return (x->place > y->place) - (x->place < y->place);
}

static inline uint64_t model_simhash(const struct model_sample *s)
{
	uint64_t result = 0, x;
	long sum;
	size_t i;
	int bit, round;

	for (bit = 0; bit < 64; bit++) {
		for (sum = 0, i = 0; i < s->count; i++) {
			x = s->keys[i];
			for (round = 0; round < 2; round++) {
				x ^= x >> 32;
				x *= UINT64_C(0xd6e8feb86659fd93);
			}
			x ^= x >> 32;
			sum += x >> bit & 1 ? 1 : -1;
		}
		result |= (uint64_t)(sum > 0) << bit;
	}
	return result;
}

/* Writes each different key once, with how often it occurs as its place. */
static inline size_t model_distinct(struct model_window *all, size_t count,
				    uint64_t *last)
{
	size_t i, n = 0;

	for (i = 0; i < count; i++) {
		if (n && all[n - 1].key == all[i].key) {
			last[n - 1] = all[i].place;
			all[n - 1].place++;
			continue;
		}
		last[n] = all[i].place;
		all[n++] = (struct model_window){ all[i].key, 1 };
	}
	return n;
}

static inline void model_sample(struct bytes content, struct model_sample *out)
{
	struct bytes b = model_fold(content);
	struct model_window *all = calloc(b.len + 1, sizeof(*all));
	uint64_t *last = calloc(b.len + 1, sizeof(*last));
	size_t i, n = 0, most = b.len / 96;

	assert_true(all && last);
	for (i = 0; i + 16 <= b.len; i++)
		if (!model_is_repeat(b.data + i))
			all[n++] = (struct model_window){ model_key(b.data + i),
							  i };
	qsort(all, n, sizeof(*all), by_window);
	out->folded = b.len;
	out->windows = n;
	n = model_distinct(all, n, last);
	most = most < 192 ? 192 : most > 1536 ? 1536 : most;
	for (out->level = 0; n > most; out->level++)
		while (n && all[n - 1].key >> (47 - out->level))
			n--;
	out->count = n;
	for (i = 0; i < n; i++) {
		out->keys[i] = all[i].key;
		out->times[i] = all[i].place;
		out->last[i] = last[i];
	}
	out->simhash = model_simhash(out);
	free(all);
	free(last);
	free(b.data);
}

/* The significant bits of a number, others 0. */
static inline uint64_t model_round(uint64_t number, unsigned bits)
{
	uint64_t unit = 1;

	while (number / unit >= UINT64_C(1) << bits)
		unit *= 2;
	return number / unit * unit;
}

static inline void model_sketch(const struct model_sample *s,
				struct sketch *out)
{
	uint64_t times[SKETCH_MOST], value, place;
	size_t i, n = 0;

	*out = (struct sketch){ .folded = s->folded,
				.windows = s->windows,
				.level = s->level,
				.is_placed = s->folded >= 4096 && s->count };
	for (i = 0; i < s->count; i++) {
		value = model_round(s->keys[i], 24);
		place = s->last[i] * 64 / s->folded;
		if (n && out->values[n - 1] == value) {
			times[n - 1] += s->times[i];
			place = place > out->places[n - 1] ? place :
							     out->places[n - 1];
			out->places[n - 1] = (uint8_t)place;
			continue;
		}
		out->values[n] = value;
		times[n] = s->times[i];
		out->places[n++] = (uint8_t)place;
	}
	for (i = 0; i < n; i++)
		out->times[i] = (uint32_t)model_round(times[i], 5);
	out->count = n;
}

/* As far as they say something. */
static inline bool sketches_are_same(const struct sketch *a,
				     const struct sketch *b)
{
	return a->folded == b->folded && a->windows == b->windows &&
	       a->level == b->level && a->count == b->count &&
	       a->is_placed == b->is_placed &&
	       !memcmp(a->values, b->values, a->count * sizeof(*a->values)) &&
	       (!a->windows ||
		!memcmp(a->times, b->times, a->count * sizeof(*a->times))) &&
	       (!a->is_placed || !memcmp(a->places, b->places, a->count));
}

/* ---- the code ---- */

/* How a content is handed over. */
enum sketch_cuts {
	SKETCH_IN_ONE,     /* piece, the size known */
	SKETCH_IN_BITS,    /* of up to 40 bytes */
	SKETCH_IN_PIECES,  /* of up to 9,000 bytes */
	SKETCH_OF_UNKNOWN, /* size, in slices */
	SKETCH_CUTS,
};

static inline void sketch_stream_of(struct bytes b, enum sketch_cuts cuts,
				    uint64_t seed, struct sketch_stream *s)
{
	struct draws d = draws_of(seed + 1);
	uint8_t *copy = malloc(b.len ? b.len : 1);
	size_t at, part;

	/* Just as long, so that a byte read behind it does not go unseen. */
	assert_non_null(copy);
	memcpy(copy, b.data, b.len);
	sketch_begin(s, cuts == SKETCH_OF_UNKNOWN ? UINT64_MAX : b.len);
	for (at = 0; at < b.len; at += part) {
		part = cuts == SKETCH_IN_ONE    ? b.len :
		       cuts == SKETCH_IN_BITS   ? 1 + draw(&d) % 40 :
		       cuts == SKETCH_IN_PIECES ? 1 + draw(&d) % 9000 :
						  262144;
		part = part < b.len - at ? part : b.len - at;
		sketch_update(s, copy + at, part);
	}
	free(copy);
}

static inline void sketch_of(struct bytes b, struct sketch *out)
{
	static struct sketch_stream s;
	uint64_t simhash;

	sketch_stream_of(b, SKETCH_IN_ONE, 0, &s);
	sketch_final(&s, out, &simhash);
}

#endif
