/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/bytes.h"
#include "core/digest/digest.h"
#include "core/digest/reference/si2.h"
#include "tests/support/recipe.h"
#include "tests/support/sdhash_inputs.h"

static uint64_t result_of(struct si2 *s)
{
	struct buf out = { 0 };
	uint64_t result;

	assert_int_equal(digest_si2.final(s, &out), 0);
	assert_int_equal(out.len, 8);
	result = load_be64((const uint8_t *)out.data);
	buf_release(&out);
	return result;
}

/* Digest of b; seed != 0 cuts it into updates of random lengths. */
static uint64_t si2_of(struct bytes b, uint64_t seed)
{
	struct draws d = draws_of(seed);
	struct si2 s = { 0 };
	uint64_t result;
	size_t i, part;

	assert_int_equal(digest_si2.part->begin(&s, NULL), 0);
	for (i = 0; i < b.len; i += part) {
		part = seed ? draw(&d) % (draw(&d) % 4 ? 7 : 9000) : b.len;
		part = b.len - i < part ? b.len - i : part;
		assert_int_equal(digest_si2.part->update(&s, b.data + i, part),
				 0);
	}
	result = result_of(&s);
	digest_si2.part->release(&s);
	return result;
}

static uint64_t si2_of_text(const char *text)
{
	struct bytes b = { (uint8_t *)text, strlen(text) };

	return si2_of(b, 0);
}

/* ---- golden values ---- */

TEST(the_authors_values)
{
	assert_true(si2_of_text("aaaa aaaa aaaa aaaa") == 0xa3ba4b1670181c9e);
	assert_true(si2_of_text("aaaa aaaa bbbb bbbb") == 0x82aa434634191d5e);
	assert_true(si2_of_text("bbbb bbbb aaaa aaaa") == 0x22ba4b0630111d5e);
}

/* Where there is one shingle its fingerprint is the result. */
TEST(one_shingle)
{
	assert_true(si2_of_text("abcd") == 0x3f376209e49ef4df);
	assert_true(si2_of_text("abc") == 0);
	assert_true(si2_of_text("") == 0);
}

TEST(recorded_values)
{
	struct tsv lines = tsv_open("tests/vectors/si2/values.tsv");
	struct bytes b;
	char have[17];
	size_t count = 0;

	while (tsv_next(&lines)) {
		b = input_make(lines.fields[2]);
		(void)snprintf(have, sizeof(have), "%016llx",
			       (unsigned long long)si2_of(b, 0));
		assert_string_equal(have, lines.fields[1]);
		assert_true(si2_of(b, ++count) ==
			    strtoull(lines.fields[1], NULL, 16));
		free(b.data);
	}
	assert_int_equal(count, 91);
	tsv_close(&lines);
}

/* One bit rises with every shingle. */
TEST(all_fingerprints_share_a_bit)
{
	long sums[64] = { 0 };
	uint64_t want = 0, f;
	uint32_t shingle = 0;
	uint8_t bytes[4];
	struct si2 s = { 0 };
	unsigned bit, count = 0;

	assert_int_equal(digest_si2.part->begin(&s, NULL), 0);
	while (count < 3000) {
		store_be32(bytes, ++shingle);
		/* Where there is one shingle its fingerprint is the result. */
		f = si2_of((struct bytes){ bytes, 4 }, 0);
		if (!(f >> 21 & 1))
			continue;
		/* A shingle with no other before it. */
		s.fill = 0;
		assert_int_equal(digest_si2.part->update(&s, bytes, 4), 0);
		for (bit = 0; bit < 64; bit++)
			sums[bit] += f >> bit & 1 ? 1 : -1;
		count++;
	}
	for (bit = 0; bit < 64; bit++)
		if (sums[bit] > 0)
			want |= UINT64_C(1) << bit;
	assert_true(result_of(&s) == want);
	assert_int_equal(s.ones[21], 3000);
	digest_si2.part->release(&s);
}
