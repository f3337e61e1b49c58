/* SPDX-License-Identifier: Apache-2.0 */
#include "core/kernel/sdhash/sdhash.h"
#include "tests/unit/kernel/fixture.h"
#include "tests/support/sdhash_inputs.h"

#define W SDHASH_WINDOW
#define LONGEST 4096
#define PATTERNS 70

/* ---- inputs ---- */

/* Zeros, ones, bytes of period 1 to 64, then seeded ones. */
static void fill_pattern(uint8_t *data, size_t len, size_t pattern)
{
	size_t i;

	if (pattern < 2)
		memset(data, pattern ? 0xff : 0, len);
	else if (pattern < 66)
		for (i = 0; i < len; i++)
			data[i] = (uint8_t)(i % (pattern - 1) * 151);
	else
		fill(data, len, pattern);
}

/* Few different ranks tie often; runs of them and zeros are common. */
static void random_ranks(uint16_t *ranks, size_t count, uint64_t seed)
{
	struct numbers n = { seed };
	uint64_t different =
		1 + number_draw(&n) % (number_draw(&n) % 2 ? 6 : 991);
	uint64_t repeat = 1 + number_draw(&n) % (number_draw(&n) % 4 ? 5 : 200);
	uint64_t zeros = number_draw(&n) % 90;
	size_t i;

	for (i = 0; i < count; i++) {
		if (i > 0 && number_draw(&n) % repeat)
			ranks[i] = ranks[i - 1];
		else if (number_draw(&n) % 100 >= zeros)
			ranks[i] = (uint16_t)(number_draw(&n) % different);
		else
			ranks[i] = 0;
	}
}

/* The first are the worst for some way of searching. */
static void fill_ranks(uint16_t *ranks, size_t count, uint64_t seed)
{
	size_t i;

	for (i = 0; i < count; i++) {
		if (seed < 2)
			ranks[i] = seed ? 990 : 0;
		else if (seed == 2)
			ranks[i] = (uint16_t)(990 - i % 990);
		else if (seed == 3)
			ranks[i] = (uint16_t)(1 + i % 990);
		else if (seed < 80)
			ranks[i] = (uint16_t)(i % (seed - 2) ? 500 : 499);
		else if (seed < 150)
			ranks[i] = (uint16_t)(i % (seed - 79) ? 500 : 0);
	}
	if (seed >= 150)
		random_ranks(ranks, count, seed);
}

/* ---- ranks ---- */

static void read_table(const char *name, long *values, size_t count)
{
	struct tsv t = tsv_open(name);
	size_t i;

	assert_true(tsv_next(&t));
	for (i = 0; i < count; i++) {
		assert_true(tsv_next(&t));
		values[i] = strtol(t.fields[1], NULL, 10);
	}
	tsv_close(&t);
}

/* From the program's tables, window by window. */
static void model_ranks(const uint8_t *bytes, size_t count, uint16_t *ranks)
{
	static long entropies[W + 1], table[1001];
	unsigned counts[256];
	size_t i, k;
	long sum;

	if (table[1000 - 10] == 0) {
		read_table(SDHASH_DIR "tables/entropy65.tsv", entropies, W + 1);
		read_table(SDHASH_DIR "tables/rank1001.tsv", table, 1001);
	}
	for (i = 0; i < count; i++) {
		memset(counts, 0, sizeof(counts));
		for (k = 0; k < W; k++)
			counts[bytes[i + k]]++;
		for (sum = 0, k = 0; k < 256; k++)
			sum += entropies[counts[k]];
		ranks[i] = (uint16_t)table[sum >> 10];
	}
}

static void check_ranks(const uint8_t *bytes, size_t count,
			const uint16_t *want)
{
	struct guarded out = guarded_new(2 * (LONGEST + 1));
	uint16_t *have = (uint16_t *)(void *)(out.data + out.len) - count;
	size_t i, variants;
	const struct kernel_ops *all = kernel_all(&variants);

	for (i = 0; i < variants; i++) {
		memset(have, 0xa5, count * sizeof(*have));
		all[i].sdhash->rank(bytes, count, have);
		if (memcmp(have, want, count * sizeof(*have)) != 0)
			fail_msg("%s: %zu windows", all[i].name, count);
	}
	guarded_free(&out);
}

/* The bytes end where memory ends; that gives every alignment, too. */
static void ranks_of_every_length(void **state)
{
	struct guarded g = guarded_new(LONGEST + W - 1);
	uint16_t want[LONGEST];
	const uint8_t *bytes;
	size_t count;

	(void)state;
	for (count = 0; count <= LONGEST; count += 1 + count / 512) {
		bytes = g.data + g.len - (count ? count + W - 1 : 0);
		fill(g.data, g.len, count);
		kernel_all(&(size_t){ 0 })[0].sdhash->rank(bytes, count, want);
		check_ranks(bytes, count, want);
	}
	guarded_free(&g);
}

static void ranks_follow_the_tables(void **state)
{
	struct guarded g = guarded_new(LONGEST + W - 1);
	uint16_t want[LONGEST];
	size_t pattern, count;

	(void)state;
	for (pattern = 0; pattern < PATTERNS; pattern++) {
		count = LONGEST - pattern;
		fill_pattern(g.data, g.len, pattern);
		model_ranks(g.data + pattern, count, want);
		check_ranks(g.data + pattern, count, want);
	}
	guarded_free(&g);
}

/* ---- scores ---- */

/* The rule as the program has it, place by place. */
static void model_scores(const uint16_t *ranks, size_t steps, uint8_t *scores)
{
	size_t i, j, m = 0;
	uint16_t k = ranks[0];

	for (i = 0; i < steps; i++) {
		if (i > 0 && k > 0 && i < m && ranks[i + W] >= k) {
			if (ranks[i + W] == k)
				m = i + W;
			scores[m]++;
			continue;
		}
		m = i;
		k = ranks[i];
		for (j = i + 1; j < i + W; j++) {
			if (ranks[j] != 0 && ranks[j] < k) {
				k = ranks[j];
				m = j;
			} else if (m == j - 1 && ranks[j] == k) {
				m = j;
			}
		}
		if (k > 0)
			scores[m]++;
	}
}

/* Places that steps steps read, and those that they write. */
static size_t read_by(size_t steps)
{
	return steps ? steps + W + SDHASH_RANK_ROOM : 0;
}

static size_t written_by(size_t steps)
{
	return steps ? steps + W : 0;
}

/* At the end of memory, in parts of at most longest steps. */
static void check_scores(const struct kernel_ops *ops, const uint16_t *ranks,
			 size_t steps, size_t longest, uint64_t seed)
{
	struct guarded r = guarded_new(2 * read_by(LONGEST));
	struct guarded s = guarded_new(written_by(LONGEST));
	uint16_t *at = (uint16_t *)(void *)(r.data + r.len) - read_by(steps);
	uint8_t *have = s.data + s.len - written_by(steps);
	uint8_t want[LONGEST + W] = { 0 };
	struct sdhash_lowest lowest = { 0 };
	struct numbers n = { seed };
	size_t i, part;

	memcpy(at, ranks, read_by(steps) * sizeof(*ranks));
	if (steps)
		model_scores(ranks, steps, want);
	for (i = 0; i < steps; i += part) {
		part = 1 + number_draw(&n) % longest;
		part = part < steps - i ? part : steps - i;
		ops->sdhash->score(&lowest, at + i, part, have + i);
	}
	ops->sdhash->score(&lowest, at + read_by(steps), 0, have);
	if (memcmp(have, want, written_by(steps)) != 0)
		fail_msg("%s: %zu steps, seed %llu, parts of %zu", ops->name,
			 steps, (unsigned long long)seed, longest);
	guarded_free(&r);
	guarded_free(&s);
}

/* What is behind the places that count changes nothing. */
static void scores_of_every_length(void **state)
{
	static uint16_t ranks[LONGEST + W + SDHASH_RANK_ROOM];
	size_t steps, i, variants;
	const struct kernel_ops *all = kernel_all(&variants);

	(void)state;
	for (steps = 0; steps <= LONGEST; steps += 1 + steps / 512) {
		random_ranks(ranks, read_by(LONGEST), steps);
		for (i = 0; i < variants; i++)
			check_scores(&all[i], ranks, steps, LONGEST, steps);
	}
}

static void scores_follow_the_rule(void **state)
{
	static uint16_t ranks[LONGEST + W + SDHASH_RANK_ROOM];
	size_t i, steps, variants;
	const struct kernel_ops *all = kernel_all(&variants);
	uint64_t seed;

	(void)state;
	for (seed = 0; seed < 1200; seed++) {
		steps = seed % 8 ? 700 : LONGEST;
		fill_ranks(ranks, read_by(steps), seed);
		for (i = 0; i < variants; i++) {
			check_scores(&all[i], ranks, steps, LONGEST, seed);
			check_scores(&all[i], ranks, steps, 300, seed);
			check_scores(&all[i], ranks, steps, 3, seed);
		}
	}
}

/* All variants say the same of what comes next, and more steps than any of
 * them takes at once. */
static void scores_of_long_inputs(void **state)
{
	enum { STEPS = 20000, ALL = STEPS + W + SDHASH_RANK_ROOM };
	static uint16_t ranks[ALL];
	static uint8_t want[ALL], have[ALL];
	struct sdhash_lowest first, lowest;
	size_t i, variants;
	const struct kernel_ops *all = kernel_all(&variants);
	uint64_t seed;

	(void)state;
	for (seed = 0; seed < 300; seed++) {
		fill_ranks(ranks, ALL, seed);
		memset(want, 0, sizeof(want));
		model_scores(ranks, STEPS, want);
		for (i = 0; i < variants; i++) {
			lowest = (struct sdhash_lowest){ 0 };
			memset(have, 0, sizeof(have));
			all[i].sdhash->score(&lowest, ranks, STEPS, have);
			if (memcmp(have, want, sizeof(want)) != 0)
				fail_msg("%s: seed %llu", all[i].name,
					 (unsigned long long)seed);
			first = i ? first : lowest;
			assert_int_equal(lowest.at, first.at);
			assert_int_equal(lowest.rank, first.rank);
		}
	}
}

/* ---- both, as the program has them ---- */

static void check_trace(const struct kernel_ops *ops, const char *name)
{
	struct sdhash_lowest lowest = { 0 };
	struct bytes input = input_named(name);
	size_t i, steps = input.len - W;
	uint8_t *scores = calloc(read_by(steps), 1);
	uint16_t *ranks = calloc(read_by(steps), sizeof(*ranks));
	struct tsv lines;
	char path[128];

	assert_true(scores && ranks);
	ops->sdhash->rank(input.data, steps, ranks);
	ops->sdhash->score(&lowest, ranks, steps, scores);
	(void)snprintf(path, sizeof(path), SDHASH_DIR "trace/%s.tsv", name);
	lines = tsv_open(path);
	assert_true(tsv_next(&lines));
	for (i = 0; tsv_next(&lines); i++) {
		assert_int_equal(strtoul(lines.fields[2], NULL, 10), ranks[i]);
		assert_int_equal(strtoul(lines.fields[3], NULL, 10), scores[i]);
	}
	assert_true(i >= steps);
	tsv_close(&lines);
	free(input.data);
	free(scores);
	free(ranks);
}

static void ranks_and_scores_are_the_programs(void **state)
{
	size_t i, variants;
	const struct kernel_ops *all = kernel_all(&variants);

	(void)state;
	for (i = 0; i < variants; i++) {
		check_trace(&all[i], "rand_512");
		check_trace(&all[i], "rand_1000");
		check_trace(&all[i], "text_1000");
		check_trace(&all[i], "mixed_2049");
	}
}

/* ---- features ---- */

static void check_pick(const uint8_t *scores, size_t count, uint8_t least)
{
	uint16_t want[LONGEST], have[LONGEST];
	size_t i, k, found = 0, variants;
	const struct kernel_ops *all = kernel_all(&variants);

	for (i = 0; i < count; i++)
		if (scores[i] >= least)
			want[found++] = (uint16_t)i;
	for (k = 0; k < variants; k++) {
		memset(have, 0xa5, sizeof(have));
		i = all[k].sdhash->pick(scores, count, least, have);
		if (i != found || memcmp(have, want, 2 * found) != 0 ||
		    (found < LONGEST && have[found] != 0xa5a5))
			fail_msg("%s: %zu of %zu, %zu are right", all[k].name,
				 i, count, found);
	}
}

static void places_of_high_scores(void **state)
{
	struct guarded g = guarded_new(LONGEST);
	struct draws d = draws_of(3);
	size_t count, i;

	(void)state;
	for (count = 0; count <= LONGEST; count++) {
		for (i = 0; i < 8 + count / 512; i++)
			g.data[draw(&d) % LONGEST] = (uint8_t)(draw(&d) % 66);
		check_pick(g.data + g.len - count, count, 17);
	}
	for (i = 0; i < 2; i++) {
		memset(g.data, i ? 65 : 16, g.len);
		check_pick(g.data, LONGEST, 17);
		check_pick(g.data, LONGEST, 0);
	}
	guarded_free(&g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ranks_of_every_length),
		cmocka_unit_test(ranks_follow_the_tables),
		cmocka_unit_test(scores_of_every_length),
		cmocka_unit_test(scores_follow_the_rule),
		cmocka_unit_test(scores_of_long_inputs),
		cmocka_unit_test(ranks_and_scores_are_the_programs),
		cmocka_unit_test(places_of_high_scores),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
