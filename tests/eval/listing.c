/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/eval/listing.h"

#include <stdlib.h>

#include "tests/eval/eval.h"

/* As core/engine/near.c has them. */
#define CANDIDATES 512
#define SLACK 25
#define LIMIT 256

struct index *listing_index(const struct corpus *c)
{
	struct index *ix;
	size_t i;

	fail_errno("index", index_new(&ix));
	for (i = 0; i < c->count; i++)
		fail_errno("index", index_add(ix, (uint32_t)i + 1,
					      &c->files[i].digests));
	return ix;
}

static int by_score(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->score != y->score)
		return y->score - x->score;
	return x->other < y->other ? -1 : x->other > y->other;
}

static void score_candidates(const struct corpus *c, struct index *ix,
			     size_t file, struct entry *entries, size_t count)
{
	struct index_subject *subject;
	size_t i;
	int score;

	fail_errno("subject",
		   index_subject_new(ix, &c->files[file].digests, &subject));
	for (i = 0; i < count; i++) {
		fail_errno("score",
			   index_score(subject,
				       &c->files[entries[i].other].digests,
				       &score));
		entries[i].score = (uint8_t)score;
	}
	index_subject_free(subject);
}

static void list_file(struct listing *l, const struct corpus *c,
		      struct index *ix, size_t file)
{
	struct candidate candidates[CANDIDATES];
	struct index_query query = { .digests = &c->files[file].digests,
				     .self = (uint32_t)file + 1,
				     .first_content = 1,
				     .min_estimate = l->threshold - SLACK };
	struct entry *entries;
	size_t count, i;

	fail_errno("query",
		   index_query(ix, &query, candidates, CANDIDATES, &count));
	entries = allocate(count * sizeof(*entries));
	for (i = 0; i < count; i++)
		entries[i].other = candidates[i].content - 1;
	score_candidates(c, ix, file, entries, count);
	qsort(entries, count, sizeof(*entries), by_score);
	for (i = 0; i < count; i++) {
		entries[i].is_listed =
			i < LIMIT && entries[i].score >= l->threshold;
		entries[i].rank = (uint16_t)i;
	}
	l->files[file].entries = entries;
	l->files[file].count = count;
}

void listing_init(struct listing *l, const struct corpus *c, struct index *ix,
		  int threshold, bool held_out)
{
	size_t i;

	*l = (struct listing){ .threshold = threshold,
			       .count = c->count,
			       .share = 1 };
	l->files = allocate(c->count * sizeof(*l->files));
	for (i = 0; i < c->count; i++)
		if (corpus_is_held_out(c, i) == held_out)
			list_file(l, c, ix, i);
}

void listing_release(struct listing *l)
{
	size_t i;

	for (i = 0; i < l->count; i++)
		free(l->files[i].entries);
	free(l->files);
}

static size_t listed_count(const struct listing *l)
{
	size_t count = 0, i, j;

	for (i = 0; i < l->count; i++)
		for (j = 0; j < l->files[i].count; j++)
			count += l->files[i].entries[j].is_listed;
	return count;
}

void listing_sample(struct listing *l, size_t most)
{
	size_t count = listed_count(l);

	l->share = count > most ? (double)most / (double)count : 1;
}

/* The same for both ways, so that the truth of a pair serves both. */
bool listing_counts(const struct listing *l, size_t file, const struct entry *e)
{
	uint64_t low = file < e->other ? file : e->other;
	uint64_t high = file < e->other ? e->other : file;
	uint64_t state = low << 32 | high;

	return e->is_listed && (double)(draw(&state) >> 11) <
				       l->share * (double)(UINT64_C(1) << 53);
}

const struct entry *listing_find(const struct listing *l, size_t file,
				 size_t other)
{
	size_t i;

	for (i = 0; i < l->files[file].count; i++)
		if (l->files[file].entries[i].other == other)
			return &l->files[file].entries[i];
	return NULL;
}
