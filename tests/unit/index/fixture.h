/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNIT_INDEX_FIXTURE_H
#define TESTS_UNIT_INDEX_FIXTURE_H

#include "tests/support/test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/digest/sketch/sketch.h"
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

/* The nth made-up value, as good as random; in as many bits as sketches keep. */
static inline uint64_t value_of(uint64_t n)
{
	struct random r = { n };
	uint64_t key = random_next(&r) >> (64 - SKETCH_KEY_BITS), unit = 1;

	while (key / unit >> SKETCH_VALUE_BITS)
		unit *= 2;
	return key / unit * unit;
}

static inline int compare_values(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* Of level 0: a window for each value.  Returns s. */
static inline struct sketch *sketch_finish(struct sketch *s)
{
	size_t i;

	qsort(s->values, s->count, sizeof(s->values[0]), compare_values);
	for (i = 0; i < s->count; i++)
		s->times[i] = 1;
	s->windows = s->count;
	s->folded = s->count + SKETCH_WINDOW - 1;
	return s;
}

/* One more value, which may be there already. */
static inline void sketch_add(struct sketch *s, uint64_t value)
{
	size_t i;

	for (i = 0; i < s->count; i++)
		if (s->values[i] == value)
			return;
	assert_true(s->count < SKETCH_MOST);
	s->values[s->count++] = value;
	(void)sketch_finish(s);
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
static inline void sketch_text(const char *text, size_t len, struct sketch *out)
{
	static struct sketch_stream s;
	uint64_t simhash;

	sketch_begin(&s, len);
	sketch_update(&s, text, len);
	sketch_final(&s, out, &simhash);
}

static inline void add_sketch(struct index *ix, uint32_t content,
			      const struct sketch *sketch)
{
	assert_int_equal(index_add(ix, content, sketch), 0);
}

static inline struct verdict judge_bytes(struct index *ix,
					 const struct sketch *a,
					 const struct sketch *b,
					 const struct judge_rules *rules)
{
	const struct subject first = subject_of_bytes(a);
	const struct subject second = subject_of_bytes(b);
	struct verdict v;

	assert_int_equal(index_judge(ix, NULL, &first, &second, rules, &v), 0);
	return v;
}

/* All but what pads it. */
static inline void assert_same_verdict(const struct verdict *a,
				       const struct verdict *b)
{
	assert_int_equal(a->score, b->score);
	assert_int_equal(a->distinctive, b->distinctive);
	assert_int_equal(a->bytes, b->bytes);
	assert_int_equal(a->reason, b->reason);
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
