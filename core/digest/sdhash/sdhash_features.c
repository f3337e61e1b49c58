/* SPDX-License-Identifier: Apache-2.0 */
#include "core/digest/sdhash/sdhash_impl.h"

#define WINDOW SDHASH_WINDOW

/* ---- ranks ---- */

/* What one more of a byte adds to the entropy, by how many there are. */
static void entropy_steps(int32_t steps[WINDOW])
{
	size_t i;

	for (i = 0; i < WINDOW; i++)
		steps[i] = sdhash_entropy[i + 1] - sdhash_entropy[i];
}

void sdhash_rank(const uint8_t *bytes, size_t count, uint16_t *ranks_out)
{
	uint8_t counts[256] = { 0 };
	int32_t steps[WINDOW], entropy = 0;
	size_t i;

	if (count == 0)
		return;
	entropy_steps(steps);
	for (i = 0; i < WINDOW - 1; i++)
		entropy += steps[counts[bytes[i]]++];
	for (i = 0; i < count; i++) {
		entropy += steps[counts[bytes[i + WINDOW - 1]]++];
		ranks_out[i] = sdhash_ranks[entropy >> SDHASH_ENTROPY_SHIFT];
		entropy -= steps[--counts[bytes[i]]];
	}
}

/* ---- scores ---- */

/*
 * The lowest rank of a window above its first place: a number that sorts as
 * both do.  Rank 0 is none, and what it wraps to is larger than all others.
 */
static uint16_t lowest_key(const uint16_t ranks[WINDOW])
{
	uint16_t i, key, lowest = UINT16_MAX;

	for (i = 0; i < WINDOW; i++) {
		key = (uint16_t)((ranks[i] - 1) * WINDOW + i);
		lowest = key < lowest ? key : lowest;
	}
	return lowest;
}

/*
 * The leftmost minimum, and then right while its neighbour is equal.  A window
 * that starts with rank 0 has none: the program starts its search with that.
 */
static void search_window(const uint16_t *ranks, size_t start,
			  struct sdhash_lowest *out)
{
	size_t at, last = start + WINDOW - 1;
	uint16_t key;

	out->rank = 0;
	if (ranks[start] == 0)
		return;
	key = lowest_key(ranks + start);
	out->rank = (uint16_t)(key / WINDOW + 1);
	at = start + key % WINDOW;
	while (at < last && ranks[at + 1] == out->rank)
		at++;
	out->at = at;
}

/*
 * search_window(), which is not needed as long as the minimum is inside: since
 * the last search only higher ranks came in, but for one that was not looked at
 * (0: nothing is known).  An equal one makes the leftmost minimum unknown, and
 * a window that starts with rank 0 is a case of its own.
 */
static void renew_window(const uint16_t *ranks, size_t start, size_t unseen,
			 struct sdhash_lowest *lowest)
{
	if (unseen == 0 || lowest->at < start || ranks[start] == 0 ||
	    ranks[unseen] == lowest->rank) {
		search_window(ranks, start, lowest);
	} else if (ranks[unseen] > 0 && ranks[unseen] < lowest->rank) {
		lowest->rank = ranks[unseen];
		lowest->at = unseen;
	}
}

/*
 * Moves the window until the minimum leaves it or a rank comes in that is not
 * higher, and returns where it is then.  What the program takes for coming in
 * is one place beyond the window: after a search there is one that it skips.
 */
static size_t slide_window(const uint16_t *ranks, size_t start, size_t end,
			   uint16_t lowest)
{
	while (start < end && ranks[start + WINDOW] > lowest)
		start++;
	return start;
}

void sdhash_score_places(struct sdhash_lowest *lowest, const uint16_t *ranks,
			 size_t steps, uint8_t *scores)
{
	size_t end, start, unseen = 0, i = 0;

	while (i < steps) {
		if (lowest->rank > 0 && i < lowest->at) {
			end = lowest->at < steps ? lowest->at : steps;
			start = i;
			i = slide_window(ranks, start, end, lowest->rank);
			scores[lowest->at] += (uint8_t)(i - start);
			if (i == end)
				continue;
		}
		/* An equal one takes over while the minimum is inside. */
		if (lowest->rank > 0 && i < lowest->at &&
		    ranks[i + WINDOW] == lowest->rank) {
			lowest->at = i + WINDOW;
			unseen = 0;
		} else {
			renew_window(ranks, i, unseen, lowest);
			unseen = lowest->rank > 0 ? i + WINDOW : 0;
		}
		if (lowest->rank > 0)
			scores[lowest->at]++;
		i++;
	}
	if (lowest->rank == 0 || lowest->at < steps)
		*lowest = (struct sdhash_lowest){ 0 };
	else
		lowest->at -= steps;
}

/* ---- features ---- */

size_t sdhash_pick(const uint8_t *scores, size_t count, uint8_t least,
		   uint16_t *places_out)
{
	size_t i, found = 0;

	for (i = 0; i < count; i++)
		if (scores[i] >= least)
			places_out[found++] = (uint16_t)i;
	return found;
}
