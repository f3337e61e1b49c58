/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_DIGEST_BOTTOM_K_H
#define CORE_DIGEST_BOTTOM_K_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The k smallest distinct values of a stream (the bottom-k sketch of Broder,
 * 1997, and of Cohen and Kaplan, 2007).  Where values are hashes, these are a
 * uniform sample of what was hashed, of bounded size and whatever the order.
 *
 * The caller computes values, writes those up to the bound behind the ones that
 * are kept, and adds them.  The bound starts at the largest value and falls.
 * Where the caller has many values at hand and can compute them again, a guess
 * of where the bound will end spares most of the work:
 *
 *	bottom_k_guess(b, count);
 *	do
 *		... all count values, part by part, as in a stream ...
 *	while (!bottom_k_suffices(b));
 */
#define BOTTOM_K_MOST 1024
#define BOTTOM_K_PART 4096 /* values at once, at most */
/* When more are kept, those that cannot be among the smallest go. */
#define BOTTOM_K_LIMIT(max) (4 * (max) + 128)
#define BOTTOM_K_ROOM (BOTTOM_K_LIMIT(BOTTOM_K_MOST) + BOTTOM_K_PART)
#define BOTTOM_K_RECENT 512
/* Values that are counted are multiples of 2^16: a place fits below them. */
#define BOTTOM_K_PLACE_BITS 16

/* Of a value that is counted. */
struct bottom_k_seen {
	uint32_t times; /* it came, at most UINT32_MAX */
	uint32_t last;  /* where */
};

struct bottom_k {
	size_t max;  /* k */
	bool counts; /* it keeps how often each value comes, and where last */
	uint64_t bound; /* no larger value is of interest any more */
	bool streams;   /* there were too many values to keep all */
	bool settled;   /* values are distinct, and not more than max */
	bool placed;    /* below each is its place in scratch_seen */
	/* All values up to the bound, in any order, maybe more than once. */
	size_t count;
	uint64_t values[BOTTOM_K_ROOM];
	uint64_t scratch[BOTTOM_K_ROOM + 2];
	uint64_t recent[BOTTOM_K_RECENT]; /* values already dealt with */
	/* Where values are counted: what was seen of each of values, unless
	 * they are placed; and the places of the recent values. */
	struct bottom_k_seen seen[BOTTOM_K_ROOM];
	struct bottom_k_seen scratch_seen[BOTTOM_K_ROOM + 2];
	uint16_t recent_places[BOTTOM_K_RECENT];
};

/* max is 2..BOTTOM_K_MOST. */
void bottom_k_begin(struct bottom_k *b, size_t max);

/* From now on values are counted: seen[i] belongs to values[i].  b is new. */
void bottom_k_count(struct bottom_k *b);

/* Takes count values, at most BOTTOM_K_PART, from values[b->count] on.  None is
 * larger than the bound.  where is the caller's name for this part of the
 * stream. */
void bottom_k_add(struct bottom_k *b, size_t count, uint32_t where);

/* How many values the caller should look at before it adds those up to the
 * bound: fewer while most of them are. */
size_t bottom_k_part(const struct bottom_k *b);

/* Lowers the bound to where it should end if count values are distinct.  b is
 * new. */
void bottom_k_guess(struct bottom_k *b, uint64_t count);

/* Whether the guess was right.  If not, b is as new but for a higher bound. */
bool bottom_k_suffices(struct bottom_k *b);

/* Leaves the smallest values: at most max, distinct, in any order. */
void bottom_k_settle(struct bottom_k *b);

/* As bottom_k_settle(), in ascending order. */
void bottom_k_sort(struct bottom_k *b);

#endif
