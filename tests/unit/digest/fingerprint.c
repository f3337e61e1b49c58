/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <pthread.h>

#include "core/digest/ctph.h"
#include "core/digest/fingerprint.h"
#include "core/kernel/kernel.h"
#include "tests/support/digest_models.h"
#include "tests/unit/digest/worst_inputs.h"

/* All digests of a content in one pass and some of them alone, by every variant
 * of the kernels, against the models. */

/* seed != 0 cuts the content into updates of random lengths; an odd one tells
 * the size before. */
static struct digests run(struct fingerprint *fp, struct bytes b, uint64_t seed)
{
	struct draws d = draws_of(seed);
	struct digests result = { 0 };
	size_t i, part;

	assert_int_equal(fingerprint_begin_file(
				 fp, "", seed % 2 ? b.len : UINT64_MAX, 0),
			 0);
	for (i = 0; i < b.len; i += part) {
		part = seed ? draw(&d) % (draw(&d) % 4 ? 64 : 40000) : b.len;
		part = b.len - i < part ? b.len - i : part;
		assert_int_equal(fingerprint_update(fp, b.data + i, part), 0);
	}
	assert_int_equal(fingerprint_final(fp, &result), 0);
	return result;
}

static void check_set(uint32_t set, struct bytes b, uint64_t seed,
		      const struct digests *want, const char *what)
{
	struct fingerprint *fp;
	struct digests have;
	const char *id;

	assert_int_equal(fingerprint_new(set, &fp), 0);
	have = run(fp, b, seed);
	id = digests_differ(&have, want);
	if (id)
		fail_msg("%s of %s, set %#x, seed %llu, %zu bytes, by %s", id,
			 what, set, (unsigned long long)seed, b.len,
			 kernel_best()->name);
	digests_release(&have);
	fingerprint_free(fp);
}

/* SiSe and ssdeep share what they do, and skip what the other does not need. */
static void check(uint32_t set, struct bytes b, uint64_t seed, const char *what)
{
	struct digests want = model_digests(b, set);
	size_t i, count;
	const struct kernel_ops *variants = kernel_all(&count);

	for (i = 0; i < count; i++) {
		kernel_use(&variants[i]);
		check_set(set, b, 0, &want, what);
		check_set(set, b, seed, &want, what);
		check_set(DIGEST_BIT(DIGEST_SISE), b, seed, &want, what);
		check_set(DIGEST_BIT(DIGEST_SSDEEP), b, seed + 1, &want, what);
	}
	kernel_use(NULL);
	digests_release(&want);
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
		want = model_digests(inputs[i], DIGEST_DEFAULT);
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

/* ---- contents ---- */

#define BY_TRIGGERS (DIGEST_BIT(DIGEST_SISE) | DIGEST_BIT(DIGEST_SSDEEP))

TEST(odd_contents)
{
	struct bytes b;
	uint64_t seed;

	for (seed = 1; seed <= 1500; seed++) {
		b = recipe_odd(seed);
		check(seed % 4 ? BY_TRIGGERS : DIGEST_DEFAULT, b, seed,
		      "odd bytes");
		free(b.data);
	}
}

/* One that makes RDC cut by force and fills SiSe's parts, and for the many
 * periods a short one, which no block divides. */
TEST(worst_contents)
{
	struct bytes b;
	unsigned kind;
	char name[32];

	for (kind = 0; kind < WORST_KINDS; kind++) {
		b = worst_input(kind, kind < WORST_PERIODS ? 140001 : 9001);
		check(DIGEST_DEFAULT, b, kind + 1, worst_name(kind, name));
		free(b.data);
	}
}

/* All values of a byte, some of which trigger everywhere. */
TEST(constant_contents)
{
	struct bytes b;
	unsigned value;
	uint8_t byte;

	for (value = 0; value < 256; value++) {
		byte = (uint8_t)value;
		b = recipe_repeat(&byte, 1, 20000 + value);
		check(BY_TRIGGERS, b, value + 1, "one byte");
		free(b.data);
	}
}

/* Levels are dropped, and reach their last pair, at every size. */
TEST(larger_contents)
{
	static const size_t sizes[] = { 300000, 1000003, 3145728, 3145729 };
	struct bytes b;
	size_t i;

	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		b = recipe_random(i + 1, sizes[i]);
		check(BY_TRIGGERS, b, i + 1, "random bytes");
		/* A periodic end: high levels fill up late, or not at all. */
		memcpy(b.data + b.len / 2, b.data, b.len / 8);
		memset(b.data + b.len / 2 + b.len / 8, 'x', b.len / 4);
		check(BY_TRIGGERS, b, i + 1, "a periodic end");
		memset(b.data + b.len / 8, 'x', b.len - b.len / 8);
		check(BY_TRIGGERS, b, i + 1, "a constant end");
		free(b.data);
		b = recipe_repeat((const uint8_t *)"0123456", 7, sizes[i]);
		check(BY_TRIGGERS, b, i + 1, "a period");
		free(b.data);
		b = recipe_text(i + 1, sizes[i]);
		check(BY_TRIGGERS, b, i + 1, "text");
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
		check(BY_TRIGGERS, b, count, "level 12");
		free(b.data);
	}
	b = recipe_random(1, 4000000);
	strew(b, level15, 50, 40, 3);
	check(BY_TRIGGERS, b, 1, "level 15");
	free(b.data);
	for (seed = 1; seed <= 100; seed++) {
		b = recipe_random(seed, 300 * seed);
		strew(b, seed % 2 ? level12 : level30, seed, 7 + seed * seed,
		      SIZE_MAX);
		check(BY_TRIGGERS, b, seed, "levels 12 and 30");
		free(b.data);
	}
}

/* ---- the stream ---- */

/* The size spares work and changes nothing; a stream that is longer fails. */
TEST(the_size_may_be_known)
{
	struct bytes b = recipe_text(9, 300000);
	struct digests want = model_digests(b, DIGEST_DEFAULT), have = { 0 };
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
	struct digests want = model_digests(b, DIGEST_DEFAULT), have;
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
	struct digests want = model_digests(text, DIGEST_DEFAULT), have;
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

TEST(digests_that_are_no_attributes)
{
	const uint32_t set = (DIGEST_BIT(DIGEST_ROWS) - 1) & ~DIGEST_ALL;
	struct bytes b = recipe_random(4, 100000), text = recipe_text(5, 50000);
	struct digests first, again, whole;
	struct digest_key key = { { { 1 }, { 2 } } }, other = key;
	struct fingerprint *fp, *all;
	int id;

	assert_int_equal(fingerprint_new(set, &fp), 0);
	assert_int_equal(fingerprint_new(set | DIGEST_DEFAULT, &all), 0);
	assert_int_equal(fingerprint_begin(fp), -EINVAL);
	fingerprint_set_key(fp, &key);
	fingerprint_set_key(all, &key);
	first = run(fp, text, 0);
	assert_int_equal(first.set, set | DIGEST_BIT(DIGEST_XXH128));
	assert_int_equal(fingerprint_begin(fp), 0);
	assert_int_equal(fingerprint_update(fp, b.data, b.len), 0);
	again = run(fp, text, 6);
	whole = run(all, text, 7);
	for (id = DIGEST_COUNT; id < DIGEST_ROWS; id++) {
		assert_true(digest_value_of(&first, id).len > 0);
		assert_true(digest_is_equal(&first, &again, id));
		assert_true(digest_is_equal(&first, &whole, id));
	}
	digests_release(&again);
	/* Either secret matters. */
	other.secrets[1][100] = 1;
	fingerprint_set_key(fp, &other);
	again = run(fp, text, 0);
	assert_memory_equal(first.identity, again.identity, 8);
	assert_memory_not_equal(first.identity + 8, again.identity + 8, 8);
	assert_true(digests_are_of_one(&first, &whole));
	assert_false(digests_are_of_one(&first, &again));
	digests_release(&first);
	digests_release(&again);
	digests_release(&whole);
	fingerprint_free(fp);
	fingerprint_free(all);
	free(b.data);
	free(text.data);
}

/* xxhsum -H2 of nothing, and what the others define for it. */
TEST(an_empty_file)
{
	static const char *const want[DIGEST_COUNT] = {
		[DIGEST_SISE] = "3(2):ln::3(2):ln",
		[DIGEST_SIMHASH] = "0000000000000000",
		[DIGEST_SIF] = "sif5:AAAAAA",
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
