/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "core/digest/digest.h"
#include "tests/support/vectors.h"

/* One filter, with a bit in each of its first two bytes. */
#define A64 "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
#define SDBF                                                               \
	"sdbf:03:1:x:600:sha1:256:5:7ff:160:1:20:AQEA" A64 A64 A64 A64 A64 \
	"AAAAAAAAAAAAAAAAAA=="
#define SISE "6(5):AAAB::3(2):AAABAC"

static const char *const texts[DIGEST_COUNT] = {
	[DIGEST_SISE] = SISE,
	[DIGEST_SIMHASH] = "0123456789abcdef",
	[DIGEST_SIF] = "sif3:16:2:AAIAAGgA",
	[DIGEST_SSDEEP] = "3:AXGBicFlgVNhBGcL6wCrFQE:AXGHsNhxLsr2C",
	[DIGEST_RDC] = "000102030405060708090a0b3c3d3e3f",
	[DIGEST_XXH128] = "99aa06d3014798d86001c324468d497f",
	[DIGEST_SDHASH] = SDBF,
	[DIGEST_TLSH] = "T1C9D02B95895A6C24C3B504E122040AA17AE1A10C4153866638"
			"2E5428851E588094AA42",
	[DIGEST_SHA256] = "e3b0c44298fc1c149afbf4c8996fb924"
			  "27ae41e4649b934ca495991b7852b855",
	[DIGEST_TEXT] = "sif3:16:2:AAIAIKwA",
	[DIGEST_SIF8] = "sif8:AQE+",
};

static void parse(struct digests *d, enum digest_id id, const char *text)
{
	assert_int_equal(digest_parse(id, text, strlen(text), d), 0);
}

static struct digests make_all(void)
{
	struct digests d = { .size = 77 };
	enum digest_id id;

	for (id = 0; id < DIGEST_COUNT; id++)
		parse(&d, id, texts[id]);
	return d;
}

static void assert_text(const struct digests *d, enum digest_id id,
			const char *want)
{
	struct buf text = { 0 };

	assert_int_equal(digest_format(d, id, &text), 0);
	assert_string_equal(text.data, want);
	assert_int_equal(text.len, strlen(want));
	buf_release(&text);
}

static void names_lead_to_digests(void **state)
{
	enum digest_id id;

	(void)state;
	for (id = 0; id < DIGEST_COUNT; id++) {
		assert_int_equal(digest_infos[id].id, id);
		assert_ptr_equal(digest_find(digest_infos[id].name),
				 &digest_infos[id]);
		assert_ptr_equal(
			digest_find(strchr(digest_infos[id].attribute, '.') +
				    1),
			&digest_infos[id]);
		assert_ptr_equal(digest_find(digest_infos[id].attribute),
				 &digest_infos[id]);
	}
	assert_string_equal(digest_infos[DIGEST_RDC].attribute,
			    "user.rdc.traits");
	assert_string_equal(digest_infos[DIGEST_TEXT].attribute,
			    "user.text.sif");
	assert_null(digest_find(""));
	assert_null(digest_find("user."));
	assert_null(digest_find("user.rdc"));
	assert_null(digest_find("md5"));
}

static void what_is_parsed_is_printed(void **state)
{
	struct digests d = make_all();
	enum digest_id id;

	(void)state;
	assert_int_equal(d.set, DIGEST_ALL);
	assert_true(d.simhash == UINT64_C(0x0123456789abcdef));
	assert_int_equal(d.traits[15], 0x3f);
	assert_int_equal(d.xxh128[0], 0x99);
	for (id = 0; id < DIGEST_COUNT; id++)
		assert_text(&d, id, texts[id]);
	/* A second parse replaces the first. */
	parse(&d, DIGEST_SISE, "6(5):AA::3(2):AA");
	assert_text(&d, DIGEST_SISE, "6(5):AA::3(2):AA");
	digests_release(&d);
	digests_release(&d);
}

static void a_missing_digest_has_no_text(void **state)
{
	struct digests d = { 0 };
	struct buf text = { 0 };
	enum digest_id id;

	(void)state;
	for (id = 0; id < DIGEST_COUNT; id++)
		assert_int_equal(digest_format(&d, id, &text), -ENODATA);
	assert_int_equal(text.len, 0);
}

static const struct {
	enum digest_id id;
	const char *text;
} malformed[] = {
	{ DIGEST_SISE, "" },
	{ DIGEST_SISE, "6(5):AA" },
	{ DIGEST_SISE, SISE "A" },
	{ DIGEST_SIMHASH, "" },
	{ DIGEST_SIMHASH, "0123456789abcde" },
	{ DIGEST_SIMHASH, "0123456789abcdef0" },
	{ DIGEST_SIMHASH, "0123456789abcdeg" },
	{ DIGEST_SIMHASH, "0x23456789abcdef" },
	{ DIGEST_SIMHASH, "0123456789ABCDEF" },
	{ DIGEST_RDC, "000102030405060708090a0b3c3d3e" },
	{ DIGEST_RDC, "000102030405060708090a0b3c3d3e40" },
	{ DIGEST_RDC, "000102030405060708090A0B3C3D3E3F" },
	{ DIGEST_SIF, "" },
	{ DIGEST_TEXT, "" },
	{ DIGEST_TEXT, "sif3:16:2:AAIAAGg" },
	{ DIGEST_SIF, "sif3:16:2:AAIAAGg" },
	{ DIGEST_SIF, "sif1:16:2:AAAAAAABAAAAAAAC" },
	{ DIGEST_SIF8, "" },
	{ DIGEST_SIF8, "sif8:AQE" },
	{ DIGEST_SIF8, "sif8:AQEB" },
	{ DIGEST_SSDEEP, "" },
	{ DIGEST_SSDEEP, "3:AXG" },
	{ DIGEST_SSDEEP, "3:AXG:A,name" },
	{ DIGEST_XXH128, "99aa06d3014798d86001c324468d497" },
	{ DIGEST_XXH128, "99aa06d3014798d86001c324468d497f\n" },
	{ DIGEST_XXH128, "99AA06D3014798D86001C324468D497F" },
	{ DIGEST_SDHASH, "" },
	{ DIGEST_SDHASH, SDBF "x" },
	{ DIGEST_SDHASH, SDBF "\n" },
	{ DIGEST_SDHASH, SDBF "\r" },
	{ DIGEST_SDHASH, "\n" SDBF },
	{ DIGEST_SDHASH, SDBF "\n" SDBF },
	{ DIGEST_SDHASH, "sdbf:03:1:x:600:sha1:256:5:7ff:160:1:20:" },
	{ DIGEST_TLSH, "" },
	{ DIGEST_TLSH, "T1" },
	{ DIGEST_TLSH, "T2C9D02B95895A6C24C3B504E122040AA17AE1A10C4153"
		       "866638"
		       "2E5428851E588094AA42" },
	{ DIGEST_SHA256, "e3b0c44298fc1c149afbf4c8996fb924" },
	{ DIGEST_SHA256, "E3B0C44298FC1C149AFBF4C8996FB924"
			 "27AE41E4649B934CA495991B7852B855" },
	{ DIGEST_COUNT, "99aa06d3014798d86001c324468d497f" },
};

static void malformed_texts_leave_all_as_it_was(void **state)
{
	struct digests d = make_all();
	enum digest_id id;
	size_t i;

	(void)state;
	d.set = 0;
	for (i = 0; i < sizeof(malformed) / sizeof(malformed[0]); i++)
		assert_int_equal(digest_parse(malformed[i].id,
					      malformed[i].text,
					      strlen(malformed[i].text), &d),
				 -EINVAL);
	assert_int_equal(d.set, 0);
	d.set = DIGEST_ALL;
	for (id = 0; id < DIGEST_COUNT; id++)
		assert_text(&d, id, texts[id]);
	digests_release(&d);
}

static void a_copy_stands_alone(void **state)
{
	struct digests d = make_all(), copy, none = { 0 };
	enum digest_id id;

	(void)state;
	assert_int_equal(digests_copy(&d, &copy), 0);
	digests_release(&d);
	assert_int_equal(copy.size, 77);
	for (id = 0; id < DIGEST_COUNT; id++)
		assert_text(&copy, id, texts[id]);
	digests_release(&copy);
	assert_int_equal(digests_copy(&none, &copy), 0);
	assert_null(copy.text[DIGEST_SISE]);
}

/* ---- comparing ---- */

static int score(enum digest_id id, const char *x, const char *y)
{
	struct digests a = { 0 }, b = { 0 };
	int there = -1, back = -2;

	parse(&a, id, x);
	parse(&b, id, y);
	assert_int_equal(digest_compare(id, &a, &b, &there), 0);
	assert_int_equal(digest_compare(id, &b, &a, &back), 0);
	assert_int_equal(there, back);
	digests_release(&a);
	digests_release(&b);
	return there;
}

static void scores_of_simhash(void **state)
{
	static const char zero[] = "0000000000000000";

	(void)state;
	assert_int_equal(score(DIGEST_SIMHASH, zero, zero), 100);
	assert_int_equal(score(DIGEST_SIMHASH, zero, "8000000000000000"), 98);
	assert_int_equal(score(DIGEST_SIMHASH, zero, "00000000ffffffff"), 50);
	assert_int_equal(score(DIGEST_SIMHASH, zero, "fffffffffffffffe"), 1);
	assert_int_equal(score(DIGEST_SIMHASH, zero, "ffffffffffffffff"), 0);
}

static void scores_of_traits(void **state)
{
	static const char none[] = "00000000000000000000000000000000";
	static const char ones[] = "01010101010101010101010101010101";

	(void)state;
	assert_int_equal(score(DIGEST_RDC, ones, ones), 100);
	assert_int_equal(
		score(DIGEST_RDC, ones, "01010101010101010101010101010102"),
		93);
	assert_int_equal(
		score(DIGEST_RDC, ones, "02020202020202020202020202020201"), 6);
	assert_int_equal(score(DIGEST_RDC, ones, none), 0);
	assert_int_equal(score(DIGEST_RDC, none, none), 0);
}

static void scores_of_sise(void **state)
{
	(void)state;
	assert_int_equal(score(DIGEST_SISE, SISE, SISE), 100);
	assert_int_equal(score(DIGEST_SISE, SISE, "12(11):AA::6(5):AAAC"), 50);
	assert_int_equal(score(DIGEST_SISE, SISE, "24(23):AA::12(11):AAAB"), 0);
}

/* Of the larger one, four windows, the other has two. */
static void scores_of_sif(void **state)
{
	static const char two[] = "sif3:16:2:AAIAIKwA";
	static const char four[] = "sif3:16:4:AAQAAFQDAA";
	static const char other[] = "sif3:16:2:AAIAIOwA";

	(void)state;
	assert_int_equal(score(DIGEST_SIF, two, two), 100);
	assert_int_equal(score(DIGEST_SIF, two, four), 50);
	assert_int_equal(score(DIGEST_SIF, other, four), 25);
	assert_int_equal(score(DIGEST_TEXT, other, four), 25);
	assert_int_equal(score(DIGEST_SIF, two, "sif3:16:2:AAIAT/v///8BAAAEAA"),
			 0);
}

/* One window, at one place or another. */
static void scores_of_sif8(void **state)
{
	struct digests a = { 0 }, b = { 0 };
	int have = 7;

	(void)state;
	assert_int_equal(score(DIGEST_SIF8, "sif8:AQEA", "sif8:AQEA"), 100);
	assert_int_equal(score(DIGEST_SIF8, "sif8:AQEA", "sif8:AQE+"), 0);
	parse(&a, DIGEST_SIF8, "sif8:AAA");
	parse(&b, DIGEST_SIF8, "sif8:AQEA");
	assert_int_equal(digest_compare(DIGEST_SIF8, &a, &a, &have), -ENODATA);
	assert_int_equal(digest_compare(DIGEST_SIF8, &b, &b, &have), 0);
	assert_int_equal(have, 100);
	digests_release(&a);
	digests_release(&b);
}

static void an_empty_sketch_says_nothing(void **state)
{
	struct digests a = { 0 }, b = { 0 };
	int have = 7;

	(void)state;
	parse(&a, DIGEST_SIF, "sif3:16:0:AAAA");
	parse(&b, DIGEST_SIF, "sif3:16:0:AAAA");
	assert_int_equal(digest_compare(DIGEST_SIF, &a, &b, &have), -ENODATA);
	parse(&b, DIGEST_SIF, "sif3:17:1:AAEAAAwA");
	assert_int_equal(digest_compare(DIGEST_SIF, &a, &b, &have), -EINVAL);
	assert_int_equal(have, 7);
	digests_release(&a);
	digests_release(&b);
}

/* As ssdeep itself says of these two. */
static void scores_of_ssdeep(void **state)
{
	static const char a[] =
		"96:KRQhjwFzxP3WAMVP1mVPoU6nUjmgd4ApOdRrVnTGMCG6:yzxP2VdyN6nUjxd4vRrVne";
	(void)state;
	assert_int_equal(score(DIGEST_SSDEEP, a, a), 100);
	assert_int_equal(score(DIGEST_SSDEEP, a, "3:AXG:AX"), 0);
}

static void contents_are_equal_or_not(void **state)
{
	struct digests a = make_all(), b = make_all();
	int have = -1;

	(void)state;
	assert_int_equal(digest_compare(DIGEST_XXH128, &a, &b, &have), 0);
	assert_int_equal(have, 100);
	b.size++;
	assert_int_equal(digest_compare(DIGEST_XXH128, &a, &b, &have), 0);
	assert_int_equal(have, 0);
	b.size--;
	b.xxh128[15] ^= 1;
	assert_int_equal(digest_compare(DIGEST_XXH128, &a, &b, &have), 0);
	assert_int_equal(have, 0);
	digests_release(&a);
	digests_release(&b);
}

static void what_cannot_be_compared_says_so(void **state)
{
	struct digests all = make_all(), none = { 0 }, bad = make_all();
	enum digest_id id;
	int have = 7;

	(void)state;
	for (id = 0; id < DIGEST_COUNT; id++) {
		assert_int_equal(digest_compare(id, &all, &none, &have),
				 -ENODATA);
		assert_int_equal(digest_compare(id, &none, &all, &have),
				 -ENODATA);
	}
	bad.text[DIGEST_SISE][0] = 'x';
	assert_int_equal(digest_compare(DIGEST_SISE, &all, &bad, &have),
			 -EINVAL);
	assert_int_equal(digest_compare(DIGEST_SISE, &bad, &all, &have),
			 -EINVAL);
	assert_int_equal(have, 7);
	digests_release(&all);
	digests_release(&bad);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_lead_to_digests),
		cmocka_unit_test(what_is_parsed_is_printed),
		cmocka_unit_test(a_missing_digest_has_no_text),
		cmocka_unit_test(malformed_texts_leave_all_as_it_was),
		cmocka_unit_test(a_copy_stands_alone),
		cmocka_unit_test(scores_of_simhash),
		cmocka_unit_test(scores_of_traits),
		cmocka_unit_test(scores_of_sise),
		cmocka_unit_test(scores_of_sif),
		cmocka_unit_test(scores_of_sif8),
		cmocka_unit_test(an_empty_sketch_says_nothing),
		cmocka_unit_test(scores_of_ssdeep),
		cmocka_unit_test(contents_are_equal_or_not),
		cmocka_unit_test(what_cannot_be_compared_says_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
