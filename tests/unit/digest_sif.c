/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "core/kernel/kernel.h"
#include "tests/unit/sif_model.h"

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
		buf_clear(&text);
		assert_int_equal(sif_format(&sketch, &text), 0);
		assert_string_equal(text.data, lines.fields[3]);
		free(b.data);
		count++;
	}
	assert_int_equal(count, 7);
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
		want = sketch_of(b, 16, 128, 0);
		buf_clear(&text);
		assert_int_equal(sif_format(&want, &text), 0);
		assert_int_equal(sif_parse(text.data, text.len, &have), 0);
		assert_true(same(&want, &have));
		free(b.data);
	}
	assert_int_equal(text.len, strlen("sif1:16:") + strlen("8182:") + 1024 +
					   strlen(":") + 128);
	buf_release(&text);
}

static void what_is_no_sketch_is_refused(void **state)
{
	static const char *const bad[] = {
		"",
		"sif1",
		"sif1:16",
		"sif1:16:0::",
		"sif1:16:1:AAAAAAAB:",
		"sif1:16:1:AAAAAAAB:AA",
		"sif1:16:0",
		"sif2:16:0:",
		"sif1:3:0:",
		"sif1:33:0:",
		"sif1:016:0:",
		"sif1:16:00:",
		"sif1:-16:0:",
		"sif1:16::",
		"sif1:16:0:A",
		"sif1:16:1:AAAAAAA",
		"sif1:16:1:AAAAAAA=",
		"sif1:16:1:AAAAAAAA\n",
		"sif1:16:2:AAAAAAABAAAAAAAA",
		"sif1:16:2:AAAAAAABAAAAAAAB",
		"sif1:16:1:AAAAAAAAAAAAAAAB",
		"sif1:16:2:AAAAAAAA",
		"sif1:16:1:",
		"sif1:16:18446744073709551616:AAAAAAAAAAAAAAAB",
	};
	struct sif_sketch sketch;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (sif_parse(bad[i], strlen(bad[i]), &sketch) != -EINVAL)
			fail_msg("accepted: %s", bad[i]);
	assert_int_equal(sif_parse("sif1:16:2:AAAAAAAAAAAAAAAB", 26, &sketch),
			 0);
	assert_int_equal(sif_parse("sif1:16:9:AAAAAAAAAAAAAAAB", 26, &sketch),
			 0);
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
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
