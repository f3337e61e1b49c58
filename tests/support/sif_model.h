/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SUPPORT_SIF_MODEL_H
#define TESTS_SUPPORT_SIF_MODEL_H

#include <stdbool.h>

#include <xxhash.h>

#include "core/digest/sif/sif.h"
#include "tests/support/recipe.h"

/* The definition of the sketch, with sorted arrays. */

struct values {
	uint64_t *v; /* owned */
	size_t count;
	/* How often each occurs, in the memory of v, and their sum.  NULL: it
	 * is not known. */
	uint64_t *times;
	uint64_t all;
};

static inline uint64_t rotate(uint64_t v, unsigned bits)
{
	return bits % 64 ? v << bits % 64 | v >> (64 - bits % 64) : v;
}

static inline uint64_t model_value(const uint8_t *window, unsigned len)
{
	uint64_t h = 0;
	unsigned i;

	for (i = 0; i < len; i++)
		h ^= rotate(XXH3_64bits(window + i, 1), len - 1 - i);
	return h >> 16;
}

static inline bool model_counts(const uint8_t *window, unsigned len)
{
	unsigned i;

	for (i = 1; i < len; i++)
		if (window[i] != window[0])
			return true;
	return false;
}

static inline int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static inline void make_set(struct values *s)
{
	size_t i, kept = 0;

	qsort(s->v, s->count, sizeof(*s->v), by_value);
	for (i = 0; i < s->count; i++) {
		if (i == 0 || s->v[i] != s->v[i - 1])
			s->v[kept++] = s->v[i];
		if (s->times)
			s->times[kept - 1]++;
	}
	s->all = s->count;
	s->count = kept;
}

typedef uint64_t hash_fn(const uint8_t *window, unsigned len);

/* The distinct windows of b, by a hash of each. */
static inline struct values windows_of(struct bytes b, unsigned len,
				       hash_fn *hash)
{
	struct values s = { .v = calloc(2 * b.len + 1, sizeof(*s.v)) };
	size_t i;

	assert_non_null(s.v);
	s.times = s.v + b.len;
	for (i = 0; i + len <= b.len; i++)
		if (model_counts(b.data + i, len))
			s.v[s.count++] = hash(b.data + i, len);
	make_set(&s);
	return s;
}

/* Five bits of it, the others 0. */
static inline uint32_t model_round(uint64_t times)
{
	uint64_t unit = 1;

	while (times / unit >= 32)
		unit *= 2;
	return (uint32_t)(times / unit * unit);
}

static inline struct sif_sketch model_sketch(struct values s, unsigned window,
					     size_t max)
{
	struct sif_sketch out = { .window = window, .distinct = s.count };
	__uint128_t number;
	size_t i;

	out.count = s.count < max ? s.count : max;
	memcpy(out.values, s.v, out.count * sizeof(*s.v));
	out.windows = s.times ? s.all : 0;
	for (i = 0; i < out.count && s.times; i++)
		out.times[i] = model_round(s.times[i]);
	if (out.count == max) {
		number = ((__uint128_t)(max - 1) << 48) /
			 (out.values[max - 1] + 1);
		out.distinct = number > max ? (uint64_t)number : max + 1;
	}
	return out;
}

/* As sif_thin() says. */
static inline void model_thin(struct sif_sketch *s, size_t full)
{
	uint64_t range = s->distinct > s->count ? s->values[s->count - 1] :
						  UINT64_C(1) << 48;
	size_t i;

	if (s->count <= full)
		return;
	for (s->rest_shift = 0;
	     range / s->count >> (s->rest_shift + 1) >= 1 << SIF_REST_BITS;)
		s->rest_shift++;
	for (i = full; i < s->count; i++)
		s->values[i] -= s->values[i] % (UINT64_C(1) << s->rest_shift);
	s->rest = s->count - full;
	s->count = full;
}

/* As sif_round_values() says. */
static inline void model_round_values(struct sif_sketch *s)
{
	uint64_t next = UINT64_MAX, unit;
	size_t i;

	for (i = s->count; i > 0; i--) {
		uint64_t *v = &s->values[i - 1];

		for (unit = 1; *v / unit >= UINT64_C(1) << SIF_VALUE_BITS;)
			unit *= 2;
		*v -= *v % unit;
		if (*v >= next) {
			*v = next - 1;
			for (unit = 1;
			     *v / unit >= UINT64_C(1) << SIF_VALUE_BITS;)
				unit *= 2;
			*v -= *v % unit;
		}
		next = *v;
	}
}

static inline bool same(const struct sif_sketch *a, const struct sif_sketch *b)
{
	size_t all = a->count + a->rest;

	return a->window == b->window && a->distinct == b->distinct &&
	       a->windows == b->windows && a->count == b->count &&
	       a->rest == b->rest && a->rest_shift == b->rest_shift &&
	       memcmp(a->values, b->values, all * sizeof(*a->values)) == 0 &&
	       (!a->windows ||
		memcmp(a->times, b->times, all * sizeof(*a->times)) == 0);
}

/* Sketch of b; seed != 0 cuts it into updates of random lengths. */
static inline struct sif_sketch sketch_of(struct bytes b, unsigned window,
					  size_t max, uint64_t seed)
{
	static struct sif sif;
	struct draws d = draws_of(seed);
	struct sif_sketch out;
	size_t i, part;

	assert_int_equal(sif_init(&sif, window, max), 0);
	for (i = 0; i < b.len; i += part) {
		part = seed ? draw(&d) % (draw(&d) % 4 ? 40 : 9000) : b.len;
		part = b.len - i < part ? b.len - i : part;
		sif_update(&sif, b.data + i, part);
	}
	sif_final(&sif, &out);
	return out;
}

#endif
