/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/catalog/fixture.h"

#include "core/base/text.h"
#include "core/catalog/catalog_impl.h"

/* Texts of digests: what is stored is read again, character for character, and
 * anything else is -EUCLEAN. */

static int store(uint32_t set, char *text, struct buf *out)
{
	struct digests d = { .set = set };
	int id;

	for (id = 0; id < DIGEST_COUNT; id++)
		d.text[id] = text;
	return texts_store(&d, out);
}

static MDB_val value_of(const struct buf *bytes)
{
	return (MDB_val){ .mv_data = bytes->data, .mv_size = bytes->len };
}

/* Returns the number of bytes that the text takes. */
static size_t check_text(char *text)
{
	struct digests d = { .set = DIGEST_BIT(DIGEST_SISE) |
				    DIGEST_BIT(DIGEST_SHA256) };
	struct buf bytes = { 0 };
	size_t len;
	MDB_val v;

	assert_int_equal(store(d.set, text, &bytes), 0);
	v = value_of(&bytes);
	assert_int_equal(texts_check(&v), 0);
	assert_int_equal(texts_decode(&v, DIGEST_ALL, &d), 0);
	assert_string_equal(d.text[DIGEST_SISE], text);
	assert_string_equal(d.text[DIGEST_SHA256], text);
	len = bytes.len / 2;
	digests_release(&d);
	buf_release(&bytes);
	return len;
}

#define HEX32 "00112233445566778899aabbccddeeff"
#define HEX38 "00112233445566778899AABBCCDDEEFF012345"
#define HEX70 HEX38 "00112233445566778899AABBCCDDEEFF"

static void test_texts_of_digests_are_small(void **state)
{
	(void)state;
	assert_int_equal(check_text("6144(6143):AAAAbbbb::3072(3071):++//"),
			 3 + 9);
	assert_int_equal(check_text("6(5):A::3(2):B"), 3 + 2);
	assert_int_equal(check_text("768:aFPEOsg4:RrZ"), 3 + 9);
	assert_int_equal(check_text("3::"), 3);
	assert_int_equal(check_text(HEX32 HEX32), 1 + 32);
	assert_int_equal(check_text("T1" HEX70), 1 + 35);
}

/* What no form makes again, by one character. */
static void test_other_texts_stay_what_they_are(void **state)
{
	static const char *const texts[] = {
		"",
		"x",
		"6144(6143):AAAA::3072(3071):AA:",
		"6144(6143):AAAA::3072(3070):AA",
		"6144(6144):AAAA::3072(3071):AA",
		"6144(6143):AAAA::3071(3070):AA",
		"6144(6143):AAAA:3072(3071):AA",
		"6144(6143):AA=A::3072(3071):AA",
		"06144(6143):AAAA::3072(3071):AA",
		"3(2):AAAA::1(0):AA",
		"18446744073709551615:a:b",
		"99999999999999999999999:a:b",
		"769:a:b",
		"768:a:b,\"name\"",
		"768:a",
		"768:a:b:c",
		HEX32 HEX32 "0",
		HEX32 "00112233445566778899aabbccddeefF",
		"t1" HEX70,
		"T1" HEX70 "0",
		"T1" HEX38 "00112233445566778899AABBCCDDEEFf",
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_int_equal(check_text((char *)texts[i]),
				 2 + strlen(texts[i]));
}

/* Parts of any two lengths, so that characters end anywhere in a byte. */
static void test_parts_of_all_lengths(void **state)
{
	uint64_t seed = 1;
	size_t a, b, i;
	char text[128];
	int len;

	(void)state;
	for (a = 0; a < 20; a++) {
		for (b = 0; b < 20; b++) {
			len = snprintf(text, sizeof(text), "12:");
			for (i = 0; i < a + 1 + b; i++)
				text[len++] =
					base64_digits[random_below(&seed, 64)];
			text[len] = '\0';
			text[3 + a] = ':';
			assert_int_equal(check_text(text),
					 3 + (6 * (a + b) + 7) / 8);
		}
	}
}

/* ---- damage ---- */

static void record_of_all(struct buf *out)
{
	static char sise[] = "6144(6143):AAAAb::3072(3071):++//";
	static char ssdeep[] = "3:abc:de", tlsh[] = "T1" HEX70, plain[] = "odd";
	static char sha256[] = HEX32 HEX32;
	struct digests d = { .set = CATALOG_TEXTS };

	d.text[DIGEST_SISE] = sise;
	d.text[DIGEST_SSDEEP] = ssdeep;
	d.text[DIGEST_SDHASH] = plain;
	d.text[DIGEST_TLSH] = tlsh;
	d.text[DIGEST_SHA256] = sha256;
	assert_int_equal(texts_store(&d, out), 0);
}

static void decode(const MDB_val *v, int want)
{
	struct digests d = { .set = CATALOG_TEXTS };
	int err = texts_decode(v, DIGEST_ALL, &d);

	digests_release(&d);
	assert_int_equal(err, want);
}

/* In memory of its own, so that no access behind it goes unseen. */
static void check_copy(const char *bytes, size_t len, bool whole)
{
	struct digests d = { .set = CATALOG_TEXTS };
	MDB_val v = { .mv_data = malloc(len ? len : 1), .mv_size = len };
	int err;

	assert_non_null(v.mv_data);
	memcpy(v.mv_data, bytes, len);
	if (whole) {
		decode(&v, 0);
	} else {
		err = texts_decode(&v, DIGEST_ALL, &d);
		assert_true(err == 0 || err == -EUCLEAN);
		digests_release(&d);
		err = texts_check(&v);
		assert_true(err == 0 || err == -EUCLEAN);
	}
	free(v.mv_data);
}

static void test_a_record_that_is_cut_is_unclean(void **state)
{
	struct buf bytes = { 0 };
	MDB_val v;
	size_t len;

	(void)state;
	record_of_all(&bytes);
	v = value_of(&bytes);
	decode(&v, 0);
	for (len = 0; len < bytes.len; len++) {
		v.mv_size = len;
		decode(&v, -EUCLEAN);
	}
	assert_int_equal(buf_append(&bytes, "", 1), 0);
	v = value_of(&bytes);
	decode(&v, -EUCLEAN);
	assert_int_equal(texts_check(&v), -EUCLEAN);
	buf_release(&bytes);
}

static void test_any_damage_is_read_or_unclean(void **state)
{
	struct buf bytes = { 0 };
	uint64_t seed = 7;
	size_t i, at;
	char was;

	(void)state;
	record_of_all(&bytes);
	check_copy(bytes.data, bytes.len, true);
	for (at = 0; at < bytes.len; at++) {
		was = bytes.data[at];
		for (i = 0; i < 256; i++) {
			bytes.data[at] = (char)i;
			check_copy(bytes.data, bytes.len, false);
		}
		bytes.data[at] = was;
	}
	for (i = 0; i < 20000; i++) {
		char noise[24];

		for (at = 0; at < sizeof(noise); at++)
			noise[at] = (char)next_random(&seed);
		if (i % 4 == 0)
			noise[0] = (char)(i % 3);
		check_copy(noise, random_below(&seed, sizeof(noise)), false);
	}
	buf_release(&bytes);
}

static void check_unclean(const char *bytes, size_t len)
{
	MDB_val v = { .mv_data = (char *)bytes, .mv_size = len };

	assert_int_equal(texts_check(&v), -EUCLEAN);
}

#define UNCLEAN(bytes) check_unclean(bytes, sizeof(bytes) - 1)

static void test_what_no_text_has_is_unclean(void **state)
{
	(void)state;
	UNCLEAN("\x03");         /* no such form */
	UNCLEAN("\xc1\x00\x00"); /* the same */
	UNCLEAN("\x80\x00\x00"); /* SiSe with half of 3 */
	UNCLEAN("\x7c\x00\x00"); /* a block of more than 64 bits */
	UNCLEAN("\x00\x02"
		"a\0");              /* a NUL in a text */
	UNCLEAN("\x41\x01\x00\x40"); /* not zeros behind the last character */
	/* lengths that do not fit into anything */
	UNCLEAN("\x41\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x01\x00");
	UNCLEAN("\x41\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f\x01\x00");
	UNCLEAN("\x41\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x00");
	UNCLEAN("\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_texts_of_digests_are_small),
		cmocka_unit_test(test_other_texts_stay_what_they_are),
		cmocka_unit_test(test_parts_of_all_lengths),
		cmocka_unit_test(test_a_record_that_is_cut_is_unclean),
		cmocka_unit_test(test_any_damage_is_read_or_unclean),
		cmocka_unit_test(test_what_no_text_has_is_unclean),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
