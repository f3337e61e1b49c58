/* SPDX-License-Identifier: Apache-2.0 */
#include "core/index/index_impl.h"

#include <stdbool.h>
#include <string.h>

/* Which contents are worth a comparison of sketches. */

/* ---- the best ---- */

/* Whether a comes before b in the result. */
static bool is_better(const struct index_candidate *a,
		      const struct index_candidate *b)
{
	if (a->rank != b->rank)
		return a->rank > b->rank;
	return a->content < b->content;
}

bool best_wants(const struct best_candidates *best,
		const struct index_candidate *c)
{
	if (c->rank < best->least)
		return false;
	return best->count < best->capacity ||
	       is_better(c, &best->out[best->count - 1]);
}

void best_add(struct best_candidates *best, const struct index_candidate *c)
{
	size_t low = 0, high = best->count, middle;

	if (!best_wants(best, c))
		return;
	while (low < high) {
		middle = (low + high) / 2;
		if (is_better(c, &best->out[middle]))
			high = middle;
		else
			low = middle + 1;
	}
	best->count += best->count < best->capacity;
	memmove(&best->out[low + 1], &best->out[low],
		(best->count - 1 - low) * sizeof(*c));
	best->out[low] = *c;
	if (best->count == best->capacity)
		best->least = best->out[best->count - 1].rank;
}

/* ---- by SimHash or traits ---- */

/* Rows that are looked at before the lock is released for a callback. */
#define SCAN_ROWS 512

struct scan_query {
	const struct index_query *q;
	enum digest_id id;       /* SimHash or traits */
	struct digest_value own; /* of the query */
};

static bool is_none(struct digest_value v)
{
	static const uint8_t none[sizeof(((struct row *)0)->traits)];

	return !v.bytes || memcmp(v.bytes, none, v.len) == 0;
}

/* What digest_compare() says; 0 without that digest. */
static int row_rank(const struct scan_query *c, const struct row *row)
{
	const struct digest_value other = {
		c->id == DIGEST_SIMHASH ? row->simhash : row->traits,
		c->own.len,
	};
	int rank = 0;

	if (!is_none(other))
		(void)digest_table[c->id]->compare(c->own, other, &rank);
	return rank;
}

static bool wants_row(const struct scan_query *c, const struct row *row,
		      const struct best_candidates *best,
		      struct index_candidate *out)
{
	*out = (struct index_candidate){ .content = row->content };
	if (row->level == LEVEL_DEAD || out->content == c->q->self)
		return false;
	out->rank = (uint16_t)row_rank(c, row);
	return best_wants(best, out);
}

/* Adds the visible ones; releases the lock meanwhile. */
static void add_visible(struct index *ix, const struct index_visibility *v,
			const struct index_candidate *found, size_t count,
			struct best_candidates *best)
{
	size_t i;

	(void)pthread_rwlock_unlock(&ix->rows_lock);
	for (i = 0; i < count; i++)
		if (best_wants(best, &found[i]) &&
		    v->is_visible(v->arg, found[i].content))
			best_add(best, &found[i]);
	(void)pthread_rwlock_rdlock(&ix->rows_lock);
}

/* Scans up to SCAN_ROWS rows; returns the row to go on with. */
static size_t scan_rows(struct index *ix, const struct scan_query *c,
			size_t row, struct best_candidates *best)
{
	const size_t end =
		ix->count - row < SCAN_ROWS ? ix->count : row + SCAN_ROWS;
	const uint32_t last = ix->rows[end - 1].content;
	struct index_candidate found[SCAN_ROWS];
	size_t kept = 0;

	for (; row < end; row++) {
		if (!wants_row(c, &ix->rows[row], best, &found[kept]))
			continue;
		if (c->q->visibility)
			kept++;
		else
			best_add(best, &found[kept]);
	}
	if (!kept)
		return end;
	add_visible(ix, c->q->visibility, found, kept, best);
	return last < UINT32_MAX ? index_find_row(ix, last + 1) : ix->count;
}

static void scan_all(struct index *ix, const struct index_query *q,
		     enum digest_id id, struct best_candidates *best)
{
	const struct scan_query c = { q, id, digest_value_of(q->digests, id) };
	size_t row = index_find_row(ix, q->first_content);

	while (!is_none(c.own) && row < ix->count)
		row = scan_rows(ix, &c, row, best);
}

/* ---- all ---- */

int index_candidates(struct index *ix, const struct index_query *q,
		     enum index_source source, struct index_candidate *out,
		     size_t capacity, size_t *count_out)
{
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
		(void)pthread_rwlock_rdlock(&ix->rows_lock);
		scan_all(ix, q,
			 source == INDEX_BY_SIMHASH ? DIGEST_SIMHASH :
						      DIGEST_RDC,
			 &best);
		(void)pthread_rwlock_unlock(&ix->rows_lock);
	}
	if (err)
		return err;
	*count_out = best.count;
	return 0;
}
