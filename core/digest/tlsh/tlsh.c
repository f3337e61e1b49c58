/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/digest/tlsh/tlsh.h"

#define T tlsh_pearson

/*
 * The hash of x, y, z is T[T[T[T[salt] ^ x] ^ y] ^ z].  x is the newest byte of
 * the window; with p[0] newest, the triplets and their salts are
 *
 *	0   p[0] p[1] p[2]   2        3   p[0] p[2] p[4]   7
 *	1   p[0] p[1] p[3]   3        4   p[0] p[1] p[4]  11
 *	2   p[0] p[2] p[3]   5        5   p[0] p[3] p[4]  13
 *
 * The checksum is the hash of p[0], p[1] and the checksum before, salt 0.
 */
static const uint8_t salts[] = { 0, 2, 3, 5, 7, 11, 13 };

static uint64_t first[256]; /* byte i of first[x]: T[T[salts[i]] ^ x] */

static void make_table(void)
{
	size_t x, i;

	for (x = 0; x < 256; x++)
		for (i = 0; i < sizeof(salts); i++)
			first[x] |= (uint64_t)T[T[salts[i]] ^ x] << 8 * i;
}

void tlsh_begin(struct tlsh *t)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	(void)pthread_once(&once, make_table);
	*t = (struct tlsh){ 0 };
}

/* Counts the hashes of all windows in len bytes, len - 4 or none. */
static void count_windows(struct tlsh *t, const uint8_t *bytes, size_t len)
{
	uint8_t p1, p2, p3, p4, checksum = t->checksum;
	uint64_t w;
	size_t i;

	for (i = TLSH_WINDOW - 1; i < len; i++) {
		w = first[bytes[i]];
		p1 = bytes[i - 1];
		p2 = bytes[i - 2];
		p3 = bytes[i - 3];
		p4 = bytes[i - 4];
		t->counts[0][T[T[(uint8_t)(w >> 8) ^ p1] ^ p2]]++;
		t->counts[1][T[T[(uint8_t)(w >> 16) ^ p1] ^ p3]]++;
		t->counts[2][T[T[(uint8_t)(w >> 24) ^ p2] ^ p3]]++;
		t->counts[3][T[T[(uint8_t)(w >> 32) ^ p2] ^ p4]]++;
		t->counts[4][T[T[(uint8_t)(w >> 40) ^ p1] ^ p4]]++;
		t->counts[5][T[T[(uint8_t)(w >> 48) ^ p3] ^ p4]]++;
		checksum = T[T[(uint8_t)w ^ p1] ^ checksum];
	}
	t->checksum = checksum;
}

/* How many bytes of the stream are in t->last. */
static size_t last_count(const struct tlsh *t)
{
	return t->size < sizeof(t->last) ? (size_t)t->size : sizeof(t->last);
}

static void keep_last(struct tlsh *t, const uint8_t *bytes, size_t len)
{
	size_t kept = len < sizeof(t->last) ? sizeof(t->last) - len : 0;

	memmove(t->last, t->last + sizeof(t->last) - kept, kept);
	memcpy(t->last + kept, bytes + len - (sizeof(t->last) - kept),
	       sizeof(t->last) - kept);
}

void tlsh_update(struct tlsh *t, const void *data, size_t len)
{
	size_t before = last_count(t), some = len;
	uint8_t joined[2 * sizeof(t->last)];

	if (!len)
		return;
	if (some > sizeof(t->last))
		some = sizeof(t->last);
	memcpy(joined, t->last + sizeof(t->last) - before, before);
	memcpy(joined + before, data, some);
	count_windows(t, joined, before + some);
	count_windows(t, data, len);
	keep_last(t, data, len);
	t->size += len;
}

/* Of windows that are all the same: each changes the checksum in one way, which
 * comes round after at most 256. */
static uint8_t repeat_checksum(uint8_t step, uint8_t checksum, uint64_t times)
{
	uint8_t at = checksum;
	uint64_t round = 0;

	do {
		at = T[step ^ at];
		round++;
	} while (at != checksum);
	for (times %= round; times; times--)
		checksum = T[step ^ checksum];
	return checksum;
}

void tlsh_update_zeros(struct tlsh *t, uint64_t len)
{
	static const uint8_t zeros[TLSH_WINDOW];
	uint64_t some = len < sizeof(t->last) ? len : sizeof(t->last);
	struct tlsh once = { 0 };
	size_t i, k;

	tlsh_update(t, zeros, (size_t)some);
	len -= some;
	if (!len)
		return;
	count_windows(&once, zeros, sizeof(zeros));
	for (i = 0; i < TLSH_TRIPLETS; i++)
		for (k = 0; k < 256; k++)
			t->counts[i][k] += once.counts[i][k] * (uint32_t)len;
	t->checksum = repeat_checksum(T[(uint8_t)first[0]], t->checksum, len);
	t->size += len;
}

/* ---- the result ---- */

static int by_count(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static uint8_t length_code(uint64_t size)
{
	size_t low = 0, high = TLSH_LENGTHS - 1;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (size <= tlsh_lengths[middle])
			high = middle;
		else
			low = middle + 1;
	}
	return (uint8_t)low;
}

/* The sums of the buckets that are looked at; how many are not zero. */
static size_t sum_counts(const struct tlsh *t, uint32_t out[TLSH_BUCKETS])
{
	size_t used = 0, i, k;

	memset(out, 0, TLSH_BUCKETS * sizeof(*out));
	for (i = 0; i < TLSH_TRIPLETS; i++)
		for (k = 0; k < TLSH_BUCKETS; k++)
			out[k] += t->counts[i][k];
	for (k = 0; k < TLSH_BUCKETS; k++)
		used += out[k] != 0;
	return used;
}

int tlsh_final(const struct tlsh *t, struct tlsh_digest *out)
{
	enum { QUARTER = TLSH_BUCKETS / 4 };
	uint32_t counts[TLSH_BUCKETS], sorted[TLSH_BUCKETS], q[3];
	size_t used = sum_counts(t, counts), k;

	if (t->size < TLSH_MIN_BYTES || t->size > TLSH_MAX_BYTES ||
	    used < TLSH_MIN_BUCKETS)
		return -ENODATA;
	memcpy(sorted, counts, sizeof(sorted));
	qsort(sorted, TLSH_BUCKETS, sizeof(*sorted), by_count);
	for (k = 0; k < 3; k++)
		q[k] = sorted[QUARTER * (k + 1) - 1];
	*out = (struct tlsh_digest){
		.checksum = t->checksum,
		.length = length_code(t->size),
		.ratios = { (uint8_t)(UINT64_C(100) * q[0] / q[2] % 16),
			    (uint8_t)(UINT64_C(100) * q[1] / q[2] % 16) },
	};
	for (k = 0; k < TLSH_BUCKETS; k++) {
		unsigned code = (counts[k] > q[0]) + (counts[k] > q[1]) +
				(counts[k] > q[2]);

		out->codes[k / 4] |= (uint8_t)(code << k % 4 * 2);
	}
	return 0;
}
