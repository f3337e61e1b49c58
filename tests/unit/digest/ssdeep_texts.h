/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNIT_DIGEST_SSDEEP_TEXTS_H
#define TESTS_UNIT_DIGEST_SSDEEP_TEXTS_H

#include "core/digest/ssdeep.h"
#include "tests/support/recipe.h"

/* Digests by ssdeep as text, golden ones among them, and odd inputs. */

#define DIR "tests/vectors/ssdeep/"
#define TEXT_SIZE 160

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
			       "abcdefghijklmnopqrstuvwxyz0123456789+/";

static inline void format(const struct ssdeep_signature *sig,
			  char out[TEXT_SIZE])
{
	struct buf text = { 0 };

	assert_int_equal(ssdeep_format(sig, &text), 0);
	(void)snprintf(out, TEXT_SIZE, "%s", text.data);
	buf_release(&text);
}

static inline struct ssdeep_signature parse(const char *text)
{
	struct ssdeep_signature sig;

	if (ssdeep_parse(text, strlen(text), &sig))
		fail_msg("cannot parse %s", text);
	return sig;
}

static inline int score_of(const char *a, const char *b)
{
	struct ssdeep_signature x = parse(a), y = parse(b);
	int score = ssdeep_score(&x, &y);

	assert_int_equal(ssdeep_score(&y, &x), score);
	return score;
}

struct named {
	char name[32];
	char text[TEXT_SIZE];
};

static inline size_t read_named(const char *path, struct named *out, size_t max)
{
	struct tsv lines = tsv_open(path);
	size_t count = 0;

	while (tsv_next(&lines)) {
		assert_true(count < max);
		(void)snprintf(out[count].name, sizeof(out->name), "%s",
			       lines.fields[0]);
		(void)snprintf(out[count].text, sizeof(out->text), "%s",
			       lines.fields[1]);
		count++;
	}
	tsv_close(&lines);
	return count;
}

/* Digest of b; seed != 0 cuts it into updates of random lengths. */
static inline void digest_of(struct bytes b, uint64_t seed, char out[TEXT_SIZE])
{
	static struct ctph ssdeep;
	struct draws d = draws_of(seed);
	struct ssdeep_signature sig;
	size_t i, part, max;

	ctph_init(&ssdeep, CTPH_SSDEEP);
	for (i = 0; i < b.len; i += part) {
		part = b.len - i;
		max = seed ? draw(&d) % (draw(&d) % 3 ? 9 : 5000) : part;
		part = max < part ? max : part;
		ctph_update(&ssdeep, b.data + i, part);
	}
	assert_int_equal(ssdeep_read(&ssdeep, &sig), 0);
	format(&sig, out);
}

#endif
