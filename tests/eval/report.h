/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_EVAL_REPORT_H
#define TESTS_EVAL_REPORT_H

#include "tests/eval/eval.h"
#include "tests/eval/floors.h"
#include "tests/eval/pairs.h"

/* What the tables are made of. */
#define LISTINGS 2

struct report {
	const struct corpus *corpus;
	struct index *ix;
	struct listing listings[LISTINGS]; /* the default threshold first */
	struct listing within, contains;   /* at the same one */
	struct pairs pairs;
	struct figures figures;
	bool held_out; /* which half */
};

/* The bands of the Jaccard coefficient, the highest first. */
#define BANDS 4
extern const double bands[BANDS + 1]; /* band i: bands[i + 1] <= J < bands[i] */
extern const char *const band_names[BANDS];
/* BANDS below the last. */
size_t band_of(const struct truth *t);

/* A table's columns: the size classes and all of them. */
#define COLUMNS (SIZE_CLASSES + 1)

struct mean {
	double sum;
	size_t count;
};

/* One value to a class and to all. */
void mean_add(struct mean row[COLUMNS], size_t class, double value);
double mean_of(const struct mean *m);
void print_head(const char *first);
void print_means(const char *band, const char *what, const struct mean *row,
		 double factor);
void print_counts(const char *band, const char *what, const struct mean *row);

/* Points between the score and the truth. */
double error_of(const struct pair *p);

size_t pair_class(const struct corpus *c, const struct pair *p);

/* A generated content in which most windows occur again and again.  Recall by
 * Jaccard coefficients of distinct windows says little of such contents: what
 * they share is mostly windows that are few. */
bool report_is_repetitive(const struct corpus *c, size_t file);

/* ---- tables ---- */

void report_corpus(const struct report *r);
void report_recall(struct report *r);
void report_entries(struct report *r);
void report_ranks(struct report *r);
void report_errors(struct report *r);
void report_shares(struct report *r);
void report_versions(struct report *r);
void report_reformatted(struct report *r);
void report_parts(struct report *r);
void report_symmetry(struct report *r);

#endif
