/* SPDX-License-Identifier: Apache-2.0 */
#include "core/index/index_impl.h"

#include <stdbool.h>

#include "core/index/best.h"
#include "core/index/column_scan.h"
#include "core/index/posting_overlap.h"

/* Which contents are worth a comparison of sketches. */

/* ---- by columns ---- */

struct column_query {
	const struct index_query *q;
	enum index_source source;
	uint32_t from; /* ids below have been scanned */
	struct column_scan scan;
};

/* Restricts the scan to rows that may have that rank. */
static void column_set_least(struct column_query *c, int least)
{
	int most = 0, fewest = 0;

	while (most < 64 && 100 * (64 - most - 1) / 64 >= least)
		most++;
	while (fewest < COLUMNS_TRAITS && 100 * fewest / COLUMNS_TRAITS < least)
		fewest++;
	c->scan.most = (uint8_t)(c->source == INDEX_BY_SIMHASH ? most : 0);
	c->scan.fewest =
		(uint8_t)(c->source == INDEX_BY_SIMHASH ? COLUMNS_TRAITS + 1 :
							  fewest);
}

static int column_rank(const struct column_query *c,
		       const struct columns *columns, size_t row)
{
	uint8_t distance =
		column_scan_distance(&c->scan, columns->simhash[row]);
	uint8_t traits[COLUMNS_TRAITS];
	int equal;

	if (c->source == INDEX_BY_SIMHASH)
		return 100 * (64 - distance) / 64;
	column_traits_load(columns->traits, row, traits);
	equal = column_scan_equal_traits(&c->scan, traits);
	return equal > 0 ? 100 * equal / COLUMNS_TRAITS : 0;
}

static bool wants_row(const struct column_query *c,
		      const struct columns *columns, size_t row,
		      const struct best_candidates *best,
		      struct index_candidate *out)
{
	*out = (struct index_candidate){ .content = columns->content[row] };
	if (!columns->size[row] || out->content == c->q->self ||
	    out->content < c->from)
		return false;
	out->rank = (uint16_t)column_rank(c, columns, row);
	return best_wants(best, out);
}

/* Adds the visible ones; releases the lock meanwhile. */
static void add_visible(struct index *ix, const struct index_visibility *v,
			const struct index_candidate *found, size_t count,
			struct best_candidates *best)
{
	size_t i;

	(void)pthread_rwlock_unlock(&ix->columns_lock);
	for (i = 0; i < count; i++)
		if (best_wants(best, &found[i]) &&
		    v->is_visible(v->arg, found[i].content))
			best_add(best, &found[i]);
	(void)pthread_rwlock_rdlock(&ix->columns_lock);
}

/* Scans up to COLUMN_SCAN_ROWS rows; returns the row to go on with. */
static size_t scan_rows(struct index *ix, struct column_query *c, size_t row,
			struct best_candidates *best)
{
	const struct columns *columns = &ix->columns;
	size_t count = ix->rows - row < COLUMN_SCAN_ROWS ? ix->rows - row :
							   COLUMN_SCAN_ROWS;
	size_t hits[COLUMN_SCAN_ROWS], hit_count, kept = 0, i;
	struct index_candidate found[COLUMN_SCAN_ROWS];
	uint32_t last = columns->content[row + count - 1];

	hit_count = column_scan_rows(&c->scan, columns->simhash + row,
				     columns->traits + row * COLUMNS_TRAITS,
				     count, hits);
	for (i = 0; i < hit_count; i++) {
		if (!wants_row(c, columns, row + hits[i], best, &found[kept]))
			continue;
		if (c->q->visibility)
			kept++;
		else
			best_add(best, &found[kept]);
	}
	if (!kept)
		return row + count;
	add_visible(ix, c->q->visibility, found, kept, best);
	c->from = last + 1;
	row = columns_find_row(&ix->columns, ix->rows, c->from);
	return row - row % COLUMNS_TILE_ROWS;
}

static void scan_columns(struct index *ix, struct column_query *c,
			 struct best_candidates *best)
{
	size_t row;
	int least = 0;

	c->from = c->q->first_content;
	row = columns_find_row(&ix->columns, ix->rows, c->from);
	row -= row % COLUMNS_TILE_ROWS;
	while (row < ix->rows && c->from) {
		if (least != best->least)
			column_set_least(c, least = best->least);
		row = scan_rows(ix, c, row, best);
	}
}

/* ---- all ---- */

int index_candidates(struct index *ix, const struct index_query *q,
		     enum index_source source, struct index_candidate *out,
		     size_t capacity, size_t *count_out)
{
	struct column_query columns = { .q = q, .source = source };
	struct best_candidates best = { .out = out,
					.capacity = capacity,
					.least = 1 };
	bool by_share = source == INDEX_BY_SHARE;
	int err = 0;

	if (capacity && (source == INDEX_BY_SKETCH || by_share)) {
		if (q->sketch)
			err = posting_overlap_find(ix, q, by_share, &best);
	} else if (capacity) {
		best.least = q->rules.threshold > 1 ? q->rules.threshold : 1;
		column_scan_init(&columns.scan, q->digests);
		(void)pthread_rwlock_rdlock(&ix->columns_lock);
		scan_columns(ix, &columns, &best);
		(void)pthread_rwlock_unlock(&ix->columns_lock);
	}
	if (err)
		return err;
	best_sort(&best);
	*count_out = best.count;
	return 0;
}
