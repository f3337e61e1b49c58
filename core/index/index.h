/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_INDEX_INDEX_H
#define CORE_INDEX_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/digest/digest.h"
#include "core/digest/sketch/sketch.h"
#include "core/index/judge.h"

/*
 * Which contents resemble which, in memory.
 *
 * Objects
 *
 *   content   the bytes of one or more identical files, known here by an id
 *             only (ids ascend from 1).  The index knows no files, no paths,
 *             no permissions and no storage.
 *   subject   a content with all that speaks for it (subject.h): its bytes, and
 *             its text if it has one.  The sketch of a text has an id of its
 *             own.
 *   sketch    a sample of the fingerprints ("values") of a content's windows
 *             (core/digest/sketch/sketch.h).  Two sketches tell which share
 *             of a content the other one contains.  Sketches are not kept here:
 *             a search reads them from a struct index_store.
 *   rows      one of 24 bytes for each sketch: its id, that of the subject's
 *             other sketch, what extent there is and how far the sketch
 *             reaches (index_impl.h).
 *   postings  an inverted index: for each value, the ids of the sketches that
 *             have it (postings.h).
 *   weights   how much a value counts.  A value that very many contents have
 *             is boilerplate and counts little (weight.h).
 *
 * The life of a query
 *
 *  1. index_candidates() collects contents that may be alike: those of which a
 *     sketch shares values with one of the query's (candidates.c).  The best few
 *     hundred are kept.
 *  2. index_search() reads the sketches of each candidate and has the two
 *     subjects judged (judge.h).  The result is a score, and whether the two are
 *     alike in more than boilerplate (judge_impl.h).
 *  3. Those that are, with a score that is high enough, are returned, best score
 *     first.
 *
 * Groups of all contents are made by grouping.h, which needs no index, only the
 * contents and their sketches.
 *
 * Threads and locks
 *
 * Every function may be called by any thread.  Many queries run side by side;
 * changes (add, remove, load) are made one at a time.  change_lock orders the
 * changes, rows_lock is a read-write lock that protects all that queries
 * read; index_impl.h says more.  A store and index_visibility.is_visible() are
 * called without a lock.
 *
 * What must never happen
 *
 *   - A content that is not visible to the caller of a query changes an answer
 *     for that caller: as a match, in the rank of a match, by its part in a
 *     weight, or by the room that it takes among the candidates.
 *   - A query waits for the disk or for a callback while it holds a lock.
 *   - A change blocks queries for longer than it takes to publish it.
 *   - A score of 100: it means identical, and the index cannot know that.
 */
struct index;

int index_new(struct index **out);
void index_free(struct index *ix);

/* Adds the sketch of a content, which has its id.  A content without one is not
 * added: it resembles nothing.  -EINVAL: the id is not above all earlier ones.
 * -ENOMEM. */
int index_add(struct index *ix, uint32_t content, const struct sketch *sketch);

/* Adds the sketch of a content's text. */
int index_add_text(struct index *ix, uint32_t id, uint32_t content,
		   const struct sketch *sketch);

/* Adds the hash of a content that is a picture. */
int index_add_picture(struct index *ix, uint32_t id, uint32_t content,
		      const struct pdq *hash);

/* Around a large number of additions: several times as fast.  What was added is
 * not found by its sketch until index_load_end(), and nothing is removed
 * before.  -EINVAL: it has begun already; -ENOMEM, of which index_load_end()
 * says that some of it will never be found. */
int index_load_begin(struct index *ix);
int index_load_end(struct index *ix);

/* Removes a sketch or a picture, if it is there.  The index compacts itself when a quarter of
 * its rows has been removed. */
void index_remove(struct index *ix, uint32_t id);

/* One more than the greatest id that was ever added; 1 at first. */
uint32_t index_end(const struct index *ix);

/* How many changes queries may have seen: an answer that was found since it was
 * the same still holds. */
uint64_t index_change_count(const struct index *ix);

size_t index_bytes(const struct index *ix);

/* ---- queries ---- */

/* Bytes that INDEX_SHARES asks for: by default, and at least. */
#define INDEX_SHARE_MIN ((uint64_t)16 << 10)
#define INDEX_SHARE_LEAST ((uint64_t)2 << 10)

/*
 * Which sketches the caller of a query may learn of: those of contents, and
 * those of their texts, which may be hidden of a content that is not.  A sketch
 * that is_visible() denies has no influence on any answer, neither as a
 * candidate nor in the weight of a value.  is_visible() is called without a
 * lock, once for each pair of sketch and value, and should cache its answers.
 *
 * To bound the work, a value that has more than INDEX_VISIBLE_MAX visible
 * contents counts as one that has INDEX_VISIBLE_MAX + 1, and no more of them
 * are found, unless the query asks for more matches.
 */
#define INDEX_VISIBLE_MAX 1024
#define INDEX_COUNT_SLOTS 4096

struct index_visibility {
	/* sketch: its id; that of the content, or of its text. */
	bool (*is_visible)(void *arg, uint32_t content, uint32_t sketch);
	void *arg;
	/* A cache of the numbers of visible contents of values, kept by the
	 * index; zeroed by the caller at first. */
	struct index_count {
		uint32_t key, contents;
	} counts[INDEX_COUNT_SLOTS];
};

struct index_query {
	struct subject subject;
	struct judge_rules rules;
	uint32_t self; /* this content is never a match; 0: none */
	bool any;      /* stop after the first match */
	size_t most;   /* candidates and matches; 0: INDEX_MATCHES */
	struct index_visibility *visibility; /* NULL: all are visible */
};

struct index_candidate {
	uint32_t content;
	uint32_t text; /* id of the sketch of its text; 0: it has none */
	uint16_t rank; /* shared values, rare ones counting more */
	bool by_text;  /* that sketch shares them */
};

/*
 * Finds the contents of which a sketch shares most values with one of the
 * query's, best rank first, at most capacity for each of the query's: out has
 * room for SUBJECT_PARTS * capacity.  likely: without those that can hardly be a
 * match.  Only parts of the longest posting lists are read, so contents that
 * share nothing but values of very many contents may be missing.  -ENOMEM.
 */
int index_candidates(struct index *ix, const struct index_query *q, bool likely,
		     struct index_candidate *out, size_t capacity,
		     size_t *count_out);

struct index_match {
	uint32_t content;
	struct verdict verdict;
};

/* For qsort(): best score first, then best distinctive score, then most
 * bytes. */
int index_match_order(const void *a, const void *b);

/* Reads a sketch, or the hash of a picture; picture may be NULL.  -ENOENT: it is no
 * such id, or is gone; any other error ends the search. */
struct index_store {
	int (*sketch)(void *arg, uint32_t id, struct sketch *out);
	int (*picture)(void *arg, uint32_t id, struct pdq *out);
	void *arg;
};

/* Reads the sketches with these ids (0: there is none) into room; out borrows
 * them.  The second may be that of a picture. */
int index_fetch_subject(const struct index_store *store,
			const uint32_t ids[SUBJECT_PARTS],
			struct sketch room[SUBJECT_PARTS], struct subject *out);

#define INDEX_MATCHES 512

static inline size_t index_most(const struct index_query *q)
{
	return q->most ? q->most : INDEX_MATCHES;
}

/*
 * Finds the contents that are listed by q->rules, at most index_most(q), best
 * first.  A content without windows resembles none but its exact copies.
 * -ENOMEM, or an error of the store.
 */
int index_search(struct index *ix, const struct index_query *q,
		 const struct index_store *store, struct index_match *out,
		 size_t *count_out);

/* Judges two subjects as a search would, with the weights that the caller may
 * know of; visibility may be NULL.  -ENOMEM. */
int index_judge(struct index *ix, struct index_visibility *visibility,
		const struct subject *a, const struct subject *b,
		const struct judge_rules *rules, struct verdict *out);

#endif
