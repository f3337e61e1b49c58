/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNIT_INDEX_FIXTURE_H
#define TESTS_UNIT_INDEX_FIXTURE_H

/* clang-format off: cmocka wants these four before it */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/digest/sif/sif.h"
#include "core/index/index.h"

/* A seeded generator (splitmix64), sketches of made-up values and of texts. */
struct random {
	uint64_t state;
};

static inline uint64_t random_next(struct random *r)
{
	uint64_t z = r->state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

static inline uint64_t random_below(struct random *r, uint64_t n)
{
	return random_next(r) % n;
}

/* The nth made-up value, as good as random. */
static inline uint64_t value_of(uint64_t n)
{
	struct random r = { n };

	return random_next(&r) >> (64 - SIF_BITS);
}

static inline int compare_values(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* One more value, which may be there already. */
static inline void sketch_add(struct sif_sketch *s, uint64_t value)
{
	size_t i;

	for (i = 0; i < s->count; i++)
		if (s->values[i] == value)
			return;
	assert_true(s->count < SIF_MAX_VALUES);
	s->values[s->count++] = value;
	s->window = SIF_WINDOW;
	s->distinct = s->count;
	qsort(s->values, s->count, sizeof(s->values[0]), compare_values);
}

/* Letters from a seeded stream; what has another seed has no window in
 * common. */
static inline void make_text(char *out, size_t len, uint64_t seed)
{
	struct random r = { seed * 1000003 };
	size_t i;

	for (i = 0; i < len; i++)
		out[i] = (char)('a' + random_next(&r) % 26);
}

/* As of a file with these bytes. */
static inline void sketch_text(const char *text, size_t len,
			       struct sif_sketch *out)
{
	static struct sif sif;

	assert_int_equal(sif_init(&sif, SIF_WINDOW, sif_values(len)), 0);
	sif_update(&sif, text, len);
	sif_final(&sif, out);
}

static inline void add_sketch(struct index *ix, uint32_t content, uint64_t size,
			      const struct sif_sketch *sketch)
{
	struct digests d = { .size = size };

	assert_int_equal(index_add(ix, content, &d, sketch), 0);
}

/* For qsort(): as index_candidates() puts them. */
static inline int candidate_order(const void *a, const void *b)
{
	const struct index_candidate *x = a, *y = b;

	if (x->rank != y->rank)
		return x->rank < y->rank ? 1 : -1;
	return x->content < y->content ? -1 : x->content > y->content;
}

#endif
