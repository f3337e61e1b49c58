/* SPDX-License-Identifier: Apache-2.0 */
#include "core/digest/sise.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

#define NONE UINT16_MAX
#define SINGLE UINT16_MAX

/*
 * Algorithm 2 of the paper.  Runs of equal pairs are taken one after the
 * other, in reverse order of their ends (place in x first, then place in y);
 * each counts the places that no earlier run has used.
 *
 * Only equal pairs are looked at: the places of a value in y form a list.
 * Most of the work is saved by what must come out of it anyhow.
 *
 * A point takes a place of x and one of y that have the same value and are not
 * used yet.  So there can be at most as many more as the smaller number of
 * unused places on either side, summed over all values.  When that is 0, the
 * comparison is over; when all the points there could be at first were made,
 * the other order of the arguments cannot give more.
 *
 * A value that is once in one of the two strings gives exactly one point, if it
 * is in the other at all.  Say it is once in x: its places in y can only be
 * used together with that one.  So the first run that comes to it finds both
 * places unused, which neither drops nor leaves out a point.  When all common
 * values are like that, nothing has to be matched.  And a value that is once in
 * both is part of one run only, so it does not matter whether its places are
 * used.
 */

/* ---- where the values of a part are ---- */

static bool same_next(const struct sise_part *part, size_t i, size_t j)
{
	return i + 1 < part->count && j + 1 < part->count &&
	       part->pairs[i + 1] == part->pairs[j + 1];
}

void sise_prepare(const struct sise_part *part, struct sise_prepared *out)
{
	uint16_t i, before;

	out->part = part;
	memset(out->last, 0xff, sizeof(out->last));
	for (i = 0; i < part->count; i++) {
		before = out->last[part->pairs[i]];
		out->last[part->pairs[i]] = i;
		out->previous[i] = before;
		if (before == NONE) {
			out->number[i] = 1;
			out->different[i] = NONE;
			continue;
		}
		out->number[i] = out->number[before] + 1;
		out->different[i] = same_next(part, i, before) ?
					    out->different[before] :
					    before;
	}
}

/* ---- one order of the arguments ---- */

struct match {
	const struct sise_part *x;
	const struct sise_prepared *y;
	size_t points;
	size_t possible; /* more points */
	/* k + 1 when place k is unused, else that of some place below. */
	uint16_t free_x[SISE_MAX_PAIRS + 1];
	bool used_y[SISE_MAX_PAIRS];
	/* How many places with a value are not used, at its last place in y.
	 * In y: SINGLE for a value that is once in both, counted already. */
	uint16_t left_x[SISE_MAX_PAIRS];
	uint16_t left_y[SISE_MAX_PAIRS];
};

/* Counts the places in x of the values of y.  Sets certain when all points
 * that are possible will be made. */
static void match_count(struct match *m, bool *certain_out)
{
	const struct sise_prepared *y = m->y;
	uint16_t last, number;
	bool certain = true;
	size_t i;

	memset(m->left_x, 0, y->part->count * sizeof(m->left_x[0]));
	m->points = 0;
	m->possible = 0;
	for (i = 0; i < m->x->count; i++) {
		last = y->last[m->x->pairs[i]];
		if (last == NONE)
			continue;
		number = m->left_x[last]++;
		if (number < y->number[last]) {
			m->possible++;
			certain &= number == 0;
		}
	}
	*certain_out = certain;
}

static void match_begin(struct match *m)
{
	size_t count = m->y->part->count, i;

	memset(m->used_y, 0, count * sizeof(m->used_y[0]));
	for (i = 0; i <= m->x->count; i++)
		m->free_x[i] = (uint16_t)i;
	for (i = 0; i < count; i++) {
		m->left_y[i] = m->y->number[i];
		if (m->left_x[i] == 1 && m->left_y[i] == 1) {
			m->left_y[i] = SINGLE;
			m->points++;
		}
	}
	m->possible -= m->points;
}

static bool is_free_x(const struct match *m, size_t i)
{
	return m->free_x[i + 1] == i + 1;
}

/* One more than the next unused place from i downwards, or 0. */
static size_t next_free_x(struct match *m, size_t i)
{
	size_t k = i + 1;

	while (m->free_x[k] != k) {
		m->free_x[k] = m->free_x[m->free_x[k]];
		k = m->free_x[k];
	}
	return k;
}

/* Uses what is unused of places with equal pairs. */
static void use(struct match *m, size_t i, size_t j)
{
	uint16_t last = m->y->last[m->x->pairs[i]];
	uint16_t *left_x = &m->left_x[last], *left_y = &m->left_y[last];
	bool free_x = is_free_x(m, i), free_y = !m->used_y[j];
	uint16_t before = *left_x < *left_y ? *left_x : *left_y;

	m->points += free_x && free_y;
	*left_x -= free_x;
	*left_y -= free_y;
	m->possible -= before - (*left_x < *left_y ? *left_x : *left_y);
	if (free_x)
		m->free_x[i + 1] = (uint16_t)i;
	m->used_y[j] = true;
}

/*
 * The run that ends at i and j, from its end to its start.  Its end is dropped
 * as far as either side is used; from there on all of it becomes used.
 */
static void take_run(struct match *m, size_t i, size_t j)
{
	const uint16_t *x = m->x->pairs, *y = m->y->part->pairs;

	while (!is_free_x(m, i) || m->used_y[j]) {
		if (i == 0 || j == 0 || x[i - 1] != y[j - 1])
			return;
		i--;
		j--;
	}
	for (;; i--, j--) {
		if (m->left_y[j] != SINGLE)
			use(m, i, j);
		if (i == 0 || j == 0 || x[i - 1] != y[j - 1])
			return;
	}
}

/* All runs that end at i: where the next pairs are different. */
static void take_runs(struct match *m, size_t i)
{
	const struct sise_part *x = m->x, *y = m->y->part;
	uint16_t j = m->y->last[x->pairs[i]];
	size_t next, drop;

	while (j != NONE) {
		if (i + 1 < x->count && j + 1u < y->count &&
		    x->pairs[i + 1] == y->pairs[j + 1]) {
			j = m->y->different[j];
			continue;
		}
		next = next_free_x(m, i);
		if (!next)
			return;
		drop = i + 1 - next;
		if (j >= drop && x->pairs[i - drop] == y->pairs[j - drop])
			take_run(m, i, j);
		j = m->y->previous[j];
	}
}

/* The points; sets complete when no order can give more. */
static size_t count_points(const struct sise_part *x,
			   const struct sise_prepared *y, bool *complete_out)
{
	struct match m;
	size_t i, most;

	m.x = x;
	m.y = y;
	match_count(&m, complete_out);
	most = m.possible;
	if (*complete_out)
		return most;
	match_begin(&m);
	for (i = x->count; i-- > 0 && m.possible;)
		take_runs(&m, i);
	*complete_out = m.points == most;
	return m.points;
}

/* ---- both ---- */

static size_t max(size_t a, size_t b)
{
	return a > b ? a : b;
}

static bool is_comparable(const struct sise_part *a, const struct sise_part *b)
{
	return a->block_size == b->block_size && a->mod_value == b->mod_value &&
	       a->count > 0 && b->count > 0 && a->count <= 30 * b->count &&
	       b->count <= 30 * a->count;
}

/* The score depends on the order where values repeat: the better one counts. */
int sise_score_part(const struct sise_prepared *b, const struct sise_part *a)
{
	struct sise_prepared prepared;
	size_t points, reverse, longer;
	bool complete;

	if (!is_comparable(a, b->part))
		return 0;
	points = count_points(a, b, &complete);
	if (!complete) {
		sise_prepare(a, &prepared);
		reverse = count_points(b->part, &prepared, &complete);
		points = max(points, reverse);
	}
	longer = max(a->count, b->part->count);
	assert(longer > 0);
	return (int)(100 * points / longer);
}

int sise_score(const struct sise_signature *a, const struct sise_signature *b)
{
	const struct sise_part *parts_a[2] = { &a->leading, &a->secondary };
	const struct sise_part *parts_b[2] = { &b->leading, &b->secondary };
	struct sise_prepared prepared;
	int i, score, best = 0;

	for (i = 0; i < 4; i++) {
		if (!is_comparable(parts_a[i / 2], parts_b[i % 2]))
			continue;
		sise_prepare(parts_b[i % 2], &prepared);
		score = sise_score_part(&prepared, parts_a[i / 2]);
		best = score > best ? score : best;
	}
	return best;
}
