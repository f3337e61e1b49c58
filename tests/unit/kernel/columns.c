/* SPDX-License-Identifier: Apache-2.0 */
#include <stdbool.h>

#include "core/kernel/columns.h"
#include "tests/unit/kernel/fixture.h"

#define MOST 4096 /* rows */
#define WORDS (MOST / COLUMNS_WORD_ROWS)

static const struct kernel_near base = {
	.simhash = 0x0123456789abcdef,
	.traits = { 0, 5, 63, 7, 9, 9, 31, 32, 1, 2, 3, 4, 60, 61, 62, 0 },
	.most = 9,
	.fewest = 5,
};

struct rows {
	uint64_t simhash[MOST];
	uint8_t traits[MOST][COLUMNS_TRAITS];
};

static struct rows rows;

/* Rows that agree with the query in any number of bits and of traits. */
static void draw_rows(uint64_t seed)
{
	struct draws d = draws_of(seed);
	size_t i, k, n;

	for (i = 0; i < MOST; i++) {
		rows.simhash[i] = base.simhash;
		for (n = draw(&d) % 65; n > 0; n--)
			rows.simhash[i] ^= UINT64_C(1) << draw(&d) % 64;
		n = draw(&d) % 17;
		for (k = 0; k < COLUMNS_TRAITS; k++)
			rows.traits[i][k] = draw(&d) % 16 < n ? base.traits[k] :
								draw(&d) % 64;
	}
}

static bool model(const struct kernel_near *query, size_t row)
{
	uint64_t x = query->simhash ^ rows.simhash[row];
	unsigned differ = 0, equal = 0;
	size_t k;

	for (; x; x >>= 1)
		differ += x & 1;
	for (k = 0; k < COLUMNS_TRAITS; k++)
		equal += query->traits[k] == rows.traits[row][k];
	return differ <= query->most || equal >= query->fewest;
}

/* Where a trait of a row is in tiles. */
static size_t at(size_t row, size_t k)
{
	return row / COLUMNS_TILE_ROWS * COLUMNS_TILE_BYTES +
	       k * COLUMNS_TILE_ROWS + row % COLUMNS_TILE_ROWS;
}

/* Columns that end where nobody may read. */
struct columns {
	struct guarded simhashes, tiles, bits;
	uint64_t *simhash, *bits_out;
	uint8_t *tile;
};

static struct columns columns_new(void)
{
	return (struct columns){
		.simhashes = guarded_new(MOST * sizeof(uint64_t)),
		.tiles = guarded_new(MOST * COLUMNS_TRAITS),
		.bits = guarded_new(WORDS * sizeof(uint64_t)),
	};
}

static void columns_free(struct columns *c)
{
	guarded_free(&c->simhashes);
	guarded_free(&c->tiles);
	guarded_free(&c->bits);
}

static size_t words_for(size_t count)
{
	return (count + COLUMNS_WORD_ROWS - 1) / COLUMNS_WORD_ROWS;
}

/* Rows from first on.  Later rows of the last tile would all be hits. */
static void columns_fill(struct columns *c, size_t first, size_t count)
{
	uint8_t *end = c->tiles.data + c->tiles.len;
	size_t i, k;

	c->simhash = (uint64_t *)(c->simhashes.data + c->simhashes.len) - count;
	memcpy(c->simhash, rows.simhash + first, count * sizeof(uint64_t));
	c->bits_out =
		(uint64_t *)(c->bits.data + c->bits.len) - words_for(count);
	c->tile = end;
	if (count == 0)
		return;
	c->tile = end - at(count - 1, COLUMNS_TRAITS - 1) - 1;
	for (i = 0; &c->tile[i] < end; i++)
		c->tile[i] = base.traits[i / COLUMNS_TILE_ROWS % 16];
	for (i = 0; i < count; i++)
		for (k = 0; k < COLUMNS_TRAITS; k++)
			c->tile[at(i, k)] = rows.traits[first + i][k];
}

static void try_near(const struct kernel_near *query, const struct columns *c,
		     size_t first, size_t count)
{
	size_t i, k, variants;
	const struct kernel_ops *all = kernel_all(&variants);
	uint64_t want[WORDS] = { 0 };

	for (i = 0; i < count; i++)
		want[i / 64] |= (uint64_t)model(query, first + i) << i % 64;
	for (k = 0; k < variants; k++) {
		memset(c->bits_out, 0xa5, words_for(count) * sizeof(*want));
		all[k].columns->near(query, c->simhash, c->tile, count,
				     c->bits_out);
		if (memcmp(c->bits_out, want,
			   words_for(count) * sizeof(*want)) != 0)
			fail_msg("%s: %zu rows from %zu, most %u, fewest %u",
				 all[k].name, count, first, query->most,
				 query->fewest);
	}
}

static void every_number_of_rows(void **state)
{
	struct columns c = columns_new();
	size_t count, i, hits = 0;

	(void)state;
	draw_rows(1);
	for (count = 0; count <= MOST; count++) {
		columns_fill(&c, 0, count);
		try_near(&base, &c, 0, count);
	}
	/* Neither none nor all. */
	for (i = 0; i < MOST; i++)
		hits += model(&base, i);
	assert_in_range(hits, MOST / 8, MOST - MOST / 8);
	columns_free(&c);
}

/* Memory of any alignment that a word has. */
static void every_offset(void **state)
{
	struct columns c = columns_new();
	size_t first;

	(void)state;
	draw_rows(2);
	for (first = 0; first < 80; first++) {
		columns_fill(&c, first, 700 + first);
		try_near(&base, &c, first, 700 + first);
	}
	columns_free(&c);
}

static void every_limit(void **state)
{
	struct columns c = columns_new();
	struct kernel_near query = base;
	unsigned most, fewest;

	(void)state;
	draw_rows(3);
	for (most = 0; most <= 65; most++)
		for (fewest = 0; fewest <= 18; fewest++) {
			query.most = (uint8_t)most;
			query.fewest = (uint8_t)fewest;
			columns_fill(&c, most, 217);
			try_near(&query, &c, most, 217);
		}
	columns_free(&c);
}

static void extremes(void **state)
{
	static const uint8_t bytes[] = { 0, 255, 128, 127 };
	struct columns c = columns_new();
	struct kernel_near query = base;
	size_t i, k;

	(void)state;
	for (i = 0; i < 16; i++) {
		memset(&rows, bytes[i % 4], sizeof(rows));
		memset(&query.simhash, bytes[i / 4], sizeof(query.simhash));
		memset(query.traits, bytes[i / 4], sizeof(query.traits));
		for (k = 0; k < 4; k++) {
			query.most = k % 2 ? 63 : 0;
			query.fewest = k / 2 ? 16 : 1;
			columns_fill(&c, 0, 200);
			try_near(&query, &c, 0, 200);
		}
	}
	columns_free(&c);
}

static void traits_may_be_left_out(void **state)
{
	struct columns c = columns_new();
	struct kernel_near query = base;
	size_t count;

	(void)state;
	draw_rows(4);
	query.fewest = COLUMNS_TRAITS + 1;
	for (count = 0; count < 300; count++) {
		columns_fill(&c, 0, count);
		c.tile = c.tiles.data + c.tiles.len;
		try_near(&query, &c, 0, count);
	}
	columns_free(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_number_of_rows),
		cmocka_unit_test(every_offset),
		cmocka_unit_test(every_limit),
		cmocka_unit_test(extremes),
		cmocka_unit_test(traits_may_be_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
