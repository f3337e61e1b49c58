/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/bench.h"

#include <stdlib.h>
#include <string.h>

#include "core/index/column_scan.h"
#include "tests/bench/inputs.h"

/* The threshold of a listing. */
#define LEAST_SCORE 60
/* What is looked for. */
#define SIMHASH UINT64_C(0x0123456789abcdef)

struct columns {
	size_t rows;
	uint64_t *simhash;
	uint8_t *tiles;
	size_t tile_bytes;
	size_t *hits;
};

static struct columns columns_new(size_t rows)
{
	struct columns c = { .rows = rows };
	uint8_t traits[COLUMNS_TRAITS];
	uint64_t state = 1;
	size_t i, k;

	c.tile_bytes = (rows + COLUMNS_TILE_ROWS - 1) / COLUMNS_TILE_ROWS *
		       COLUMNS_TILE_BYTES;
	c.simhash = allocate(rows * sizeof(c.simhash[0]));
	c.tiles = allocate(c.tile_bytes);
	c.hits = allocate(COLUMN_SCAN_ROWS * sizeof(c.hits[0]));
	memset(c.tiles, 0, c.tile_bytes);
	for (i = 0; i < rows; i++) {
		c.simhash[i] = draw(&state);
		for (k = 0; k < COLUMNS_TRAITS; k++)
			traits[k] = (uint8_t)(draw(&state) >> 58);
		column_traits_store(c.tiles, i, traits);
	}
	return c;
}

static void columns_free(struct columns *c)
{
	free(c->simhash);
	free(c->tiles);
	free(c->hits);
}

/* ---- what is timed: each returns something that depends on all bytes ---- */

typedef size_t pass_fn(const struct columns *c);

static size_t sum_words(const void *data, size_t bytes)
{
	const uint64_t *words = data;
	size_t i, sum = 0;

	for (i = 0; i < bytes / sizeof(*words); i++)
		sum += words[i];
	return sum;
}

static size_t sum_simhash(const struct columns *c)
{
	return sum_words(c->simhash, c->rows * sizeof(c->simhash[0]));
}

static size_t sum_both(const struct columns *c)
{
	return sum_simhash(c) + sum_words(c->tiles, c->tile_bytes);
}

static size_t scan(const struct columns *c, const struct digests *wanted)
{
	struct column_scan query;
	size_t row, count, sum = 0;

	column_scan_init(&query, wanted);
	/* 100 * (64 - 25) / 64 is 60.9, of 10 of 16 traits 62.5. */
	query.most = 25;
	query.fewest = 10;
	for (row = 0; row < c->rows; row += COLUMN_SCAN_ROWS) {
		count = c->rows - row < COLUMN_SCAN_ROWS ? c->rows - row :
							   COLUMN_SCAN_ROWS;
		sum += column_scan_rows(&query, c->simhash + row,
					c->tiles + row * COLUMNS_TRAITS, count,
					c->hits);
	}
	return sum;
}

static size_t scan_simhash(const struct columns *c)
{
	struct digests wanted = { .set = DIGEST_BIT(DIGEST_SIMHASH) };

	store_be64(wanted.simhash, SIMHASH);
	return scan(c, &wanted);
}

static size_t scan_both(const struct columns *c)
{
	struct digests wanted = {
		.set = DIGEST_BIT(DIGEST_SIMHASH) | DIGEST_BIT(DIGEST_RDC),
	};

	store_be64(wanted.simhash, SIMHASH);
	memset(wanted.traits, 7, sizeof(wanted.traits));
	return scan(c, &wanted);
}

/* ---- the table ---- */

static const struct pass {
	const char *title, *name;
	pass_fn *run;
	size_t row_bytes;
} passes[] = {
	{ "plain sum of the SimHashes", "sum-simhash", sum_simhash, 8 },
	{ "scan of the SimHashes", "simhash", scan_simhash, 8 },
	{ "plain sum of SimHashes, traits", "sum-both", sum_both, 24 },
	{ "scan of SimHashes and traits", "both", scan_both, 24 },
};

static double time_pass(const struct columns *c, const struct pass *pass,
			size_t *result_out)
{
	double start = cpu_seconds();

	*result_out = pass->run(c);
	return (cpu_seconds() - start) * 1e9 / (double)c->rows;
}

static void print_pass(const struct bench *b, const struct columns *c,
		       const struct pass *pass)
{
	double runs[MAX_RUNS], ns;
	size_t v, run, have, want = 0;

	printf("%-32s", pass->title);
	for (v = 0; v < b->variant_count; v++) {
		kernel_use(&b->variants[v]);
		(void)time_pass(c, pass, &have);
		if (v && have != want)
			fail("%s: %s finds %zu rows, should find %zu",
			     pass->title, b->variants[v].name, have, want);
		want = have;
		for (run = 0; run < b->runs; run++)
			runs[run] = time_pass(c, pass, &have);
		ns = median(runs, b->runs);
		printf("%8.3f%7.1f", ns, (double)pass->row_bytes / ns);
		figure(b, "scan", pass->name, b->variants[v].name, "ns", ns);
	}
	printf("\n");
	(void)fflush(stdout);
}

void bench_scan(const struct bench *b)
{
	struct columns c = columns_new(b->rows);
	size_t i, v;

	printf("\nColumns of the index, %zu rows, listings from score %d on\n"
	       "%32s",
	       c.rows, LEAST_SCORE, "");
	print_variants(b, 15);
	printf("\n%32s", "");
	for (v = 0; v < b->variant_count; v++)
		printf("%8s%7s", "ns/row", "GB/s");
	printf("\n");
	for (i = 0; i < sizeof(passes) / sizeof(passes[0]); i++)
		print_pass(b, &c, &passes[i]);
	columns_free(&c);
}
