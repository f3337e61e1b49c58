/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "tests/support/recipe.h"
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
