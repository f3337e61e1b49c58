/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <pthread.h>

#include <xxhash.h>

#include "core/digest/fingerprint.h"
#include "core/digest/rdc/rdc.h"
#include "core/digest/sketch/sketch.h"
#include "core/digest/sise.h"
#include "core/digest/ssdeep.h"
#include "tests/support/digest_values.h"
#include "tests/support/recipe.h"

/* ---- what every digest alone says ---- */

static char *sif_alone(struct bytes b, uint64_t *simhash_out)
{
	static struct sketch_stream stream;
	static struct sketch sketch;
	struct buf text = { 0 };

	sketch_begin(&stream, b.len);
	sketch_update(&stream, b.data, b.len);
	sketch_final(&stream, &sketch, simhash_out);
	assert_int_equal(sketch_format(&sketch, &text), 0);
	return buf_take(&text);
}

static char *ssdeep_alone(struct bytes b)
{
	static struct ctph ssdeep;
	struct ssdeep_signature sig;
	struct buf text = { 0 };

	ctph_init(&ssdeep, CTPH_SSDEEP);
	ctph_update(&ssdeep, b.data, b.len);
	assert_int_equal(ssdeep_read(&ssdeep, &sig), 0);
	assert_int_equal(ssdeep_format(&sig, &text), 0);
	return buf_take(&text);
}

static void set_text(struct digests *d, enum digest_id id, char *text)
{
	assert_int_equal(digest_parse(id, text, strlen(text), d), 0);
	free(text);
}

static struct digests each_alone(struct bytes b)
{
	static struct ctph sise;
	uint64_t simhash;
	static struct rdc rdc;
	static struct sise_signature sig;
	struct digests d = { .size = b.len };
	struct buf text = { 0 };
	XXH128_canonical_t canonical;

	ctph_init(&sise, CTPH_SISE);
	ctph_update(&sise, b.data, b.len);
	sise_read(&sise, &sig);
	assert_int_equal(sise_format(&sig, &text), 0);
	set_text(&d, DIGEST_SISE, buf_take(&text));
	set_text(&d, DIGEST_SIF, sif_alone(b, &simhash));
	set_text(&d, DIGEST_SSDEEP, ssdeep_alone(b));
	store_be64(d.simhash, simhash);
	assert_int_equal(rdc_init(&rdc, RDC_WINDOW, RDC_HORIZON), 0);
	rdc_begin(&rdc);
	rdc_update(&rdc, b.data, b.len);
	rdc_final(&rdc, d.traits);
	XXH128_canonicalFromHash(&canonical, XXH3_128bits(b.data, b.len));
	memcpy(d.xxh128, canonical.digest, sizeof(d.xxh128));
	d.set = DIGEST_DEFAULT;
	return d;
}

/* ---- one pass ---- */

static struct digests run(struct fingerprint *fp, struct bytes b, uint64_t seed)
{
	struct draws d = draws_of(seed);
	struct digests result = { 0 };
	size_t i, part;

	assert_int_equal(fingerprint_begin(fp), 0);
	for (i = 0; i < b.len; i += part) {
		part = seed ? draw(&d) % (draw(&d) % 4 ? 64 : 40000) : b.len;
		part = b.len - i < part ? b.len - i : part;
		assert_int_equal(fingerprint_update(fp, b.data + i, part), 0);
	}
	assert_int_equal(fingerprint_final(fp, &result), 0);
	return result;
}

static size_t length_for(uint64_t seed)
{
	struct draws d = draws_of(seed);

	return draw(&d) % (UINT64_C(1) << draw(&d) % 19);
}

static void check(struct fingerprint *fp, uint64_t seed)
{
	struct bytes b = recipe_random(seed, length_for(seed));
	struct digests want = each_alone(b);
	struct digests whole = run(fp, b, 0), split = run(fp, b, seed);

	if (!digests_are_equal(&want, &whole) ||
	    !digests_are_equal(&want, &split))
		fail_msg("seed %llu, %zu bytes", (unsigned long long)seed,
			 b.len);
	digests_release(&want);
	digests_release(&whole);
	digests_release(&split);
	free(b.data);
}

/* ---- several threads, first: nothing is loaded yet ---- */

/* Each with a fingerprint of its own; the first to come makes the
 * table of the rolling hash, which all share. */
static void *hash_some(void *arg)
{
	struct bytes *inputs = arg;
	struct digests *results = calloc(8, sizeof(*results));
	struct fingerprint *fp;
	int i;

	if (!results || fingerprint_new(DIGEST_DEFAULT, &fp))
		return results;
	for (i = 0; i < 8; i++)
		if (fingerprint_begin(fp) ||
		    fingerprint_update(fp, inputs[i].data, inputs[i].len) ||
		    fingerprint_final(fp, &results[i]))
			break;
	fingerprint_free(fp);
	return results;
}

TEST(threads_do_not_disturb_each_other)
{
	struct bytes inputs[8];
	struct digests *results[4], want;
	pthread_t threads[4];
	void *result;
	int i, k;

	for (i = 0; i < 8; i++)
		inputs[i] = recipe_random(i + 1, 20000u * i);
	for (k = 0; k < 4; k++)
		assert_int_equal(
			pthread_create(&threads[k], NULL, hash_some, inputs),
			0);
	for (k = 0; k < 4; k++) {
		assert_int_equal(pthread_join(threads[k], &result), 0);
		assert_non_null(result);
		results[k] = result;
	}
	for (i = 0; i < 8; i++) {
		want = each_alone(inputs[i]);
		for (k = 0; k < 4; k++) {
			assert_true(digests_are_equal(&results[k][i], &want));
			digests_release(&results[k][i]);
		}
		digests_release(&want);
		free(inputs[i].data);
	}
	for (k = 0; k < 4; k++)
		free(results[k]);
}

TEST(one_pass_gives_what_each_gives_alone)
{
	struct fingerprint *fp;
	uint64_t seed;

	assert_int_equal(fingerprint_new(DIGEST_DEFAULT, &fp), 0);
	for (seed = 1; seed <= 150; seed++)
		check(fp, seed);
	fingerprint_free(fp);
}

/* The size spares work and changes nothing; a stream that is longer fails. */
TEST(the_size_may_be_known)
{
	struct bytes b = recipe_text(9, 300000);
	struct digests want = each_alone(b), have = { 0 };
	struct fingerprint *fp;
	uint64_t more;

	assert_int_equal(fingerprint_new(DIGEST_DEFAULT, &fp), 0);
	for (more = 0; more < 1 << 20; more += 1 + 3 * more) {
		assert_int_equal(
			fingerprint_begin_file(fp, "x", b.len + more, 0), 0);
		assert_int_equal(fingerprint_update(fp, b.data, b.len), 0);
		assert_int_equal(fingerprint_final(fp, &have), 0);
		assert_true(digests_are_equal(&want, &have));
		digests_release(&have);
	}
	assert_int_equal(fingerprint_begin_file(fp, "x", b.len - 1, 0), 0);
	assert_int_equal(fingerprint_update(fp, b.data, b.len), -ESTALE);
	have = run(fp, b, 0);
	assert_true(digests_are_equal(&want, &have));
	digests_release(&have);
	digests_release(&want);
	fingerprint_free(fp);
	free(b.data);
}

TEST(only_what_is_asked_for)
{
	struct bytes b = recipe_text(3, 30000);
	struct digests want = each_alone(b), have;
	struct fingerprint *fp;
	uint32_t set;
	int id;

	for (set = 0; set <= DIGEST_DEFAULT; set++) {
		if (set & ~DIGEST_DEFAULT)
			continue;
		assert_int_equal(fingerprint_new(set, &fp), 0);
		have = run(fp, b, 0);
		assert_int_equal(have.set, set | DIGEST_BIT(DIGEST_XXH128));
		assert_int_equal(have.size, b.len);
		for (id = 0; id < DIGEST_COUNT; id++) {
			if (have.set & DIGEST_BIT(id))
				assert_true(digest_is_equal(&have, &want, id));
			else
				assert_null(have.blocks[id].bytes);
		}
		digests_release(&have);
		fingerprint_free(fp);
	}
	digests_release(&want);
	free(b.data);
}

TEST(an_abandoned_stream_leaves_nothing)
{
	struct bytes b = recipe_random(4, 100000), text = recipe_text(5, 5000);
	struct digests want = each_alone(text), have;
	struct fingerprint *fp;

	assert_int_equal(fingerprint_new(DIGEST_DEFAULT, &fp), 0);
	assert_int_equal(fingerprint_begin(fp), 0);
	assert_int_equal(fingerprint_update(fp, b.data, b.len), 0);
	have = run(fp, text, 0);
	assert_true(digests_are_equal(&want, &have));
	digests_release(&want);
	digests_release(&have);
	fingerprint_free(fp);
	fingerprint_free(NULL);
	free(b.data);
	free(text.data);
}

/* xxhsum -H2 of nothing, and what the others define for it. */
TEST(an_empty_file)
{
	static const char *const want[DIGEST_COUNT] = {
		[DIGEST_SISE] = "3(2):ln::3(2):ln",
		[DIGEST_SIMHASH] = "0000000000000000",
		[DIGEST_SIF] = "sif4:AAAAAA",
		[DIGEST_SSDEEP] = "3::",
		[DIGEST_RDC] = "00000000000000000000000000000000",
		[DIGEST_XXH128] = "99aa06d3014798d86001c324468d497f",
	};
	struct bytes b = bytes_new(0);
	struct buf text = { 0 };
	struct fingerprint *fp;
	struct digests d;
	enum digest_id id;

	assert_int_equal(fingerprint_new(DIGEST_DEFAULT, &fp), 0);
	d = run(fp, b, 0);
	for (id = 0; id < DIGEST_COUNT; id++) {
		buf_clear(&text);
		assert_int_equal(digest_format(&d, id, &text),
				 want[id] ? 0 : -ENODATA);
		if (want[id])
			assert_string_equal(text.data, want[id]);
	}
	buf_release(&text);
	digests_release(&d);
	fingerprint_free(fp);
	free(b.data);
}

TEST(memory_is_bounded)
{
	assert_true(sizeof(struct ctph) + sizeof(struct sketch_stream) +
			    sizeof(struct rdc) + sizeof(struct sise_signature) <
		    (4u << 20) - 65536);
}
