/* SPDX-License-Identifier: Apache-2.0 */
#include "core/digest/sise.h"

#include <stdbool.h>
#include <string.h>

#define NONE UINT16_MAX

/*
 * Algorithm 2 of the paper (3.3).  Runs of equal pairs are taken one after the
 * other, in reverse order of their ends (place in x first, then place in y);
 * each counts the places that no earlier run has used.
 *
 * Only equal pairs are looked at: the places of a value in y form a list.
 *
 * A point takes a place of x and one of y that have the same value and are not
 * used yet.  So there are at most as many points as the smaller number of places
 * on either side, summed over all values.  With the last of them the comparison
 * is over, and the other order of the arguments cannot give more.
 */
struct match {
	const struct sise_part *x, *y;
	size_t points;
	size_t most;                     /* points that either order can make */
	uint16_t last[SISE_PAIR_VALUES]; /* place of a value in y */
	uint16_t previous[SISE_MAX_PAIRS]; /* place before, of the same value */
	bool used_x[SISE_MAX_PAIRS], used_y[SISE_MAX_PAIRS];
};

static void match_begin(struct match *m)
{
	uint16_t left[SISE_PAIR_VALUES] = { 0 }, i, pair;

	m->points = 0;
	m->most = 0;
	memset(m->last, 0xff, sizeof(m->last));
	memset(m->used_x, 0, m->x->count);
	memset(m->used_y, 0, m->y->count);
	for (i = 0; i < m->y->count; i++) {
		pair = m->y->pairs[i];
		m->previous[i] = m->last[pair];
		m->last[pair] = i;
		left[pair]++;
	}
	for (i = 0; i < m->x->count; i++)
		if (left[m->x->pairs[i]]) {
			left[m->x->pairs[i]]--;
			m->most++;
		}
}

/*
 * The run that ends at i and j, from its end to its start.  Its end is dropped
 * as far as either side is used; from there on all of it becomes used.
 */
static void take_run(struct match *m, size_t i, size_t j)
{
	const uint16_t *x = m->x->pairs, *y = m->y->pairs;
	bool dropped = true;

	for (;; i--, j--) {
		dropped = dropped && (m->used_x[i] || m->used_y[j]);
		if (!dropped) {
			m->points += !m->used_x[i] && !m->used_y[j];
			m->used_x[i] = m->used_y[j] = true;
		}
		if (i == 0 || j == 0 || x[i - 1] != y[j - 1])
			return;
	}
}

/* The points of one order of the arguments. */
static void match_all(struct match *m)
{
	const struct sise_part *x = m->x, *y = m->y;
	size_t i, j;

	match_begin(m);
	for (i = x->count; i-- > 0;)
		for (j = m->last[x->pairs[i]]; j != NONE; j = m->previous[j]) {
			if (m->points == m->most)
				return;
			/* A run ends where the next pairs are different. */
			if (i + 1 == x->count || j + 1 == y->count ||
			    x->pairs[i + 1] != y->pairs[j + 1])
				take_run(m, i, j);
		}
}

static bool is_comparable(const struct sise_part *a, const struct sise_part *b)
{
	return a->block_size == b->block_size && a->mod_value == b->mod_value &&
	       a->count > 0 && b->count > 0 && a->count <= 30 * b->count &&
	       b->count <= 30 * a->count;
}

/* The points depend on the order where values repeat: the better one counts. */
static int score_parts(const struct sise_part *a, const struct sise_part *b)
{
	size_t longer = a->count > b->count ? a->count : b->count;
	struct match m = { .x = a, .y = b };
	size_t points;

	if (!is_comparable(a, b))
		return 0;
	match_all(&m);
	points = m.points;
	if (points < m.most) {
		m.x = b;
		m.y = a;
		match_all(&m);
		points = m.points > points ? m.points : points;
	}
	return (int)(100 * points / longer);
}

int sise_score(const struct sise_signature *a, const struct sise_signature *b)
{
	const struct sise_part *parts_a[2] = { &a->leading, &a->secondary };
	const struct sise_part *parts_b[2] = { &b->leading, &b->secondary };
	int i, score, best = 0;

	for (i = 0; i < 4; i++) {
		score = score_parts(parts_a[i / 2], parts_b[i % 2]);
		best = score > best ? score : best;
	}
	return best;
}
