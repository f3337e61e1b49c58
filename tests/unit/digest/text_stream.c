/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "core/base/utf8.h"
#include "core/digest/text/text_sif.h"
#include "tests/support/sif_model.h"
#include "tests/support/text_model.h"
#include "tests/unit/digest/variants.h"

static struct text_stream stream;
static struct text_sif text_sif;

/* seed 0: in one piece. */
static void compare(struct bytes b, uint64_t seed, size_t piece)
{
	struct model_text want = model_text_of(b);
	struct taken_text have = { 0 };
	struct draws d = draws_of(seed + 1);
	size_t at, part;
	bool is_text;

	text_stream_begin(&stream, take_text, &have);
	for (at = 0; at < b.len; at += part) {
		part = seed ? draw(&d) % (2 * piece) : piece ? piece : b.len;
		part = part < b.len - at ? part : b.len - at;
		text_stream_update(&stream, b.data + at, part);
	}
	is_text = text_stream_end(&stream);
	if (!texts_match(&want, is_text, &have))
		fail_msg("seed %llu, %zu bytes, pieces of %zu: want %d %.*s, "
			 "have %d %.*s",
			 (unsigned long long)seed, b.len, piece, want.is_text,
			 (int)want.text.len, (char *)want.text.data, is_text,
			 (int)have.len, (char *)have.data);
	if (is_text)
		assert_int_equal(stream.size, have.len);
	free(want.text.data);
	free(have.data);
}

static void compare_cuts(struct bytes b, uint64_t seed)
{
	size_t cut;

	compare(b, 0, 0);
	for (cut = 1; cut < 9; cut++)
		compare(b, 0, cut);
	compare(b, seed + 1, 5);
	compare(b, seed + 1, 700);
}

/* ---- texts of all encodings ---- */

/* Characters that matter; 0 is rare. */
static uint32_t draw_code(struct draws *d, unsigned kind)
{
	static const uint32_t some[] = { ' ',    ' ',     '\t',   '\n', '\r',
					 ',',    ';',     '|',    0xa0, 0xfeff,
					 0x20ac, 0x1f600, 0x2028, 0xe9, 0x4e00,
					 0x7f,   0xbb,    0xbf,   0xc2, 0xef };

	if (draw(d) % 3 == 0)
		return some[draw(d) % (kind < 4 ? 20 : 8)];
	if (kind == 7 && draw(d) % 40 == 0)
		return (uint32_t)(draw(d) % 32);
	return (uint32_t)('a' + draw(d) % 26);
}

static void add_number(struct bytes *b, uint32_t value, size_t len, bool big)
{
	size_t i;

	for (i = 0; i < len; i++)
		b->data[b->len + (big ? len - 1 - i : i)] =
			(uint8_t)(value >> 8 * i);
	b->len += len;
}

static void add_code(struct bytes *b, uint32_t code, enum encoding encoding)
{
	bool big = encoding == ENCODING_UTF16BE || encoding == ENCODING_UTF32BE;

	if (encoding == ENCODING_UTF8) {
		model_add(b, code);
	} else if (encoding <= ENCODING_LATIN1) {
		add_number(b, code < 256 ? code : '?', 1, big);
	} else if (encoding >= ENCODING_UTF32LE) {
		add_number(b, code, 4, big);
	} else if (code < 0x10000) {
		add_number(b, code, 2, big);
	} else {
		add_number(b, 0xd800 + ((code - 0x10000) >> 10), 2, big);
		add_number(b, 0xdc00 + (code & 1023), 2, big);
	}
}

static struct bytes random_text(uint64_t seed, enum encoding encoding)
{
	struct draws d = draws_of(seed);
	unsigned kind = (unsigned)(draw(&d) % 8);
	size_t i, count = draw(&d) % (seed % 5 ? 60 : 3000);
	struct bytes b = bytes_new(4 * count + 8);

	b.len = 0;
	if (seed % 3 == 0)
		add_code(&b, 0xfeff, encoding);
	for (i = 0; i < count; i++)
		add_code(&b, draw_code(&d, kind), encoding);
	/* Half a character. */
	if (seed % 7 == 0)
		b.data[b.len++] = (uint8_t)draw(&d);
	return b;
}

static void every_encoding_is_read_as_defined(void **state)
{
	enum encoding encoding;
	struct bytes b;
	uint64_t seed;

	(void)state;
	for (encoding = ENCODING_UTF8; encoding <= ENCODING_UTF32BE; encoding++)
		for (seed = 1; seed <= 150; seed++) {
			b = random_text(seed, encoding);
			compare_cuts(b, seed);
			free(b.data);
		}
}

/* Bytes of all kinds, that a text is hardly made of. */
static void random_bytes_are_read_as_defined(void **state)
{
	static const uint8_t some[] = { 0,    0,    0,    0xff, 0xfe, 0xd8,
					0xdc, 0xc2, 0xa0, 0xef, 0xbb, 0xbf,
					' ',  'a',  '\n', 1 };
	struct draws d = draws_of(3);
	struct bytes b;
	uint64_t seed;
	size_t i;

	(void)state;
	for (seed = 1; seed <= 1500; seed++) {
		b = recipe_random(seed, draw(&d) % (seed % 10 ? 40 : 3000));
		for (i = 0; i < b.len && seed % 4; i++)
			b.data[i] = seed % 4 == 1 || b.data[i] % 4 == 0 ?
					    some[b.data[i] / 4 % 16] :
					    (uint8_t)('a' + b.data[i] % 26);
		compare_cuts(b, seed);
		free(b.data);
	}
}

static void large_texts_are_read_as_defined(void **state)
{
	struct bytes b;
	size_t i;

	(void)state;
	b = recipe_text(1, 400000);
	compare(b, 0, 0);
	compare(b, 1, 70000);
	/* A long run of blanks, and one that fills what is written at a time. */
	memset(b.data + 100, ' ', 150000);
	compare(b, 0, 0);
	for (i = 0; i < 200; i++) {
		memset(b.data, 'x', b.len);
		memset(b.data + 65400 + i, '\n', 70);
		compare(b, 0, 0);
	}
	free(b.data);
}

/* ---- what is a text ---- */

static bool is_text(const char *bytes, size_t len)
{
	struct taken_text taken = { 0 };
	bool result;

	text_stream_begin(&stream, take_text, &taken);
	text_stream_update(&stream, bytes, len);
	result = text_stream_end(&stream);
	free(taken.data);
	return result;
}

#define IS_TEXT(literal) is_text(literal, sizeof(literal) - 1)

static void a_text_is_told_from_other_bytes(void **state)
{
	(void)state;
	assert_true(IS_TEXT("a text\n"));
	assert_true(IS_TEXT("a\0 \0t\0e\0x\0t\0"));
	assert_true(IS_TEXT("\0a\0 \0t\0e\0x\0t\0"));
	assert_true(IS_TEXT("a\0\0\0b\0\0\0"));
	assert_true(IS_TEXT("\0\0\0a\0\0\0b"));
	assert_true(IS_TEXT("\033[1mbold\033[0m\n"));
	assert_true(IS_TEXT("caf\351"));
	assert_false(IS_TEXT(""));
	assert_false(IS_TEXT(" \n,;|"));
	assert_false(IS_TEXT("a text of some words\0and more"));
	assert_false(IS_TEXT("\1\2\3\4\5\6"));
	assert_false(IS_TEXT("\377\376a\0\0\0b\0"));
	/* A second half without a first one, and a first one alone. */
	assert_false(IS_TEXT("\377\376a\0\0\334b\0"));
	assert_false(IS_TEXT("\377\376a\0\0\330b\0"));
	assert_true(IS_TEXT("\377\376a\0\0\330\0\334"));
	assert_false(IS_TEXT("\377\376\0\0a\0\0\0\0\0\21\0"));
}

static void well_formed_utf8_is_told(void **state)
{
	uint8_t p[4] = { 0, 0, 0x80, 0x80 };
	unsigned first, second;

	(void)state;
	for (first = 0x80; first < 256; first++)
		for (second = 0; second < 256; second++) {
			p[0] = (uint8_t)first;
			p[1] = (uint8_t)second;
			assert_int_equal(utf8_check(p, 4) > 0,
					 model_is_utf8(p, 4));
		}
	p[0] = 0xf0;
	p[1] = 0x90;
	assert_int_equal(utf8_check(p, 3), -1);
	assert_int_equal(utf8_check(p, 4), 4);
	p[2] = 0xc0;
	assert_int_equal(utf8_check(p, 3), 0);
}

static void a_nul_far_behind_is_noticed(void **state)
{
	struct bytes b = recipe_text(1, 300000);

	(void)state;
	assert_true(is_text((char *)b.data, b.len));
	b.data[b.len - 1] = 0;
	assert_false(is_text((char *)b.data, b.len));
	free(b.data);
}

static void zeros_are_the_same_as_data(void **state)
{
	struct taken_text taken = { 0 };
	uint64_t len;

	(void)state;
	for (len = 1; len < 1u << 20; len *= 4) {
		text_stream_begin(&stream, take_text, &taken);
		text_stream_update(&stream, "text", 4);
		text_stream_update_zeros(&stream, len);
		assert_false(text_stream_end(&stream));
	}
	free(taken.data);
}

/* ---- sketches ---- */

static int sketch(struct bytes b, uint64_t size, struct sif_sketch *out)
{
	text_sif_begin(&text_sif, size);
	text_sif_update(&text_sif, b.data, b.len);
	return text_sif_final(&text_sif, out);
}

static void the_sketch_is_that_of_the_text(void **state)
{
	static struct sif_sketch have, want;
	struct model_text m;
	struct values windows;
	struct bytes b;
	uint64_t seed;

	(void)state;
	assert_int_equal(text_sif_init(&text_sif), 0);
	for (seed = 1; seed < 12; seed++) {
		b = recipe_text(seed, (size_t)1 << (seed + 7));
		m = model_text_of(b);
		windows = windows_of(m.text, SIF_WINDOW, model_value);
		want = model_sketch(windows, SIF_WINDOW,
				    text_sif_values(m.text.len));
		model_round_values(&want);
		assert_int_equal(sketch(b, b.len, &have), 0);
		assert_true(same(&have, &want));
		assert_int_equal(sketch(b, UINT64_MAX, &have), 0);
		assert_true(same(&have, &want));
		free(windows.v);
		free(m.text.data);
		free(b.data);
	}
}

static struct bytes of_literal(char *text)
{
	return (struct bytes){ (uint8_t *)text, strlen(text) };
}

static void what_has_no_window_has_no_sketch(void **state)
{
	static struct sif_sketch have;

	(void)state;
	assert_int_equal(text_sif_init(&text_sif), 0);
	assert_int_equal(sketch(of_literal("abcdefgh, ijklmno"), 17, &have),
			 -ENODATA);
	assert_int_equal(sketch(of_literal("abcdefgh ijklmnop"), 17, &have), 0);
	assert_int_equal(sketch(of_literal("--------------------"), 20, &have),
			 -ENODATA);
	assert_int_equal(
		sketch(of_literal("\1\2\3\4\5\6\7sixteen letters"), 22, &have),
		-ENODATA);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_encoding_is_read_as_defined),
		cmocka_unit_test(random_bytes_are_read_as_defined),
		cmocka_unit_test(large_texts_are_read_as_defined),
		cmocka_unit_test(a_text_is_told_from_other_bytes),
		cmocka_unit_test(well_formed_utf8_is_told),
		cmocka_unit_test(a_nul_far_behind_is_noticed),
		cmocka_unit_test(zeros_are_the_same_as_data),
		cmocka_unit_test(the_sketch_is_that_of_the_text),
		cmocka_unit_test(what_has_no_window_has_no_sketch),
	};

	return run_with_variants(tests, sizeof(tests) / sizeof(tests[0]));
}
