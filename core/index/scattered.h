/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_INDEX_SCATTERED_H
#define CORE_INDEX_SCATTERED_H

#include <stdbool.h>
#include <stdint.h>

#include "core/digest/short_sketch.h"
#include "core/digest/sif/sif.h"

/*
 * Scattered edits.  A changed byte destroys 16 windows of 16 bytes, so that
 * with 5 % of the bytes changed all over a file only 44 % of the windows are
 * left.  Windows of two lengths tell that from new content.
 *
 * If edits of a mean length L begin at random places, r for each byte, the
 * share of windows of w bytes that is left is exp(-r * (L + w - 1)) = f * p^w.
 * The share of the bytes that is left is f * p, and f is 1 for single bytes.
 * From the shares of two lengths follow f and p:
 *
 *	p^8 = s16 / s8,  f = s8^2 / s16,  log(s8) / log(s16) = (L + 7) / (L + 15)
 *
 * So the shares of 16 and of 8 are far apart (s8 = sqrt(s16)) if single bytes
 * were changed, and next to each other if whole lines were.  Edits count as
 * scattered only where both shares are more likely to be left by single bytes
 * than by edits of SCATTERED_LENGTH bytes.
 *
 * Single bytes that are changed all over a content destroy as many windows in
 * one part of it as in another.  A passage that is new destroys all of its
 * part.  So edits count as scattered only where the shared values of the
 * sketches are a like part of all values at all places, as far as chance
 * allows.  Contents of less than two units have no places (sif.h), and
 * unrelated contents of one size that share the phrases of a licence look like
 * scattered edits there: so much must be left.
 *
 * Unrelated contents made from one template look like that, too: they share a
 * passage and many phrases.  But they seldom have the same size, and contents
 * of which bytes were replaced always have.  So sizes must be equal; then it
 * takes little more evidence.
 *
 * Where places are too coarse or not known, runs of pieces tell the same
 * (piece_runs.h): their signatures are read only if the score would be raised.
 *
 * The shares are of windows in their places, and sketches tell those of
 * distinct windows.  A window with a changed byte is nearly always new and
 * occurs once, so of N windows of the edited content D - C are lost, where D
 * are distinct and C of these are in the other content.  Of the distinct
 * windows of the other content at least as large a share q is left, because
 * some occur more than once, and at most 1 - (1 - q)^m if they occur m times on
 * average.  Where it is another one, passages are new, or were replaced by
 * repetitive ones.
 */
#define SCATTERED_LENGTH 24

struct index_match;
struct index_store;

struct scattered_content {
	const struct sif_sketch *sketch;
	const struct short_sketch *short_sketch;
	uint64_t size;
	uint32_t content; /* in the store; 0: none */
	const char *sise; /* borrowed; NULL: in the store, or not known */
};

/* The shares of the windows in their places, of the content that has more
 * distinct ones, and their standard deviations; edits: about so many. */
struct scattered {
	double share16, share8;
	double error16, error8;
	double distinct16; /* the share of the distinct windows of 16 bytes */
	double edits;
};

/* Whether edits may be scattered that leave that share of the distinct windows
 * of 16 bytes: if not, short sketches need not be read. */
bool scattered_is_possible(double share16);

/* false: edits are no scattered ones, or there is nothing to tell from. */
bool scattered_measure(const struct scattered_content *a,
		       const struct scattered_content *b,
		       struct scattered *out);

/* The share of bytes that are the same, if the edits are scattered; else a
 * negative number.  left_out: that of the bytes outside of new passages (p
 * above). */
double scattered_share(const struct scattered *s, double *left_out);

/* Raises a score by the share of windows, 0..99, to that of the bytes if the
 * edits are scattered.  store: NULL if there is none.  -ENOMEM, or an error of
 * the store. */
int scattered_score(const struct index_store *store,
		    const struct scattered_content *a,
		    const struct scattered_content *b, int *score);

/*
 * Raises the score of a match with a content of the store, which own is
 * compared with: the short sketch of that content is read into short_other, to
 * which other refers, only if it may raise the score.
 *
 * Bytes that are changed all over a content are changed in what very many have
 * and in what is distinctive alike.  So the score stays where the distinctive
 * one is less than half of it, in both contents.  In the edited content it is
 * low in any case: what was changed in boilerplate is new, and distinctive.
 * With a raised score, which what is distinctive has as well, a match is no
 * boilerplate.
 */
int index_see_scattered(const struct index_store *store,
			const struct scattered_content *own,
			const struct scattered_content *other,
			struct short_sketch *short_other,
			struct index_match *match);

/* The least share of windows of 16 bytes that may be scored with least, 0..100,
 * of two contents of these sizes. */
double scattered_least(int least, uint64_t size_a, uint64_t size_b);

#endif
