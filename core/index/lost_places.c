/* SPDX-License-Identifier: Apache-2.0 */
#include "core/index/lost_places.h"

#include <math.h>
#include <stddef.h>

/* Values of neighbouring places that are looked at together. */
#define GROUP 16
/* Standard deviations: of the edited content, of the other one, and of the share
 * of what is left.  In tables that differ in some columns the other one is
 * uneven by 1.4 to 2.9. */
#define UNEVEN 3.0
#define UNEVEN_ONCE 1.0
#define FROM_SHARE 3.0
/* Fewer groups do not tell. */
#define FEWEST_GROUPS 3

/* Of the values of a content at one place, those that the other has too, and
 * those that it has not; or the same of places next to each other. */
struct place_group {
	double shared, lost;
};

/* once: only of windows that occur once in the content. */
static void count_places(const struct sif_sketch *of,
			 const struct sif_sketch *other, bool once,
			 struct place_group groups[static SIF_PLACES])
{
	uint64_t end = sif_joint_bound(of, other);
	size_t i, j = 0;

	for (i = 0; i < of->count && of->values[i] < end; i++) {
		struct place_group *at = &groups[of->places[i] % SIF_PLACES];

		if (once && of->times[i] != 1)
			continue;
		while (j < other->count && other->values[j] < of->values[i])
			j++;
		if (j < other->count && other->values[j] == of->values[i])
			at->shared++;
		else
			at->lost++;
	}
}

/* Joins places until there are GROUP values; what is left joins the last.
 * Returns the number of groups. */
static size_t join_places(struct place_group groups[static SIF_PLACES])
{
	struct place_group left = { 0 };
	size_t count = 0, i;

	for (i = 0; i < SIF_PLACES; i++) {
		left.shared += groups[i].shared;
		left.lost += groups[i].lost;
		if (left.shared + left.lost < GROUP)
			continue;
		groups[count++] = left;
		left = (struct place_group){ 0 };
	}
	if (count) {
		groups[count - 1].shared += left.shared;
		groups[count - 1].lost += left.lost;
	}
	return count;
}

static struct place_group sum_of(const struct place_group *groups, size_t count)
{
	struct place_group sum = { 0 };
	size_t i;

	for (i = 0; i < count; i++) {
		sum.shared += groups[i].shared;
		sum.lost += groups[i].lost;
	}
	return sum;
}

/* Pearson's statistic of the groups, as a deviation of the normal distribution
 * (Wilson and Hilferty, 1931). */
static double unevenness(const struct place_group *groups, size_t count)
{
	struct place_group all = sum_of(groups, count);
	double sum = 0, degrees = (double)count - 1, share, here, from;
	size_t i;

	if (count < 2 || all.shared <= 0 || all.lost <= 0)
		return 0;
	share = all.shared / (all.shared + all.lost);
	for (i = 0; i < count; i++) {
		here = groups[i].shared + groups[i].lost;
		from = groups[i].shared - here * share;
		sum += from * from / (here * share * (1 - share));
	}
	return (cbrt(sum / degrees) - (1 - 2 / (9 * degrees))) /
	       sqrt(2 / (9 * degrees));
}

/* Whether the groups have that share, as far as chance allows. */
static bool has_share(const struct place_group *groups, size_t count,
		      double share)
{
	struct place_group all = sum_of(groups, count);
	double values = all.shared + all.lost;

	return fabs(all.shared - share * values) <
	       FROM_SHARE * sqrt(share * (1 - share) * values);
}

/*
 * Where a content repeats a passage, few of its distinct windows are there, and
 * each byte that is changed makes new ones: of the distinct windows of the
 * edited content, more are lost in such a part than in others.  But of the
 * windows that occur once in the other content, as many are lost in one part as
 * in another, and as many as of all.
 */
bool lost_places_are_even(const struct sif_sketch *larger,
			  const struct sif_sketch *other, double share16)
{
	struct place_group groups[SIF_PLACES] = { 0 };
	struct place_group once[SIF_PLACES] = { 0 };
	size_t count;

	count_places(larger, other, false, groups);
	if (unevenness(groups, join_places(groups)) < UNEVEN)
		return true;
	if (!other->windows)
		return false;
	count_places(other, larger, true, once);
	count = join_places(once);
	return count >= FEWEST_GROUPS &&
	       unevenness(once, count) < UNEVEN_ONCE &&
	       has_share(once, count, share16);
}
