/* SPDX-License-Identifier: Apache-2.0 */
#include "core/digest/sise.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

#define PAIR_VALUES 4096
#define NONE UINT16_MAX

/*
 * Algorithm 2 of the paper.  Runs of equal pairs are taken one after the
 * other, in reverse order of their ends (place in x first, then place in y);
 * each counts the places that no earlier run has used.
 *
 * Only equal pairs are looked at: the places of a value in y form a list.
 */
struct match {
	const struct sise_part *x, *y;
	uint16_t last[PAIR_VALUES];        /* last place of a value in y */
	uint16_t previous[SISE_MAX_PAIRS]; /* the place before, same value */
	bool used_x[SISE_MAX_PAIRS];
	bool used_y[SISE_MAX_PAIRS];
	size_t left_x, left_y; /* places not used yet */
	size_t points;
};

static void init_match(struct match *m, const struct sise_part *x,
		       const struct sise_part *y)
{
	uint16_t i;

	m->x = x;
	m->y = y;
	memset(m->last, 0xff, sizeof(m->last));
	memset(m->previous, 0xff, y->count * sizeof(m->previous[0]));
	for (i = 0; i < y->count; i++) {
		m->previous[i] = m->last[y->pairs[i]];
		m->last[y->pairs[i]] = i;
	}
	memset(m->used_x, 0, x->count * sizeof(m->used_x[0]));
	memset(m->used_y, 0, y->count * sizeof(m->used_y[0]));
	m->left_x = x->count;
	m->left_y = y->count;
	m->points = 0;
}

/* Whether the equal pairs at i and j are followed by different ones. */
static bool ends_run(const struct match *m, size_t i, size_t j)
{
	return i + 1 == m->x->count || j + 1 == m->y->count ||
	       m->x->pairs[i + 1] != m->y->pairs[j + 1];
}

static void use(struct match *m, size_t i, size_t j)
{
	if (!m->used_x[i] && !m->used_y[j])
		m->points++;
	m->left_x -= !m->used_x[i];
	m->left_y -= !m->used_y[j];
	m->used_x[i] = true;
	m->used_y[j] = true;
}

/*
 * The run that ends at i and j, from its end to its start.  Its end is dropped
 * as far as either side is used; from there on all of it becomes used.
 */
static void take_run(struct match *m, size_t i, size_t j)
{
	bool dropping = true;

	for (;;) {
		dropping = dropping && (m->used_x[i] || m->used_y[j]);
		if (!dropping)
			use(m, i, j);
		if (i == 0 || j == 0)
			return;
		i--;
		j--;
		if (m->x->pairs[i] != m->y->pairs[j])
			return;
	}
}

static int score_strings(const struct sise_part *x, const struct sise_part *y)
{
	size_t longer = x->count > y->count ? x->count : y->count;
	struct match m;
	size_t i;
	uint16_t j;

	assert(longer > 0);
	init_match(&m, x, y);
	for (i = x->count; i-- > 0;) {
		for (j = m.last[x->pairs[i]]; j != NONE; j = m.previous[j]) {
			if (!ends_run(&m, i, j))
				continue;
			take_run(&m, i, j);
			if (m.left_x == 0 || m.left_y == 0)
				goto out;
		}
	}
out:
	return (int)(100 * m.points / longer);
}

/* The score depends on the order where pairs repeat: the better one counts. */
static int score_parts(const struct sise_part *a, const struct sise_part *b)
{
	size_t longer = a->count > b->count ? a->count : b->count;
	size_t shorter = a->count > b->count ? b->count : a->count;
	int score, reverse;

	if (a->block_size != b->block_size || a->mod_value != b->mod_value ||
	    longer > 30 * shorter)
		return 0;
	score = score_strings(a, b);
	if (score == 100)
		return score;
	reverse = score_strings(b, a);
	return reverse > score ? reverse : score;
}

int sise_score(const struct sise_signature *a, const struct sise_signature *b)
{
	const struct sise_part *parts_a[2] = { &a->leading, &a->secondary };
	const struct sise_part *parts_b[2] = { &b->leading, &b->secondary };
	int i, j, score, best = 0;

	for (i = 0; i < 2; i++) {
		for (j = 0; j < 2; j++) {
			score = score_parts(parts_a[i], parts_b[j]);
			if (score > best)
				best = score;
		}
	}
	return best;
}
