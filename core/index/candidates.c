/* SPDX-License-Identifier: Apache-2.0 */
#include "core/index/index_impl.h"

#include <stdbool.h>

#include "core/index/best.h"
#include "core/index/scan.h"
#include "core/index/score.h"
#include "core/index/sightings.h"

/*
 * Which contents are worth a comparison.
 */

/* ---- by columns ---- */

struct column_query {
	const struct index_query *q;
	enum index_source source;
	struct scan_query scan;
};

/* Narrows the scan to rows that may rank as high as that. */
static void column_limit(struct column_query *c, int least)
{
	int most = 0, fewest = 0;

	if (c->source == INDEX_BY_ESTIMATE) {
		scan_query_limit(&c->scan, least);
		return;
	}
	while (most < 64 && 100 * (64 - most - 1) / 64 >= least)
		most++;
	while (fewest < TRAIT_COUNT && 100 * fewest / TRAIT_COUNT < least)
		fewest++;
	c->scan.most = (uint8_t)(c->source == INDEX_BY_SIMHASH ? most : 0);
	c->scan.fewest =
		(uint8_t)(c->source == INDEX_BY_SIMHASH ? TRAIT_COUNT + 1 :
							  fewest);
}

static int column_rank(const struct column_query *c,
		       const struct columns *columns, size_t row)
{
	uint8_t distance = scan_distance(&c->scan, columns->simhash[row]);
	uint8_t traits[TRAIT_COUNT];
	int equal;

	if (c->source == INDEX_BY_SIMHASH)
		return 100 * (64 - distance) / 64;
	scan_traits_load(columns->traits, row, traits);
	equal = scan_equal_traits(&c->scan, traits);
	if (c->source == INDEX_BY_TRAITS)
		return equal > 0 ? 100 * equal / TRAIT_COUNT : 0;
	return score_estimate(c->q->digests->size, columns->size[row], distance,
			      equal);
}

static void offer_row(const struct column_query *c,
		      const struct columns *columns, size_t row,
		      struct best *best)
{
	struct candidate found = { .content = columns->content[row],
				   .size = columns->size[row] };

	if (!found.size || found.content == c->q->self ||
	    found.content < c->q->first_content)
		return;
	found.rank = (uint16_t)column_rank(c, columns, row);
	best_offer(best, &found);
}

static void search_columns(const struct index *ix, struct column_query *c,
			   struct best *best)
{
	const struct columns *columns = &ix->columns;
	size_t row = columns_row_from(columns, ix->rows, c->q->first_content);
	size_t hits[SCAN_ROWS], hit_count, count, i;
	int least = 0;

	for (row -= row % TILE_ROWS; row < ix->rows; row += count) {
		count = ix->rows - row < SCAN_ROWS ? ix->rows - row : SCAN_ROWS;
		if (least != best->least)
			column_limit(c, least = best->least);
		hit_count = scan_rows(&c->scan, columns->simhash + row,
				      columns->traits + row * TRAIT_COUNT,
				      count, hits);
		for (i = 0; i < hit_count; i++)
			offer_row(c, columns, row + hits[i], best);
	}
}

/* ---- all ---- */

int index_candidates(struct index *ix, const struct index_query *q,
		     enum index_source source, struct candidate *out,
		     size_t capacity, size_t *count_out)
{
	struct column_query columns = { .q = q, .source = source };
	struct best best = { .out = out, .capacity = capacity, .least = 1 };
	bool by_share = source == INDEX_BY_SHARE;
	int err = 0;

	(void)pthread_rwlock_rdlock(&ix->columns_lock);
	if (capacity && q->digests->size &&
	    (source == INDEX_BY_SKETCH || by_share)) {
		if (q->sketch)
			err = sightings_offer(ix, q, by_share, &best);
	} else if (capacity && q->digests->size) {
		best.least = q->least > 1 ? q->least : 1;
		scan_query_init(&columns.scan, q->digests);
		search_columns(ix, &columns, &best);
	}
	(void)pthread_rwlock_unlock(&ix->columns_lock);
	if (err)
		return err;
	best_sort(&best);
	*count_out = best.count;
	return 0;
}
