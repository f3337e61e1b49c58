/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_KERNEL_SDHASH_SDHASH_WALK_H
#define CORE_KERNEL_SDHASH_SDHASH_WALK_H

#include <stdbool.h>

#include "core/kernel/sdhash/sdhash_impl.h"

/*
 * Scores with vectors.  The lowest ranks of all windows are found beforehand;
 * what remains is to follow the lowest one from event to event: it leaves the
 * window, or a rank comes in that is not higher.
 *
 * That is a long chain of short steps, so several stretches of the ranks are
 * walked side by side.  A stretch can begin wherever the minimum is searched
 * again whatever came before: where 0, or less than all of the window, comes
 * in.
 */
#define WALK_LANES 3
/* Places that are walked at once. */
#define WALK_PLACES 4096
/* How far the beginning of a stretch is looked for. */
#define WALK_SEARCH 512

/*
 * What a search finds in a window: (rank - 1) * 64 + place from the start of
 * the window; WALK_NONE if the window starts with rank 0, as it has none then.
 *
 * The place is the end of the leftmost run of the lowest rank.  It comes from
 * windows of 1, 2, 4, ... places: the less of two side by side, the right one's
 * place being further by their width.  A place by itself stands for the end of
 * the run it is in.  Ends beyond the window become its last place, the rank's
 * largest number; so the leftmost run still has the least.  What rank 0 wraps
 * to is above all.
 */
#define WALK_RANK_SHIFT 6
#define WALK_NONE 0xffc0
#define WALK_NO_RANK ((WALK_NONE >> WALK_RANK_SHIFT) + 1)

/* How many of 64 ranks are above lowest until one is not. */
typedef size_t walk_find_fn(const uint16_t *ranks, unsigned lowest);

struct sdhash_walk {
	const uint16_t *ranks;
	const uint16_t *minima;
	uint8_t *scores;
	walk_find_fn *find;
};

/* Of the places up to end; the lowest at place i is known, those before have
 * their scores. */
struct walk_lane {
	size_t i;
	size_t at;
	unsigned rank; /* WALK_NO_RANK: none */
	size_t end;
};

/* Makes the lowest before place i that at place i. */
static inline void walk_first(const struct sdhash_walk *w, struct walk_lane *l)
{
	unsigned rank = w->ranks[l->i + SDHASH_WINDOW];
	unsigned key = w->minima[l->i];

	if (l->rank < WALK_NO_RANK && l->i < l->at && rank >= l->rank) {
		if (rank == l->rank)
			l->at = l->i + SDHASH_WINDOW;
		return;
	}
	l->at = l->i + key % SDHASH_WINDOW;
	l->rank = (key >> WALK_RANK_SHIFT) + 1;
}

/* To the next event.  Its kind cannot be predicted: no branches. */
static inline __attribute__((always_inline)) void walk_step(
	const struct sdhash_walk *w, struct walk_lane *l)
{
	const size_t i = l->i, at = l->at, end = l->end;
	const unsigned rank = l->rank;
	size_t limit = at < end ? at : end, stop = i + 1, tie;
	unsigned key;

	if (rank == WALK_NO_RANK) {
		while (stop < end && w->ranks[stop] == 0)
			stop++;
	} else {
		limit = limit < stop ? stop : limit;
		stop += w->find(w->ranks + stop + SDHASH_WINDOW, rank);
		stop = stop < limit ? stop : limit;
		w->scores[at] += (uint8_t)(stop - i);
	}
	l->i = stop;
	if (stop == end)
		return;
	key = w->minima[stop];
	/* All bits or none. */
	tie = 0 -
	      (size_t)((stop < at) & (w->ranks[stop + SDHASH_WINDOW] == rank));
	l->at = stop + ((key % SDHASH_WINDOW & ~tie) | (SDHASH_WINDOW & tie));
	l->rank = (((key >> WALK_RANK_SHIFT) + 1) & ~(unsigned)tie) |
		  (rank & (unsigned)tie);
}

/* The first place from from on where a stretch can begin; end if there is none
 * close by. */
static inline size_t walk_begin(const struct sdhash_walk *w, size_t from,
				size_t end)
{
	size_t i, last = end - from < WALK_SEARCH ? end : from + WALK_SEARCH;
	unsigned rank;

	for (i = from; i < last; i++) {
		rank = w->ranks[i + SDHASH_WINDOW];
		if (rank == 0 || (rank - 1 < w->minima[i] >> WALK_RANK_SHIFT &&
				  w->ranks[i] > 0))
			return i;
	}
	return end;
}

/* Of steps > 0 places. */
static inline __attribute__((always_inline)) void walk_all(
	const struct sdhash_walk *w, size_t steps, struct sdhash_lowest *lowest)
{
	struct walk_lane lanes[WALK_LANES], *l;
	size_t k, from, busy, last = 0;

	lanes[0].i = 0;
	lanes[0].at = lowest->at;
	lanes[0].rank = lowest->rank ? lowest->rank : WALK_NO_RANK;
	for (k = 1; k < WALK_LANES; k++) {
		from = k * (steps / WALK_LANES) + 1;
		from = from < lanes[k - 1].i ? lanes[k - 1].i : from;
		from = from < steps ? walk_begin(w, from, steps) : steps;
		lanes[k - 1].end = from;
		lanes[k].i = from;
		lanes[k].rank = WALK_NO_RANK;
		if (from < steps)
			last = k;
	}
	lanes[WALK_LANES - 1].end = steps;
	for (k = 0; k < WALK_LANES; k++)
		if (lanes[k].i < lanes[k].end)
			walk_first(w, &lanes[k]);
	do {
		busy = 0;
#pragma GCC unroll 4
		for (k = 0; k < WALK_LANES; k++) {
			if (lanes[k].i < lanes[k].end)
				walk_step(w, &lanes[k]);
			busy |= lanes[k].i ^ lanes[k].end;
		}
	} while (busy);
	l = &lanes[last];
	*lowest = (struct sdhash_lowest){ 0 };
	if (l->rank < WALK_NO_RANK && l->at >= steps) {
		lowest->at = l->at - steps;
		lowest->rank = (uint16_t)l->rank;
	}
}

#endif
