/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_INDEX_JUDGE_H
#define CORE_INDEX_JUDGE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/digest/digest.h"
#include "core/digest/sketch/sketch.h"
#include "core/index/subject.h"
#include "core/index/weight.h"

/*
 * Whether two subjects are alike.  This is the only place that decides: what a
 * listing, a group, kin compare, kin missing or kin-share says of two contents
 * is a verdict made here.
 *
 * Parts.  Two documents are as alike as their texts are, whatever their bytes
 * say: those of two small .docx of one program are mostly its style sheets.  Of
 * a document and another file both parts of the document are compared with the
 * bytes of the other, and the better verdict counts.
 *
 * Pictures.  Two pictures are as alike as their bytes say, or as the hashes of what
 * they show, in the better of the eight ways in which one may be turned.
 *
 * Score.  The percentage of the extent of one content that the other has, too
 * (sketch_shares()): of its windows, of which one that occurs n times counts
 * log2(1 + n).  Whose extent it is depends on the relation.  Windows are those of the folded content, so sizes
 * on disk play no part.
 *
 * Evidence.  The two sketches are compared at their joint level, and of a small
 * content few values may be left there.  If a text of 300 bytes has one value
 * below the level of a program of 200 KB, and the program has that value, then
 * "all" of the text is in the program: one of one.  So a content is listed as a
 * part of another only if the lower end of what its values say reaches the
 * threshold: the lower bound of Wilson's interval (Wilson, JASA 22, 1927) for m
 * shared values of n.  With 2 of 2 it is 49.8 %, with 3 of 3 59.8 %, with 4 of 4
 * 66 %, with 13 of 13 87 %.  What very many contents have counts for itself in
 * that.  At level 0 all windows are known, and nothing is left to chance.
 *
 * Boilerplate.  A passage that very many contents have (a licence, the frame of
 * a page) makes no two of them alike.  Values are weighed by how rare they are
 * (weight.h); the distinctive score is the score of what is rare
 * (judge_impl.h).
 *
 * Judging takes no lock and reads no storage.
 */

enum index_relation {
	INDEX_ALIKE,    /* score: share of the content of the larger extent */
	INDEX_WITHIN,   /* share of the first content, in a larger one */
	INDEX_CONTAINS, /* share of the second content, in the larger first */
	INDEX_ALL,      /* alike, also in mere boilerplate */
	INDEX_SHARES,   /* share of the first content, at least share_min */
};
enum { INDEX_RELATIONS = INDEX_SHARES + 1 };

/* "alike", "within", "contains", "all", "shares". */
extern const char *const index_relation_names[INDEX_RELATIONS];

/* Whether the score is the share of the larger content. */
static inline bool index_is_alike(enum index_relation relation)
{
	return relation == INDEX_ALIKE || relation == INDEX_ALL;
}

/* What is asked of a pair. */
struct judge_rules {
	enum index_relation relation;
	int threshold;      /* least score; INDEX_SHARES: does not count */
	uint64_t share_min; /* of INDEX_SHARES: in bytes */
	bool by_bytes;      /* texts do not speak */
};

/* Why a pair is listed, or why it is not. */
enum verdict_reason {
	VERDICT_LISTED,
	VERDICT_BELOW,       /* the score is below the threshold */
	VERDICT_UNCERTAIN,   /* too few values tell that it is not */
	VERDICT_BOILERPLATE, /* what is shared very many contents have */
	VERDICT_SHORT,       /* fewer bytes are shared than share_min */
};
enum { VERDICT_REASONS = VERDICT_SHORT + 1 };

/* "listed", "below", "uncertain", "boilerplate", "short". */
extern const char *const verdict_reason_names[VERDICT_REASONS];

struct verdict {
	/* 0..99; 100 means identical, which sketches cannot tell. */
	int score;
	/* The same of what is not boilerplate.  It equals the score where that
	 * is below the threshold, or so high that it does not matter. */
	int distinctive;
	/* In common, of the folded content; INDEX_SHARES: in passages, of that
	 * content of which more was folded away. */
	uint64_t bytes;
	enum verdict_reason reason;
	enum subject_part by; /* the part that spoke */
	/* Of pictures: bits of 256 that differ, when one is turned so. */
	unsigned bits;
	enum pdq_turn turn;
};

/* Of two files with one content of that size. */
static inline struct verdict verdict_of_copies(uint64_t size)
{
	return (struct verdict){ .score = 100,
				 .distinctive = 100,
				 .bytes = size };
}

/* A subject that is compared with many others. */
struct weighed_subject {
	struct weighed_sketch sketches[SUBJECT_PARTS]; /* .sketch NULL: none */
	struct pdq turned[PDQ_TURNS];                  /* of the picture */
	bool has_picture;
};

void weigh_subject(const struct weigher *w, const struct subject *subject,
		   struct weighed_subject *out);

/*
 * a is compared with many others; b is one of them.  Contents without windows
 * have nothing in common with any.  A pair that is not in the relation (a larger
 * content is not within a smaller one) has the score 0.  The verdict of
 * INDEX_ALIKE and INDEX_ALL is the same when a and b change places.
 */
void judge_subjects(const struct weigher *w, const struct weighed_subject *a,
		    const struct subject *b, const struct judge_rules *rules,
		    struct verdict *out);

/* The same by two pictures alone, of which so many bits differ. */
struct verdict verdict_of_picture(unsigned bits, enum pdq_turn turn,
				  const struct judge_rules *rules);

/* How many bits of what it lists differ at most; negative: it lists nothing. */
int judge_picture_bits(const struct judge_rules *rules);

/* Bits that differ in the nearest of the eight ways; or more than most. */
unsigned judge_picture_distance(const struct weighed_subject *a,
				const struct pdq *b, unsigned most,
				enum pdq_turn *turn_out);

/* Whether that may list anything. */
static inline bool judge_has_pictures(const struct judge_rules *rules)
{
	return index_is_alike(rules->relation) && !rules->by_bytes;
}

/* The same by the digests of two contents, without weights: nothing counts as
 * boilerplate.  Equal contents have the score 100.  -ENODATA: a content that is
 * not empty has no sketch, or size and XXH128 are not known.  -ENOMEM. */
int judge_digests(const struct digests *a, const struct digests *b,
		  const struct judge_rules *rules, struct verdict *out);

/* Reads the sketches of digests into room; out borrows them.  -ENODATA: there
 * are none; -EINVAL. */
int subject_of_digests(const struct digests *d,
		       struct sketch room[SUBJECT_PARTS], struct subject *out);

/* The shortest passage that the sketch of a content tells on average, in bytes: a
 * coarser sketch on the other side tells less. */
uint64_t judge_least_passage(const struct sketch *sketch);

/* Whether a listing by these rules has a pair with that verdict. */
static inline bool judge_lists(const struct judge_rules *rules,
			       const struct verdict *v)
{
	return v->reason == VERDICT_LISTED ||
	       (rules->relation == INDEX_ALL &&
		v->reason == VERDICT_BOILERPLATE);
}

/* ---- bases for a delta ---- */

/* A base with a lower score is none: the delta would be as large as the file. */
#define BASE_LEAST 5

/* Of a file that may be the base for another one. */
struct base_rank {
	bool identical;
	uint64_t shared;   /* what both have in common, by one measure */
	bool at_path;      /* its path is that of the other file */
	uint64_t distance; /* of the sizes */
};

static inline uint64_t size_distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

static inline bool base_is_better(const struct base_rank *a,
				  const struct base_rank *b)
{
	if (a->identical != b->identical)
		return a->identical;
	if (a->shared != b->shared)
		return a->shared > b->shared;
	if (a->at_path != b->at_path)
		return a->at_path;
	return a->distance < b->distance;
}

/* Of m shared values among n: the lower bound of the share, 0..1. */
double judge_lower_bound(size_t m, size_t n);

#endif
