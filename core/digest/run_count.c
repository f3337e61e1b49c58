/* SPDX-License-Identifier: Apache-2.0 */
#include "core/digest/run_count.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

void run_count_begin(struct run_count *r, size_t window)
{
	*r = (struct run_count){ .window = window };
}

/* Windows within so many equal bytes. */
static uint64_t windows_in(const struct run_count *r, uint64_t run)
{
	return run < r->window ? 0 : run - r->window + 1;
}

/* Where the byte at from is repeated no more. */
static size_t end_of_run(const uint8_t *bytes, size_t from, size_t len)
{
	size_t i = from + 1;

	while (i + 64 <= len && memcmp(bytes + i, bytes + i - 1, 64) == 0)
		i += 64;
	while (i < len && bytes[i] == bytes[from])
		i++;
	return i;
}

/* Zero where nine bytes are equal. */
static uint64_t differences(const uint8_t *bytes)
{
	uint64_t first, second;

	memcpy(&first, bytes, sizeof(first));
	memcpy(&second, bytes + 1, sizeof(second));
	return first ^ second;
}

/* 1: nine equal bytes; else 0. */
static unsigned is_nine(const uint8_t *bytes)
{
	return !differences(bytes);
}

/* The first place from i on, a multiple of 8, with eight equal bytes behind
 * it; len or more if there is none. */
static size_t find_nine(const uint8_t *bytes, size_t i, size_t len)
{
	for (; i + 33 <= len; i += 32)
		if (is_nine(bytes + i) | is_nine(bytes + i + 8) |
		    is_nine(bytes + i + 16) | is_nine(bytes + i + 24))
			break;
	while (i + 9 <= len && differences(bytes + i))
		i += 8;
	return i + 9 <= len ? i : len;
}

/* The first place from i on, a multiple of step, with an equal byte behind it,
 * for windows of any length; len or more if there is none. */
static size_t find_two(const uint8_t *bytes, size_t i, size_t len, size_t step)
{
	while (i + 2 <= len && bytes[i] != bytes[i + 1])
		i += step;
	return i + 2 <= len ? i : len;
}

/* The windows of runs that start within the bytes.  A run as long as a window
 * has equal bytes at and behind a multiple of step. */
static uint64_t count_runs(const struct run_count *r, const uint8_t *bytes,
			   size_t len)
{
	const bool wide = r->window >= 16;
	const size_t step = wide ? 8 : r->window - 1;
	size_t i = 0, start, end = 0;
	uint64_t same = 0;

	assert(r->window > 1);
	for (;;) {
		i = wide ? find_nine(bytes, i, len) :
			   find_two(bytes, i, len, step);
		if (i >= len)
			return same;
		for (start = i; start > end; start--)
			if (bytes[start - 1] != bytes[i])
				break;
		end = end_of_run(bytes, i, len);
		same += windows_in(r, end - start);
		i = (end + step - 1) / step * step;
	}
}

/* The run at the end grows by bytes of its own kind at the start of the others.
 * Returns their number. */
static size_t continue_run(struct run_count *r, const uint8_t *bytes,
			   size_t len)
{
	size_t end;

	if (!r->run || bytes[0] != r->last)
		return 0;
	end = end_of_run(bytes, 0, len);
	r->same += windows_in(r, r->run + end) - windows_in(r, r->run);
	r->run += end;
	return end;
}

void run_count_update(struct run_count *r, const void *data, size_t len)
{
	const uint8_t *bytes = data;
	size_t start;

	if (!len)
		return;
	r->bytes += len;
	start = continue_run(r, bytes, len);
	if (start == len)
		return;
	r->same += count_runs(r, bytes + start, len - start);
	r->last = bytes[len - 1];
	for (r->run = 1; r->run < len - start; r->run++)
		if (bytes[len - 1 - r->run] != r->last)
			break;
}

void run_count_update_zeros(struct run_count *r, uint64_t len)
{
	if (!len)
		return;
	r->bytes += len;
	if (r->last)
		r->run = 0;
	r->same += windows_in(r, r->run + len) - windows_in(r, r->run);
	r->run += len;
	r->last = 0;
}

uint64_t run_count_others(const struct run_count *r)
{
	return r->bytes < r->window ? 0 : r->bytes - r->window + 1 - r->same;
}
