/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "core/digest/sdhash/sdhash.h"
#include "tests/support/sdhash_inputs.h"

/* Golden values: the program itself, see tests/vectors/sdhash/README.md. */

#define MAX_MEMBERS 100

struct member {
	char *name;
	bool in_both; /* the digest is the same in 3.4 and 4.0 */
	struct sdhash_digest digest;
};

struct group {
	size_t count;
	struct member members[MAX_MEMBERS];
};

static struct group stream, block16, block4;

/* Block digests are the same in all releases. */
static bool is_in_both(const char *name, uint32_t block_size)
{
	struct tsv lines = tsv_open(SDHASH_DIR "digests.tsv");
	bool in_both = true;

	while (tsv_next(&lines))
		if (!block_size && strcmp(lines.fields[0], name) == 0 &&
		    strcmp(lines.fields[1], "stream") == 0)
			in_both = strcmp(lines.fields[2], "both") == 0;
	tsv_close(&lines);
	return in_both;
}

static void load_group(struct group *g, const char *name, uint32_t block_size)
{
	struct tsv lines = tsv_open(SDHASH_DIR "score_members.tsv");
	struct member *m;
	struct bytes b;

	while (tsv_next(&lines)) {
		if (strcmp(lines.fields[0], name) != 0)
			continue;
		assert_true(g->count < MAX_MEMBERS);
		m = &g->members[g->count++];
		m->name = strdup(lines.fields[2]);
		assert_non_null(m->name);
		m->in_both = is_in_both(m->name, block_size);
		b = input_named(m->name);
		assert_int_equal(digest_bytes(b, block_size, 0, &m->digest), 0);
		name_digest(&m->digest, m->name);
		free(b.data);
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
		sdhash_digest_release(&g->members[i].digest);
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

/* ---- the model ---- */

static int model_common(const uint8_t *a, const uint8_t *b, size_t len)
{
	size_t i;
	int n = 0;

	for (i = 0; i < len; i++)
		n += __builtin_popcount(a[i] & b[i]);
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

/* The published steps in one order. */
static int model_order(const struct sdhash_digest *a,
		       const struct sdhash_digest *b, bool take_sparse)
{
	size_t i, j, divisor = a->count;
	double value, best, sum = -1;

	for (i = 0; i < a->count; i++) {
		best = a->filters[i].count < 16 ? 0 : -1;
		for (j = 0; j < b->count && a->filters[i].count >= 16; j++) {
			if (b->filters[j].count < 16 && !take_sparse)
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

/* Ours: sparse filters are never compared, and the better order counts. */
static int model_score(const struct sdhash_digest *a,
		       const struct sdhash_digest *b)
{
	int one = a->count <= b->count ? model_order(a, b, false) : -1;
	int other = b->count <= a->count ? model_order(b, a, false) : -1;

	return one > other ? one : other;
}

/* That of 3.4: one filter is compared with sparse ones, and the order is that
 * of filters, of features of the last one, or of names. */
static int model_score_3_4(const struct sdhash_digest *a,
			   const struct sdhash_digest *b)
{
	unsigned last_a = a->filters[a->count - 1].count;
	unsigned last_b = b->filters[b->count - 1].count;
	bool swap =
		a->count > b->count ||
		(a->count == b->count &&
		 (last_a > last_b || strcmp(a->name.data, b->name.data) > 0));

	return swap ? model_order(b, a, b->count == 1) :
		      model_order(a, b, a->count == 1);
}

/* What scores.tsv has of 3.4 for a pair, 0 where it has nothing. */
static int golden_score(struct tsv *scores, const char *group, const char *a,
			const char *b)
{
	rewind(scores->file);
	while (tsv_next(scores))
		if (strcmp(scores->fields[0], group) == 0 &&
		    strcmp(scores->fields[1], a) == 0 &&
		    strcmp(scores->fields[2], b) == 0)
			return (int)strtol(scores->fields[4], NULL, 10);
	return 0;
}

/* The number of scores other than 0. */
static size_t check_model_in(const struct group *g, const char *name)
{
	struct tsv scores = tsv_open(SDHASH_DIR "scores.tsv");
	const struct member *a, *b;
	size_t i, j, listed = 0;
	int want, have;

	for (i = 0; i < g->count; i++)
		for (j = i + 1; j < g->count; j++) {
			a = &g->members[i];
			b = &g->members[j];
			/* The model is slow. */
			if (!a->in_both || !b->in_both ||
			    a->digest.count * b->digest.count > 70000)
				continue;
			want = golden_score(&scores, name, a->name, b->name);
			have = model_score_3_4(&a->digest, &b->digest);
			if (have != want)
				fail_msg("%s %s: %d, not %d", a->name, b->name,
					 have, want);
			listed += want != 0;
		}
	tsv_close(&scores);
	return listed;
}

TEST(the_model_is_the_program)
{
	assert_int_equal(check_model_in(&stream, "stream"), 161);
	assert_int_equal(check_model_in(&block16, "block16"), 1);
	assert_int_equal(check_model_in(&block4, "block4"), 0);
}

/* ---- ours ---- */

static void check_ours(struct sdhash_digest *a, struct sdhash_digest *b)
{
	int want = model_score(a, b), have = sdhash_score(a, b);
	struct buf name;

	if (have != want)
		fail_msg("%s %s: %d, not %d", a->name.data, b->name.data, have,
			 want);
	assert_int_equal(sdhash_score(b, a), want);
	name = a->name;
	a->name = b->name;
	b->name = name;
	assert_int_equal(sdhash_score(a, b), want);
	b->name = a->name;
	a->name = name;
}

static void check_ours_in(struct group *g)
{
	size_t i, j;

	for (i = 0; i < g->count; i++)
		for (j = i; j < g->count; j++) {
			/* The model is slow. */
			if (g->members[i].digest.count *
				    g->members[j].digest.count >
			    500)
				continue;
			check_ours(&g->members[i].digest,
				   &g->members[j].digest);
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
			return &stream.members[i].digest;
	fail_msg("no member %s", name);
	return NULL;
}

static int ours(const char *a, const char *b)
{
	return sdhash_score(stream_digest(a), stream_digest(b));
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

	assert_int_equal(digest_bytes(b, 16384, 0, &blocks), 0);
	assert_true(sdhash_score(&blocks, whole) > 30);
	assert_int_equal(sdhash_score(&blocks, whole),
			 sdhash_score(whole, &blocks));
	sdhash_digest_release(&blocks);
	free(b.data);
}

TEST(nothing_can_be_said_of_an_empty_digest)
{
	const struct sdhash_digest none = { 0 };
	const struct sdhash_digest *some = stream_digest("T_base");

	assert_int_equal(sdhash_score(&none, some), -1);
	assert_int_equal(sdhash_score(some, &none), -1);
	assert_int_equal(sdhash_score(&none, &none), -1);
}

/* Of two filters that differ in bytes from to end - 1. */
static int score_of_gap(size_t from, size_t end)
{
	struct sdhash_filter a = { .count = 160 }, b = a;
	struct sdhash_digest x = { .count = 1, .filters = &a };
	struct sdhash_digest y = { .count = 1, .filters = &b };

	memset(a.bits, 0x55, sizeof(a.bits));
	memset(b.bits, 0x55, sizeof(b.bits));
	memset(b.bits + from, 0xaa, end - from);
	a.weight = 4 * SDHASH_FILTER_BYTES;
	b.weight = 4 * SDHASH_FILTER_BYTES;
	return sdhash_score(&x, &y);
}

/* The program does not look at the rest when an eighth, a quarter or half of
 * the filter has too little in common. */
TEST(early_exits_are_the_programs)
{
	assert_int_equal(score_of_gap(0, 32), 0);
	assert_true(score_of_gap(14, 32) > 0);
	assert_int_equal(score_of_gap(14, 64), 0);
	assert_true(score_of_gap(26, 64) > 0);
	assert_int_equal(score_of_gap(26, 128), 0);
	assert_true(score_of_gap(52, 128) > 0);
}

/* 3.4 divides 0 by 0 here, and aborts. */
TEST(all_sparse_blocks_say_nothing)
{
	static uint8_t zeros[4096];
	struct bytes b = { zeros, sizeof(zeros) };
	struct sdhash_digest d = { 0 };

	assert_int_equal(digest_bytes(b, 1024, 0, &d), 0);
	assert_int_equal(d.count, 4);
	assert_int_equal(sdhash_score(&d, &d), -1);
	sdhash_digest_release(&d);
}

int main(void)
{
	return test_run(load_groups, release_groups);
}
