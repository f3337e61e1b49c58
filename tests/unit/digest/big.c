/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/mman.h>

#include "core/base/xxh3.h"
#include "core/digest/fingerprint.h"
#include "core/digest/rdc/rdc.h"
#include "tests/support/digest_values.h"
#include "tests/support/rdc_model.h"
#include "tests/support/recipe.h"
#include "tests/support/sise_model.h"
#include "tests/support/sketch_model.h"
#include "tests/support/ssdeep_model.h"

/*
 * More than 4 GiB, most of them zeros, and why the digests are those of a
 * short file that a model can do:
 *
 *   SiSe, ssdeep  Zeros trigger nothing, and multiply the state of the first
 *                 piece by an odd number: 1024 times is as good as never.  The
 *                 words trigger every block size often enough, so the result
 *                 is at the first one that is tried, and that is the size's.
 *   RDC           Zeros have no largest hash, so the cuts are 65535 bytes
 *                 apart; blocks have 1024.  What is left out is a multiple of
 *                 both, and its chunks are such as are left too.
 *   SimHash, sif  are of the folded content, which has no zeros.
 *
 * Of the size in 32 bits there would be little left, and all that is not zero
 * comes later than that.
 */
#define LEFT_OUT (64 * (size_t)RDC_MAX_CHUNK * RDC_HORIZON)
#define ZEROS ((size_t)70000)
#define TAIL ((size_t)20000)
#define WORDS ((size_t)40)
#define BIG_LEN (LEFT_OUT + ZEROS + TAIL)

_Static_assert(LEFT_OUT + ZEROS > UINT32_MAX, "32 bits have wrapped");

/* gcc has macros for it, clang has a function of its preprocessor. */
#if defined(__has_feature)
#define SANITIZED __has_feature(address_sanitizer)
#elif defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

/* Memory that nobody has written costs nothing. */
static struct bytes big_content(const uint8_t *tail)
{
	struct bytes b = { .len = BIG_LEN };

	b.data = mmap(NULL, BIG_LEN, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (b.data == MAP_FAILED) {
		print_message("skipped: no address space of 4 GiB\n");
		skip();
	}
	memcpy(b.data + LEFT_OUT + ZEROS, tail, TAIL);
	return b;
}

static struct bytes short_content(void)
{
	/* Triggers all levels of SiSe and ssdeep. */
	static const uint8_t word[7] = { 0x88, 0x5e, 0x3f, 0x1f,
					 0x1f, 0x55, 0x49 };
	struct bytes b = recipe_random(4, ZEROS + TAIL);
	size_t i;

	memset(b.data, 0, ZEROS);
	for (i = 1; i <= WORDS; i++)
		memcpy(b.data + ZEROS + 400 * i, word, sizeof(word));
	return b;
}

/* The block size that is tried first. */
static uint64_t big_block(void)
{
	uint64_t block = 3;

	while (64 * block < BIG_LEN)
		block *= 2;
	return block;
}

/* One update has a length of more than 32 bits. */
static struct digests digests_of_big(struct bytes b)
{
	const size_t first = (size_t)UINT32_MAX + 12346;
	struct fingerprint *fp;
	struct digests d;

	assert_int_equal(fingerprint_new(DIGEST_DEFAULT, &fp), 0);
	assert_int_equal(fingerprint_begin(fp), 0);
	assert_int_equal(fingerprint_update(fp, b.data, first), 0);
	assert_int_equal(fingerprint_update(fp, b.data + first, b.len - first),
			 0);
	assert_int_equal(fingerprint_final(fp, &d), 0);
	fingerprint_free(fp);
	return d;
}

static void check_identity(const struct digests *d, struct bytes big)
{
	XXH128_canonical_t want;

	XXH128_canonicalFromHash(&want, XXH3_128bits(big.data, big.len));
	assert_memory_equal(d->xxh128, want.digest, sizeof(want.digest));
	assert_true(d->size == BIG_LEN);
}

static void check_sise(const struct digests *d, struct bytes b)
{
	char *have = digest_text_of(d, DIGEST_SISE);
	struct model m = model_pass(b.data, b.len, big_block());
	char *want = model_join(&m.levels[0], &m.levels[1], INT32_MAX);

	assert_true(m.levels[0].len >= 64);
	assert_string_equal(have, want);
	model_release(&m);
	free(want);
	free(have);
}

static void check_ssdeep(const struct digests *d, struct bytes b)
{
	char *have = digest_text_of(d, DIGEST_SSDEEP);
	char leading[65], secondary[33], want[SSDEEP_MODEL_TEXT];
	uint32_t block = (uint32_t)big_block();

	assert_true(ssdeep_model_part(b, block, 64, leading) >= 32);
	(void)ssdeep_model_part(b, 2 * block, 32, secondary);
	(void)snprintf(want, sizeof(want), "%u:%s:%s", block, leading,
		       secondary);
	assert_string_equal(have, want);
	free(have);
}

static void check_sketch(const struct digests *d, struct bytes b)
{
	static struct model_sample sample;
	static struct sketch want, have;

	model_sample(b, &sample);
	model_sketch(&sample, &want);
	assert_int_equal(digests_sketch(d, &have), 0);
	assert_true(have.is_placed);
	assert_true(sketches_are_same(&have, &want));
	assert_true(digests_simhash(d) == sample.simhash);
}

static void check_traits(const struct digests *d, struct bytes b)
{
	struct buf chunks = { 0 };
	uint8_t traits[16];

	rdc_model(b, RDC_WINDOW, RDC_HORIZON, &chunks, traits);
	/* Forced cuts, and others. */
	assert_true(chunks.len > (size_t)3 * 18);
	assert_int_equal(load_le16((uint8_t *)chunks.data + 16), RDC_MAX_CHUNK);
	assert_memory_equal(d->traits, traits, sizeof(traits));
	buf_release(&chunks);
}

TEST(more_than_4_gib)
{
	struct bytes small, big;
	struct digests d;

	if (SANITIZED) {
		print_message("skipped: sanitizers take minutes for this\n");
		skip();
	}
	small = short_content();
	big = big_content(small.data + ZEROS);
	d = digests_of_big(big);
	check_identity(&d, big);
	check_sise(&d, small);
	check_ssdeep(&d, small);
	check_sketch(&d, small);
	check_traits(&d, small);
	digests_release(&d);
	assert_int_equal(munmap(big.data, big.len), 0);
	free(small.data);
}
