/* SPDX-License-Identifier: Apache-2.0 */
#include "core/digest/run_count.h"

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

static bool repeats_8(const uint8_t *bytes)
{
	uint64_t word;

	memcpy(&word, bytes, sizeof(word));
	return word == (word << 8 | word >> 56);
}

/* A run of 16 bytes that holds both bytes at i has 6 more before or behind
 * them.  There are so many before. */
static bool may_be_run(const uint8_t *bytes, size_t i, size_t len)
{
	return repeats_8(bytes + i - 6) ||
	       (i + 8 <= len && repeats_8(bytes + i));
}

/* The windows of runs that start within the bytes.  Of the pairs of neighbours
 * in a run as long as a window, one is looked at. */
static uint64_t count_runs(const struct run_count *r, const uint8_t *bytes,
			   size_t len)
{
	const size_t step = r->window - 1;
	size_t i, start, end = 0;
	uint64_t same = 0;

	for (i = step - 1; i + 1 < len; i += step) {
		if (bytes[i] != bytes[i + 1])
			continue;
		if (step >= 15 && !may_be_run(bytes, i, len))
			continue;
		for (start = i; start > end; start--)
			if (bytes[start - 1] != bytes[i])
				break;
		end = end_of_run(bytes, i, len);
		same += windows_in(r, end - start);
		i = end - 1; /* the next is the last pair of a run from end */
	}
	return same;
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
