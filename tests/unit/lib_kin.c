/* SPDX-License-Identifier: Apache-2.0 */
/* The library for other programs: what it computes is what the digests'
 * own functions do, and wrong use is refused. */
#include "core/lib/kin.h"

#include <errno.h>
#include <string.h>

#include "core/digest/digest.h"
#include "core/digest/fingerprint.h"
#include "tests/support/test.h"

enum { TEXT_BYTES = 50000 };

static unsigned char text[TEXT_BYTES];

static void fill(unsigned seed)
{
	uint32_t x = seed * 2654435761u + 1;
	size_t i;

	for (i = 0; i < sizeof(text); i++) {
		x = x * 1664525 + 1013904223;
		text[i] = (unsigned char)('a' + (x >> 24) % 23);
	}
}

static struct kin_digests *digest(struct kin_digester *d, size_t piece)
{
	struct kin_digests *out = NULL;
	size_t at, n;

	for (at = 0; at < sizeof(text); at += n) {
		n = sizeof(text) - at < piece ? sizeof(text) - at : piece;
		assert_int_equal(kin_digester_update(d, text + at, n), 0);
	}
	assert_int_equal(kin_digester_final(d, &out), 0);
	return out;
}

TEST(test_texts_are_those_of_the_digests)
{
	struct fingerprint *fp = NULL;
	struct kin_digester *d = NULL;
	struct kin_digests *have;
	struct digests want;
	struct buf b = { 0 };
	unsigned i;

	fill(1);
	assert_int_equal(fingerprint_new(DIGEST_DEFAULT, &fp), 0);
	assert_int_equal(fingerprint_begin(fp), 0);
	assert_int_equal(fingerprint_update(fp, text, sizeof(text)), 0);
	assert_int_equal(fingerprint_final(fp, &want), 0);
	assert_int_equal(kin_digester_new(NULL, &d), 0);
	have = digest(d, 777);
	assert_int_equal(kin_digests_size(have), sizeof(text));
	for (i = 0; i < DIGEST_COUNT; i++) {
		b.len = 0;
		if (!(DIGEST_DEFAULT & DIGEST_BIT(i))) {
			assert_null(kin_digests_text(have, kin_digest_name(i)));
			continue;
		}
		assert_int_equal(digest_format(&want, (enum digest_id)i, &b),
				 0);
		assert_string_equal(kin_digests_text(have, kin_digest_name(i)),
				    b.data);
		assert_string_equal(
			kin_digests_text(have, digest_table[i]->attribute),
			b.data);
	}
	buf_release(&b);
	digests_release(&want);
	fingerprint_free(fp);
	kin_digests_free(have);
	kin_digester_free(d);
}

TEST(test_one_stream_after_the_other)
{
	struct kin_digests *first, *again, *cut;
	struct kin_digester *d = NULL;

	fill(2);
	assert_int_equal(kin_digester_new("sif:sdhash,tlsh,sha256", &d), 0);
	first = digest(d, sizeof(text));
	again = digest(d, 1000);
	assert_int_equal(kin_digester_update(d, "forgotten", 9), 0);
	kin_digester_reset(d);
	cut = digest(d, 31);
	assert_string_equal(kin_digests_text(first, "sdhash"),
			    kin_digests_text(again, "sdhash"));
	assert_string_equal(kin_digests_text(first, "sha256"),
			    kin_digests_text(cut, "sha256"));
	assert_string_equal(kin_digests_text(first, "sif"),
			    kin_digests_text(cut, "sif"));
	assert_null(kin_digests_text(first, "sise"));
	kin_digests_free(first);
	kin_digests_free(again);
	kin_digests_free(cut);
	kin_digester_free(d);
}

TEST(test_an_empty_stream)
{
	struct kin_digester *d = NULL;
	struct kin_digests *empty = NULL;

	assert_int_equal(kin_digester_new("xxh128,tlsh", &d), 0);
	assert_int_equal(kin_digester_update(d, NULL, 0), 0);
	assert_int_equal(kin_digester_final(d, &empty), 0);
	/* xxhsum -H2 of nothing */
	assert_string_equal(kin_digests_text(empty, "xxh128"),
			    "99aa06d3014798d86001c324468d497f");
	assert_null(kin_digests_text(empty, "tlsh"));
	kin_digests_free(empty);
	kin_digester_free(d);
}

TEST(test_scores)
{
	struct kin_digester *d = NULL;
	struct kin_digests *a, *b, *read = NULL;
	int score = -1, distance = -1;

	fill(3);
	assert_int_equal(kin_digester_new("sif,ssdeep,tlsh", &d), 0);
	a = digest(d, sizeof(text));
	memset(text, 'x', 5000);
	b = digest(d, sizeof(text));
	assert_int_equal(kin_score(a, a, "sif", &score), 0);
	assert_int_equal(score, 100);
	assert_int_equal(kin_score(a, b, "sif", &score), 0);
	assert_in_range(score, 80, 99);
	assert_int_equal(kin_score(a, b, "xxh128", &score), 0);
	assert_int_equal(score, 0);
	assert_int_equal(kin_tlsh_distance(a, a, &distance), 0);
	assert_int_equal(distance, 0);
	assert_int_equal(kin_score(a, b, "tlsh", &score), -ENODATA);
	assert_int_equal(kin_score(a, b, "sise", &score), -ENODATA);
	assert_int_equal(kin_score(a, b, "nonsense", &score), -EINVAL);
	assert_int_equal(kin_score(a, b, NULL, &score), -EINVAL);
	/* Texts from elsewhere score as what they were made from. */
	assert_int_equal(kin_digests_new(&read), 0);
	assert_int_equal(kin_digests_set(read, "user.ssdeep",
					 kin_digests_text(b, "ssdeep")),
			 0);
	assert_int_equal(kin_score(b, read, "ssdeep", &score), 0);
	assert_int_equal(score, 100);
	assert_int_equal(kin_digests_size(read), 0);
	kin_digests_free(read);
	kin_digests_free(a);
	kin_digests_free(b);
	kin_digester_free(d);
}

TEST(test_wrong_use_changes_nothing)
{
	struct kin_digester *d = NULL;
	struct kin_digests *r = NULL;

	assert_int_equal(kin_digester_new("sif,nonsense", &d), -EINVAL);
	assert_int_equal(kin_digester_new("sif,,sise", &d), -EINVAL);
	assert_null(d);
	assert_int_equal(kin_digests_new(&r), 0);
	assert_int_equal(kin_digests_set(r, "simhash", "0123456789abcdef"), 0);
	assert_int_equal(kin_digests_set(r, "simhash", "no hex"), -EINVAL);
	assert_int_equal(kin_digests_set(r, "simhash", NULL), -EINVAL);
	assert_int_equal(kin_digests_set(r, "nonsense", "0"), -EINVAL);
	assert_int_equal(kin_digests_set(r, "sif", "sif5:!!"), -EINVAL);
	assert_int_equal(kin_digests_set(r, "sif", "sif4:AAAAAA"),
			 -EPROTONOSUPPORT);
	assert_string_equal(kin_digests_text(r, "simhash"), "0123456789abcdef");
	assert_null(kin_digests_text(r, "sif"));
	assert_null(kin_digests_text(r, NULL));
	assert_null(kin_digest_name(DIGEST_COUNT));
	kin_digests_free(r);
	kin_digests_free(NULL);
	kin_digester_free(NULL);
}
