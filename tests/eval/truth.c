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

static void count_repeats(struct windows *w, size_t count)
{
	size_t kept = 0, i;

	w->times = allocate((count + 1) * sizeof(*w->times));
	for (i = 0; i < count; i++) {
		if (!kept || w->hash[kept - 1] != w->hash[i]) {
			w->hash[kept] = w->hash[i];
			w->times[kept++] = 0;
		}
		w->times[kept - 1]++;
	}
	w->count = kept;
	w->all = count;
}

/* Without the room that is left. */
static void *fitting(void *array, size_t size)
{
	void *smaller = size ? realloc(array, size) : NULL;

	return smaller ? smaller : array;
}

static bool repeats_one_byte(const uint8_t *window)
{
	return !memcmp(window, window + 1, TRUTH_WINDOW - 1);
}

size_t fold(const uint8_t *data, size_t len, uint8_t *out)
{
	static const uint8_t is_blank[256] = {
		[0] = 1,    ['\t'] = 1, ['\n'] = 1, ['\v'] = 1,
		['\f'] = 1, ['\r'] = 1, [' '] = 1,
	};
	size_t kept = 0, i;

	for (i = 0; i < len; i++)
		if (!is_blank[data[i]])
			out[kept++] = data[i];
	return kept;
}

void windows_init(struct windows *out, const uint8_t *data, size_t len)
{
	uint8_t *folded = allocate(len);
	size_t count = 0, left, i;

	left = fold(data, len, folded);
	out->hash = allocate(left * sizeof(*out->hash));
	for (i = 0; i + TRUTH_WINDOW <= left; i++)
		if (!repeats_one_byte(folded + i))
			out->hash[count++] =
				XXH3_64bits(folded + i, TRUTH_WINDOW);
	free(folded);
	sort_values(out->hash, count);
	count_repeats(out, count);
	out->hash = fitting(out->hash, out->count * sizeof(*out->hash));
	out->times = fitting(out->times, out->count * sizeof(*out->times));
}

void windows_release(struct windows *w)
{
	free(w->hash);
	free(w->times);
	*w = (struct windows){ 0 };
}

struct common {
	size_t distinct;
	uint64_t all;
};

/* Without branches on the values, which nothing could predict. */
static struct common find_common(const struct windows *a,
				 const struct windows *b)
{
	struct common common = { 0 };
	size_t i = 0, j = 0;
	uint32_t fewer;
	uint64_t x, y;

	while (i < a->count && j < b->count) {
		x = a->hash[i];
		y = b->hash[j];
		fewer = a->times[i] < b->times[j] ? a->times[i] : b->times[j];
		common.distinct += x == y;
		common.all += x == y ? fewer : 0;
		i += x <= y;
		j += y <= x;
	}
	return common;
}

struct truth truth_of(const struct windows *a, const struct windows *b)
{
	struct common common = find_common(a, b);
	double distinct = (double)common.distinct, all = (double)common.all;
	double larger = (double)(a->all > b->all ? a->all : b->all);
	double smaller = (double)(a->all > b->all ? b->all : a->all);

	if (smaller <= 0)
		return (struct truth){ 0 };
	return (struct truth){
		.jaccard = (float)(distinct / ((double)a->count +
					       (double)b->count - distinct)),
		.shared = (float)(100 * all / larger),
		.contained = (float)(100 * all / smaller),
		.ratio = (float)(larger / smaller),
	};
}
