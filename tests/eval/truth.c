/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/eval/truth.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "tests/eval/eval.h"

#define DIGITS 256
#define FEW 256 /* fewer values are sorted by comparing */

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void sort_digit(const uint64_t *from, uint64_t *to, size_t count,
		       unsigned shift)
{
	size_t start[DIGITS] = { 0 }, next = 0, here, i;

	for (i = 0; i < count; i++)
		start[from[i] >> shift & (DIGITS - 1)]++;
	for (i = 0; i < DIGITS; i++) {
		here = start[i];
		start[i] = next;
		next += here;
	}
	for (i = 0; i < count; i++)
		to[start[from[i] >> shift & (DIGITS - 1)]++] = from[i];
}

/* By digits from the last one; their number is even, so the values end where
 * they were. */
static void sort_values(uint64_t *values, size_t count)
{
	uint64_t *other;
	unsigned shift;

	if (count < FEW) {
		qsort(values, count, sizeof(*values), by_value);
		return;
	}
	other = allocate(count * sizeof(*other));
	for (shift = 0; shift < 64; shift += 16) {
		sort_digit(values, other, count, shift);
		sort_digit(other, values, count, shift + 8);
	}
	free(other);
}

static size_t drop_repeats(uint64_t *values, size_t count)
{
	size_t kept = 0, i;

	for (i = 0; i < count; i++)
		if (!kept || values[kept - 1] != values[i])
			values[kept++] = values[i];
	return kept;
}

static bool repeats_one_byte(const uint8_t *window)
{
	return !memcmp(window, window + 1, TRUTH_WINDOW - 1);
}

void windows_init(struct windows *out, const uint8_t *data, size_t len)
{
	size_t places = len < TRUTH_WINDOW ? 1 : len - TRUTH_WINDOW + 1;
	size_t width = len < TRUTH_WINDOW ? len : TRUTH_WINDOW, count = 0, i;
	uint64_t *fitting;

	out->hash = allocate(places * sizeof(*out->hash));
	for (i = 0; i < places; i++)
		if (len < TRUTH_WINDOW || !repeats_one_byte(data + i))
			out->hash[count++] = XXH3_64bits(data + i, width);
	sort_values(out->hash, count);
	out->count = drop_repeats(out->hash, count);
	fitting = out->count ?
			  realloc(out->hash, out->count * sizeof(*out->hash)) :
			  NULL;
	if (fitting)
		out->hash = fitting;
}

void windows_release(struct windows *w)
{
	free(w->hash);
	*w = (struct windows){ 0 };
}

/* Without branches on the values, which nothing could predict. */
static size_t common_count(const struct windows *a, const struct windows *b)
{
	size_t common = 0, i = 0, j = 0;
	uint64_t x, y;

	while (i < a->count && j < b->count) {
		x = a->hash[i];
		y = b->hash[j];
		common += x == y;
		i += x <= y;
		j += y <= x;
	}
	return common;
}

struct truth truth_of(const struct windows *a, uint64_t size_a,
		      const struct windows *b, uint64_t size_b)
{
	double common = (double)common_count(a, b);
	double in_a = (double)a->count, in_b = (double)b->count;
	double fewer = in_a < in_b ? in_a : in_b;
	double more = in_a < in_b ? in_b : in_a;
	double larger = more;

	if (!fewer)
		return (struct truth){ 0 };
	if (size_a != size_b)
		larger = size_a > size_b ? in_a : in_b;
	return (struct truth){
		.bytes = (float)(100 * common / larger),
		.jaccard = (float)(common / (in_a + in_b - common)),
		.containment = (float)(common / fewer),
		.shared = (float)(100 * common / larger),
	};
}
