/* SPDX-License-Identifier: Apache-2.0 */
#include "core/index/scattered.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "core/index/index.h"
#include "core/index/lost_places.h"
#include "core/index/piece_runs.h"

/* Of distinct windows: those that are left of repetitive content are few; above
 * MOST a score is hardly changed. */
#define LEAST 0.05
#define MOST 0.97
/* Of windows in their places: what unrelated contents may have in common. */
#define LEAST_IN_PLACE 0.12
/* Of windows in their places, in contents without known places. */
#define LEAST_UNPLACED 0.35
/* So much of the content must be left in places (f above). */
#define LEAST_FOUND 0.7
/* Fewer edits are not all over a file. */
#define LEAST_EDITS 12
/* Scattered edits must be so many times as likely as those of SCATTERED_LENGTH
 * bytes; the second where fewer distinct windows are lost than FEW leaves, and
 * there is little to gain. */
#define ODDS 2.0
#define ODDS_IF_FEW 5.0
#define FEW 0.6
/* Standard deviations. */
#define WHOLE 3.0
#define EXCESS 2.0
#define EXCESS_LEFT 1.5
/* Of the logarithms of the shares of distinct windows. */
#define LEAST_SPREAD 0.85
/* Windows that are not counted, as they repeat one byte, and such. */
#define TOLERANCE 0.02
/* Of the score, so large a part must be left where only what is distinctive
 * counts. */
#define DISTINCTIVE 2

bool scattered_is_possible(double share16)
{
	return share16 >= LEAST && share16 <= MOST;
}

int index_see_scattered(const struct index_store *store,
			const struct scattered_content *own,
			const struct scattered_content *other,
			struct short_sketch *short_other,
			struct index_match *match)
{
	int score, err;

	if (!store->short_sketch ||
	    !scattered_is_possible(match->score / 100.0) ||
	    DISTINCTIVE * match->distinctive_part < match->score)
		return 0;
	err = store->short_sketch(store->arg, match->content, short_other);
	if (err)
		return err == -ENOENT ? 0 : err;
	score = match->score;
	err = scattered_score(store, own, other, &match->score);
	if (match->score > score)
		match->is_boilerplate = false;
	return err;
}

double scattered_least(int least, uint64_t size_a, uint64_t size_b)
{
	double share = least / 100.0;

	return size_a == size_b && share > LEAST ? LEAST : share;
}

/* ---- measuring ---- */

static size_t count_common(const struct sif_sketch *a,
			   const struct sif_sketch *b, uint64_t end)
{
	size_t i = 0, j = 0, common = 0;
	uint64_t x, y;

	while (i < a->count && j < b->count) {
		x = a->values[i];
		y = b->values[j];
		if (x >= end || y >= end)
			break;
		common += x == y;
		i += x <= y;
		j += y <= x;
	}
	return common;
}

/* What is known of the distinct windows of one length. */
struct window_shares {
	double windows;  /* in each content, with repeats */
	double distinct; /* of these, in the larger content */
	double distinct_other;
	double share;   /* of the distinct ones, that the other has too */
	double other;   /* the same of the distinct ones of the other */
	double samples; /* that share rests on */
};

static double share_of(size_t part, size_t whole)
{
	return whole ? (double)part / (double)whole : 0;
}

static double windows_of(uint64_t size, unsigned window, double distinct)
{
	double windows = size < window ? 0 : (double)(size - window + 1);

	return windows > distinct ? windows : distinct;
}

static struct window_shares shares16(const struct scattered_content *larger,
				     const struct scattered_content *other)
{
	uint64_t end = sif_joint_bound(larger->sketch, other->sketch);
	size_t samples = sif_count_below(larger->sketch->values,
					 larger->sketch->count, end);
	size_t samples_other = sif_count_below(other->sketch->values,
					       other->sketch->count, end);
	size_t common = count_common(larger->sketch, other->sketch, end);
	double distinct = (double)larger->sketch->distinct;

	return (struct window_shares){
		.windows = windows_of(larger->size, SIF_WINDOW, distinct),
		.distinct = distinct,
		.distinct_other = (double)other->sketch->distinct,
		.share = share_of(common, samples),
		.other = share_of(common, samples_other),
		.samples = (double)samples,
	};
}

static struct window_shares shares8(const struct scattered_content *larger,
				    const struct scattered_content *other)
{
	double distinct = (double)larger->short_sketch->distinct;
	struct short_relation r;

	short_sketch_compare(larger->short_sketch, other->short_sketch, &r);
	return (struct window_shares){
		.windows = windows_of(larger->size, SIMHASH_WINDOW, distinct),
		.distinct = distinct,
		.distinct_other = (double)other->short_sketch->distinct,
		.share = r.a_in_b,
		.other = r.b_in_a,
		.samples = (double)r.a_samples,
	};
}

static double deviation(double share, double samples, double all)
{
	double left = samples < all ? 1 - samples / all : 0;

	return sqrt(share * (1 - share) / samples * left);
}

/* Whether so large a share of the other's distinct windows may be left; error
 * is that of lost, error_other that of the share. */
static bool is_left(const struct window_shares *w, double lost, double error,
		    double error_other)
{
	double times = fmax(1, w->windows / fmax(w->distinct_other, 1));
	double least = 1 - lost, most = 1 - pow(lost, times);
	double slope = times * pow(lost, times - 1);

	return least <= fmax(w->share, w->other) + TOLERANCE +
				EXCESS * (error + error_other) &&
	       w->other <= most + TOLERANCE +
				   EXCESS_LEFT * (slope * error + error_other);
}

/* Whether the shares of distinct windows of both lengths differ.  In content that
 * repeats much, those of the edited one are mostly new at either length, and those
 * of the other one tell. */
static bool is_spread(const struct window_shares *w16,
		      const struct window_shares *w8)
{
	return w8->share >= pow(w16->share, LEAST_SPREAD) ||
	       w8->other >= pow(w16->other, LEAST_SPREAD);
}

/* The share of the windows in their places; false where passages are new. */
static bool place(const struct window_shares *w, double *share_out,
		  double *error_out)
{
	double part = w->distinct / w->windows;
	double most = fmax(w->share, w->other);
	double lost = (1 - w->share) * part;
	double error = deviation(w->share, w->samples, w->distinct);
	double error_other = deviation(w->other, w->samples, w->distinct);

	*share_out = fmin(1 - lost, most);
	*error_out = 1 - lost < most ? part * error : error;
	return is_left(w, lost, part * error, error_other);
}

/* Whether as many windows are lost in one part of the content as in another, of
 * which share16 are left; where places are not known, whether these are
 * many. */
static bool is_even(const struct scattered_content *larger,
		    const struct scattered_content *other, double share16)
{
	if (!larger->sketch->is_placed || !other->sketch->is_placed)
		return share16 >= LEAST_UNPLACED;
	return lost_places_are_even(larger->sketch, other->sketch, share16);
}

bool scattered_measure(const struct scattered_content *a,
		       const struct scattered_content *b, struct scattered *out)
{
	bool a_is_larger = a->sketch->distinct > b->sketch->distinct;
	const struct scattered_content *larger = a_is_larger ? a : b;
	const struct scattered_content *other = a_is_larger ? b : a;
	struct window_shares w16, w8;

	if (a->size != b->size || a->sketch->window != SIF_WINDOW ||
	    b->sketch->window != SIF_WINDOW)
		return false;
	w16 = shares16(larger, other);
	w8 = shares8(larger, other);
	if (w16.samples <= 0 || w8.samples <= 0 || !is_spread(&w16, &w8) ||
	    !place(&w16, &out->share16, &out->error16) ||
	    !place(&w8, &out->share8, &out->error8) ||
	    !is_even(larger, other, out->share16))
		return false;
	out->distinct16 = w16.share;
	out->edits = out->share16 > 0 ? -log(out->share16) * w16.windows /
						(SCATTERED_LENGTH + 15) :
					0;
	return true;
}

/* ---- judging ---- */

/* The model with f = 1: p from both shares, each with its weight. */
static double single_bytes(const struct scattered *s)
{
	double error16 = s->error16 / s->share16 / 16;
	double error8 = s->error8 / s->share8 / 8;
	double sum = error16 * error16 + error8 * error8;
	double weight = sum > 0 ? error8 * error8 / sum : 1;

	return exp(weight * log(s->share16) / 16 +
		   (1 - weight) * log(s->share8) / 8);
}

/* Whether share8 is what single bytes leave rather than what edits of
 * SCATTERED_LENGTH bytes do.  The ratio of the likelihoods of two normal
 * distributions with one deviation is exp((share8 - middle) * gap /
 * error^2). */
static bool is_of_single_bytes(const struct scattered *s)
{
	const double power = (SCATTERED_LENGTH + 7.0) / (SCATTERED_LENGTH + 15);
	double left = pow(s->share16, power), root = sqrt(s->share16);
	double slope = power * left / s->share16;
	double error = hypot(s->error8, slope * s->error16);
	double odds = s->distinct16 < FEW ? ODDS : ODDS_IF_FEW;

	return (s->share8 - (left + root) / 2) * (root - left) >
	       error * error * log(odds);
}

double scattered_share(const struct scattered *s, double *left_out)
{
	double found, error;

	if (s->share16 < LEAST_IN_PLACE || s->share8 <= s->share16 ||
	    s->share8 >= 1 || s->edits < LEAST_EDITS || !is_of_single_bytes(s))
		return -1;
	found = s->share8 * s->share8 / s->share16;
	error = found *
		hypot(2 * s->error8 / s->share8, s->error16 / s->share16);
	if (found + WHOLE * error >= 1) {
		*left_out = single_bytes(s);
		return *left_out;
	}
	*left_out = pow(s->share16 / s->share8, 1 / 8.0);
	return found < LEAST_FOUND ? -1 : found * *left_out;
}

/* -ENOENT: there is none. */
static int read_signature(const struct index_store *store,
			  const struct scattered_content *c,
			  struct sise_signature *out)
{
	if (c->sise)
		return sise_parse(c->sise, strlen(c->sise), out) ? -ENOENT : 0;
	if (!c->content || !store || !store->sise)
		return -ENOENT;
	return store->sise(store->arg, c->content, out);
}

/* Whether pieces are left that single bytes would have changed, which are that
 * part of all. */
static int find_long_runs(const struct index_store *store,
			  const struct scattered_content *a,
			  const struct scattered_content *b, double part,
			  bool *out)
{
	struct sise_signature *both = malloc(2 * sizeof(*both));
	int err = -ENOMEM;

	*out = false;
	if (both)
		err = read_signature(store, a, &both[0]);
	if (!err)
		err = read_signature(store, b, &both[1]);
	if (!err)
		*out = piece_runs_are_long(&both[0], &both[1], a->size, part);
	free(both);
	return err == -ENOENT ? 0 : err;
}

int scattered_score(const struct index_store *store,
		    const struct scattered_content *a,
		    const struct scattered_content *b, int *score)
{
	struct scattered s;
	int raised, err;
	bool in_runs;
	double left;

	if (!scattered_is_possible(*score / 100.0) ||
	    !scattered_measure(a, b, &s))
		return 0;
	raised = (int)lround(100 * fmin(scattered_share(&s, &left), 0.99));
	if (raised <= *score)
		return 0;
	err = find_long_runs(store, a, b, 1 - left, &in_runs);
	if (!err && !in_runs)
		*score = raised;
	return err;
}
