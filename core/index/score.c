/* SPDX-License-Identifier: Apache-2.0 */
#include "core/index/score.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/index/column_scan.h"
#include "core/index/scattered.h"

/* ---- without sketches ---- */

/*
 * SimHash: the expected distance is 64 * angle / 180 with cos(angle) = shared /
 * sqrt(A * B), where A and B are the numbers of distinct windows (here the
 * sizes).  The estimate has no bias.  The standard deviation of the distance is
 * 2 to 4 bits, which is 2 points of score near distance 0 and more than 12
 * points beyond distance 16.
 *
 * RDC traits: 16 samples of the chunks, which have about 2 KiB.  Scattered
 * changes alter most chunks, so many equal traits are evidence, few equal
 * traits are no evidence of the opposite.
 */
#define PI 3.14159265358979323846
#define DISTANCE_MAX 24       /* unrelated contents often have more */
#define CHUNK_BYTES 2048.0    /* on average */
#define CHUNKS_MEANINGFUL 8.0 /* with fewer, several traits have one chunk */

static double size_ratio(uint64_t a, uint64_t b)
{
	if (!a || !b)
		return 0;
	return a < b ? (double)a / (double)b : (double)b / (double)a;
}

static double simhash_percent(int distance, double ratio)
{
	if (distance < 0 || distance > DISTANCE_MAX)
		return 0;
	return 100 * cos(PI * distance / 64) * sqrt(ratio);
}

/* Each trait is equal with probability J + (1 - J) / 64. */
static double traits_percent(int traits, double ratio, double chunks)
{
	double jaccard = (traits / 16.0 - 1 / 64.0) / (1 - 1 / 64.0);
	double weight = fmin(1, chunks / CHUNKS_MEANINGFUL);

	if (jaccard <= 0)
		return 0;
	return weight * 100 * jaccard * (1 + ratio) / (1 + jaccard);
}

/* The smaller content cannot contain more of the larger one than its size. */
static int bounded(double percent, double ratio)
{
	return (int)lround(fmax(0, fmin(percent, fmin(99, 100 * ratio))));
}

int score_estimate(uint64_t size_a, uint64_t size_b, int distance, int traits)
{
	double ratio = size_ratio(size_a, size_b);
	double chunks =
		(double)(size_a < size_b ? size_a : size_b) / CHUNK_BYTES;

	return bounded(fmax(simhash_percent(distance, ratio),
			    traits_percent(traits, ratio, chunks)),
		       ratio);
}

int score_ceiling(int distance, int traits)
{
	return bounded(fmax(simhash_percent(distance, 1),
			    traits_percent(traits, 1, CHUNKS_MEANINGFUL)),
		       1);
}

/* ---- sketches ---- */

/*
 * Two contents whose distinctive score is LEAST are alike in more than
 * boilerplate, and so are two that share little, but of the distinctive part a
 * half (OF_SCORE) of what they share of the whole.  Unrelated contents below
 * one licence have idioms in common, which are up to an eighth of the rest.
 *
 * Boilerplate is seldom more than TEMPLATE of a content.  Contents that share
 * more are of a large family, whose values all members have, and
 * LEAST_OF_FAMILY is enough.  If nearly all of a content is shared (SURE), the
 * shared part is not boilerplate but the content itself: a form that is filled
 * in.
 */
enum { LEAST = 13, LEAST_OF_FAMILY = 10, OF_SCORE = 2 };
enum { TEMPLATE = 80, SURE = 90 };

bool score_is_boilerplate(int score, int distinctive)
{
	int least = score < TEMPLATE ? LEAST : LEAST_OF_FAMILY;

	return score < SURE && distinctive < least &&
	       OF_SCORE * distinctive < score;
}

static uint32_t weight_of(const struct weigher *w, uint64_t value)
{
	if (!w->frequency)
		return w->weight(w->arg, value);
	return (uint32_t)(WEIGHT_ONE * frequency_weight(w->frequency, value));
}

void score_weigh_sketch(const struct weigher *w,
			const struct sif_sketch *sketch,
			struct weighed_sketch *out)
{
	size_t i;

	out->sketch = sketch;
	out->has_common = false;
	out->sums[0] = 0;
	for (i = 0; i < sketch->count; i++) {
		out->weights[i] = weight_of(w, sketch->values[i]);
		out->sums[i + 1] = out->sums[i] + out->weights[i];
		out->has_common |=
			out->weights[i] && out->weights[i] < WEIGHT_ONE;
	}
}

/* The shared values of two sketches, in the range that both cover. */
struct sketch_overlap {
	size_t a, b;                /* values of each in the range */
	size_t common;              /* shared values */
	uint64_t weight;            /* of the shared values */
	uint64_t bound;             /* the end of the range */
	bool found[SIF_MAX_VALUES]; /* for each value of b: it is shared */
};

/* The rest of two ascending arrays that are merged. */
struct merge_range {
	size_t i, i_end, j, j_end;
};

/* So many steps cannot pass the end of either array. */
static size_t safe_steps(const struct merge_range *w)
{
	size_t i = w->i_end - w->i, j = w->j_end - w->j;

	return i < j ? i : j;
}

/* Without a branch on the values, which could not be predicted. */
static inline uint32_t step(const struct weighed_sketch *a,
			    const uint64_t *values, const uint64_t *b,
			    size_t *i, size_t *j, bool *found)
{
	uint64_t x = values[*i], y = b[*j];
	uint32_t weight = a->weights[*i] & -(uint32_t)(x == y);

	found[*j] = x == y;
	*i += x <= y;
	*j += y <= x;
	return weight;
}

static void merge_rest(const struct weighed_sketch *a, const uint64_t *b,
		       struct merge_range *w, struct sketch_overlap *o)
{
	const uint64_t *values = a->sketch->values;
	size_t steps;

	while ((steps = safe_steps(w)))
		while (steps--)
			o->weight += step(a, values, b, &w->i, &w->j, o->found);
}

/*
 * Merges two ranges in turns: a step depends on the one before it in the same
 * range, so the processor can overlap steps of different ranges.
 */
static void merge_both(const struct weighed_sketch *a, const uint64_t *b,
		       struct merge_range *v, struct merge_range *w,
		       struct sketch_overlap *o)
{
	const uint64_t *values = a->sketch->values;
	size_t i = v->i, j = v->j, k = w->i, l = w->j, steps, other;
	uint64_t weight = 0;

	for (;;) {
		steps = safe_steps(v);
		other = safe_steps(w);
		steps = steps < other ? steps : other;
		if (!steps)
			break;
		while (steps--) {
			weight += step(a, values, b, &i, &j, o->found);
			weight += step(a, values, b, &k, &l, o->found);
		}
		v->i = i;
		v->j = j;
		w->i = k;
		w->j = l;
	}
	o->weight = weight;
	merge_rest(a, b, v, o);
	merge_rest(a, b, w, o);
}

static void find_overlap(const struct weighed_sketch *a,
			 const struct sif_sketch *b, struct sketch_overlap *o)
{
	uint64_t bound = sif_joint_bound(a->sketch, b);
	const uint64_t *values = a->sketch->values;
	size_t half, b_half = 0, i;

	o->bound = bound;
	o->a = sif_count_below(values, a->sketch->count, bound);
	o->b = sif_count_below(b->values, b->count, bound);
	o->weight = 0;
	memset(o->found, 0, o->b * sizeof(o->found[0]));
	half = o->a / 2;
	if (half)
		b_half = sif_count_below(b->values, o->b, values[half]);
	merge_both(a, b->values, &(struct merge_range){ 0, half, 0, b_half },
		   &(struct merge_range){ half, o->a, b_half, o->b }, o);
	o->common = 0;
	for (i = 0; i < o->b; i++)
		o->common += o->found[i];
}

/* ---- what is distinctive ---- */

/*
 * Sketches of contents of one size do not all end at the same value.  A value
 * near the end of the range of two sketches is in few others, so it seems rarer
 * than it is.  So the last eighth of the range does not count.
 */
static uint64_t certain_end(uint64_t bound)
{
	return bound - bound / 8;
}

/*
 * Sketches of larger contents end at smaller values.  If a licence is in
 * contents of many sizes, its values near the end of the range of two small
 * contents are in the sketches of small contents alone, and seem rare.  But
 * smaller values of that licence are in all of these sketches.  So no value
 * counts that is greater than those shared values that many contents have
 * (SEEN_COMMON).  These are uniform up to an end, which is estimated from the
 * place of the last but one in PASSED_COMMON: the very last may be there by
 * accident.  Without enough of them, all of the range counts.
 */
#define SEEN_COMMON (WEIGHT_ONE / 4)
#define FEWEST_COMMON 8
#define PASSED_COMMON 8

static uint64_t known_end(const struct weighed_sketch *a,
			  const struct sif_sketch *b,
			  const struct sketch_overlap *o)
{
	uint64_t common[SIF_MAX_VALUES + 1], end = certain_end(o->bound), last;
	size_t count = 0, i = 0, j;

	for (j = 0; j < o->b; j++) {
		if (!o->found[j])
			continue;
		while (a->sketch->values[i] != b->values[j])
			i++;
		common[count] = b->values[j];
		count += a->weights[i] < SEEN_COMMON;
	}
	if (count < FEWEST_COMMON)
		return end;
	last = common[count - 1 - count / PASSED_COMMON];
	last += last / (PASSED_COMMON - 1);
	return last < end ? last : end;
}

struct weight_sums {
	uint64_t a, b, shared;
};

/* The values of b that are shared, up to an end, without those that count less
 * than least. */
static uint64_t weigh_shared(const struct weighed_sketch *a,
			     const struct sif_sketch *b, size_t b_end,
			     const struct sketch_overlap *o, uint32_t least)
{
	const uint64_t *values = a->sketch->values;
	uint64_t sum = 0;
	size_t i = 0, j;

	for (j = 0; j < b_end; j++) {
		if (!o->found[j])
			continue;
		while (values[i] != b->values[j])
			i++;
		sum += a->weights[i] < least ? 0 : a->weights[i];
	}
	return sum;
}

/* The others.  Their places are collected first, without a branch, so that
 * their frequencies are fetched from memory in parallel. */
static uint64_t weigh_other(const struct weigher *w, const struct sif_sketch *b,
			    size_t b_end, const struct sketch_overlap *o)
{
	uint16_t other[SIF_MAX_VALUES + 1];
	size_t count = 0, j;
	uint64_t sum = 0;

	for (j = 0; j < b_end; j++) {
		other[count] = (uint16_t)j;
		count += !o->found[j];
	}
	for (j = 0; j < count; j++)
		sum += weight_of(w, b->values[other[j]]);
	return sum;
}

/* The values below end; of the shared ones, those that weigh least or more. */
static struct weight_sums weigh_overlap(const struct weigher *w,
					const struct weighed_sketch *a,
					const struct sif_sketch *b,
					const struct sketch_overlap *o,
					uint64_t end, uint32_t least)
{
	size_t a_end = sif_count_below(a->sketch->values, o->a, end);
	size_t b_end = sif_count_below(b->values, o->b, end);

	return (struct weight_sums){
		.a = a->sums[a_end],
		.b = weigh_shared(a, b, b_end, o, 0) +
		     weigh_other(w, b, b_end, o),
		.shared = weigh_shared(a, b, b_end, o, least),
	};
}

static double divide(uint64_t part, uint64_t whole)
{
	return whole ? (double)part / (double)whole : 0;
}

/*
 * The share of the values up to known_end().  If these are few, it is drawn
 * towards the share of all values up to the certain end, which then counts as
 * much as DRAWN values.
 */
#define DRAWN 1.0

static double share_of(uint64_t shared, uint64_t known, double all)
{
	double drawn = DRAWN * WEIGHT_ONE;

	return ((double)shared + drawn * all) / ((double)known + drawn);
}

/* A share of all windows, as far as weights make that of the values in full
 * smaller or larger than it is. */
static double weigh_share(double share, double weighed, double counted)
{
	return counted > 0 ? fmin(1, share * weighed / counted) : weighed;
}

static bool is_doubtful(double share, double least)
{
	return share >= least && share < SURE / 100.0;
}

static void find_distinctive(const struct weigher *w,
			     const struct weighed_sketch *a,
			     const struct sif_sketch *b,
			     const struct sketch_overlap *o, double least,
			     struct score_shares *shares)
{
	bool within = is_doubtful(shares->within, least);
	bool contains = is_doubtful(shares->contains, least);
	struct weight_sums all, known;
	uint64_t end;

	/* Nothing is known about the shared values, or none is common. */
	if (!o->weight || o->weight == o->common * (uint64_t)WEIGHT_ONE)
		return;
	if (!within && !contains)
		return;
	end = known_end(a, b, o);
	known = all = weigh_overlap(w, a, b, o, certain_end(o->bound), 0);
	if (end < certain_end(o->bound))
		known = weigh_overlap(w, a, b, o, end, SEEN_COMMON);
	if (within)
		shares->within =
			weigh_share(shares->within,
				    share_of(known.shared, known.a,
					     divide(all.shared, all.a)),
				    divide(o->common, o->a));
	if (contains)
		shares->contains =
			weigh_share(shares->contains,
				    share_of(known.shared, known.b,
					     divide(all.shared, all.b)),
				    divide(o->common, o->b));
}

/* The larger one, as sif_find_shares() has it; the lower share if both have
 * equally many windows. */
static double of_larger(const struct score_shares *s,
			const struct sif_sketch *a, const struct sif_sketch *b)
{
	bool counts = a->windows && b->windows;
	uint64_t of_a = counts ? a->windows : a->distinct;
	uint64_t of_b = counts ? b->windows : b->distinct;

	if (of_a == of_b)
		return fmin(s->within, s->contains);
	return of_a > of_b ? s->within : s->contains;
}

int score_compare_sketches(const struct weigher *w,
			   const struct weighed_sketch *a,
			   const struct sif_sketch *b, double least,
			   struct score_shares *out,
			   struct score_shares *distinctive_out)
{
	struct score_shares shares, distinctive;
	struct sketch_overlap o;
	struct sif_shares found;
	int err = sif_find_shares(a->sketch, b, &found);

	if (err)
		return err;
	shares.within = found.of_a;
	shares.contains = found.of_b;
	shares.larger = found.of_larger;
	distinctive = shares;
	/* If no value of a is common, no shared value is. */
	if (a->has_common && (is_doubtful(shares.within, least) ||
			      is_doubtful(shares.contains, least))) {
		find_overlap(a, b, &o);
		find_distinctive(w, a, b, &o, least, &distinctive);
		distinctive.larger = of_larger(&distinctive, a->sketch, b);
	}
	*out = shares;
	*distinctive_out = distinctive;
	return 0;
}

int score_percent(double share)
{
	return (int)lround(fmax(0, fmin(99, 100 * share)));
}

void score_set_match(double share, double distinctive, struct index_match *out)
{
	out->score = score_percent(share);
	out->distinctive_score = score_percent(distinctive);
	out->is_boilerplate =
		score_is_boilerplate(out->score, out->distinctive_score);
}

/* ---- two contents ---- */

static int estimate_of(const struct digests *a, const struct digests *b)
{
	struct column_scan query;
	uint8_t traits[COLUMNS_TRAITS];

	column_scan_init(&query, a);
	column_traits_of(b, traits);
	return score_estimate(
		a->size, b->size,
		column_scan_distance(&query, column_simhash_of(b)),
		column_scan_equal_traits(&query, traits));
}

bool score_is_uniform(uint64_t size, const struct sif_sketch *sketch)
{
	return size >= SIF_WINDOW && !sketch->distinct;
}

/* As score_is_uniform(); false where there is no sketch. */
static bool is_uniform(const struct digests *d)
{
	struct sif_sketch sketch;
	const char *text = d->text[DIGEST_SIF];

	return (d->set & DIGEST_BIT(DIGEST_SIF)) && text &&
	       d->size >= SIF_WINDOW &&
	       !sif_parse(text, strlen(text), &sketch) &&
	       score_is_uniform(d->size, &sketch);
}

struct both_sketches {
	struct sif_sketch sketch;
	struct short_sketch short_sketch;
};

static bool read_sketches(const struct digests *d, struct both_sketches *room,
			  struct scattered_content *out)
{
	const char *text = d->text[DIGEST_SIF];

	*out = (struct scattered_content){ &room->sketch, &room->short_sketch,
					   d->size };
	return text && !sif_parse(text, strlen(text), &room->sketch) &&
	       digests_short_sketch(d, &room->short_sketch);
}

/* The share of the windows, or of the bytes if edits are scattered. */
static int shared_percent(const struct digests *a, const struct digests *b,
			  int *score_out)
{
	struct scattered_content x, y;
	struct both_sketches *room;
	int score, err = digest_compare(DIGEST_SIF, a, b, &score);

	if (err)
		return err;
	if (scattered_is_possible(score / 100.0)) {
		room = malloc(2 * sizeof(*room));
		if (!room)
			return -ENOMEM;
		if (read_sketches(a, &room[0], &x) &&
		    read_sketches(b, &room[1], &y))
			score = scattered_score(score, &x, &y);
		free(room);
	}
	*score_out = score < 99 ? score : 99;
	return 0;
}

int score_compare_contents(const struct digests *a, const struct digests *b,
			   int *score_out)
{
	int score, err;

	if (!a->size || !b->size) {
		*score_out = 0;
		return 0;
	}
	err = digest_compare(DIGEST_XXH128, a, b, &score);
	if (err || score != 100)
		err = shared_percent(a, b, &score);
	if (err == -ENODATA) {
		score = is_uniform(a) || is_uniform(b) ? 0 : estimate_of(a, b);
		err = 0;
	}
	if (!err)
		*score_out = score;
	return err;
}
