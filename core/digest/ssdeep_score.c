/* SPDX-License-Identifier: Apache-2.0 */
#include "core/digest/ssdeep.h"

#include <stdbool.h>
#include <string.h>

#define MAX_RUN 3 /* equal characters in a row; more say nothing */
#define MIN_BLOCK_SIZE 3

/* From this block size on, a common substring caps no score. */
#define CAP_BELOW (MIN_BLOCK_SIZE * (100 / SSDEEP_WINDOW + 1))

/* The part without the characters that make a run longer than MAX_RUN. */
static void cut_runs(const struct ssdeep_part *part, struct ssdeep_part *out)
{
	size_t i, run = 0;

	out->count = 0;
	for (i = 0; i < part->count; i++) {
		run = i > 0 && part->chars[i] == part->chars[i - 1] ? run + 1 :
								      1;
		if (run <= MAX_RUN)
			out->chars[out->count++] = part->chars[i];
	}
}

/* Two parts that are compared: bit i of places[c] is set where character i of
 * the first is c.  A part has as many characters as a word has bits. */
struct part_pair {
	const struct ssdeep_part *first;
	const struct ssdeep_part *second;
	uint64_t places[SSDEEP_MAX_CHARS];
};

static void init_pair(struct part_pair *p, const struct ssdeep_part *a,
		      const struct ssdeep_part *b)
{
	size_t i;

	p->first = a;
	p->second = b;
	memset(p->places, 0, sizeof(p->places));
	for (i = 0; i < a->count; i++)
		p->places[a->chars[i]] |= UINT64_C(1) << i;
}

/*
 * Whether SSDEEP_WINDOW characters in a row are in both.  Bit i of runN[j]:
 * the N characters of the first that end at i are those of the second that end
 * at j.
 */
static bool has_common_substring(const struct part_pair *p)
{
	uint64_t run1[SSDEEP_MAX_CHARS + 6] = { 0 };
	uint64_t run2[SSDEEP_MAX_CHARS + 6] = { 0 };
	uint64_t run4[SSDEEP_MAX_CHARS + 6] = { 0 };
	size_t i, j;

	for (i = 0; i < p->second->count; i++) {
		j = i + 6; /* so that what comes before is zeros */
		run1[j] = p->places[p->second->chars[i]];
		run2[j] = run1[j] & run1[j - 1] << 1;
		run4[j] = run2[j] & run2[j - 2] << 2;
		if (run4[j] & run4[j - 3] << 3)
			return true;
	}
	return false;
}

/*
 * The longest common subsequence, all rows of a column in one word (Hyyroe,
 * 2004): a bit of column is 0 where the length rises by one.
 */
static unsigned common_subsequence(const struct part_pair *p)
{
	uint64_t column = UINT64_MAX, equal;
	size_t j;

	for (j = 0; j < p->second->count; j++) {
		equal = column & p->places[p->second->chars[j]];
		column = (column + equal) | (column - equal);
	}
	return (unsigned)__builtin_popcountll(~column);
}

/*
 * The score of two parts without long runs.  An insertion or a removal costs 1
 * and a replacement 2, no less than one of each: so the edit distance is what
 * the longest common subsequence leaves over.
 */
static unsigned score_parts(const struct ssdeep_part *a,
			    const struct ssdeep_part *b, uint64_t block_size)
{
	unsigned lengths = (unsigned)(a->count + b->count);
	unsigned distance, score, cap;
	struct part_pair p;

	if (a->count < SSDEEP_WINDOW || b->count < SSDEEP_WINDOW)
		return 0;
	init_pair(&p, a, b);
	if (!has_common_substring(&p))
		return 0;
	distance = lengths - 2 * common_subsequence(&p);
	/* Rounded down twice, as the original does. */
	score = 100 - 100 * (distance * SSDEEP_MAX_CHARS / lengths) /
			      SSDEEP_MAX_CHARS;
	if (block_size >= CAP_BELOW)
		return score;
	/* A match of a few bytes is no great match. */
	cap = (unsigned)(block_size / MIN_BLOCK_SIZE) *
	      (unsigned)(a->count < b->count ? a->count : b->count);
	return score < cap ? score : cap;
}

static bool equal_parts(const struct ssdeep_part *a,
			const struct ssdeep_part *b)
{
	return a->count == b->count &&
	       !memcmp(a->chars, b->chars, a->count * sizeof(*a->chars));
}

static void cut_signature(const struct ssdeep_signature *sig,
			  struct ssdeep_signature *out)
{
	out->block_size = sig->block_size;
	cut_runs(&sig->leading, &out->leading);
	cut_runs(&sig->secondary, &out->secondary);
}

static unsigned score_same_size(const struct ssdeep_signature *a,
				const struct ssdeep_signature *b)
{
	unsigned leading, secondary = 0;

	if (equal_parts(&a->leading, &b->leading) &&
	    equal_parts(&a->secondary, &b->secondary))
		return 100;
	leading = score_parts(&a->leading, &b->leading, a->block_size);
	if (a->block_size <= UINT64_MAX / 2)
		secondary = score_parts(&a->secondary, &b->secondary,
					2 * a->block_size);
	return leading > secondary ? leading : secondary;
}

static bool is_double(uint64_t large, uint64_t small)
{
	return large % 2 == 0 && large / 2 == small;
}

int ssdeep_score(const struct ssdeep_signature *a,
		 const struct ssdeep_signature *b)
{
	struct ssdeep_signature x, y;
	unsigned score = 0;

	if (a->block_size != b->block_size &&
	    !is_double(a->block_size, b->block_size) &&
	    !is_double(b->block_size, a->block_size))
		return 0;
	cut_signature(a, &x);
	cut_signature(b, &y);
	if (x.block_size == y.block_size)
		score = score_same_size(&x, &y);
	else if (is_double(x.block_size, y.block_size))
		score = score_parts(&x.leading, &y.secondary, x.block_size);
	else
		score = score_parts(&x.secondary, &y.leading, y.block_size);
	return (int)score;
}
