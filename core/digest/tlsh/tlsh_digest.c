/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/digest/digest.h"
#include "core/digest/tlsh/tlsh.h"

enum { DIGITS = 2 * TLSH_BYTES };

static uint8_t swap_digits(uint8_t byte)
{
	return (uint8_t)(byte << 4 | byte >> 4);
}

/* ---- forms ---- */

void tlsh_pack(const struct tlsh_digest *d, uint8_t bytes[static TLSH_BYTES])
{
	size_t i;

	bytes[0] = swap_digits(d->checksum);
	bytes[1] = swap_digits(d->length);
	bytes[2] = (uint8_t)(d->ratios[0] << 4 | d->ratios[1]);
	for (i = 3; i < TLSH_BYTES; i++)
		bytes[i] = d->codes[TLSH_BYTES - 1 - i];
}

void tlsh_unpack(const uint8_t bytes[static TLSH_BYTES],
		 struct tlsh_digest *out)
{
	size_t i;

	out->checksum = swap_digits(bytes[0]);
	out->length = swap_digits(bytes[1]);
	out->ratios[0] = bytes[2] >> 4;
	out->ratios[1] = bytes[2] & 15;
	for (i = 3; i < TLSH_BYTES; i++)
		out->codes[TLSH_BYTES - 1 - i] = bytes[i];
}

static int format(struct digest_value v, struct buf *out)
{
	static const char digits[] = "0123456789ABCDEF";
	char text[2 + DIGITS] = "T1";
	size_t i;

	for (i = 0; i < TLSH_BYTES; i++) {
		text[2 + 2 * i] = digits[v.bytes[i] >> 4];
		text[3 + 2 * i] = digits[v.bytes[i] & 15];
	}
	return buf_append(out, text, sizeof(text));
}

static int digit_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static int parse(const char *text, size_t len, struct buf *out)
{
	uint8_t bytes[TLSH_BYTES];
	size_t i;

	if (len == 2 + DIGITS && !memcmp(text, "T1", 2)) {
		text += 2;
		len -= 2;
	}
	if (len != DIGITS)
		return -EINVAL;
	for (i = 0; i < TLSH_BYTES; i++) {
		int high = digit_value(text[2 * i]);
		int low = digit_value(text[2 * i + 1]);

		if (high < 0 || low < 0)
			return -EINVAL;
		bytes[i] = (uint8_t)(high << 4 | low);
	}
	return buf_append(out, bytes, sizeof(bytes));
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

int tlsh_distance(const struct tlsh_digest *a, const struct tlsh_digest *b)
{
	int d = ring_distance(a->length, b->length, 256);
	int sum = d <= 1 ? d : 12 * d;
	size_t i;

	for (i = 0; i < 2; i++) {
		d = ring_distance(a->ratios[i], b->ratios[i], 16);
		sum += d <= 1 ? d : 12 * (d - 1);
	}
	sum += a->checksum != b->checksum;
	for (i = 0; i < sizeof(a->codes); i++)
		sum += codes_distance(a->codes[i], b->codes[i]);
	return sum;
}

int digest_tlsh_distance(const struct digests *a, const struct digests *b,
			 int *distance_out)
{
	struct digest_value x = digest_value_of(a, DIGEST_TLSH);
	struct digest_value y = digest_value_of(b, DIGEST_TLSH);
	struct tlsh_digest p, q;

	if (!x.bytes || !y.bytes)
		return -ENODATA;
	tlsh_unpack(x.bytes, &p);
	tlsh_unpack(y.bytes, &q);
	*distance_out = tlsh_distance(&p, &q);
	return 0;
}

/* ---- the row ---- */

static int begin(void *state, const struct digest_stream *stream)
{
	(void)stream;
	tlsh_begin(state);
	return 0;
}

static int update(void *state, const void *data, size_t len)
{
	tlsh_update(state, data, len);
	return 0;
}

static int zeros(void *state, uint64_t len)
{
	tlsh_update_zeros(state, len);
	return 0;
}

static int final(void *state, struct buf *out)
{
	uint8_t bytes[TLSH_BYTES];
	struct tlsh_digest digest;
	int err = tlsh_final(state, &digest);

	if (err)
		return err;
	tlsh_pack(&digest, bytes);
	return buf_append(out, bytes, sizeof(bytes));
}

static const struct digest_part part = {
	.size = sizeof(struct tlsh),
	.begin = begin,
	.update = update,
	.zeros = zeros,
};

const struct digest_ops digest_tlsh = {
	.id = DIGEST_TLSH,
	.name = "tlsh",
	.attribute = "user.tlsh",
	.flags = DIGEST_IS_KEPT | DIGEST_IS_EXCHANGE,
	.listed = 5,
	.len = TLSH_BYTES,
	.part = &part,
	.final = final,
	.format = format,
	.parse = parse,
};
