/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "core/kernel/kernel.h"
#include "tests/support/sif_model.h"

static struct sif sif;

static void compare_with_model(struct bytes b, unsigned window, size_t max,
			       uint64_t seed)
{
	struct values s = windows_of(b, window, model_value);
	struct sif_sketch want = model_sketch(s, window, max);
	struct sif_sketch have = sketch_of(b, window, max, 0);
	struct sif_sketch split = sketch_of(b, window, max, seed);

	if (!same(&want, &have) || !same(&want, &split))
		fail_msg("seed %llu, %zu bytes, window %u, max %zu",
			 (unsigned long long)seed, b.len, window, max);
	sif_thin(&have, 2 + max / 3);
	model_thin(&want, 2 + max / 3);
	if (!same(&want, &have))
		fail_msg("seed %llu, thinned", (unsigned long long)seed);
	sif_round_values(&have);
	model_round_values(&want);
	if (!same(&want, &have))
		fail_msg("seed %llu, rounded", (unsigned long long)seed);
	free(s.v);
}

static void all_small_sizes(void **state)
{
	struct bytes b;
	size_t len;

	(void)state;
	for (len = 0; len < 400; len++) {
		b = recipe_random(len + 1, len);
		compare_with_model(b, 16, 128, len + 1);
		compare_with_model(b, (unsigned)(4 + len % 29), 2 + len % 60,
				   len + 1);
		free(b.data);
	}
}

static void random_sizes(void **state)
{
	struct draws d = draws_of(99);
	struct bytes b;
	uint64_t seed;

	(void)state;
	for (seed = 1; seed <= 40; seed++) {
		b = recipe_random(seed, draw(&d) % 60000);
		compare_with_model(b, 16, 128, seed);
		free(b.data);
		b = recipe_text(seed, draw(&d) % 60000);
		compare_with_model(b, 16, 1024, seed);
		/* Stretches of one byte, and the whole repeated. */
		memset(b.data + b.len / 3, 0, b.len / 9);
		memcpy(b.data + b.len / 2, b.data, b.len / 2);
		compare_with_model(b, 12, 128, seed);
		free(b.data);
	}
}

/* Files whose windows come again and again, some of them far apart. */
static void repeats_are_counted_once(void **state)
{
	struct draws d = draws_of(5);
	struct bytes b;
	size_t i, period;
	uint64_t seed;

	(void)state;
	for (seed = 1; seed <= 60; seed++) {
		b = recipe_random(seed, 30000);
		period = 1 + draw(&d) % (seed % 2 ? 200 : 6000);
		for (i = period; i < b.len; i++)
			b.data[i] = b.data[i - period];
		compare_with_model(b, 16, 128, seed);
		compare_with_model(b, 16, 2 + draw(&d) % 1023, seed);
		free(b.data);
	}
}

static void every_kernel_gives_the_same(void **state)
{
	size_t i, count;
	const struct kernel_ops *all = kernel_all(&count);
	struct bytes b = recipe_text(3, 3000000);

	(void)state;
	memset(b.data + 2000000, 0, 9000);
	for (i = 0; i < count; i++) {
		kernel_use(&all[i]);
		compare_with_model(b, 16, 128, i + 1);
		compare_with_model(b, 16, 1024, i + 1);
	}
	kernel_use(NULL);
	free(b.data);
}

/* final changes nothing that matters. */
static void a_file_goes_on_after_final(void **state)
{
	struct bytes b = recipe_random(8, 20000);
	struct sif_sketch want = sketch_of(b, 16, 128, 0), have = { 0 };
	size_t i;

	(void)state;
	assert_int_equal(sif_init(&sif, 16, 128), 0);
	for (i = 0; i < b.len; i += 1000) {
		sif_update(&sif, b.data + i, 1000);
		sif_final(&sif, &have);
	}
	assert_true(same(&want, &have));
	free(b.data);
}

static void a_begun_state_forgets(void **state)
{
	struct bytes b = recipe_random(1, 5000);
	struct sif_sketch want = sketch_of(b, 16, 128, 0), have;

	(void)state;
	assert_int_equal(sif_init(&sif, 16, 128), 0);
	sif_update(&sif, "something else altogether", 25);
	sif_begin(&sif, 128);
	sif_update(&sif, b.data, b.len);
	sif_final(&sif, &have);
	assert_true(same(&want, &have));
	free(b.data);
}

/* 128 up to 16 KiB, 1024 from 128 KiB on. */
static void large_files_keep_more(void **state)
{
	(void)state;
	assert_int_equal(sif_values(0), 128);
	assert_int_equal(sif_values(16384), 128);
	assert_int_equal(sif_values(16384 + 127), 128);
	assert_int_equal(sif_values(16384 + 128), 129);
	assert_int_equal(sif_values(65536), 512);
	assert_int_equal(sif_values(131071), 1023);
	assert_int_equal(sif_values(131072), 1024);
	assert_int_equal(sif_values(UINT64_MAX), 1024);
}

static void a_cut_sketch_is_the_smaller_one(void **state)
{
	static const size_t lengths[] = { 10, 100, 143, 144, 500, 60000 };
	struct bytes b = recipe_random(3, 60000);
	struct sif_sketch want, have;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		b.len = lengths[i];
		want = sketch_of(b, 16, 128, 0);
		have = sketch_of(b, 16, 1000, 0);
		sif_cut(&have, 128);
		assert_true(same(&want, &have));
	}
	free(b.data);
}

static void padding_counts_for_nothing(void **state)
{
	struct bytes b = recipe_repeat((const uint8_t *)"", 1, 100000);
	struct sif_sketch sketch = sketch_of(b, 16, 128, 3);

	(void)state;
	assert_int_equal(sketch.count, 0);
	assert_int_equal(sketch.distinct, 0);
	b.data[50000] = 1;
	sketch = sketch_of(b, 16, 128, 3);
	assert_int_equal(sketch.distinct, 16);
	free(b.data);
}

static void what_init_refuses(void **state)
{
	(void)state;
	assert_int_equal(sif_init(&sif, SIF_MIN_WINDOW - 1, 128), -EINVAL);
	assert_int_equal(sif_init(&sif, SIF_MAX_WINDOW + 1, 128), -EINVAL);
	assert_int_equal(sif_init(&sif, 16, 1), -EINVAL);
	assert_int_equal(sif_init(&sif, 16, SIF_MAX_VALUES + 1), -EINVAL);
	assert_int_equal(sif_init(&sif, SIF_MAX_WINDOW, SIF_MAX_VALUES), 0);
}

/* These must never change: stored digests would mean something else. */
static void pinned_values(void **state)
{
	struct tsv lines = tsv_open("tests/vectors/sif/values.tsv");
	struct buf text = { 0 };
	struct sif_sketch sketch;
	struct bytes b;
	size_t count = 0;

	(void)state;
	while (tsv_next(&lines)) {
		b = recipe_parse(lines.fields[0]);
		sketch = sketch_of(b,
				   (unsigned)strtoul(lines.fields[1], NULL, 10),
				   strtoul(lines.fields[2], NULL, 10), 0);
		/* Places are ours. */
		sketch.is_placed = false;
		sif_thin(&sketch, strtoul(lines.fields[3], NULL, 10));
		sif_round_values(&sketch);
		buf_clear(&text);
		assert_int_equal(sif_format(&sketch, &text), 0);
		assert_string_equal(text.data, lines.fields[4]);
		free(b.data);
		count++;
	}
	assert_int_equal(count, 12);
	buf_release(&text);
	tsv_close(&lines);
}

/* ---- text ---- */

static void text_and_back(void **state)
{
	struct buf text = { 0 };
	struct sif_sketch want, have;
	struct bytes b;
	uint64_t seed;

	(void)state;
	for (seed = 1; seed <= 20; seed++) {
		b = recipe_random(seed, seed * seed * seed);
		want = sketch_of(b, 16, 2 + seed * 30, 0);
		if (seed % 2)
			sif_thin(&want, 64);
		sif_round_values(&want);
		buf_clear(&text);
		assert_int_equal(sif_format(&want, &text), 0);
		assert_int_equal(sif_parse(text.data, text.len, &have), 0);
		assert_true(same(&want, &have));
		free(b.data);
	}
	buf_release(&text);
}

static void what_is_no_sketch_is_refused(void **state)
{
	static const char *const bad[] = {
		"",
		"sif2",
		"sif3:16",
		"sif3:16:0",
		"sif3:16:0:AAAA:",
		"sif3:16:1:AQEAABgA::",
		"sif3:16:0:",
		"sif1:16:2:AAAAAAAAAAAAAAAB",
		"sif4:16:0:AAAA",
		"sif2:16:0:AAAA",
		"sif3:3:0:AAAA",
		"sif3:33:0:AAAA",
		"sif3:016:0:AAAA",
		"sif3:16:00:AAAA",
		"sif3:-16:0:AAAA",
		"sif3:16::AAAA",
		"sif3:16:1:AAAA",
		"sif3:16:0:AAA",
		"sif3:16:0:AAAAA",
		"sif3:16:0:AAAAAA",
		"sif3:16:0:AAA=",
		"sif3:16:0:AAAA\n",
		"sif3:16:0:gAAA",
		"sif3:16:0:AAAB",
		"sif3:16:2:AAIAAGiA", /* bits that are not needed */
		"sif3:16:2:AAIAAGgAAA",
		"sif3:16:2:AAIAAA",
		"sif3:16:2:AAIAIHwA", /* the wrong number of lower bits */
		"sif3:16:2:AAIAAawA", /* rounded more than it is */
		"sif3:16:2:AAIAFfz//wIAgAA",
		"sif3:16:1:AAIAAGgA",
		"sif3:16:2:AQIAAGgA", /* fewer windows than are distinct */
		"sif3:16:2:AAEAIBwA", /* cut to one */
		"sif3:16:18446744073709551616:AAIAAGgA",
	};
	struct sif_sketch sketch;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (sif_parse(bad[i], strlen(bad[i]), &sketch) != -EINVAL)
			fail_msg("accepted: %s", bad[i]);
	assert_int_equal(sif_parse("sif3:16:2:AAIAAGgA", 18, &sketch), 0);
	assert_int_equal(sif_parse("sif3:16:9:AAIAAGgA", 18, &sketch), 0);
}

static bool has_same_places(const struct sif_sketch *a,
			    const struct sif_sketch *b)
{
	return a->is_placed == b->is_placed &&
	       (!a->is_placed || !memcmp(a->places, b->places, a->count));
}

/* What is read of the bytes of that sketch without the rest of it. */
static void assert_values_in_full(const uint8_t *bytes, size_t len,
				  const struct sif_sketch *want)
{
	static struct sif_sketch have;

	assert_int_equal(sif_unpack_in_full(bytes, len, &have), 0);
	assert_int_equal(have.window, want->window);
	assert_int_equal(have.distinct, want->distinct);
	assert_int_equal(have.count, want->count);
	assert_memory_equal(have.values, want->values,
			    want->count * sizeof(want->values[0]));
	assert_int_equal(have.windows, want->windows);
	assert_int_equal(have.rest, 0);
	assert_false(have.is_placed);
}

/* Made of its text alone. */
static void assert_packed_text(const uint8_t *bytes, size_t len,
			       const struct sif_sketch *sketch)
{
	static uint8_t have[SIF_PACKED_MAX];
	struct buf text = { 0 };

	assert_int_equal(sif_format(sketch, &text), 0);
	assert_int_equal(sif_pack_text(text.data, text.len, have), len);
	assert_memory_equal(have, bytes, len);
	assert_int_equal(sif_pack_text(text.data, 6, have), 0);
	text.data[text.len - 1] = '!';
	assert_int_equal(sif_pack_text(text.data, text.len, have), 0);
	buf_release(&text);
}

/* The bits of one sketch, changed one by one: what is accepted is a sketch of
 * its own, with these bytes for its only form. */
static void there_is_one_form_of_each(void **state)
{
	static uint8_t bytes[SIF_PACKED_MAX], again[SIF_PACKED_MAX];
	struct bytes b = recipe_text(2, 20000);
	struct sif_sketch sketch = sketch_of(b, 16, 200, 0), other;
	size_t len, i, accepted = 0;

	(void)state;
	sif_thin(&sketch, 100);
	sif_round_values(&sketch);
	len = sif_pack(&sketch, bytes);
	for (i = 0; i < 8 * len; i++) {
		bytes[i / 8] ^= (uint8_t)(1 << i % 8);
		if (sif_unpack(bytes, len, &other) == 0) {
			assert_false(same(&sketch, &other) &&
				     has_same_places(&sketch, &other));
			assert_int_equal(sif_pack(&other, again), len);
			assert_memory_equal(again, bytes, len);
			assert_values_in_full(bytes, len, &other);
			assert_packed_text(bytes, len, &other);
			accepted++;
		}
		bytes[i / 8] ^= (uint8_t)(1 << i % 8);
	}
	assert_true(accepted > len && accepted < 8 * len);
	free(b.data);
}

/* Values that no file has by chance: all at the start but the last, or with a
 * rest that is nowhere near the values in full. */
static void any_values_have_a_form(void **state)
{
	static uint8_t bytes[SIF_PACKED_MAX];
	static struct sif_sketch want, have;
	size_t i, len, count;

	(void)state;
	for (count = 2; count <= SIF_MAX_VALUES; count += 73) {
		want = (struct sif_sketch){ .window = 16,
					    .distinct = UINT64_MAX,
					    .windows = UINT64_MAX,
					    .count = count };
		for (i = 0; i < count; i++) {
			want.values[i] = i < count / 2 ? i : i << 37;
			want.times[i] = sif_round(UINT32_MAX);
		}
		want.values[count - 1] = (UINT64_C(1) << 48) - 1;
		if (count % 2) {
			want.count = 2;
			want.rest = count - 2;
		}
		sif_round_values(&want);
		len = sif_pack(&want, bytes);
		assert_true(len <= SIF_PACKED_MAX - 8);
		assert_int_equal(sif_unpack(bytes, len, &have), 0);
		assert_true(same(&want, &have));
		assert_values_in_full(bytes, len, &want);
		assert_packed_text(bytes, len, &want);
	}
}

static void times_are_rounded_to_five_bits(void **state)
{
	uint64_t times;

	(void)state;
	for (times = 1; times < 100000; times++)
		assert_int_equal(sif_round((uint32_t)times),
				 model_round(times));
	assert_true(sif_round(UINT32_MAX) == UINT32_C(31) << 27);
}

/* A file has as many values as the text has room for under the default limit
 * of listed attributes. */
static void a_text_is_short(void **state)
{
	struct bytes b = recipe_random(1, 16384);
	struct sif_sketch sketch = sketch_of(b, 16, sif_samples(b.len), 0);
	struct buf text = { 0 };

	(void)state;
	sif_thin(&sketch, sif_values(b.len));
	sif_round_values(&sketch);
	assert_int_equal(sif_format(&sketch, &text), 0);
	assert_in_range(text.len, 600, 700);
	buf_release(&text);
	free(b.data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_small_sizes),
		cmocka_unit_test(random_sizes),
		cmocka_unit_test(repeats_are_counted_once),
		cmocka_unit_test(every_kernel_gives_the_same),
		cmocka_unit_test(a_file_goes_on_after_final),
		cmocka_unit_test(a_begun_state_forgets),
		cmocka_unit_test(large_files_keep_more),
		cmocka_unit_test(a_cut_sketch_is_the_smaller_one),
		cmocka_unit_test(padding_counts_for_nothing),
		cmocka_unit_test(what_init_refuses),
		cmocka_unit_test(pinned_values),
		cmocka_unit_test(text_and_back),
		cmocka_unit_test(what_is_no_sketch_is_refused),
		cmocka_unit_test(there_is_one_form_of_each),
		cmocka_unit_test(any_values_have_a_form),
		cmocka_unit_test(times_are_rounded_to_five_bits),
		cmocka_unit_test(a_text_is_short),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
