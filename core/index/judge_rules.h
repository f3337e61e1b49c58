/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_INDEX_JUDGE_RULES_H
#define CORE_INDEX_JUDGE_RULES_H

/*
 * All numbers that decide whether two contents are alike, with the figure of
 * the evaluation (make eval) that fixes each.  Private to core/index and its
 * tests.
 */

/* ---- evidence ---- */

/* Standard deviations of the lower bound of a share (one-sided 92 %), the
 * smallest number with which 3 of 3 values are no evidence for 60 %.  Of the parts
 * that are listed in wholes more than 100 times as large 1.2 % are wrong, with
 * 1.28 2.4 %; parts of 4 KiB and more are found in 99.6 % up to 100 times as
 * large, with 1.28 in 99.7 %. */
#define JUDGE_DEVIATIONS 1.42

/* ---- boilerplate ---- */

enum {
	/* From this score on nothing is boilerplate: the contents are a form
	 * that is filled in.  With 90, 270 of 899 reports made from one
	 * template were hidden. */
	JUDGE_SURE = 85,
	/* The distinctive score of two contents that are alike in more than
	 * boilerplate.  Strangers below one licence reach 12. */
	JUDGE_DISTINCTIVE = 13,
	/* ... if their score is JUDGE_TEMPLATE or more: boilerplate is seldom
	 * more of a content, so they are of a large family, whose values all
	 * members have. */
	JUDGE_TEMPLATE = 80,
	JUDGE_OF_FAMILY = 10,
	/* Two that share little, but as much of the distinctive part as half of
	 * what they share of the whole, are alike, too. */
	JUDGE_OF_SCORE = 2,
};

/* A value that so many contents have counts fully: there are as many versions
 * of one file.  With 16, one in seven pairs was hidden of versions that share 60
 * to 80 % (40 histories of source files, 20 to 114 versions each); with 104 one
 * in 400 of those that share 40 to 60 %, with 128 none.  Above, the weight falls
 * with the 16th power: with 128 contents it is 4 %, so that of 130 files with one
 * header, which is 55 to 65 % of each, none are listed for each other (with 128
 * and the third power 115 were, and of 300 files still 119). */
#define WEIGHT_FULL 104
#define WEIGHT_POWER 16 /* a power of 2 */

/* A value of at most so many contents is certainly no boilerplate. */
#define WEIGHT_FEW 40

/* A value of more than so many certainly is: its weight is a tenth.  With twice as
 * many, 76 of 200 files with one header were listed. */
#define WEIGHT_COMMON 120

enum {
	/* Fewer common values than these do not tell where they end. */
	COMMON_LEAST = 8,
	/* One in so many shared values may be in neither few nor very many
	 * contents by chance. */
	COMMON_STRAY = 8,
};

/* Two numbers of values that should be equal differ by so many standard
 * deviations if not by chance. */
#define COMMON_DEVIATIONS 2.2

/* Beyond a bound, common values are in so much of the contents that smaller ones
 * are in, or less, if larger sketches ended there. */
#define COMMON_FALLING 0.7

/* So many values with half the share of all are added to those that are known
 * of the distinctive part, so that few values do not say 0 or 100. */
#define DISTINCTIVE_DRAWN 1.0

/* ---- passages ---- */

enum {
	/* A shared value counts if so many others are next to it in both. */
	PASSAGE_NEAR = 4,
	/* Fewer values tell too little. */
	PASSAGE_VALUES = 6,
};

/* On average over what is shared, so much of the values of a place: two tables
 * of one kind share less. */
#define PASSAGE_DENSE 0.5

#endif
