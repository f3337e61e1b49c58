/* SPDX-License-Identifier: Apache-2.0 */
#include "core/digest/sise.h"
#include "core/digest/ssdeep.h"
#include "tests/unit/digest/ssdeep_texts.h"
#include "tests/unit/digest/variants.h"

/* SiSe and ssdeep in one scan say what each says alone; sise.c and ssdeep.c
 * test that this is right. */

static struct ctph both;

static char *sise_text(const struct ctph *c)
{
	static struct sise_signature sig;
	struct buf text = { 0 };

	sise_read(c, &sig);
	assert_int_equal(sise_format(&sig, &text), 0);
	return buf_take(&text);
}

static char *ssdeep_text(const struct ctph *c)
{
	struct ssdeep_signature sig;
	struct buf text = { 0 };

	assert_int_equal(ssdeep_read(c, &sig), 0);
	assert_int_equal(ssdeep_format(&sig, &text), 0);
	return buf_take(&text);
}

static void scan_whole(struct ctph *c, unsigned digests, struct bytes b)
{
	ctph_init(c, digests);
	ctph_update(c, b.data, b.len);
}

static void scan_split(struct ctph *c, unsigned digests, struct bytes b,
		       uint64_t seed)
{
	struct draws d = draws_of(seed);
	size_t i, part, max;

	ctph_init(c, digests);
	for (i = 0; i < b.len; i += part) {
		part = b.len - i;
		max = draw(&d) % (draw(&d) % 3 ? 9 : 40000);
		part = max < part ? max : part;
		ctph_update(c, b.data + i, part);
	}
}

/* want is taken over. */
static void expect(char *want, char *have, const char *what, uint64_t seed,
		   size_t len)
{
	if (strcmp(want, have) != 0)
		fail_msg("%s, %s, seed %llu, %zu bytes:\nwant %.200s\n"
			 "have %.200s",
			 kernel_best()->name, what, (unsigned long long)seed,
			 len, want, have);
	free(have);
}

/* What is expected is the size, or somewhat more. */
static void scan_expected(struct ctph *c, struct bytes b, uint64_t seed)
{
	ctph_init(c, CTPH_SISE | CTPH_SSDEEP);
	ctph_expect(c, b.len + (seed % 3) * b.len / 2);
	ctph_update(c, b.data, b.len);
}

static void compare(struct bytes b, uint64_t seed)
{
	static struct ctph alone;
	char *sise, *ssdeep;

	scan_whole(&alone, CTPH_SISE, b);
	sise = sise_text(&alone);
	scan_whole(&alone, CTPH_SSDEEP, b);
	ssdeep = ssdeep_text(&alone);
	scan_whole(&both, CTPH_SISE | CTPH_SSDEEP, b);
	expect(sise, sise_text(&both), "SiSe", seed, b.len);
	expect(ssdeep, ssdeep_text(&both), "ssdeep", seed, b.len);
	scan_split(&both, CTPH_SISE | CTPH_SSDEEP, b, seed);
	expect(sise, sise_text(&both), "SiSe split", seed, b.len);
	expect(ssdeep, ssdeep_text(&both), "ssdeep split", seed, b.len);
	scan_expected(&both, b, seed);
	expect(sise, sise_text(&both), "SiSe expected", seed, b.len);
	expect(ssdeep, ssdeep_text(&both), "ssdeep expected", seed, b.len);
	free(sise);
	free(ssdeep);
}

TEST(odd_inputs)
{
	struct bytes b;
	uint64_t seed;

	for (seed = 1; seed <= 1500; seed++) {
		b = recipe_odd(seed);
		compare(b, seed);
		free(b.data);
	}
}

/* Every length around those of spans and of what kernels take at a time. */
TEST(all_small_lengths)
{
	struct bytes b = recipe_random(7, 2000);

	for (b.len = 0; b.len < 2000; b.len++)
		compare(b, b.len + 1);
	free(b.data);
}

/* Full levels, levels with all pairs, and a rolling value of 0 at the end. */
TEST(large_inputs)
{
	struct bytes b;
	uint64_t seed;

	for (seed = 1; seed <= 6; seed++) {
		b = recipe_random(seed, 700000 + seed);
		if (seed % 2)
			memset(b.data + b.len / 8, 'x', b.len / 2);
		if (seed % 3)
			memset(b.data + b.len - 20000, 0, 20000);
		compare(b, seed);
		free(b.data);
		b = recipe_repeat((const uint8_t *)"0123456", 5 + seed % 3,
				  700000);
		compare(b, seed);
		free(b.data);
		b = recipe_text(seed, 3000000);
		compare(b, seed);
		free(b.data);
	}
}
