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
	uint32_t from; /* least id that is still to be looked at */
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

static bool wants_row(const struct column_query *c,
		      const struct columns *columns, size_t row,
		      const struct best *best, struct candidate *out)
{
	*out = (struct candidate){ .content = columns->content[row],
				   .size = columns->size[row] };
	if (!out->size || out->content == c->q->self || out->content < c->from)
		return false;
	out->rank = (uint16_t)column_rank(c, columns, row);
	return best_wants(best, out);
}

/* Offers those that the viewer sees, without the lock. */
static void offer_visible(struct index *ix, const struct index_viewer *v,
			  const struct candidate *found, size_t count,
			  struct best *best)
{
	size_t i;

	(void)pthread_rwlock_unlock(&ix->columns_lock);
	for (i = 0; i < count; i++)
		if (best_wants(best, &found[i]) &&
		    v->sees(v->arg, found[i].content))
			best_offer(best, &found[i]);
	(void)pthread_rwlock_rdlock(&ix->columns_lock);
}

/* Searches so many rows from there; returns the next one. */
static size_t search_rows(struct index *ix, struct column_query *c, size_t row,
			  struct best *best)
{
	const struct columns *columns = &ix->columns;
	size_t count = ix->rows - row < SCAN_ROWS ? ix->rows - row : SCAN_ROWS;
	size_t hits[SCAN_ROWS], hit_count, kept = 0, i;
	struct candidate found[SCAN_ROWS];
	uint32_t last = columns->content[row + count - 1];

	hit_count = scan_rows(&c->scan, columns->simhash + row,
			      columns->traits + row * TRAIT_COUNT, count, hits);
	for (i = 0; i < hit_count; i++) {
		if (!wants_row(c, columns, row + hits[i], best, &found[kept]))
			continue;
		if (c->q->viewer)
			kept++;
		else
			best_offer(best, &found[kept]);
	}
	if (!kept)
		return row + count;
	offer_visible(ix, c->q->viewer, found, kept, best);
	c->from = last + 1;
	row = columns_row_from(&ix->columns, ix->rows, c->from);
	return row - row % TILE_ROWS;
}

static void search_columns(struct index *ix, struct column_query *c,
			   struct best *best)
{
	size_t row;
	int least = 0;

	c->from = c->q->first_content;
	row = columns_row_from(&ix->columns, ix->rows, c->from);
	row -= row % TILE_ROWS;
	while (row < ix->rows && c->from) {
		if (least != best->least)
			column_limit(c, least = best->least);
		row = search_rows(ix, c, row, best);
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

	if (capacity && q->digests->size &&
	    (source == INDEX_BY_SKETCH || by_share)) {
		if (q->sketch)
			err = sightings_offer(ix, q, by_share, &best);
	} else if (capacity && q->digests->size) {
		best.least = q->least > 1 ? q->least : 1;
		scan_query_init(&columns.scan, q->digests);
		(void)pthread_rwlock_rdlock(&ix->columns_lock);
		search_columns(ix, &columns, &best);
		(void)pthread_rwlock_unlock(&ix->columns_lock);
	}
	if (err)
		return err;
	best_sort(&best);
	*count_out = best.count;
	return 0;
}
