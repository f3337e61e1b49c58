/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/eval/truth.h"

#include <ctype.h>
#include <math.h>
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
	w->extent = 0;
	for (i = 0; i < kept; i++)
		w->extent += log2(1.0 + w->times[i]);
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
	size_t kept = 0, i;

	for (i = 0; i < len; i++)
		if (data[i] >= 0x80 || isalnum(data[i]) ||
		    (iscntrl(data[i]) && data[i] && !isspace(data[i])))
			out[kept++] =
				(uint8_t)(data[i] < 0x80 ? tolower(data[i]) :
							   data[i]);
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
	double extent;
};

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
		if (x == y) {
			common.distinct++;
			common.extent += fewer > 1 ? log2(1.0 + fewer) : 1;
		}
		i += x <= y;
		j += y <= x;
	}
	return common;
}

struct truth truth_of(const struct windows *a, const struct windows *b)
{
	struct common common = find_common(a, b);
	double distinct = (double)common.distinct;
	double larger = fmax(a->extent, b->extent);
	double smaller = fmin(a->extent, b->extent);

	if (smaller <= 0)
		return (struct truth){ 0 };
	return (struct truth){
		.jaccard = (float)(distinct / ((double)a->count +
					       (double)b->count - distinct)),
		.shared = (float)(100 * common.extent / larger),
		.contained = (float)(100 * common.extent / smaller),
		.ratio = (float)(larger / smaller),
	};
}
