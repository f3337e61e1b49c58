/* SPDX-License-Identifier: Apache-2.0 */
#include "core/index/judge.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "core/index/judge_impl.h"
#include "core/index/judge_rules.h"

const char *const index_relation_names[INDEX_RELATIONS] = {
	[INDEX_ALIKE] = "alike",       [INDEX_WITHIN] = "within",
	[INDEX_CONTAINS] = "contains", [INDEX_ALL] = "all",
	[INDEX_SHARES] = "shares",
};

const char *const subject_part_names[SUBJECT_SPEAKERS] = {
	[SUBJECT_BYTES] = "bytes",
	[SUBJECT_TEXT] = "text",
	[SUBJECT_PICTURE] = "picture",
};

const char *const verdict_reason_names[VERDICT_REASONS] = {
	[VERDICT_LISTED] = "listed",
	[VERDICT_BELOW] = "below",
	[VERDICT_UNCERTAIN] = "uncertain",
	[VERDICT_BOILERPLATE] = "boilerplate",
	[VERDICT_SHORT] = "short",
};

double judge_lower_bound(size_t m, size_t n)
{
	const double z = JUDGE_DEVIATIONS, count = (double)n;
	double p;

	if (!n)
		return 0;
	p = (double)m / count;
	return (p + z * z / (2 * count) -
		z * sqrt((p * (1 - p) + z * z / (4 * count)) / count)) /
	       (1 + z * z / count);
}

static int percent(double share)
{
	return (int)lround(fmax(0, fmin(99, 100 * share)));
}

/* The share that a relation scores. */
static double share_of(double of_a, double of_b, double of_larger,
		       enum index_relation relation)
{
	return relation == INDEX_WITHIN   ? of_a :
	       relation == INDEX_CONTAINS ? of_b :
					    of_larger;
}

/*
 * The least share of a part that is in a whole.
 *
 * The windows that very many contents have, as the keys of a kind of JSON, are in
 * every sketch or in none.  If a part has four values at the joint level, and these
 * four are such, the whole has them, and nothing is known of the rest.  How much of
 * the part is common its own sketch tells, so both kinds of windows are looked at
 * for themselves.
 */
static double least_share(const struct weigher *w, const struct sketch *part,
			  const struct sketch *whole)
{
	const uint64_t bound = sketch_bound(sketch_joint_level(part, whole));
	size_t all[2] = { 0 }, values[2] = { 0 }, shared[2] = { 0 }, i, k = 0;
	double share = 0;

	for (i = 0; i < part->count; i++) {
		const uint64_t value = part->values[i];
		const bool is_common = weight_contents(w, value) > WEIGHT_FULL;

		all[is_common]++;
		if (value >= bound)
			continue;
		while (k < whole->count && whole->values[k] < value)
			k++;
		values[is_common]++;
		shared[is_common] +=
			k < whole->count && whole->values[k] == value;
	}
	for (i = 0; i < 2; i++)
		share += (double)all[i] *
			 judge_lower_bound(shared[i], values[i]);
	return part->count ? share / (double)part->count : 0;
}

/* Whether the values of the part that is asked for tell enough. */
static bool is_certain(const struct weigher *w, const struct sketch *a,
		       const struct sketch *b, const struct judge_rules *rules)
{
	double share = 1;

	if (sketch_joint_level(a, b) && rules->relation == INDEX_WITHIN)
		share = least_share(w, a, b);
	if (sketch_joint_level(a, b) && rules->relation == INDEX_CONTAINS)
		share = least_share(w, b, a);
	return 100 * share >= rules->threshold;
}

static bool is_boilerplate(int score, int distinctive)
{
	const int least =
		score < JUDGE_TEMPLATE ? JUDGE_DISTINCTIVE : JUDGE_OF_FAMILY;

	return score < JUDGE_SURE && distinctive < least &&
	       JUDGE_OF_SCORE * distinctive < score;
}

static int distinctive_score(const struct weigher *w,
			     const struct weighed_sketch *a,
			     const struct sketch *b,
			     const struct sketch_shares *s,
			     enum index_relation relation)
{
	struct distinctive_parts parts;
	double of_a = s->of_a, of_b = s->of_b;

	if (!distinctive_find(w, a, b, &parts))
		return percent(share_of(of_a, of_b, s->of_larger, relation));
	/* Shares of all windows, as far as weights make those of the values
	 * smaller or larger. */
	of_a = parts.all_a > 0 ? fmin(1, of_a * parts.of_a / parts.all_a) :
				 parts.of_a;
	of_b = parts.all_b > 0 ? fmin(1, of_b * parts.of_b / parts.all_b) :
				 parts.of_b;
	return percent(share_of(of_a, of_b,
				s->of_a < s->of_b ? of_a :
				s->of_a > s->of_b ? of_b :
						    fmin(of_a, of_b),
				relation));
}

/* The larger content is the one of which less is shared. */
static bool is_related(const struct sketch_shares *s,
		       enum index_relation relation)
{
	return relation == INDEX_WITHIN   ? s->of_a > s->of_b :
	       relation == INDEX_CONTAINS ? s->of_a < s->of_b :
					    true;
}

static void judge_passages(const struct weighed_sketch *a,
			   const struct sketch *b,
			   const struct judge_rules *rules,
			   const struct sketch_shares *s, struct verdict *out)
{
	const uint64_t folded = passage_bytes(a, b, s);
	const int score =
		folded ? percent((double)folded / (double)a->sketch->folded) :
			 0;
	const double bytes = fmax(sketch_unfolded(a->sketch, (double)folded),
				  sketch_unfolded(b, (double)folded));

	out->bytes = (uint64_t)bytes;
	/* What is worth listing has 1 at least. */
	out->score = out->distinctive = folded && !score ? 1 : score;
	out->reason =
		out->bytes < rules->share_min ? VERDICT_SHORT : VERDICT_LISTED;
}

uint64_t judge_least_passage(const struct sketch *sketch)
{
	return (uint64_t)sketch_unfolded(
		sketch,
		ldexp(PASSAGE_VALUES, (int)sketch->level) + SKETCH_WINDOW - 1);
}

static void judge_pair(const struct weigher *w, const struct weighed_sketch *a,
		       const struct sketch *b, const struct judge_rules *rules,
		       struct verdict *out)
{
	struct sketch_shares s;

	*out = (struct verdict){ .reason = VERDICT_BELOW };
	sketch_shares(a->sketch, b, &s);
	if (!is_related(&s, rules->relation))
		return;
	if (rules->relation == INDEX_SHARES) {
		judge_passages(a, b, rules, &s, out);
		return;
	}
	out->bytes = (uint64_t)s.windows;
	out->score =
		percent(share_of(s.of_a, s.of_b, s.of_larger, rules->relation));
	out->distinctive = out->score;
	if (out->score < rules->threshold)
		return;
	if (a->has_common && out->score < JUDGE_SURE)
		out->distinctive =
			distinctive_score(w, a, b, &s, rules->relation);
	out->reason = !is_certain(w, a->sketch, b, rules) ?
			      VERDICT_UNCERTAIN :
		      is_boilerplate(out->score, out->distinctive) ?
			      VERDICT_BOILERPLATE :
			      VERDICT_LISTED;
}

/* ---- two subjects ---- */

static bool is_better(const struct verdict *a, const struct verdict *b)
{
	const bool listed = a->reason == VERDICT_LISTED;

	if (listed != (b->reason == VERDICT_LISTED))
		return listed;
	return a->score != b->score ? a->score > b->score : a->bytes > b->bytes;
}

void weigh_subject(const struct weigher *w, const struct subject *subject,
		   struct weighed_subject *out)
{
	int part;
	unsigned turn;

	out->has_picture = subject->has_picture;
	for (turn = 0; out->has_picture && turn < PDQ_TURNS; turn++)
		pdq_turn(&subject->picture, turn, &out->turned[turn]);
	for (part = 0; part < SUBJECT_PARTS; part++) {
		out->sketches[part].sketch = NULL;
		if (subject->sketches[part])
			weight_sketch(w, subject->sketches[part],
				      &out->sketches[part]);
	}
}

/*
 * Of 130 million pairs of 16,110 pictures no two strangers differ in 31 bits or
 * less, which is 60; at 36 bits strangers begin.
 */
enum { PICTURE_BITS = 31, PICTURE_MOST = 99, PICTURE_LEAST = 60 };

static int picture_score(unsigned bits)
{
	const int lost = ((PICTURE_MOST - PICTURE_LEAST) * (int)bits +
			  PICTURE_BITS / 2) /
			 PICTURE_BITS;

	return lost < PICTURE_MOST ? PICTURE_MOST - lost : 0;
}

unsigned judge_picture_distance(const struct weighed_subject *a,
				const struct pdq *b, unsigned most,
				enum pdq_turn *turn_out)
{
	unsigned nearest = PDQ_BITS + 1, turn, bits;

	*turn_out = PDQ_AS_IS;
	for (turn = 0; turn < PDQ_TURNS; turn++) {
		bits = pdq_distance(&a->turned[turn], b, most);
		if (bits < nearest) {
			nearest = bits;
			*turn_out = (enum pdq_turn)turn;
		}
	}
	return nearest;
}

int judge_picture_bits(const struct judge_rules *rules)
{
	int bits = -1;

	while (bits < PDQ_BITS &&
	       picture_score((unsigned)(bits + 1)) >= rules->threshold)
		bits++;
	return bits;
}

struct verdict verdict_of_picture(unsigned bits, enum pdq_turn turn,
				  const struct judge_rules *rules)
{
	const int score = picture_score(bits);

	return (struct verdict){ .score = score,
				 .distinctive = score,
				 .reason = score < rules->threshold ?
						   VERDICT_BELOW :
						   VERDICT_LISTED,
				 .by = SUBJECT_PICTURE,
				 .bits = bits,
				 .turn = turn };
}

void judge_subjects(const struct weigher *w, const struct weighed_subject *a,
		    const struct subject *b, const struct judge_rules *rules,
		    struct verdict *out)
{
	const bool texts = !rules->by_bytes &&
			   a->sketches[SUBJECT_TEXT].sketch &&
			   b->sketches[SUBJECT_TEXT];
	const int parts = rules->by_bytes ? SUBJECT_TEXT : SUBJECT_PARTS;
	struct verdict verdict;
	enum pdq_turn turn;
	bool is_first = true;
	unsigned bits;
	int i, k;

	*out = (struct verdict){ .reason = VERDICT_BELOW };
	for (i = texts ? SUBJECT_TEXT : 0; i < parts; i++) {
		for (k = texts ? SUBJECT_TEXT : 0; k < parts; k++) {
			if (!a->sketches[i].sketch || !b->sketches[k])
				continue;
			judge_pair(w, &a->sketches[i], b->sketches[k], rules,
				   &verdict);
			verdict.by = i == SUBJECT_TEXT || k == SUBJECT_TEXT ?
					     SUBJECT_TEXT :
					     SUBJECT_BYTES;
			if (is_first || is_better(&verdict, out))
				*out = verdict;
			is_first = false;
		}
	}
	if (!a->has_picture || !b->has_picture || !judge_has_pictures(rules))
		return;
	bits = judge_picture_distance(a, &b->picture, PDQ_BITS, &turn);
	verdict = verdict_of_picture(bits, turn, rules);
	if (is_first || is_better(&verdict, out))
		*out = verdict;
}

/* ---- two contents by their digests ---- */

int subject_of_digests(const struct digests *d,
		       struct sketch room[SUBJECT_PARTS], struct subject *out)
{
	struct subject subject = {
		.picture = d->picture.judging,
		.has_picture = d->picture.has & PICTURE_JUDGING,
	};
	int err = digests_sketch(d, &room[SUBJECT_BYTES]);

	if (!err)
		subject.sketches[SUBJECT_BYTES] = &room[SUBJECT_BYTES];
	if (err && err != -ENODATA)
		return err;
	err = digests_text_sketch(d, &room[SUBJECT_TEXT]);
	if (!err)
		subject.sketches[SUBJECT_TEXT] = &room[SUBJECT_TEXT];
	if (err && err != -ENODATA)
		return err;
	if (!subject.sketches[SUBJECT_BYTES] &&
	    !subject.sketches[SUBJECT_TEXT] && !subject.has_picture)
		return -ENODATA;
	*out = subject;
	return 0;
}

struct digest_pair {
	struct sketch a[SUBJECT_PARTS], b[SUBJECT_PARTS];
	struct weighed_subject weighed;
};

static int judge_sketches_of(const struct digests *a, const struct digests *b,
			     const struct judge_rules *rules,
			     struct digest_pair *room, struct verdict *out)
{
	const struct weigher w = { 0 };
	struct subject first, second;
	int err = subject_of_digests(a, room->a, &first);

	if (!err)
		err = subject_of_digests(b, room->b, &second);
	if (err)
		return err;
	weigh_subject(&w, &first, &room->weighed);
	judge_subjects(&w, &room->weighed, &second, rules, out);
	return 0;
}

int judge_digests(const struct digests *a, const struct digests *b,
		  const struct judge_rules *rules, struct verdict *out)
{
	struct digest_pair *room;
	int err;

	*out = (struct verdict){ .reason = VERDICT_BELOW };
	if (!a->size || !b->size)
		return 0;
	if (a->set & b->set & DIGEST_BIT(DIGEST_XXH128) &&
	    digests_are_of_one(a, b)) {
		*out = verdict_of_copies(a->size);
		return 0;
	}
	room = malloc(sizeof(*room));
	if (!room)
		return -ENOMEM;
	err = judge_sketches_of(a, b, rules, room, out);
	free(room);
	return err;
}
