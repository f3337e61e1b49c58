/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/eval/eval.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "core/base/err.h"

void fail(const char *format, ...)
{
	va_list args;

	(void)fflush(stdout);
	fputs("eval: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	exit(2);
}

void fail_errno(const char *what, int err)
{
	if (err)
		fail("%s: %s", what, err_text(err));
}

void *allocate(size_t size)
{
	void *p = calloc(1, size ? size : 1);

	if (!p)
		fail("no memory for %zu bytes", size);
	return p;
}

char *allocate_text(const char *format, ...)
{
	va_list args;
	char *text;
	int len;

	va_start(args, format);
	len = vasprintf(&text, format, args);
	va_end(args);
	if (len < 0)
		fail("no memory");
	return text;
}

void *grown(void *array, size_t count, size_t element)
{
	if (count & (count - 1))
		return array; /* there is room up to the next power of 2 */
	array = realloc(array, (count ? 2 * count : 1) * element);
	if (!array)
		fail("no memory");
	return array;
}

uint64_t draw(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

size_t draw_below(uint64_t *state, size_t limit)
{
	return limit ? (size_t)(draw(state) % limit) : 0;
}

uint64_t hash_text(const char *text)
{
	return XXH3_64bits(text, strlen(text));
}

const char *const size_class_names[SIZE_CLASSES] = { "64-500B", "500-1K",
						     "1-8K",    "8-64K",
						     "64K-1M",  ">1M" };

size_t size_class(uint64_t size)
{
	static const uint64_t limits[SIZE_CLASSES - 1] = { 500, KIB, 8 * KIB,
							   64 * KIB, MIB };
	size_t i = 0;

	while (i < SIZE_CLASSES - 1 && size >= limits[i])
		i++;
	return i;
}
