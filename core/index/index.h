/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_INDEX_INDEX_H
#define CORE_INDEX_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/digest/digest.h"
#include "core/digest/sif.h"

/*
 * Which contents resemble which, in memory.
 *
 * Flat columns, one row per distinct content: content id, size, SimHash, RDC
 * traits (40 bytes a row), which a query streams over; postings of values of
 * the sketches, in which a query looks up its own; and how frequent these
 * values are.  The sketches themselves stay where they are, and are asked for
 * when two contents are compared.  Thread-safe: many queries or one change at
 * a time.
 *
 * The index knows contents by their id only, nothing of files or storage.
 */
struct index;

int index_new(struct index **out);
void index_free(struct index *ix);

/* Adds a content; ids come in ascending order (-EINVAL else).  An empty
 * content (size 0) must not be added: it resembles nothing.  sketch may be
 * NULL. */
int index_add(struct index *ix, uint32_t content, const struct digests *d,
	      const struct sif_sketch *sketch);

/* The sketch of a content that was added without it. */
int index_learn(struct index *ix, uint32_t content,
		const struct sif_sketch *sketch);

/* Around very many additions to an empty index (-EINVAL else): faster.  Until
 * the end no sketch is found.  -ENOMEM. */
int index_load_begin(struct index *ix);
int index_load_end(struct index *ix);

/* 0 also when it is not there.  Rows of removed contents are reclaimed by
 * themselves. */
int index_remove(struct index *ix, uint32_t content);

/* One more than the greatest id ever added; 1 at first. */
uint32_t index_end(const struct index *ix);

size_t index_count(const struct index *ix);
size_t index_bytes(const struct index *ix);

/* ---- candidates ---- */

enum index_relation {
	INDEX_ALIKE,    /* of the larger one, how much the other has */
	INDEX_WITHIN,   /* of the asked one, how much a larger one has */
	INDEX_CONTAINS, /* of a smaller one, how much the asked one has */
};

/*
 * Who asks, when there are contents that the caller must not learn of.  What
 * sees() denies has no influence on any answer: neither as a candidate nor as
 * one more content that makes a value common.  sees() is called without locks,
 * at most once for a content and value, and should remember its answers.  For
 * such a caller a value that more than INDEX_SEEN contents have counts as one
 * that INDEX_SEEN and one more have.
 */
#define INDEX_SEEN 1024
#define INDEX_WEIGHTS 4096

struct index_viewer {
	bool (*sees)(void *arg, uint32_t content);
	void *arg;
	/* What values count, kept by the index; zeroed at first. */
	struct index_weight {
		uint32_t key, weight;
	} weights[INDEX_WEIGHTS];
};

/* What is to resemble what. */
struct index_query {
	const struct digests *digests;   /* size, SimHash, traits */
	const struct sif_sketch *sketch; /* NULL: it has none */
	enum index_relation relation;    /* larger and smaller by the sizes */
	uint32_t self;                   /* the content of these, 0: none */
	uint32_t first_content;          /* least id looked at; 1: all */
	int least;                       /* score, or merit */
	bool plain;                      /* common values count as others */
	bool any;                        /* one match is enough: any of them */
	struct index_viewer *viewer;     /* NULL: sees everything */
};

/* What makes a content a candidate. */
enum index_source {
	INDEX_BY_SKETCH,   /* values in common: how many, and how rare */
	INDEX_BY_SHARE,    /* the same, and so many that q->least is likely */
	INDEX_BY_ESTIMATE, /* score_estimate() of at least q->least */
	INDEX_BY_SIMHASH,  /* digest_compare() of SimHashes, the same */
	INDEX_BY_TRAITS,   /* of RDC traits */
};

struct candidate {
	uint64_t size;
	uint32_t content;
	uint16_t rank; /* greater is better; by columns: the score */
};

/* At most capacity of them, but self, best first.  By columns these are the
 * best of all; by sketches values that very many contents have may be passed
 * over.  -ENOMEM. */
int index_candidates(struct index *ix, const struct index_query *q,
		     enum index_source source, struct candidate *out,
		     size_t capacity, size_t *count_out);

/* ---- scores ---- */

/*
 * The score says how much is shared.  The merit is the same less what they
 * share only with very many others (frequency.h), and decides whether it is a
 * match: boilerplate must not make contents alike.
 */
struct index_match {
	uint32_t content;
	int score, merit; /* 0..99 */
};

/* For qsort(): best score first, of equal ones the best merit. */
int index_match_order(const void *a, const void *b);

/* Where the sketches are.  -ENOENT: none, or not any more. */
struct index_store {
	int (*sketch)(void *arg, uint32_t content, struct sif_sketch *out);
	void *arg;
};

#define INDEX_MATCHES 512

/*
 * The contents with a merit of at least q->least, best score first, at most
 * INDEX_MATCHES.  A content without a sketch, or whose sketch is empty, is
 * compared by estimates, and has nothing within it.  -ENOMEM, or what the
 * store says.
 */
int index_search(struct index *ix, const struct index_query *q,
		 const struct index_store *store, struct index_match *out,
		 size_t *count_out);

/* Of two contents, but for their ids.  viewer may be NULL. */
int index_score(struct index *ix, struct index_viewer *viewer,
		const struct sif_sketch *a, const struct sif_sketch *b,
		enum index_relation relation, struct index_match *out);

#endif
