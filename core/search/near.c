/* SPDX-License-Identifier: Apache-2.0 */
#include "core/search/search_impl.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/*
 * Finds the near-duplicates of a file, or of digests: first the contents that
 * are alike (near_contents.c), then the files with these contents (hits.c).
 */

/* ---- the listing of one file ---- */

struct listing_state {
	enum { LIST_BEGIN, LIST_IDENTICAL, LIST_SEARCH, LIST_ALIKE } phase;
	const struct digests *digests; /* of the query, or of the file */
	struct index_match *matches;   /* owned */
	size_t match_count, next;
	size_t alike;                 /* hits of matches[0 .. next - 1] */
	struct content_copies copies; /* of the present content */
	bool cut;
};

static int compare_hits(const void *a, const void *b)
{
	const struct search_hit *x = a, *y = b;

	if (x->verdict.score != y->verdict.score)
		return y->verdict.score - x->verdict.score;
	return strcmp(x->path, y->path);
}

/* The digests to search for: those given, or those of the file. */
static int file_begin(struct search_query *q)
{
	const struct search_context *context = q->context;
	struct listing_state *state = calloc(1, sizeof(*state));

	if (!state)
		return -ENOMEM;
	q->state = state;
	state->digests = q->digests ? q->digests : &q->hits.file.digests;
	if (q->digests)
		return 0;
	if (!caller_can_read(&q->caller, q->fd))
		return -EACCES;
	if (context->digests_hold(context->ctx, q->fd, &q->hits.file))
		return 0;
	file_digests_release(&q->hits.file);
	return context->get_digests(context->ctx, q->fd, near_texts(q),
				    &q->hits.file);
}

/* Sets q->self, except for a query by digests. */
static int find_self(struct search_query *q)
{
	struct stat st;

	if (q->digests)
		return 0;
	if (fstat(q->fd, &st))
		return -errno;
	source_get_key(q->context->source, q->fd, &st, &q->self);
	return 0;
}

/*
 * Sets q->self_content, so that its sketches are read from the catalog.  If a
 * commit failed, or the file has just changed, the catalog has no such content.
 * Then the digests are looked up again with all text forms, which include the
 * sketches.
 */
static int find_content(struct search_query *q, struct listing_state *state)
{
	const struct search_context *context = q->context;
	int err =
		catalog_content_find(q->txn, state->digests, &q->self_content);

	if (err != -ENOENT || q->digests)
		return err == -ENOENT ? 0 : err;
	file_digests_release(&q->hits.file);
	return context->get_digests(context->ctx, q->fd, DIGEST_ALL,
				    &q->hits.file);
}

/* Adds the files of a matching content as hits. */
static int add_match(struct search_query *q, struct listing_state *state,
		     const struct index_match *match, size_t limit)
{
	size_t first = q->hits.count;
	int err = content_add_hits(q, match->content, match->verdict.score,
				   limit, &state->copies, &state->cut);

	for (; first < q->hits.count; first++)
		q->hits.hits[first].verdict = match->verdict;
	return err;
}

/* Whether exact copies are in the relation; of INDEX_WITHIN and INDEX_CONTAINS
 * they are not. */
static bool copies_are_related(const struct search_query *q, uint64_t size)
{
	if (q->relation == INDEX_SHARES)
		return size >= q->context->share_min;
	return index_is_alike(q->relation);
}

static int list_begin(struct search_query *q, struct listing_state *state)
{
	int err = 0;

	if (q->hits.file.state == DIGESTS_FRESH && state->digests->size) {
		err = find_self(q);
		if (!err)
			err = find_content(q, state);
	}
	if (!err)
		state->phase = LIST_IDENTICAL;
	return err;
}

static int list_identical(struct search_query *q, struct listing_state *state)
{
	struct index_match self = {
		.content = q->self_content,
		.verdict = { .score = 100,
			     .distinctive = 100,
			     .bytes = state->digests->size },
	};
	uint64_t size = state->digests->size;
	int err = 0;

	if (!err && self.content && copies_are_related(q, size) &&
	    !pair_is_ignored(q, state->digests, self.content))
		err = add_match(q, state, &self, SIZE_MAX);
	if (err)
		return err;
	state->copies = (struct content_copies){ 0 };
	state->phase = LIST_SEARCH;
	return 0;
}

static int search_matches(struct search_query *q, struct listing_state *state)
{
	struct content_query wanted = { .digests = state->digests,
					.relation = q->relation,
					.first_content = 1 };
	int err =
		near_contents(q, &wanted, &state->matches, &state->match_count);

	if (!err)
		state->phase = LIST_ALIKE;
	return err;
}

static int list_alike(struct search_query *q, struct listing_state *state)
{
	for (; state->next < state->match_count && !state->cut; state->next++) {
		const struct index_match *match = &state->matches[state->next];
		size_t limit = q->context->limit - state->alike;
		int err;

		if (pair_is_ignored(q, state->digests, match->content))
			continue;
		/* As many matches as were searched for: there may be more, so
		 * the listing counts as cut if the last one is visible. */
		if (state->next == matches_most(q) - 1)
			limit = 0;
		err = add_match(q, state, match, limit);
		if (err)
			return err;
		state->alike += state->copies.added;
		state->copies = (struct content_copies){ 0 };
	}
	return q->err;
}

static int file_turn(struct search_query *q)
{
	struct listing_state *state = q->state;
	int err = 0;

	if (state->phase == LIST_BEGIN)
		err = list_begin(q, state);
	if (err)
		return err;
	if (q->hits.file.state != DIGESTS_FRESH || !state->digests->size)
		return 0;
	if (state->phase == LIST_IDENTICAL)
		err = list_identical(q, state);
	if (!err && state->phase == LIST_SEARCH)
		err = search_matches(q, state);
	if (!err)
		err = list_alike(q, state);
	if (err)
		return err;
	q->hits.cut = state->cut;
	if (q->hits.count)
		qsort(q->hits.hits, q->hits.count, sizeof(*q->hits.hits),
		      compare_hits);
	return 0;
}

static void file_release(struct search_query *q)
{
	struct listing_state *state = q->state;

	file_digests_release(&q->hits.file);
	if (state)
		free(state->matches);
	free(state);
	q->state = NULL;
}

const struct query_kind query_file = {
	.tells_incomplete = true,
	.begin = file_begin,
	.turn = file_turn,
	.release = file_release,
};
