/* SPDX-License-Identifier: Apache-2.0 */
#include "core/kernel/sif/sif_impl.h"

static void fill_taps(struct kernel_sif_table *table)
{
	uint8_t *tap;
	unsigned i, k;

	table->taps_at = -(uintptr_t)table->taps % 64;
	memset(table->taps, 0, sizeof(table->taps));
	for (i = 0; i < 256; i++) {
		tap = table->taps + table->taps_at + 64 * i + 16;
		for (k = 0; k < 16; k++)
			tap[k] =
				(uint8_t)(sif_rotate(table->enter[i], k) >> 56);
	}
}

void kernel_sif_init(struct kernel_sif_table *table, const uint64_t *values,
		     unsigned window)
{
	unsigned i, k;

	table->window = window;
	for (i = 0; i < 256; i++) {
		table->enter[i] = values[i];
		table->leave[i] = sif_rotate(values[i], window);
		for (k = 0; k < 3; k++)
			table->planes[k][i] =
				(uint8_t)(values[i] >> (40 + 8 * k));
	}
	fill_taps(table);
}

/* Where bytes[i - 1] is repeated no more. */
static size_t end_of_run(const uint8_t *bytes, size_t i, size_t len)
{
	while (i + 8 <= len && memcmp(bytes + i, bytes + i - 1, 8) == 0)
		i += 8;
	while (i < len && bytes[i] == bytes[i - 1])
		i++;
	return i;
}

/*
 * The first run of at least least equal bytes from first on, and its end; the
 * run at the end of the bytes that has none if there is no such run.  Such a
 * run has least - 1 pairs of equal neighbours, one of which is looked at.
 */
static size_t find_run(const uint8_t *bytes, size_t first, size_t len,
		       size_t least, size_t *end_out)
{
	size_t i, start, end;

	for (i = first + least - 2; i + 1 < len; i += least - 1) {
		if (bytes[i] != bytes[i + 1])
			continue;
		for (start = i; start > first; start--)
			if (bytes[start - 1] != bytes[i])
				break;
		end = end_of_run(bytes, i + 2, len);
		if (end - start >= least) {
			*end_out = end;
			return start;
		}
	}
	*end_out = len + least;
	return len;
}

static uint64_t first_hash(const struct kernel_sif_table *table,
			   const uint8_t *bytes)
{
	uint64_t hash = 0;
	size_t i;

	for (i = 0; i < table->window; i++)
		hash = sif_rotate(hash, 1) ^ table->enter[bytes[i]];
	return hash;
}

/* By which the hash changes, once rotated, when a byte goes and one comes. */
static inline uint64_t change(const struct kernel_sif_table *table,
			      uint8_t goes, uint8_t comes)
{
	return table->leave[goes] ^ table->enter[comes];
}

/* As pick() does, but of all windows; count is not 0.  In random data a bound
 * of half of all hashes is as hard to foresee as can be: no branches but the
 * loop. */
static size_t pick_all(const struct kernel_sif_table *table,
		       const uint8_t *bytes, size_t count, uint64_t bound,
		       uint64_t *hashes_out)
{
	const uint8_t *coming = bytes + table->window;
	uint64_t hash = first_hash(table, bytes);
	size_t i, picked = hash <= bound;

	hashes_out[0] = hash;
	for (i = 0; i + 1 < count; i++) {
		hash = sif_rotate(hash, 1) ^ change(table, bytes[i], coming[i]);
		hashes_out[picked] = hash;
		picked += hash <= bound;
	}
	return picked;
}

static size_t pick_many(const struct kernel_sif_table *table,
			const uint8_t *bytes, size_t count, uint64_t bound,
			uint64_t *hashes_out)
{
	const size_t window = table->window, len = count + window - 1;
	size_t i, start, end = 0, picked = 0;

	/* The windows before each run, then those that end behind it. */
	for (i = 0; i < count; i = end - window + 1) {
		start = find_run(bytes, end, len, window, &end);
		start = start < count ? start : count;
		if (i < start)
			picked += pick_all(table, bytes + i, start - i, bound,
					   hashes_out + picked);
	}
	return picked;
}

static size_t take(const struct kernel_sif_table *table, const uint8_t *window,
		   uint64_t hash, uint64_t bound, uint64_t *hash_out)
{
	if (hash > bound || sif_repeats(window, table->window))
		return 0;
	*hash_out = hash;
	return 1;
}

/* Where hashes up to the bound are rare.  Two at a time: a hash has to wait for
 * one before it. */
static size_t pick_few(const struct kernel_sif_table *table,
		       const uint8_t *bytes, size_t count, uint64_t bound,
		       uint64_t *hashes_out)
{
	const size_t window = table->window, len = count + window - 1;
	const uint8_t *coming = bytes + window;
	uint64_t hash = first_hash(table, bytes), middle, first, second;
	size_t i = 0, picked = take(table, bytes, hash, bound, hashes_out);

	while (i + 2 < count) {
		first = change(table, bytes[i], coming[i]);
		second = change(table, bytes[i + 1], coming[i + 1]);
		middle = sif_rotate(hash, 1) ^ first;
		second ^= sif_rotate(first, 1);
		hash = sif_rotate(hash, 2) ^ second;
		i += 2;
		if (__builtin_expect((middle > bound) & (hash > bound), 1))
			continue;
		picked += take(table, bytes + i - 1, middle, bound,
			       hashes_out + picked);
		picked += take(table, bytes + i, hash, bound,
			       hashes_out + picked);
		/* All windows of a run have its hash. */
		if (sif_repeats(bytes + i, window))
			i = end_of_run(bytes, i + window, len) - window;
	}
	if (i + 1 < count) {
		hash = sif_rotate(hash, 1) ^ change(table, bytes[i], coming[i]);
		picked += take(table, bytes + i + 1, hash, bound,
			       hashes_out + picked);
	}
	return picked;
}

static size_t pick(const struct kernel_sif_table *table, const uint8_t *bytes,
		   size_t count, uint64_t bound, uint64_t *hashes_out)
{
	if (count == 0)
		return 0;
	return bound > SIF_FEW_BOUND ?
		       pick_many(table, bytes, count, bound, hashes_out) :
		       pick_few(table, bytes, count, bound, hashes_out);
}

const struct kernel_sif sif_scalar = { pick };
