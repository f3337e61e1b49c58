/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/similar/query_text.h"

/* clang-format off: cmocka wants these four before it */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"

#define SIMHASH "simhash=0123456789abcdef\n"
#define SIF "sif=sif4:ABEAAo5Zl86MRQI\n"
/* One filter, with a bit in each of its first two bytes. */
#define A64 "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
#define SDBF                                                               \
	"sdbf:03:1:x:600:sha1:256:5:7ff:160:1:20:AQEA" A64 A64 A64 A64 A64 \
	"AAAAAAAAAAAAAAAAAA=="
#define ALL                                                \
	"sise=6(5):AAAB::3(2):AAABAC\n" SIMHASH            \
	"rdc=000102030405060708090a0b3c3d3e3f\n" SIF       \
	"ssdeep=3:AXGBicFlgVNhBGcL6wCrFQE:AXGHsNhxLsr2C\n" \
	"xxh128=99aa06d3014798d86001c324468d497f\n"        \
	"size=77\n"

/* From memory that ends where the text does. */
static int parse(const char *text, size_t len, struct query_text *out)
{
	char *copy = malloc(len ? len : 1);
	int err;

	assert_non_null(copy);
	memcpy(copy, text, len);
	err = query_text_parse(copy, len, out);
	free(copy);
	return err;
}

static void assert_refused(const char *text, size_t len)
{
	struct query_text q, before;

	memset(&q, 0x5a, sizeof(q));
	before = q;
	if (parse(text, len, &q) != -EINVAL)
		fail_msg("not refused: %s", text);
	assert_memory_equal(&q, &before, sizeof(q));
}

static void assert_relation(const char *text, enum index_relation want)
{
	struct query_text q;

	assert_int_equal(parse(text, strlen(text), &q), 0);
	assert_int_equal(q.relation, want);
	query_text_release(&q);
}

static void all_digests_are_taken(void **state)
{
	struct buf text = { 0 };
	struct query_text q;
	enum digest_id id;

	(void)state;
	assert_int_equal(parse(ALL, strlen(ALL), &q), 0);
	assert_int_equal(q.digests.set, DIGEST_DEFAULT);
	assert_int_equal(q.digests.size, 77);
	for (id = 0; id < DIGEST_COUNT; id++) {
		if (!(DIGEST_DEFAULT & DIGEST_BIT(id)))
			continue;
		assert_int_equal(
			buf_append_format(&text, "%s=", digest_table[id]->name),
			0);
		assert_int_equal(digest_format(&q.digests, id, &text), 0);
		assert_int_equal(buf_append_text(&text, "\n"), 0);
	}
	assert_int_equal(buf_append_text(&text, "size=77\n"), 0);
	assert_string_equal(text.data, ALL);
	buf_release(&text);
	query_text_release(&q);
}

static void one_digest_is_enough(void **state)
{
	struct query_text q;

	(void)state;
	assert_int_equal(parse("size=1\nsimhash=00000000000000ff", 31, &q), 0);
	assert_int_equal(q.digests.set, DIGEST_BIT(DIGEST_SIMHASH));
	assert_int_equal(digests_simhash(&q.digests), 0xff);
	assert_null(q.digests.blocks[DIGEST_SISE].bytes);
	query_text_release(&q);
}

static void sizes_have_64_bits(void **state)
{
	struct query_text q;
	const char *text = "size=18446744073709551615\n" SIMHASH;

	(void)state;
	assert_int_equal(parse(text, strlen(text), &q), 0);
	assert_true(q.digests.size == UINT64_MAX);
	query_text_release(&q);
}

static void relations_have_names(void **state)
{
	(void)state;
	assert_relation("size=1\n" SIMHASH, INDEX_ALIKE);
	assert_relation("relation=alike\nsize=1\n" SIMHASH, INDEX_ALIKE);
	assert_relation("relation=within\nsize=1\n" SIMHASH, INDEX_WITHIN);
	assert_relation(SIMHASH "size=1\nrelation=contains", INDEX_CONTAINS);
}

static void nonsense_is_refused(void **state)
{
	static const char *const texts[] = {
		"",
		"\n",
		"size=1\n",
		SIMHASH,
		"relation=alike\n" SIMHASH,
		"size=1\n\n" SIMHASH,
		"size=1\n" SIMHASH "\n",
		"size=1\n" SIMHASH "more",
		"size=1\n" SIMHASH "=",
		"size=1\n" SIMHASH "md5=0123",
		"size=1\n" SIMHASH "user.rdc.traits=00",
		"size=1\n" SIMHASH " rdc=000102030405060708090a0b3c3d3e3f",
		"size =1\n" SIMHASH,
		"size= 1\n" SIMHASH,
		"size=1 \n" SIMHASH,
		"size=1\r\n" SIMHASH,
		"size=\n" SIMHASH,
		"size=01\n" SIMHASH,
		"size=-1\n" SIMHASH,
		"size=0x1\n" SIMHASH,
		"size=1.0\n" SIMHASH,
		"size=18446744073709551616\n" SIMHASH,
		"size=1\nsimhash=0123456789abcde",
		"size=1\nsimhash=0123456789abcdef0",
		"size=1\nsimhash=",
		"size=1\nsimhash",
		"size=1\nsif=sif4:ABEAAo5Zl86MRQ",
		"size=1\nsif=sif3:ABEAAo5Zl86MRQI",
		"relation=\nsize=1\n" SIMHASH,
		"relation=like\nsize=1\n" SIMHASH,
		"relation=alike2\nsize=1\n" SIMHASH,
		"relation=alik\nsize=1\n" SIMHASH,
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_refused(texts[i], strlen(texts[i]));
}

static void nothing_comes_twice(void **state)
{
	static const char *const texts[] = {
		"size=1\nsize=1\n" SIMHASH,
		"size=1\n" SIMHASH SIMHASH,
		"size=1\n" SIF SIMHASH SIF,
		"relation=alike\nrelation=alike\nsize=1\n" SIMHASH,
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_refused(texts[i], strlen(texts[i]));
}

static void bytes_of_zero_are_refused(void **state)
{
	static const char value[] = "size=1\0\n" SIMHASH;
	static const char name[] = "\0size=1\n" SIMHASH;
	static const char end[] = "size=1\n" SIMHASH;

	(void)state;
	assert_refused(value, sizeof(value) - 1);
	assert_refused(name, sizeof(name) - 1);
	assert_refused(end, sizeof(end));
}

/* Nothing compares them. */
static void sdhash_is_refused(void **state)
{
	struct digests d = { 0 };

	(void)state;
	assert_int_equal(digest_parse(DIGEST_SDHASH, SDBF, strlen(SDBF), &d),
			 0);
	digests_release(&d);
	assert_refused("size=1\nsdhash=" SDBF, strlen("size=1\nsdhash=" SDBF));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_digests_are_taken),
		cmocka_unit_test(one_digest_is_enough),
		cmocka_unit_test(sizes_have_64_bits),
		cmocka_unit_test(relations_have_names),
		cmocka_unit_test(nonsense_is_refused),
		cmocka_unit_test(nothing_comes_twice),
		cmocka_unit_test(bytes_of_zero_are_refused),
		cmocka_unit_test(sdhash_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
