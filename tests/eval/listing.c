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
	l->entries[file] = entries;
	l->counts[file] = count;
}

void listing_init(struct listing *l, const struct corpus *c, struct index *ix,
		  int threshold, bool held_out)
{
	size_t i;

	*l = (struct listing){ .threshold = threshold, .count = c->count };
	l->entries = allocate(c->count * sizeof(*l->entries));
	l->counts = allocate(c->count * sizeof(*l->counts));
	for (i = 0; i < c->count; i++)
		if (corpus_is_held_out(c, i) == held_out)
			list_file(l, c, ix, i);
}

void listing_release(struct listing *l)
{
	size_t i;

	for (i = 0; i < l->count; i++)
		free(l->entries[i]);
	free(l->entries);
	free(l->counts);
}

const struct entry *listing_find(const struct listing *l, size_t file,
				 size_t other)
{
	size_t i;

	for (i = 0; i < l->counts[file]; i++)
		if (l->entries[file][i].other == other)
			return &l->entries[file][i];
	return NULL;
}
