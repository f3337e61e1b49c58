/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNIT_SIF_MODEL_H
#define TESTS_UNIT_SIF_MODEL_H

#include <stdbool.h>

#include <xxhash.h>

#include "core/digest/sif/sif.h"
#include "tests/unit/recipe.h"

/* The definition of the sketch, with sorted arrays. */

struct values {
	uint64_t *v;
	size_t count;
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
	for (i = 0; i < s->count; i++)
		if (i == 0 || s->v[i] != s->v[i - 1])
			s->v[kept++] = s->v[i];
	s->count = kept;
}

typedef uint64_t hash_fn(const uint8_t *window, unsigned len);

/* The distinct windows of b, by a hash of each. */
static inline struct values windows_of(struct bytes b, unsigned len,
				       hash_fn *hash)
{
	struct values s = { calloc(b.len + 1, sizeof(*s.v)), 0 };
	size_t i;

	assert_non_null(s.v);
	for (i = 0; i + len <= b.len; i++)
		if (model_counts(b.data + i, len))
			s.v[s.count++] = hash(b.data + i, len);
	make_set(&s);
	return s;
}

static inline struct sif_sketch model_sketch(struct values s, unsigned window,
					     size_t max)
{
	struct sif_sketch out = { .window = window, .distinct = s.count };
	__uint128_t number;

	out.count = s.count < max ? s.count : max;
	memcpy(out.values, s.v, out.count * sizeof(*s.v));
	if (out.count == max) {
		number = ((__uint128_t)(max - 1) << 48) /
			 (out.values[max - 1] + 1);
		out.distinct = number > max ? (uint64_t)number : max + 1;
	}
	return out;
}

static inline bool same(const struct sif_sketch *a, const struct sif_sketch *b)
{
	return a->window == b->window && a->distinct == b->distinct &&
	       a->count == b->count &&
	       memcmp(a->values, b->values, a->count * sizeof(*a->values)) == 0;
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
