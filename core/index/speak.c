/* SPDX-License-Identifier: Apache-2.0 */
#include "core/index/speak.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define PAIRS_MIN 16
#define PAIRS_MAX 2560 /* what a comparison reads */

/* One half of a signature: "6144(6143):pairs". */
struct part {
	const char *text; /* all of it */
	size_t text_len;
	size_t head_len; /* up to and with the colon: the block size */
	bool meaningful;
};

static bool bit_test_and_set(uint64_t *bits, unsigned i)
{
	uint64_t mask = (uint64_t)1 << i % 64;
	bool was = bits[i / 64] & mask;

	bits[i / 64] |= mask;
	return was;
}

/* Whether there are enough pairs and most of them are different. */
static bool pairs_are_meaningful(const char *pairs, size_t count)
{
	uint64_t seen[65536 / 64] = { 0 };
	size_t i, distinct = 0;

	if (count > PAIRS_MAX)
		count = PAIRS_MAX;
	for (i = 0; i < count; i++)
		if (!bit_test_and_set(
			    seen,
			    (unsigned char)pairs[2 * i] |
				    (unsigned)(unsigned char)pairs[2 * i + 1]
					    << 8))
			distinct++;
	return distinct >= PAIRS_MIN && distinct >= count / 2;
}

static int part_parse(const char *text, size_t len, struct part *out)
{
	const char *colon = memchr(text, ':', len);

	if (!colon)
		return -EINVAL;
	out->text = text;
	out->text_len = len;
	out->head_len = (size_t)(colon - text) + 1;
	out->meaningful =
		pairs_are_meaningful(colon + 1, (len - out->head_len) / 2);
	return 0;
}

static int signature_parse(const char *text, struct part parts_out[2])
{
	const char *middle = strstr(text, "::");
	int err;

	if (!middle)
		return -EINVAL;
	err = part_parse(text, (size_t)(middle - text), &parts_out[0]);
	if (err)
		return err;
	return part_parse(middle + 2, strlen(middle + 2), &parts_out[1]);
}

static bool same_block_size(const struct part *a, const struct part *b)
{
	return a->head_len == b->head_len &&
	       !memcmp(a->text, b->text, a->head_len);
}

/* A signature of that part alone, in both places. */
static char *signature_of(const struct part *p)
{
	struct buf text = { 0 };

	if (buf_append(&text, p->text, p->text_len) ||
	    buf_append_text(&text, "::") ||
	    buf_append(&text, p->text, p->text_len)) {
		buf_release(&text);
		return NULL;
	}
	return buf_take(&text);
}

static int compare_parts(const struct part *a, const struct part *b,
			 int *score_out)
{
	struct digests x = { .set = DIGEST_BIT(DIGEST_SISE) }, y = x;
	int err = -ENOMEM;

	x.text[DIGEST_SISE] = signature_of(a);
	y.text[DIGEST_SISE] = signature_of(b);
	if (x.text[DIGEST_SISE] && y.text[DIGEST_SISE])
		err = digest_compare(DIGEST_SISE, &x, &y, score_out);
	free(x.text[DIGEST_SISE]);
	free(y.text[DIGEST_SISE]);
	return err;
}

/* What the two signatures have in common. */
struct common {
	int usable, useless;      /* combinations of equal block size */
	const struct part *a, *b; /* the usable one of larger block size */
};

static void common_find(const struct part a[2], const struct part b[2],
			struct common *out)
{
	size_t i;

	*out = (struct common){ 0 };
	for (i = 0; i < 4; i++) {
		const struct part *x = &a[i / 2], *y = &b[i % 2];

		if (!same_block_size(x, y))
			continue;
		if (!x->meaningful || !y->meaningful) {
			out->useless++;
			continue;
		}
		if (!out->usable++) {
			out->a = x;
			out->b = y;
		}
	}
}

int speak_sise(const struct digests *a, const struct digests *b, int *score_out)
{
	struct part parts_a[2], parts_b[2];
	struct common common;
	int err;

	if (!(a->set & b->set & DIGEST_BIT(DIGEST_SISE)))
		return -ENODATA;
	err = signature_parse(a->text[DIGEST_SISE], parts_a);
	if (!err)
		err = signature_parse(b->text[DIGEST_SISE], parts_b);
	if (err)
		return err;
	common_find(parts_a, parts_b, &common);
	if (!common.usable)
		return -ENODATA;
	if (common.useless)
		return compare_parts(common.a, common.b, score_out);
	return digest_compare(DIGEST_SISE, a, b, score_out);
}
