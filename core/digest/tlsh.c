/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/digest/digest.h"

/*
 * TLSH (Oliver, Cheng, Chen: "TLSH - A Locality Sensitive Hash", 2013), as
 * version 4.12.1 of its authors' program computes it from all bytes at once:
 * 128 buckets, a checksum of one byte, a window of five bytes.
 *
 * Of each window six triplets of bytes that have the newest one are hashed into
 * buckets.  The digest says of each bucket in which quarter of all its count
 * is, how the quarters relate, and how long the content is.
 *
 * Its bytes, of which the text is "T1" and the upper-case digits:
 *
 *	0       the checksum, the lower digit first
 *	1       the code of the length, likewise
 *	2       two ratios of quarters, 0..15 each
 *	3..34   the quarters of the buckets, 2 bits each, the last bucket highest
 */
enum {
	BUCKETS = 128, /* hashes from here on count for nothing */
	WINDOW = 5,
	TRIPLETS = 6,
	HEAD = 3,
	BYTES = HEAD + BUCKETS / 4,
	MIN_BYTES = 50,   /* of a content with a digest */
	MIN_BUCKETS = 65, /* in use */
	LENGTHS = 170
};

/* Pearson, "Fast hashing of variable-length text strings", 1990. */
static const uint8_t T[256] = {
	1,   87,  49,  12,  176, 178, 102, 166, 121, 193, 6,   84,  249, 230,
	44,  163, 14,  197, 213, 181, 161, 85,  218, 80,  64,  239, 24,  226,
	236, 142, 38,  200, 110, 177, 104, 103, 141, 253, 255, 50,  77,  101,
	81,  18,  45,  96,  31,  222, 25,  107, 190, 70,  86,  237, 240, 34,
	72,  242, 20,  214, 244, 227, 149, 235, 97,  234, 57,  22,  60,  250,
	82,  175, 208, 5,   127, 199, 111, 62,  135, 248, 174, 169, 211, 58,
	66,  154, 106, 195, 245, 171, 17,  187, 182, 179, 0,   243, 132, 56,
	148, 75,  128, 133, 158, 100, 130, 126, 91,  13,  153, 246, 216, 219,
	119, 68,  223, 78,  83,  88,  201, 99,  122, 11,  92,  32,  136, 114,
	52,  10,  138, 30,  48,  183, 156, 35,  61,  26,  143, 74,  251, 94,
	129, 162, 63,  152, 170, 7,   115, 167, 241, 206, 3,   150, 55,  59,
	151, 220, 90,  53,  23,  131, 125, 173, 15,  238, 79,  95,  89,  16,
	105, 137, 225, 224, 217, 160, 37,  123, 118, 73,  2,   157, 46,  116,
	9,   145, 134, 228, 207, 212, 202, 215, 69,  229, 27,  188, 67,  124,
	168, 252, 42,  4,   29,  108, 21,  247, 19,  205, 39,  203, 233, 40,
	186, 147, 198, 192, 155, 33,  164, 191, 98,  204, 165, 180, 117, 76,
	140, 36,  210, 172, 41,  54,  159, 8,   185, 232, 113, 196, 231, 47,
	146, 120, 51,  65,  28,  144, 254, 221, 93,  189, 194, 139, 112, 43,
	71,  109, 184, 209,
};

/* The longest content of each length code: logarithms to the bases 1.5, 1.3 and
 * 1.1, in single precision. */
static const uint32_t lengths[LENGTHS] = {
	1,          2,          3,          5,          7,          11,
	17,         25,         38,         57,         86,         129,
	194,        291,        437,        656,        854,        1110,
	1443,       1876,       2439,       3171,       3475,       3823,
	4205,       4626,       5088,       5597,       6157,       6772,
	7450,       8195,       9014,       9916,       10907,      11998,
	13198,      14518,      15970,      17567,      19323,      21256,
	23382,      25720,      28292,      31121,      34233,      37656,
	41422,      45564,      50121,      55133,      60646,      66711,
	73382,      80721,      88793,      97672,      107439,     118183,
	130002,     143002,     157302,     173032,     190335,     209369,
	230306,     253337,     278670,     306538,     337191,     370911,
	408002,     448802,     493682,     543050,     597356,     657091,
	722800,     795081,     874589,     962048,     1058252,    1164078,
	1280486,    1408534,    1549388,    1704327,    1874759,    2062236,
	2268459,    2495305,    2744836,    3019320,    3321252,    3653374,
	4018711,    4420582,    4862641,    5348905,    5883796,    6472176,
	7119394,    7831333,    8614467,    9475909,    10423501,   11465851,
	12612437,   13873681,   15261050,   16787154,   18465870,   20312458,
	22343706,   24578077,   27035886,   29739474,   32713425,   35984770,
	39583245,   43541573,   47895730,   52685306,   57953837,   63749221,
	70124148,   77136564,   84850228,   93335252,   102668779,  112935659,
	124229227,  136652151,  150317384,  165349128,  181884040,  200072456,
	220079703,  242087671,  266296456,  292926096,  322218735,  354440623,
	389884688,  428873168,  471760495,  518936559,  570830240,  627913311,
	690704607,  759775136,  835752671,  919327967,  1011260767, 1112386880,
	1223623232, 1345985727, 1480584256, 1628642751, 1791507135, 1970657856,
	2167723648, 2384496256, 2622945920, 2885240448, 3173764736, 3491141248,
	3840255616, 4224281216,
};

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

struct tlsh {
	uint64_t size;
	/* In six tables, so that increments seldom wait for each other; only
	 * the first BUCKETS of each are looked at. */
	uint32_t counts[TRIPLETS][256];
	uint8_t checksum;
	uint8_t last[WINDOW - 1]; /* bytes, the newest at the end */
};

static int begin(void *state, const struct digest_stream *stream)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	(void)stream;
	(void)pthread_once(&once, make_table);
	memset(state, 0, sizeof(struct tlsh));
	return 0;
}

/* Counts the hashes of all windows in len bytes, len - 4 or none. */
static void count_windows(struct tlsh *t, const uint8_t *bytes, size_t len)
{
	uint8_t p1, p2, p3, p4, checksum = t->checksum;
	uint64_t w;
	size_t i;

	for (i = WINDOW - 1; i < len; i++) {
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

static void keep_last(struct tlsh *t, const uint8_t *bytes, size_t len)
{
	size_t kept = len < sizeof(t->last) ? sizeof(t->last) - len : 0;

	memmove(t->last, t->last + sizeof(t->last) - kept, kept);
	memcpy(t->last + kept, bytes + len - (sizeof(t->last) - kept),
	       sizeof(t->last) - kept);
}

/* What is too long has no digest, so the rest is not looked at. */
static int update(void *state, const void *data, size_t len)
{
	struct tlsh *t = state;
	const size_t most = sizeof(t->last);
	size_t before = t->size < most ? (size_t)t->size : most;
	size_t some = len < most ? len : most;
	uint8_t joined[2 * sizeof(t->last)];

	if (!len || t->size > lengths[LENGTHS - 1])
		return 0;
	memcpy(joined, t->last + most - before, before);
	memcpy(joined + before, data, some);
	count_windows(t, joined, before + some);
	count_windows(t, data, len);
	keep_last(t, data, len);
	t->size += len;
	return 0;
}

/* ---- the result ---- */

static int by_count(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static uint8_t length_code(uint64_t size)
{
	size_t low = 0, high = LENGTHS - 1;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (size <= lengths[middle])
			high = middle;
		else
			low = middle + 1;
	}
	return (uint8_t)low;
}

/* The sums of the buckets that are looked at; how many are not zero. */
static size_t sum_counts(const struct tlsh *t, uint32_t out[BUCKETS])
{
	size_t used = 0, i, k;

	memset(out, 0, BUCKETS * sizeof(*out));
	for (i = 0; i < TRIPLETS; i++)
		for (k = 0; k < BUCKETS; k++)
			out[k] += t->counts[i][k];
	for (k = 0; k < BUCKETS; k++)
		used += out[k] != 0;
	return used;
}

static uint8_t swap_digits(uint8_t byte)
{
	return (uint8_t)(byte << 4 | byte >> 4);
}

static int final(void *state, struct buf *out)
{
	enum { QUARTER = BUCKETS / 4 };
	const struct tlsh *t = state;
	uint32_t counts[BUCKETS], sorted[BUCKETS], q[3];
	size_t used = sum_counts(t, counts), k;
	uint8_t bytes[BYTES] = { 0 };

	if (t->size < MIN_BYTES || t->size > lengths[LENGTHS - 1] ||
	    used < MIN_BUCKETS)
		return -ENODATA;
	memcpy(sorted, counts, sizeof(sorted));
	qsort(sorted, BUCKETS, sizeof(*sorted), by_count);
	for (k = 0; k < 3; k++)
		q[k] = sorted[QUARTER * (k + 1) - 1];
	bytes[0] = swap_digits(t->checksum);
	bytes[1] = swap_digits(length_code(t->size));
	bytes[2] = (uint8_t)(UINT64_C(100) * q[0] / q[2] % 16 << 4 |
			     UINT64_C(100) * q[1] / q[2] % 16);
	for (k = 0; k < BUCKETS; k++) {
		unsigned code = (counts[k] > q[0]) + (counts[k] > q[1]) +
				(counts[k] > q[2]);

		bytes[BYTES - 1 - k / 4] |= (uint8_t)(code << k % 4 * 2);
	}
	return buf_append(out, bytes, sizeof(bytes));
}

/* ---- text ---- */

static int format(struct digest_value v, struct buf *out)
{
	int err = buf_append_text(out, "T1");
	size_t i = out->len;

	if (!err)
		err = digest_format_hex(v, out);
	for (; !err && i < out->len; i++)
		out->data[i] = (char)toupper((unsigned char)out->data[i]);
	return err;
}

/* In either case, with or without "T1". */
static int parse(const char *text, size_t len, struct buf *out)
{
	char digits[2 * BYTES];
	size_t i;

	if (len == 2 + sizeof(digits) && !memcmp(text, "T1", 2)) {
		text += 2;
		len -= 2;
	}
	for (i = 0; i < len && i < sizeof(digits); i++)
		digits[i] = (char)tolower((unsigned char)text[i]);
	return digest_parse_hex(digits, len, BYTES, out);
}

/* ---- distance ---- */

/* On a ring of that size. */
static int ring_distance(int a, int b, int size)
{
	int d = abs(a - b);

	return d < size - d ? d : size - d;
}

static int codes_distance(unsigned a, unsigned b)
{
	int d, sum = 0, i;

	for (i = 0; i < 4; i++, a >>= 2, b >>= 2) {
		d = abs((int)(a & 3) - (int)(b & 3));
		sum += d == 3 ? 6 : d;
	}
	return sum;
}

int digest_tlsh_distance(const struct digests *a, const struct digests *b,
			 int *distance_out)
{
	const uint8_t *x = digest_value_of(a, DIGEST_TLSH).bytes;
	const uint8_t *y = digest_value_of(b, DIGEST_TLSH).bytes;
	int d, sum;
	size_t i;

	if (!x || !y)
		return -ENODATA;
	d = ring_distance(swap_digits(x[1]), swap_digits(y[1]), 256);
	sum = (d <= 1 ? d : 12 * d) + (x[0] != y[0]);
	for (i = 0; i < 8; i += 4) {
		d = ring_distance(x[2] >> i & 15, y[2] >> i & 15, 16);
		sum += d <= 1 ? d : 12 * (d - 1);
	}
	for (i = HEAD; i < BYTES; i++)
		sum += codes_distance(x[i], y[i]);
	*distance_out = sum;
	return 0;
}

static const struct digest_part part = {
	.size = sizeof(struct tlsh),
	.begin = begin,
	.update = update,
};

const struct digest_ops digest_tlsh = {
	.id = DIGEST_TLSH,
	.name = "tlsh",
	.attribute = "user.tlsh",
	.flags = DIGEST_IS_KEPT | DIGEST_IS_EXCHANGE,
	.listed = 5,
	.len = BYTES,
	.part = &part,
	.final = final,
	.format = format,
	.parse = parse,
};
