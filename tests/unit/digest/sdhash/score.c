/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "core/digest/sdhash/sdhash.h"
#include "tests/support/sdhash_inputs.h"

/* Golden values: the program itself, see tests/vectors/sdhash/README.md. */

#define MAX_MEMBERS 100
#define MEASURES 3 /* 4.0, 3.4, folded: the order of scores.tsv */

struct member {
	char *name;
	struct sdhash_digest rules_4_0;
	struct sdhash_digest rules_3_4;
};

struct group {
	size_t count;
	struct member members[MAX_MEMBERS];
};

static struct group stream, block16, block4;

static void digest_member(struct member *m, const char *name,
			  uint32_t block_size)
{
	struct bytes b = input_named(name);

	m->name = strdup(name);
	assert_non_null(m->name);
	assert_int_equal(
		digest_bytes(b, SDHASH_4_0, block_size, 0, &m->rules_4_0), 0);
	assert_int_equal(
		digest_bytes(b, SDHASH_3_4, block_size, 0, &m->rules_3_4), 0);
	name_digest(&m->rules_4_0, name);
	name_digest(&m->rules_3_4, name);
	free(b.data);
}

static void load_group(struct group *g, const char *name, uint32_t block_size)
{
	struct tsv lines = tsv_open(SDHASH_DIR "score_members.tsv");

	while (tsv_next(&lines)) {
		if (strcmp(lines.fields[0], name) != 0)
			continue;
		assert_true(g->count < MAX_MEMBERS);
		digest_member(&g->members[g->count++], lines.fields[2],
			      block_size);
	}
	tsv_close(&lines);
}

static int load_groups(void **state)
{
	(void)state;
	load_group(&stream, "stream", 0);
	load_group(&block16, "block16", 16384);
	load_group(&block4, "block4", 4096);
	assert_int_equal(stream.count, 97);
	assert_int_equal(block16.count, 18);
	assert_int_equal(block4.count, 12);
	return 0;
}

static void release_group(struct group *g)
{
	size_t i;

	for (i = 0; i < g->count; i++) {
		free(g->members[i].name);
		sdhash_digest_release(&g->members[i].rules_4_0);
		sdhash_digest_release(&g->members[i].rules_3_4);
	}
}

static int release_groups(void **state)
{
	(void)state;
	release_group(&stream);
	release_group(&block16);
	release_group(&block4);
	return 0;
}

/* ---- the program's scores ---- */

/* What scores.tsv has for a pair, 0 where it has nothing. */
static void golden_scores(struct tsv *scores, const char *group, const char *a,
			  const char *b, int want_out[MEASURES])
{
	size_t i;

	memset(want_out, 0, MEASURES * sizeof(*want_out));
	rewind(scores->file);
	while (tsv_next(scores)) {
		if (strcmp(scores->fields[0], group) != 0 ||
		    strcmp(scores->fields[1], a) != 0 ||
		    strcmp(scores->fields[2], b) != 0)
			continue;
		for (i = 0; i < MEASURES; i++)
			want_out[i] =
				(int)strtol(scores->fields[3 + i], NULL, 10);
		return;
	}
}

/* The number of pairs that are listed: with a score other than 0. */
static size_t check_group(const struct group *g, const char *name)
{
	struct tsv scores = tsv_open(SDHASH_DIR "scores.tsv");
	const struct member *a, *b;
	size_t i, j, listed = 0;
	int want[MEASURES], have[MEASURES];

	for (i = 0; i < g->count; i++)
		for (j = i + 1; j < g->count; j++) {
			a = &g->members[i];
			b = &g->members[j];
			golden_scores(&scores, name, a->name, b->name, want);
			have[0] = sdhash_score(&a->rules_4_0, &b->rules_4_0,
					       SDHASH_SCORE_4_0);
			have[1] = sdhash_score(&a->rules_3_4, &b->rules_3_4,
					       SDHASH_SCORE_3_4);
			have[2] = sdhash_score(&a->rules_4_0, &b->rules_4_0,
					       SDHASH_SCORE_4_0_FOLDED);
			if (memcmp(have, want, sizeof(have)) != 0)
				fail_msg("%s %s: %d %d %d, not %d %d %d",
					 a->name, b->name, have[0], have[1],
					 have[2], want[0], want[1], want[2]);
			listed += want[0] || want[1] || want[2];
		}
	tsv_close(&scores);
	return listed;
}

TEST(scores_are_the_programs)
{
	assert_int_equal(check_group(&stream, "stream"), 689);
	assert_int_equal(check_group(&block16, "block16"), 122);
	assert_int_equal(check_group(&block4, "block4"), 66);
}

/* ---- ours ---- */

static unsigned ones(unsigned byte)
{
	unsigned n = 0;

	for (; byte; byte >>= 1)
		n += byte & 1;
	return n;
}

static int model_common(const uint8_t *a, const uint8_t *b, size_t len)
{
	size_t i;
	int n = 0;

	for (i = 0; i < len; i++)
		n += (int)ones(a[i] & b[i]);
	return n;
}

static double model_filters(const struct sdhash_filter *a,
			    const struct sdhash_filter *b)
{
	const double q = 1 - 1.0 / 2048;
	int e1 = model_common(a->bits, a->bits, 256);
	int e2 = model_common(b->bits, b->bits, 256);
	int least = e1 < e2 ? e1 : e2;
	double e = round(2048 *
			 (1 - pow(q, 5.0 * a->count) - pow(q, 5.0 * b->count) +
			  pow(q, 5.0 * (a->count + b->count))));
	int cut = (int)round(0.3 * (least - e) + e);
	int m = model_common(a->bits, b->bits, 256);

	if (cut > 0 && (8 * model_common(a->bits, b->bits, 32) + 48 < cut ||
			4 * model_common(a->bits, b->bits, 64) + 48 < cut ||
			2 * model_common(a->bits, b->bits, 128) + 48 < cut))
		m = 0;
	return m <= cut ? 0 : (double)(m - cut) / (least - cut);
}

/* The published steps in one order, sparse filters never compared. */
static int model_order(const struct sdhash_digest *a,
		       const struct sdhash_digest *b)
{
	size_t i, j, divisor = a->count;
	double value, best, sum = -1;

	for (i = 0; i < a->count; i++) {
		best = a->filters[i].count < 16 ? 0 : -1;
		for (j = 0; j < b->count && a->filters[i].count >= 16; j++) {
			if (b->filters[j].count < 16)
				continue;
			value = model_filters(&a->filters[i], &b->filters[j]);
			best = value > best ? value : best;
		}
		sum = sum < 0 ? best : sum + best;
		if (a->count > 1 && a->filters[i].count < 16)
			divisor--;
	}
	if (divisor == 0 || sum < 0)
		return -1;
	return (int)round(100 * sum / (double)divisor);
}

static int model_score(const struct sdhash_digest *a,
		       const struct sdhash_digest *b)
{
	int one = a->count <= b->count ? model_order(a, b) : -1;
	int other = b->count <= a->count ? model_order(b, a) : -1;

	return one > other ? one : other;
}

static void check_ours(struct sdhash_digest *a, struct sdhash_digest *b)
{
	int want = model_score(a, b), have = sdhash_score(a, b, SDHASH_SCORE);
	struct buf name;

	if (have != want)
		fail_msg("%s %s: %d, not %d", a->name.data, b->name.data, have,
			 want);
	assert_int_equal(sdhash_score(b, a, SDHASH_SCORE), want);
	name = a->name;
	a->name = b->name;
	b->name = name;
	assert_int_equal(sdhash_score(a, b, SDHASH_SCORE), want);
	b->name = a->name;
	a->name = name;
}

static void check_ours_in(struct group *g)
{
	size_t i, j;

	for (i = 0; i < g->count; i++)
		for (j = i; j < g->count; j++) {
			/* The model is slow. */
			if (g->members[i].rules_4_0.count *
				    g->members[j].rules_4_0.count >
			    500)
				continue;
			check_ours(&g->members[i].rules_4_0,
				   &g->members[j].rules_4_0);
		}
}

TEST(ours_follows_the_model)
{
	check_ours_in(&stream);
	check_ours_in(&block16);
	check_ours_in(&block4);
}

static struct sdhash_digest *stream_digest(const char *name)
{
	size_t i;

	for (i = 0; i < stream.count; i++)
		if (strcmp(stream.members[i].name, name) == 0)
			return &stream.members[i].rules_4_0;
	fail_msg("no member %s", name);
	return NULL;
}

static int ours(const char *a, const char *b)
{
	return sdhash_score(stream_digest(a), stream_digest(b), SDHASH_SCORE);
}

TEST(ours_has_the_better_of_both)
{
	/* 4.0 says 0 of this fragment of 16 features. */
	assert_int_equal(ours("T_frag1024", "T_base"), 100);
	/* 3.4 says 20: it compares with a filter of two features. */
	assert_int_equal(ours("period65_65536", "lic_LGPL-3"), 0);
	assert_int_equal(ours("T_base", "T_base"), 100);
	assert_int_equal(ours("rand_65536", "T_base"), 0);
}

TEST(streams_compare_with_blocks)
{
	struct sdhash_digest blocks = { 0 };
	struct bytes b = input_named("text_65536");
	const struct sdhash_digest *whole = stream_digest("text_65536");

	assert_int_equal(digest_bytes(b, SDHASH_4_0, 16384, 0, &blocks), 0);
	assert_true(sdhash_score(&blocks, whole, SDHASH_SCORE) > 30);
	assert_int_equal(sdhash_score(&blocks, whole, SDHASH_SCORE),
			 sdhash_score(whole, &blocks, SDHASH_SCORE));
	sdhash_digest_release(&blocks);
	free(b.data);
}

TEST(nothing_can_be_said_of_an_empty_digest)
{
	const struct sdhash_digest none = { 0 };
	const struct sdhash_digest *some = stream_digest("T_base");

	assert_int_equal(sdhash_score(&none, some, SDHASH_SCORE), -1);
	assert_int_equal(sdhash_score(some, &none, SDHASH_SCORE_4_0), -1);
	assert_int_equal(sdhash_score(&none, &none, SDHASH_SCORE_3_4), -1);
}

/* Of two filters that differ in bytes from to end - 1 of every part. */
static int score_of_gap(enum sdhash_measure measure, size_t from, size_t end)
{
	int folded = measure == SDHASH_SCORE_4_0_FOLDED;
	struct sdhash_filter a = { .count = folded ? 64 : 160 }, b = a;
	struct sdhash_digest x = { .count = 1, .filters = &a };
	struct sdhash_digest y = { .count = 1, .filters = &b };
	size_t i, at;

	memset(a.bits, 0x55, sizeof(a.bits));
	memset(b.bits, 0x55, sizeof(b.bits));
	for (i = 0; i < sizeof(b.bits); i++) {
		at = folded ? i % 64 : i;
		if (at >= from && at < end)
			b.bits[i] = 0xaa;
	}
	a.weight = 4 * SDHASH_FILTER_BYTES;
	b.weight = 4 * SDHASH_FILTER_BYTES;
	return sdhash_score(&x, &y, measure);
}

struct gap {
	size_t from;
	size_t end;
	enum sdhash_measure measure;
	int is_seen; /* what follows it */
};

/* The program does not look at the rest when an eighth, a quarter or half of
 * the filter has too little in common; of a folded filter, half. */
TEST(early_exits_are_the_programs)
{
	static const struct gap gaps[] = {
		{ 0, 32, SDHASH_SCORE_4_0, 0 },
		{ 6, 32, SDHASH_SCORE_4_0, 1 },
		{ 6, 64, SDHASH_SCORE_4_0, 0 },
		{ 12, 64, SDHASH_SCORE_4_0, 1 },
		{ 12, 128, SDHASH_SCORE_4_0, 0 },
		{ 24, 128, SDHASH_SCORE_4_0, 1 },
		{ 0, 32, SDHASH_SCORE_3_4, 0 },
		{ 14, 32, SDHASH_SCORE_3_4, 1 },
		{ 14, 64, SDHASH_SCORE_3_4, 0 },
		{ 26, 64, SDHASH_SCORE_3_4, 1 },
		{ 26, 128, SDHASH_SCORE_3_4, 0 },
		{ 52, 128, SDHASH_SCORE_3_4, 1 },
		{ 0, 32, SDHASH_SCORE_4_0_FOLDED, 0 },
		{ 10, 32, SDHASH_SCORE_4_0_FOLDED, 1 },
	};
	const struct gap *g;

	for (g = gaps; g < gaps + sizeof(gaps) / sizeof(*gaps); g++)
		if ((score_of_gap(g->measure, g->from, g->end) > 0) !=
		    g->is_seen)
			fail_msg("measure %d, gap from %zu to %zu", g->measure,
				 g->from, g->end);
}

/* 3.4 divides 0 by 0 here, and aborts. */
TEST(all_sparse_blocks_say_nothing)
{
	static uint8_t zeros[4096];
	struct bytes b = { zeros, sizeof(zeros) };
	struct sdhash_digest d = { 0 };

	assert_int_equal(digest_bytes(b, SDHASH_4_0, 1024, 0, &d), 0);
	assert_int_equal(d.count, 4);
	assert_int_equal(sdhash_score(&d, &d, SDHASH_SCORE), -1);
	assert_int_equal(sdhash_score(&d, &d, SDHASH_SCORE_4_0), -1);
	assert_int_equal(sdhash_score(&d, &d, SDHASH_SCORE_3_4), -1);
	sdhash_digest_release(&d);
}

int main(void)
{
	return test_run(load_groups, release_groups);
}
