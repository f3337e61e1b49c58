/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/bench.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/array.h"
#include "core/digest/fingerprint.h"
#include "core/digest/sise.h"
#include "tests/bench/inputs.h"

/*
 * Pairs of real files that have a block size of SiSe in common: others cannot
 * be compared, and to say so costs nothing.
 */
#define PAIR_COUNT ((size_t)20000)
#define MIN_FILE KIB
#define MAX_FILE MIB
#define MADE_COUNT ((size_t)64) /* signatures of full length */

struct pair {
	uint32_t a, b;
};

struct content {
	struct digests digests;
	struct sise_signature sise;
};

struct corpus {
	char **paths;
	size_t path_count;
	struct content *contents;
	size_t count;
	struct pair pairs[PAIR_COUNT];
	size_t pair_count;
};

/* ---- the files ---- */

static bool add_path(void *arg, const char *path, size_t size)
{
	struct corpus *c = arg;

	if (size < MIN_FILE || size > MAX_FILE)
		return true;
	c->paths =
		array_with_room(c->paths, c->path_count, sizeof(c->paths[0]));
	if (!c->paths || !(c->paths[c->path_count++] = strdup(path)))
		fail("no memory");
	return true;
}

static struct sise_signature sise_of(const struct digests *d)
{
	struct sise_signature sig = { 0 };
	struct buf text = { 0 };

	fail_errno("sise", digest_format(d, DIGEST_SISE, &text));
	fail_errno("sise", sise_parse(text.data, text.len, &sig));
	buf_release(&text);
	return sig;
}

static void add_content(struct corpus *c, struct fingerprint *fp,
			const uint8_t *data, size_t len)
{
	struct content *content = &c->contents[c->count];

	fail_errno("begin", fingerprint_begin(fp));
	fail_errno("update", fingerprint_update(fp, data, len));
	fail_errno("final", fingerprint_final(fp, &content->digests));
	content->sise = sise_of(&content->digests);
	c->count++;
}

/* As many as wanted, evenly spread over all. */
static void read_contents(struct corpus *c, size_t wanted)
{
	size_t i, len, taken = c->path_count < wanted ? c->path_count : wanted;
	uint8_t *data = allocate(MAX_FILE);
	struct fingerprint *fp;

	c->contents = allocate((taken + 1) * sizeof(c->contents[0]));
	fail_errno("digests", fingerprint_new(DIGEST_DEFAULT, &fp));
	for (i = 0; i < taken; i++) {
		len = file_read(c->paths[i * c->path_count / taken], data,
				MAX_FILE);
		if (len >= MIN_FILE)
			add_content(c, fp, data, len);
	}
	fingerprint_free(fp);
	free(data);
}

static bool comparable(const struct sise_signature *a,
		       const struct sise_signature *b)
{
	return a->leading.block_size == b->leading.block_size ||
	       a->leading.block_size == b->secondary.block_size ||
	       a->secondary.block_size == b->leading.block_size;
}

/* Random ones; returns how many were drawn. */
static size_t choose_pairs(struct corpus *c)
{
	size_t drawn = 0;
	uint64_t state = 1;
	struct pair p;

	while (c->pair_count < PAIR_COUNT && drawn < 1000 * PAIR_COUNT) {
		p.a = (uint32_t)(draw(&state) % c->count);
		p.b = (uint32_t)(draw(&state) % c->count);
		if (p.a == p.b)
			continue;
		drawn++;
		if (comparable(&c->contents[p.a].sise, &c->contents[p.b].sise))
			c->pairs[c->pair_count++] = p;
	}
	return drawn;
}

static struct corpus *corpus_new(size_t wanted)
{
	static const char *const directories[] = { "/usr/include",
						   "/usr/share/doc", NULL };
	struct corpus *c = allocate(sizeof(*c));
	size_t drawn;

	memset(c, 0, sizeof(*c));
	visit_files(directories, add_path, c);
	read_contents(c, wanted);
	if (c->count < 2)
		fail("no files below /usr/include, /usr/share/doc");
	drawn = choose_pairs(c);
	if (!c->pair_count)
		fail("no two files can be compared");
	printf("\nComparisons: %zu pairs of %zu files of /usr/include and"
	       " /usr/share/doc,\nall with a block size in common (%.0f %% of"
	       " random pairs have one)\n",
	       c->pair_count, c->count,
	       100.0 * (double)c->pair_count / (double)drawn);
	return c;
}

static void corpus_free(struct corpus *c)
{
	size_t i;

	for (i = 0; i < c->path_count; i++)
		free(c->paths[i]);
	for (i = 0; i < c->count; i++)
		digests_release(&c->contents[i].digests);
	free(c->paths);
	free(c->contents);
	free(c);
}

/* Replaces one pair in every: all of them, or some. */
static void replace_pairs(struct sise_part *part, unsigned every,
			  uint64_t *state)
{
	size_t i;

	part->count = SISE_MAX_PAIRS;
	for (i = 0; i < SISE_MAX_PAIRS; i++)
		if (draw(state) % every == 0)
			part->pairs[i] = (uint16_t)(draw(state) >> 52);
}

/* Pairs of signatures as long as they get, the second made from the first. */
static struct corpus *made_corpus(unsigned every)
{
	struct corpus *c = allocate(sizeof(*c));
	struct sise_signature sig = { 0 };
	uint64_t state = 1;
	uint32_t i;

	memset(c, 0, sizeof(*c));
	c->count = MADE_COUNT;
	c->contents = allocate(MADE_COUNT * sizeof(c->contents[0]));
	memset(c->contents, 0, MADE_COUNT * sizeof(c->contents[0]));
	sig.leading.block_size = 6144;
	sig.leading.mod_value = 6143;
	sig.secondary.block_size = 3072;
	sig.secondary.mod_value = 3071;
	for (i = 0; i < MADE_COUNT; i++) {
		replace_pairs(&sig.leading, i % 2 ? every : 1, &state);
		replace_pairs(&sig.secondary, i % 2 ? every : 1, &state);
		c->contents[i].sise = sig;
		if (i % 2)
			c->pairs[c->pair_count++] = (struct pair){ i - 1, i };
	}
	return c;
}

/* ---- the times ---- */

/* Scores of a pair; id is not used by all. */
typedef int score_fn(const struct content *a, const struct content *b,
		     enum digest_id id);

static int score_sise(const struct content *a, const struct content *b,
		      enum digest_id id)
{
	(void)id;
	return sise_score(&a->sise, &b->sise);
}

static int score_texts(const struct content *a, const struct content *b,
		       enum digest_id id)
{
	int score = 0;
	int err = digest_compare(id, &a->digests, &b->digests, &score);

	if (err == -ENODATA) /* nothing can be said */
		return -1;
	fail_errno("compare", err);
	return score;
}

struct comparison {
	const char *title;
	const char *name; /* for scripts */
	score_fn *score;
	enum digest_id id;
};

static double time_pairs(const struct corpus *c, const struct comparison *how,
			 int *scores_out)
{
	double start = cpu_seconds();
	size_t i;

	for (i = 0; i < c->pair_count; i++)
		scores_out[i] =
			how->score(&c->contents[c->pairs[i].a],
				   &c->contents[c->pairs[i].b], how->id);
	return (double)c->pair_count / (cpu_seconds() - start);
}

static void check_scores(const struct comparison *how, const char *variant,
			 const int *have, const int *want, size_t count)
{
	if (memcmp(have, want, count * sizeof(*have)) != 0)
		fail("%s: the scores of %s are wrong, nothing more is timed",
		     how->title, variant);
}

static void print_comparison(const struct bench *b, const struct corpus *c,
			     const struct comparison *how)
{
	int *want = allocate(PAIR_COUNT * sizeof(*want));
	int *have = allocate(PAIR_COUNT * sizeof(*have));
	double runs[MAX_RUNS], rate;
	size_t v, run;

	printf("%-32s", how->title);
	for (v = 0; v < b->variant_count; v++) {
		kernel_use(&b->variants[v]);
		(void)time_pairs(c, how, v ? have : want);
		if (v)
			check_scores(how, b->variants[v].name, have, want,
				     c->pair_count);
		for (run = 0; run < b->runs; run++)
			runs[run] = time_pairs(c, how, have);
		rate = median(runs, b->runs);
		printf("%12.0f", rate);
		figure(b, "pairs", how->name, b->variants[v].name, "1/s", rate);
	}
	printf("\n");
	(void)fflush(stdout);
	free(want);
	free(have);
}

static void compare_files(const struct bench *b)
{
	struct corpus *c = corpus_new(b->files);
	struct comparison how = { "SiSe score", "score", score_sise, 0 };
	char title[64];
	int id;

	printf("%-32s", "pairs/s");
	print_variants(b, 12);
	printf("\n");
	print_comparison(b, c, &how);
	how.score = score_texts;
	how.title = title;
	for (id = 0; id < DIGEST_COUNT; id++) {
		if (!(DIGEST_DEFAULT & DIGEST_BIT(id)))
			continue;
		(void)snprintf(title, sizeof(title), "digest_compare, %s",
			       digest_table[id]->name);
		how.name = digest_table[id]->name;
		how.id = (enum digest_id)id;
		print_comparison(b, c, &how);
	}
	corpus_free(c);
}

static void compare_made(const struct bench *b, unsigned every,
			 const char *title, const char *name)
{
	struct comparison how = { title, name, score_sise, 0 };
	struct corpus *c = made_corpus(every);

	print_comparison(b, c, &how);
	corpus_free(c);
}

void bench_pairs(const struct bench *b)
{
	compare_files(b);
	compare_made(b, 1, "SiSe score, 2560 pairs, unlike", "unlike");
	compare_made(b, 8, "SiSe score, 2560 pairs, alike", "alike");
}
