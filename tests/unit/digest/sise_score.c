/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "core/digest/sise.h"
#include "tests/support/recipe.h"
#include "tests/support/sise_model.h"

#define DIR "tests/vectors/sise/"
#define MAX_NAMES 160

/* Signatures by name. */
struct set {
	char *names[MAX_NAMES];
	struct sise_signature *sigs[MAX_NAMES];
	size_t count;
};

static struct sise_signature *set_add(struct set *set, const char *name)
{
	struct sise_signature *sig = malloc(sizeof(*sig));

	assert_true(set->count < MAX_NAMES);
	set->names[set->count] = strdup(name);
	set->sigs[set->count++] = sig;
	assert_non_null(sig);
	return sig;
}

static const struct sise_signature *set_find(const struct set *set,
					     const char *name)
{
	size_t i;

	for (i = 0; i < set->count; i++)
		if (strcmp(set->names[i], name) == 0)
			return set->sigs[i];
	fail_msg("no signature %s", name);
	return NULL;
}

static void set_release(struct set *set)
{
	while (set->count > 0) {
		set->count--;
		free(set->names[set->count]);
		free(set->sigs[set->count]);
	}
}

/* From the column of a file that holds signatures. */
static struct set set_load(const char *path, size_t column)
{
	struct tsv lines = tsv_open(path);
	struct set set = { .count = 0 };
	struct sise_signature *sig;
	const char *text;

	while (tsv_next(&lines)) {
		sig = set_add(&set, lines.fields[0]);
		text = lines.fields[column];
		assert_int_equal(sise_parse(text, strlen(text), sig), 0);
	}
	tsv_close(&lines);
	return set;
}

static struct set set_make(void)
{
	static struct ctph sise;
	struct tsv lines = tsv_open(DIR "inputs.tsv");
	struct set set = { .count = 0 };
	struct bytes input;

	while (tsv_next(&lines)) {
		input = recipe_parse(lines.fields[1]);
		ctph_init(&sise, CTPH_SISE);
		ctph_update(&sise, input.data, input.len);
		sise_read(&sise, set_add(&set, lines.fields[0]));
		free(input.data);
	}
	tsv_close(&lines);
	return set;
}

/*
 * The golden scores are of one order of the arguments, ours is the larger of
 * both: the model gives the golden one, and the larger of the model's two must
 * be ours.
 */
static int check_score(const struct sise_signature *a,
		       const struct sise_signature *b, int golden)
{
	int there = model_compare(a, b), back = model_compare(b, a);
	int want = there > back ? there : back;

	return there == golden && sise_score(a, b) == want &&
	       sise_score(b, a) == want;
}

/*
 * One recorded score, 32 for gr_aaa and gr_ab, is that of the other order: the
 * columns of published scores, and all 70 other rows where the order matters,
 * say so.  Ours is the larger in any case, 34.
 */
static int is_recorded_backwards(const struct tsv *line)
{
	return strcmp(line->fields[0], "gr_aaa") == 0 &&
	       strcmp(line->fields[1], "gr_ab") == 0;
}

static size_t check_scores(const struct set *set, const char *path,
			   size_t column)
{
	struct tsv lines = tsv_open(path);
	const struct sise_signature *a, *b;
	size_t count = 0;
	int golden, ok;

	for (; tsv_next(&lines); count++) {
		a = set_find(set, lines.fields[0]);
		b = set_find(set, lines.fields[1]);
		golden = (int)strtol(lines.fields[column], NULL, 10);
		if (is_recorded_backwards(&lines))
			ok = check_score(b, a, golden);
		else
			ok = check_score(a, b, golden);
		if (!ok)
			fail_msg("%s, %s: not %d", lines.fields[0],
				 lines.fields[1], golden);
	}
	tsv_close(&lines);
	return count;
}

TEST(made_up_signatures)
{
	struct set set = set_load(DIR "compare_signatures.tsv", 1);

	assert_int_equal(check_scores(&set, DIR "compare_scores.tsv", 4), 996);
	set_release(&set);
}

TEST(signatures_of_inputs)
{
	struct set set = set_make();

	assert_int_equal(check_scores(&set, DIR "comparisons.tsv", 8), 496);
	set_release(&set);
}

/* ---- tables of the paper ---- */

TEST(table_24_special_signatures)
{
	struct set set = set_load(DIR "special_signatures.tsv", 1);
	struct tsv lines = tsv_open(DIR "special_scores_sise.tsv");
	size_t row = 0, i;

	while (tsv_next(&lines)) {
		for (i = 1; i < lines.count; i++)
			assert_int_equal(
				sise_score(set.sigs[row], set.sigs[i - 1]),
				strtol(lines.fields[i], NULL, 10));
		row++;
	}
	assert_int_equal(row, 10);
	tsv_close(&lines);
	set_release(&set);
}

/* The first value of a cell is of two stored signatures. */
TEST(tables_5_and_6_texts)
{
	struct set set = set_load(DIR "paper/quijote_signatures.tsv", 3);
	struct tsv lines = tsv_open(DIR "paper/table05_06.tsv");
	size_t count = 0;

	while (tsv_next(&lines)) {
		assert_int_equal(sise_score(set_find(&set, lines.fields[0]),
					    set_find(&set, lines.fields[1])),
				 strtol(lines.fields[4], NULL, 10));
		count++;
	}
	assert_int_equal(count, 56);
	tsv_close(&lines);
	set_release(&set);
}

TEST(table_16_bitmaps)
{
	struct set set = set_load(DIR "paper/bmp_signatures.tsv", 3);

	assert_int_equal(sise_score(set.sigs[0], set.sigs[1]), 98);
	assert_int_equal(sise_score(set.sigs[0], set.sigs[2]), 20);
	assert_int_equal(sise_score(set.sigs[1], set.sigs[2]), 20);
	set_release(&set);
}

/* ---- against the model ---- */

/* Pieces of from, in any order and any number of times, between random ones:
 * runs of every length, values once and often on either side. */
static void fill_from_pieces(struct sise_part *part, struct draws *d,
			     const struct sise_part *from, size_t max)
{
	size_t start, len, i;

	part->count = 0;
	while (part->count < max) {
		start = draw(d) % from->count;
		len = 1 + draw(d) % (draw(d) % 2 ? 4 : 60);
		for (i = start; i < start + len && part->count < max; i++)
			part->pairs[part->count++] =
				i < from->count ?
					from->pairs[i] :
					(uint16_t)(draw(d) % SISE_PAIR_VALUES);
	}
}

/* One pair over and over, with a few others in between. */
static void fill_constant(struct sise_part *part, struct draws *d, size_t max)
{
	size_t i;

	part->count = max;
	for (i = 0; i < max; i++)
		part->pairs[i] =
			(uint16_t)(draw(d) % 12 ? 7 : draw(d) % (i % 3 + 9));
}

static struct sise_signature signature_of(const struct sise_part *part)
{
	struct sise_signature sig = { .leading = *part };

	sig.secondary.block_size = part->block_size / 2;
	return sig;
}

/* Each with each, in both orders. */
static void check_parts(const struct sise_part *parts, size_t count,
			uint64_t seed)
{
	static struct sise_signature a, b;
	int want, back, have;
	size_t i, k;

	for (i = 0; i < count; i++) {
		a = signature_of(&parts[i]);
		for (k = 0; k < count; k++) {
			b = signature_of(&parts[k]);
			want = model_score(&parts[k], &parts[i]);
			back = model_score(&parts[i], &parts[k]);
			want = back > want ? back : want;
			have = sise_score(&a, &b);
			if (have != want)
				fail_msg("seed %llu, %zu and %zu: want %d, "
					 "have %d",
					 (unsigned long long)seed, i, k, want,
					 have);
		}
	}
}

TEST(related_parts_give_what_the_model_gives)
{
	static struct sise_part parts[6];
	struct draws d;
	uint64_t seed;
	size_t i, max;

	for (seed = 1; seed <= 300; seed++) {
		d = draws_of(seed);
		max = seed % 60 ? 20 + draw(&d) % 150 : 1500;
		for (i = 0; i < 6; i++)
			parts[i].block_size = parts[i].mod_value = 96;
		parts[0].count = max;
		for (i = 0; i < max; i++)
			parts[0].pairs[i] =
				(uint16_t)(draw(&d) % SISE_PAIR_VALUES);
		fill_from_pieces(&parts[1], &d, &parts[0], max - max / 9);
		fill_from_pieces(&parts[2], &d, &parts[0], max);
		fill_from_pieces(&parts[3], &d, &parts[1], max);
		fill_constant(&parts[4], &d, max / 2);
		fill_constant(&parts[5], &d, max);
		check_parts(parts, 6, seed);
	}
}

TEST(parts_of_other_sizes_score_nothing)
{
	const struct sise_part part = { .block_size = 96,
					.mod_value = 95,
					.count = 1 };
	static struct sise_signature a, b;

	a = b = signature_of(&part);
	assert_int_equal(sise_score(&a, &b), 100);
	b.leading.count = 30;
	assert_int_equal(sise_score(&a, &b), 3);
	b.leading.count = 31;
	assert_int_equal(sise_score(&a, &b), 0);
	b.leading.count = 1;
	b.leading.block_size = 192;
	assert_int_equal(sise_score(&a, &b), 0);
	b.leading.block_size = 96;
	b.leading.mod_value = 94;
	assert_int_equal(sise_score(&a, &b), 0);
	b.leading.mod_value = 95;
	a.leading.count = b.leading.count = 0;
	assert_int_equal(sise_score(&a, &b), 0);
}

/* ---- text ---- */

TEST(malformed_texts_are_refused)
{
	static const char *const texts[] = {
		"",
		"6",
		"6(5)",
		"6(5):AA",
		"6(5):AA::",
		"6(5):AA:3(2):AA",
		"6(5):AA::3(2):",
		"6(5):::3(2):AA",
		"6(5):A::3(2):AA",
		"6(5):AA::3(2):AAA",
		"6(5):A-::3(2):AA",
		"6(5):A\n::3(2):AA",
		"6(5):AA::3(2):AA\n",
		"6(5):AA::3(2):AA,",
		" 6(5):AA::3(2):AA",
		"06(5):AA::3(2):AA",
		"+6(5):AA::3(2):AA",
		"-6(5):AA::3(2):AA",
		"(5):AA::3(2):AA",
		"6():AA::3(2):AA",
		"6(5:AA::3(2):AA",
		"6(5):AA::3(2):AA::3(2):AA",
		"18446744073709551616(5):AA::3(2):AA",
		"99999999999999999999999(5):AA::3(2):AA",
		"SiSe-1.0--7:1--blocksize:hash,filename",
	};
	static struct sise_signature sig;
	size_t i;

	for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (sise_parse(texts[i], strlen(texts[i]), &sig) != -EINVAL)
			fail_msg("\"%s\" was taken", texts[i]);
}

TEST(only_the_alphabet_is_read)
{
	static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijkl"
				       "mnopqrstuvwxyz0123456789+/";
	char text[] = "6(5):A?::3(2):AA";
	static struct sise_signature sig;
	const char *found;
	int c, place;

	for (place = 5; place <= 6; place++) {
		memcpy(text + 5, "AA", 2);
		for (c = 0; c < 256; c++) {
			text[place] = (char)c;
			found = memchr(alphabet, c, 64);
			assert_int_equal(
				sise_parse(text, sizeof(text) - 1, &sig),
				found ? 0 : -EINVAL);
			if (found)
				assert_int_equal(
					sig.leading.pairs[0],
					(found - alphabet)
						<< (place == 5 ? 6 : 0));
		}
	}
}

/* Nothing behind len is read: the text is not terminated. */
TEST(a_prefix_is_malformed)
{
	static const char text[] = "18446744073709551615(5):AAbz09+/::3(2):A/";
	static struct sise_signature sig;
	size_t len = sizeof(text) - 1, i;
	char *copy;

	for (i = 0; i <= len; i++) {
		copy = malloc(i + 1);
		assert_non_null(copy);
		memcpy(copy, text, i);
		copy = realloc(copy, i ? i : 1);
		assert_int_equal(sise_parse(copy, i, &sig),
				 i == len ? 0 : -EINVAL);
		free(copy);
	}
	assert_true(sig.leading.block_size == UINT64_MAX);
}

TEST(long_parts_are_cut)
{
	static struct sise_signature sig;
	struct buf text = { 0 }, again = { 0 };
	int i;

	assert_int_equal(buf_append_text(&text, "6(5):"), 0);
	for (i = 0; i < SISE_MAX_PAIRS + 1; i++)
		assert_int_equal(buf_append_text(&text, "0/"), 0);
	assert_int_equal(buf_append_text(&text, "::3(2):ln"), 0);
	assert_int_equal(sise_parse(text.data, text.len, &sig), 0);
	assert_int_equal(sig.leading.count, SISE_MAX_PAIRS);
	assert_int_equal(sise_format(&sig, &again), 0);
	assert_int_equal(again.len, text.len - 2);
	assert_memory_equal(again.data, text.data, 5 + 2 * SISE_MAX_PAIRS);
	text.data[5 + 2 * SISE_MAX_PAIRS] = '-';
	assert_int_equal(sise_parse(text.data, text.len, &sig), -EINVAL);
	buf_release(&text);
	buf_release(&again);
}
