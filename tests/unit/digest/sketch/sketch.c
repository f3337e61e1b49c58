/* SPDX-License-Identifier: Apache-2.0 */
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "tests/support/sketch_model.h"
#include "tests/unit/digest/variants.h"

/* The stream against the definition by brute force, however the content is cut,
 * and against the values of tests/vectors/sketch. */

static bool same_sample(const struct model_sample *want,
			const struct sketch_stream *s)
{
	const struct sketch_sample *have = &s->samples[s->now];
	size_t i;

	if (have->count != want->count || s->level != want->level ||
	    s->folded != want->folded)
		return false;
	for (i = 0; i < want->count; i++)
		if (have->keys[i] != want->keys[i] ||
		    have->last[i] != want->last[i] ||
		    have->times[i] != want->times[i])
			return false;
	return true;
}

static void check(const char *name, struct bytes b)
{
	static struct model_sample sample;
	static struct sketch want, have;
	static struct sketch_stream s;
	enum sketch_cuts cuts;
	uint64_t simhash;

	model_sample(b, &sample);
	model_sketch(&sample, &want);
	for (cuts = 0; cuts < SKETCH_CUTS; cuts++) {
		if (cuts == SKETCH_IN_BITS && b.len > 100000)
			continue;
		sketch_stream_of(b, cuts, b.len, &s);
		sketch_final(&s, &have, &simhash);
		if (!same_sample(&sample, &s) || simhash != sample.simhash ||
		    !sketches_are_same(&have, &want))
			fail_msg("%s, %zu bytes, cuts %d: level %u, not %u; "
				 "%zu keys, not %zu; %zu values, not %zu",
				 name, b.len, cuts, s.level, sample.level,
				 s.samples[s.now].count, sample.count,
				 have.count, want.count);
	}
}

static const size_t sizes[] = {
	0,    1,    15,   16,   17,    31,    32,     33,     47,   48,
	65,   66,   98,   255,  500,   1000,  2000,   4095,   4096, 4097,
	4111, 4112, 5000, 8192, 20000, 70000, 300000, 1 << 20
};

typedef void fill_fn(uint8_t *data, size_t len, struct draws *d);

static void check_sizes(const char *name, fill_fn *fill, size_t most)
{
	struct bytes b = bytes_new(1 << 20);
	struct draws d = draws_of(7);
	size_t i;

	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		b.len = sizes[i];
		if (b.len > most)
			break;
		fill(b.data, b.len, &d);
		check(name, b);
	}
	free(b.data);
}

#define KIND(name, byte)                                                    \
	static void fill_##name(uint8_t *data, size_t len, struct draws *d) \
	{                                                                   \
		size_t i;                                                   \
                                                                            \
		for (i = 0; i < len; i++)                                   \
			data[i] = (uint8_t)(draw(d), (byte));               \
	}                                                                   \
	TEST(name)                                                          \
	{                                                                   \
		check_sizes(#name, fill_##name, 1 << 20);                   \
	}

KIND(zeros, 0)
KIND(blanks, "\0\t\n\v\f\r "[d->state % 7])
KIND(one_byte, 'a')
KIND(one_byte_and_blanks, i % 1000 < 3 ? ' ' : 'a')
KIND(random_bytes, d->state >> 32)
KIND(many_zeros, d->state >> 32 & (d->state % 5 ? 0 : 255))
KIND(two_letters, d->state >> 20 & 1 ? 'x' : 'y')
KIND(a_letter_and_blanks, d->state % 9 ? 'x' : ' ')
KIND(half_of_one_byte, i < len / 2 ? 'q' : d->state >> 32)
KIND(repeats, i < len / 2 ? d->state >> 32 : data[i % (len / 7 + 1)])

TEST(periods)
{
	struct bytes b;
	size_t period, i, len;

	for (period = 2; period < 3000; period = period * 3 + 1) {
		for (len = 40; len < 400000; len = len * 7 + 5) {
			b = recipe_random(period, len);
			for (i = period; i < len; i++)
				b.data[i] = b.data[i - period];
			check("period", b);
			free(b.data);
		}
	}
}

TEST(texts)
{
	struct bytes b;
	uint64_t seed;

	for (seed = 1; seed < 40; seed++) {
		b = recipe_text(seed, seed * seed * seed * 7);
		check("text", b);
		free(b.data);
		b = recipe_odd(seed);
		check("odd", b);
		free(b.data);
	}
}

static bool folds(const uint8_t *p, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++)
		if (sketch_fold_byte(p[i]) != p[i])
			return true;
	return false;
}

/* All in one bucket: none of them is above the others by its first bits. */
static void fill_crafted(uint8_t *data, size_t len, struct draws *d)
{
	size_t i, k;

	for (i = 0; i + 16 <= len; i += 16) {
		do
			for (k = 0; k < 16; k++)
				data[i + k] = (uint8_t)(0x80 + draw(d) % 100);
		while (model_filter(data + i) >> 24);
	}
}

/* Windows of filter 0: half(p) * 85ebca77 + half(p + 8) is 0. */
static void fill_filter_0(uint8_t *data, size_t len, struct draws *d)
{
	uint8_t *p;
	uint64_t rest;
	size_t i, k;

	for (i = 0; i + 16 <= len; i += 16) {
		p = data + i;
		do {
			for (k = 0; k < 12; k++)
				p[k] = (uint8_t)(0x80 + draw(d) % 100);
			rest = model_word(p, 4) * 0x9e3779b1 +
			       model_word(p + 4, 4);
			rest = rest * 0x85ebca77 +
			       model_word(p + 8, 4) * 0x9e3779b1;
			rest = -rest;
			for (k = 0; k < 4; k++)
				p[12 + k] = (uint8_t)(rest >> 8 * k);
		} while (folds(p + 12, 4));
		assert_int_equal(model_filter(p), 0);
	}
}

TEST(crafted_windows)
{
	check_sizes("one bucket", fill_crafted, 70000);
}

TEST(levels_above_32)
{
	static struct sketch out;
	struct bytes b = bytes_new(16 * 4000);
	struct draws d = draws_of(9);

	check_sizes("filter 0", fill_filter_0, 300000);
	fill_filter_0(b.data, b.len, &d);
	sketch_of(b, &out);
	assert_true(out.level > 32 && out.count > 0);
	free(b.data);
}

/* Written by the first program that computed this sketch. */
TEST(golden_values)
{
	static struct sketch_stream s;
	static struct sketch out;
	struct tsv t = tsv_open("tests/vectors/sketch/values.tsv");
	const struct sketch_sample *sample = &s.samples[0];
	char have[200], want[200];
	uint64_t simhash;
	size_t lines = 0;
	struct bytes b;

	for (; tsv_next(&t); lines++) {
		b = recipe_parse(t.fields[1]);
		sketch_stream_of(b, SKETCH_IN_ONE, 0, &s);
		sketch_final(&s, &out, &simhash);
		sample = &s.samples[s.now];
		(void)snprintf(
			have, sizeof(have),
			"%llu %u %zu %016llx %016llx %016llx %016llx",
			(unsigned long long)s.folded, s.level, sample->count,
			(unsigned long long)XXH3_64bits(sample->keys,
							8 * sample->count),
			(unsigned long long)XXH3_64bits(sample->times,
							4 * sample->count),
			(unsigned long long)XXH3_64bits(sample->last,
							8 * sample->count),
			(unsigned long long)simhash);
		(void)snprintf(want, sizeof(want), "%s %s %s %s %s %s %s",
			       t.fields[2], t.fields[3], t.fields[4],
			       t.fields[5], t.fields[6], t.fields[7],
			       t.fields[8]);
		if (strcmp(have, want) != 0)
			fail_msg("%s: %s, not %s", t.fields[0], have, want);
		free(b.data);
	}
	assert_true(lines > 10);
	tsv_close(&t);
}

TEST(times_are_rounded)
{
	assert_int_equal(sketch_round_times(1), 1);
	assert_int_equal(sketch_round_times(32), 32);
	assert_int_equal(sketch_round_times(33), 32);
	assert_int_equal(sketch_round_times(127), 124);
	assert_int_equal(sketch_round_times(UINT32_MAX), 0xf8000000);
}

TEST(larger_contents_keep_more)
{
	assert_int_equal(sketch_most(0), 192);
	assert_int_equal(sketch_most(192 * 96 + 95), 192);
	assert_int_equal(sketch_most(193 * 96), 193);
	assert_int_equal(sketch_most(1536 * 96 - 1), 1535);
	assert_int_equal(sketch_most(UINT64_MAX), 1536);
}
