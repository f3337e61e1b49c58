/* SPDX-License-Identifier: Apache-2.0 */
#include <openssl/sha.h>

#include "core/base/hex.h"
#include "core/digest/sise.h"
#include "tests/support/recipe.h"
#include "tests/support/sise_model.h"
#include "tests/unit/digest/variants.h"

#define DIR "tests/vectors/sise/"
#define UNCUT ((size_t)INT32_MAX)
#define CUT ((size_t)2 * SISE_MAX_PAIRS)

static struct ctph sise;

static char *format(const struct sise_signature *sig)
{
	struct buf text = { 0 };

	assert_int_equal(sise_format(sig, &text), 0);
	return buf_take(&text);
}

/* Signature of b; seed != 0 cuts it into updates of random lengths. */
static char *signature_of(struct bytes b, uint64_t seed)
{
	struct draws d = draws_of(seed);
	struct sise_signature sig;
	size_t i, part, max;

	ctph_init(&sise, CTPH_SISE);
	for (i = 0; i < b.len; i += part) {
		part = b.len - i;
		max = seed ? draw(&d) % (draw(&d) % 3 ? 9 : 5000) : part;
		part = max < part ? max : part;
		ctph_update(&sise, b.data + i, part);
	}
	sise_read(&sise, &sig);
	return format(&sig);
}

static void sha256_32(const void *data, size_t len, char out[33])
{
	uint8_t hash[SHA256_DIGEST_LENGTH];

	(void)SHA256(data, len, hash);
	hex_encode(hash, 16, out);
}

/* Whether the uncut text is the golden one, which may be given as
 * "LONG length=... sha256_32=...". */
static int is_golden(const char *golden, const char *text)
{
	char hash[33], want[33];
	size_t len;

	if (strncmp(golden, "LONG ", 5) != 0)
		return strcmp(golden, text) == 0;
	if (sscanf(golden, "LONG length=%zu sha256_32=%32s", &len, want) != 2)
		return 0;
	sha256_32(text, strlen(text), hash);
	return strlen(text) == len && strcmp(hash, want) == 0;
}

/* A line of signatures.tsv: 1 when all is as it says. */
static int check_line(const struct tsv *line, struct bytes input)
{
	const char *golden = line->fields[strcmp(line->fields[4], "=") ? 4 : 3];
	char *model = model_signature(input.data, input.len, UNCUT);
	char *want = model_signature(input.data, input.len, CUT);
	char *have = signature_of(input, 0);
	char hash[33];
	int ok;

	sha256_32(input.data, input.len, hash);
	ok = strtoul(line->fields[1], NULL, 10) == input.len &&
	     strcmp(hash, line->fields[2]) == 0 && is_golden(golden, model) &&
	     strcmp(want, have) == 0;
	/* What needed no cut is compared directly, without the model. */
	if (strlen(have) == strlen(model))
		ok = ok && is_golden(golden, have);
	free(model);
	free(want);
	free(have);
	return ok;
}

TEST(signatures_are_the_published_ones)
{
	struct tsv inputs = tsv_open(DIR "inputs.tsv");
	struct tsv lines = tsv_open(DIR "signatures.tsv");
	struct bytes input;
	size_t count = 0;

	while (tsv_next(&lines)) {
		assert_true(tsv_next(&inputs));
		assert_string_equal(inputs.fields[0], lines.fields[0]);
		input = recipe_parse(inputs.fields[1]);
		if (!check_line(&lines, input))
			fail_msg("%s differs", lines.fields[0]);
		free(input.data);
		count++;
	}
	assert_int_equal(count, 134);
	tsv_close(&inputs);
	tsv_close(&lines);
}

TEST(the_papers_texts)
{
	struct tsv lines = tsv_open(DIR "paper/quijote_signatures.tsv");
	struct bytes input;
	char path[128], *have;

	while (tsv_next(&lines)) {
		(void)snprintf(path, sizeof(path), DIR "paper/quijote/%s.txt",
			       lines.fields[0]);
		input = bytes_read(path);
		have = signature_of(input, 0);
		assert_string_equal(have, lines.fields[3]);
		free(have);
		free(input.data);
	}
	tsv_close(&lines);
}
