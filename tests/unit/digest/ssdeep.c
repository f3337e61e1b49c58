/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "tests/support/recipe.h"
#include "tests/support/ssdeep_model.h"
#include "tests/unit/digest/ssdeep_texts.h"
#include "tests/unit/digest/variants.h"

#define INPUTS "tests/vectors/sise/inputs.tsv"

static struct ctph ssdeep;

/* ---- golden values ---- */

TEST(digests_of_the_inputs)
{
	static struct named golden[200];
	size_t i, count = read_named(DIR "signatures.tsv", golden, 200);
	struct tsv inputs = tsv_open(INPUTS);
	char have[TEXT_SIZE], split[TEXT_SIZE];
	struct bytes input;

	assert_int_equal(count, 134);
	for (i = 0; i < count; i++) {
		assert_true(tsv_next(&inputs));
		assert_string_equal(inputs.fields[0], golden[i].name);
		input = recipe_parse(inputs.fields[1]);
		digest_of(input, 0, have);
		digest_of(input, i + 1, split);
		assert_string_equal(have, golden[i].text);
		assert_string_equal(split, golden[i].text);
		free(input.data);
	}
	tsv_close(&inputs);
}

TEST(the_papers_texts)
{
	struct named named[8];
	size_t i, count = read_named(DIR "quijote_signatures.tsv", named, 8);
	char path[128], have[TEXT_SIZE];
	struct bytes input;

	for (i = 0; i < count; i++) {
		(void)snprintf(path, sizeof(path),
			       "tests/vectors/sise/paper/quijote/%.31s.txt",
			       named[i].name);
		input = bytes_read(path);
		digest_of(input, 0, have);
		assert_string_equal(have, named[i].text);
		free(input.data);
	}
}

/* ---- against a model that computes one level at a time ---- */

static void compare_with_model(struct bytes b, uint64_t seed)
{
	char want[SSDEEP_MODEL_TEXT], have[TEXT_SIZE], split[TEXT_SIZE];

	ssdeep_model(b, want);
	digest_of(b, 0, have);
	digest_of(b, seed, split);
	if (strcmp(want, have) != 0 || strcmp(want, split) != 0)
		fail_msg("seed %llu, %zu bytes:\nwant  %s\nhave  %s\nsplit %s",
			 (unsigned long long)seed, b.len, want, have, split);
}

TEST(odd_inputs_give_what_the_model_gives)
{
	struct bytes b;
	uint64_t seed;

	for (seed = 1; seed <= 1500; seed++) {
		b = recipe_odd(seed);
		compare_with_model(b, seed);
		free(b.data);
	}
}

/* All values of a byte, some of which trigger everywhere. */
TEST(constant_inputs_give_what_the_model_gives)
{
	struct bytes b;
	unsigned value;
	uint8_t byte;

	for (value = 0; value < 256; value++) {
		byte = (uint8_t)value;
		b = recipe_repeat(&byte, 1, 20000 + value);
		compare_with_model(b, value + 1);
		free(b.data);
	}
}

TEST(larger_inputs_give_what_the_model_gives)
{
	static const size_t sizes[] = { 300000, 1000003, 3145728, 3145729 };
	struct bytes b;
	size_t i;

	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		b = recipe_random(i + 1, sizes[i]);
		compare_with_model(b, i + 1);
		/* A constant end: the high levels do not fill up. */
		memset(b.data + b.len / 8, 'x', b.len - b.len / 8);
		compare_with_model(b, i + 1);
		free(b.data);
		b = recipe_repeat((const uint8_t *)"0123456", 7, sizes[i]);
		compare_with_model(b, i + 1);
		free(b.data);
		b = recipe_text(i + 1, sizes[i]);
		compare_with_model(b, i + 1);
		free(b.data);
	}
}

/* Bytes that trigger a level, and all below. */
static const uint8_t level12[7] = { 0x70, 0xc0, 0xf2, 0xd1, 0xcc, 0x41, 0xbb };
static const uint8_t level15[7] = { 0x69, 0x6b, 0x03, 0xea, 0xde, 0xb8, 0x02 };
static const uint8_t level30[7] = { 0x88, 0x5e, 0x3f, 0x1f, 0x1f, 0x55, 0x49 };

static void strew(struct bytes b, const uint8_t word[7], size_t first,
		  size_t step, size_t count)
{
	size_t at;

	for (at = first; count > 0 && at + 7 <= b.len; at += step, count--)
		memcpy(b.data + at, word, 7);
}

/* The state of a level counts from the first byte on, long before the size
 * gives the level a part in the result. */
TEST(high_levels_trigger_early)
{
	struct bytes b;
	uint64_t seed;
	size_t count;

	for (count = 1; count < 80; count++) {
		b = recipe_random(count, 300000);
		strew(b, level12, count, 41, count);
		compare_with_model(b, count);
		free(b.data);
	}
	b = recipe_random(1, 4000000);
	strew(b, level15, 50, 40, 3);
	compare_with_model(b, 1);
	free(b.data);
	for (seed = 1; seed <= 100; seed++) {
		b = recipe_random(seed, 300 * seed);
		strew(b, seed % 2 ? level12 : level30, seed, 7 + seed * seed,
		      SIZE_MAX);
		compare_with_model(b, seed);
		free(b.data);
	}
}

TEST(too_large)
{
	struct ssdeep_signature sig;

	ctph_init(&ssdeep, CTPH_SSDEEP);
	ssdeep.size = SSDEEP_MAX_SIZE;
	assert_int_equal(ssdeep_read(&ssdeep, &sig), 0);
	ssdeep.size++;
	assert_int_equal(ssdeep_read(&ssdeep, &sig), -EOVERFLOW);
}

/* ---- text ---- */

TEST(what_is_no_signature_is_refused)
{
	static const char *const bad[] = {
		"",
		":",
		"3",
		"3:",
		"3:A",
		":A:B",
		"x3:A:B",
		"3:A:B:",
		"3:A:B,x",
		"3:A:B\n",
		"3: A:B",
		"-3:A:B",
		"+3:A:B",
		"03:A:B",
		"3:A-:B",
		"3:A:B\"",
		"0:A:B",
		"3 :A:B",
		"18446744073709551616:A:B",
	};
	char text[2 * SSDEEP_MAX_CHARS] = "3:";
	struct ssdeep_signature sig;
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (ssdeep_parse(bad[i], strlen(bad[i]), &sig) != -EINVAL)
			fail_msg("accepted: %s", bad[i]);
	/* A NUL ends nothing. */
	assert_int_equal(ssdeep_parse("3:A\0:B", 6, &sig), -EINVAL);
	memset(text + 2, 'A', SSDEEP_MAX_CHARS + 1);
	text[2 + SSDEEP_MAX_CHARS] = ':';
	assert_int_equal(ssdeep_parse(text, strlen(text), &sig), 0);
	text[2 + SSDEEP_MAX_CHARS] = 'A';
	text[3 + SSDEEP_MAX_CHARS] = ':';
	assert_int_equal(ssdeep_parse(text, strlen(text), &sig), -EINVAL);
}

TEST(text_and_back)
{
	const char *good[] = { "3::", "3:A:", "3::/",
			       "12884901888:+/09azAZ:ABC", NULL };
	struct ssdeep_signature sig;
	char have[TEXT_SIZE], full[TEXT_SIZE];
	size_t i;

	(void)snprintf(full, sizeof(full), "3:%s:%s", alphabet, alphabet);
	good[4] = full;
	for (i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		sig = parse(good[i]);
		format(&sig, have);
		assert_string_equal(have, good[i]);
	}
}
