/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/mman.h>

#include "core/digest/fingerprint.h"
#include "core/digest/rdc.h"
#include "core/digest/sdhash.h"
#include "core/digest/sif.h"
#include "tests/unit/rdc_model.h"
#include "tests/unit/recipe.h"
#include "tests/unit/sif_model.h"
#include "tests/unit/simhash_model.h"
#include "tests/unit/sise_model.h"
#include "tests/unit/ssdeep_model.h"

/*
 * More than 4 GiB, most of them zeros, and why the digests are those of a
 * short file that a model can do:
 *
 *   SiSe, ssdeep  Zeros trigger nothing, and multiply the state of the first
 *                 piece by an odd number: 1024 times is as good as never.
 *   RDC           Zeros have no largest hash, so the cuts are 65535 bytes
 *                 apart; blocks have 1024.  What is left out is a multiple of
 *                 both, and its chunks are such as are left too.
 *   SimHash, sif  are about the set of windows.
 */
#define LEFT_OUT (65 * (size_t)RDC_MAX_CHUNK * RDC_HORIZON)
#define ZEROS ((size_t)70000)
#define TAIL ((size_t)20000)
#define BIG_LEN (LEFT_OUT + ZEROS + TAIL)

_Static_assert(LEFT_OUT > UINT32_MAX, "a counter of 32 bits has wrapped");

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
	struct bytes b = recipe_random(4, ZEROS + TAIL);

	memset(b.data, 0, ZEROS);
	return b;
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

static void check_texts(const struct digests *d, struct bytes b)
{
	struct values windows = windows_of(b, SIF_WINDOW, model_value);
	struct sif_sketch sketch =
		model_sketch(windows, SIF_WINDOW, SIF_VALUES);
	char ssdeep[SSDEEP_MODEL_TEXT], *sise;
	struct buf sif = { 0 };

	sise = model_signature(b.data, b.len, (size_t)2 * SISE_MAX_PAIRS);
	assert_string_equal(d->text[DIGEST_SISE], sise);
	ssdeep_model(b, ssdeep);
	assert_string_equal(d->text[DIGEST_SSDEEP], ssdeep);
	assert_int_equal(sif_format(&sketch, &sif), 0);
	assert_string_equal(d->text[DIGEST_SIF], sif.data);
	buf_release(&sif);
	free(windows.v);
	free(sise);
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

static void more_than_4_gib(void **state)
{
	struct bytes small, big;
	struct digests d;

	(void)state;
	if (SANITIZED) {
		print_message("skipped: sanitizers take minutes for this\n");
		skip();
	}
	small = short_content();
	big = big_content(small.data + ZEROS);
	d = digests_of_big(big);
	check_identity(&d, big);
	check_texts(&d, small);
	assert_true(d.simhash == simhash_model(small));
	check_traits(&d, small);
	digests_release(&d);
	assert_int_equal(munmap(big.data, big.len), 0);
	free(small.data);
}

/* sdhash does such files in segments, each far from any limit. */
static void segments_of_large_files(void **state)
{
	const uint64_t size = (UINT64_C(5) << 40) + 12345;
	uint64_t count = sdhash_segments(size), at;
	struct sdhash_segment s;
	struct buf name = { 0 };

	(void)state;
	assert_true(count == 40961);
	for (at = 0; at < count; at += at + 1) {
		s = sdhash_segment(size, at);
		assert_true(s.offset == at * SDHASH_SEGMENT);
		assert_true(s.size ==
			    (at + 1 < count ? SDHASH_SEGMENT : 12345));
	}
	s = sdhash_segment(size, count - 1);
	assert_true(s.offset == UINT64_C(5) << 40 && s.size == 12345);
	assert_int_equal(sdhash_segment_name("x", size, count - 1, &name), 0);
	assert_string_equal(name.data, "x.5242880M");
	buf_release(&name);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(more_than_4_gib),
		cmocka_unit_test(segments_of_large_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
