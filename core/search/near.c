/* SPDX-License-Identifier: Apache-2.0 */
#include "core/search/search_impl.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/index/texts.h"

/*
 * What resembles a file: the index finds contents that score enough by the
 * measure of the mount, and they are turned into files (hits.c).
 */

/* ---- contents ---- */

/* The sketch that a digest has as its text, NULL when there is none. */
static int sketch_of(const struct digests *d, enum digest_id id,
		     struct sif_sketch **out)
{
	const char *text = d->text[id];
	int err;

	*out = NULL;
	if (!(d->set & DIGEST_BIT(id)) || !text)
		return 0;
	*out = malloc(sizeof(**out));
	if (!*out)
		return -ENOMEM;
	err = sif_parse(text, strlen(text), *out);
	if (err) {
		free(*out);
		*out = NULL;
	}
	return err;
}

static int fetch_sketch(void *arg, uint32_t content, struct sif_sketch *out)
{
	return catalog_sketch_get(arg, content, out);
}

static int fetch_text_sketch(void *arg, uint32_t content,
			     struct sif_sketch *out)
{
	return catalog_text_sketch_get(arg, content, out);
}

/* Whatever the measure: it is of bytes. */
static int match_texts(struct search_query *q, const struct index_query *query,
		       struct index_match *out, size_t *count_out)
{
	const struct index_store store = { .sketch = fetch_text_sketch,
					   .arg = q->txn };
	struct index_query of_text = *query;
	struct digests d;

	if (!q->context->texts || !query->sketch)
		return 0;
	d = texts_digests(query->sketch);
	of_text.digests = &d;
	of_text.short_sketch = NULL;
	return index_search(q->context->texts, &of_text, &store, out,
			    count_out);
}

static int fetch_short_sketch(void *arg, uint32_t content,
			      struct short_sketch *out)
{
	return catalog_short_sketch_get(arg, content, out);
}

/* By a digest that is kept as text.  What has none is not alike. */
static int score_texts(struct search_query *q,
		       const struct content_query *wanted, uint32_t content,
		       int *score_out)
{
	enum digest_id measure = q->context->measure;
	struct digests other;
	int err = catalog_content_get(q->txn, content, &other), score;

	if (err)
		return err;
	err = digest_compare(measure, wanted->digests, &other, &score);
	digests_release(&other);
	if (err)
		return err == -ENODATA ? -ENOENT : err;
	*score_out = score < 99 ? score : 99;
	return 0;
}

static int match_by_texts(struct search_query *q,
			  const struct content_query *wanted,
			  const struct index_query *query,
			  struct index_match *out, size_t *count_out)
{
	bool sketched = query->sketch && query->sketch->count;
	struct index_candidate *candidates =
		calloc(query->most, sizeof(*candidates));
	size_t count = 0, kept = 0, i;
	int err = -ENOMEM;

	if (candidates)
		err = index_candidates(q->context->index, query,
				       sketched ? INDEX_BY_SKETCH :
						  INDEX_BY_ESTIMATE,
				       candidates, query->most, &count);
	for (i = 0; i < count && !err; i++) {
		out[kept].content = candidates[i].content;
		err = score_texts(q, wanted, candidates[i].content,
				  &out[kept].score);
		out[kept].distinctive_score = out[kept].score;
		if (!err && out[kept].score >= query->least)
			kept++;
		if (err == -ENOENT)
			err = 0;
	}
	free(candidates);
	qsort(out, kept, sizeof(*out), index_match_order);
	*count_out = kept;
	return err;
}

static int match_by_columns(struct search_query *q,
			    const struct index_query *query,
			    struct index_match *out, size_t *count_out)
{
	enum index_source source = q->context->measure == DIGEST_SIMHASH ?
					   INDEX_BY_SIMHASH :
					   INDEX_BY_TRAITS;
	struct index_candidate *candidates =
		calloc(query->most, sizeof(*candidates));
	size_t i;
	int err = -ENOMEM;

	if (candidates)
		err = index_candidates(q->context->index, query, source,
				       candidates, query->most, count_out);
	for (i = 0; !err && i < *count_out; i++) {
		out[i].content = candidates[i].content;
		out[i].score =
			candidates[i].rank < 99 ? candidates[i].rank : 99;
		out[i].distinctive_score = out[i].score;
	}
	free(candidates);
	return err;
}

static int match(struct search_query *q, const struct content_query *wanted,
		 const struct index_query *query, struct index_match *out,
		 size_t *count_out)
{
	const struct index_store store = { .sketch = fetch_sketch,
					   .arg = q->txn,
					   .short_sketch = fetch_short_sketch };

	if (wanted->relation == INDEX_TEXT)
		return match_texts(q, query, out, count_out);
	if (!index_is_alike(wanted->relation))
		return index_search(q->context->index, query, &store, out,
				    count_out);
	switch (q->context->measure) {
	case DIGEST_SISE:
	case DIGEST_SSDEEP:
		return match_by_texts(q, wanted, query, out, count_out);
	case DIGEST_SIMHASH:
	case DIGEST_RDC:
		return match_by_columns(q, query, out, count_out);
	default:
		return index_search(q->context->index, query, &store, out,
				    count_out);
	}
}

/* The measure sif is the shared percentage and nothing else. */
static enum index_relation relation_of(const struct search_query *q,
				       const struct content_query *wanted)
{
	if (q->context->measure == DIGEST_SIF &&
	    wanted->relation == INDEX_ALIKE)
		return INDEX_ALL;
	return wanted->relation;
}

/* So many matches are looked for: some have no file that the caller sees. */
static size_t matches_most(const struct search_query *q)
{
	size_t most = 2 * q->context->limit;

	return most > INDEX_MATCHES ? most : INDEX_MATCHES;
}

static int find_contents(struct search_query *q,
			 const struct content_query *wanted,
			 struct index_match **out, size_t *count_out)
{
	struct index_query query = {
		.digests = wanted->digests,
		.sketch = wanted->sketch,
		.relation = relation_of(q, wanted),
		.self = q->self_content,
		.first_content = wanted->first_content,
		.least = q->context->threshold,
		.share_min = q->context->share_min,
		.any = wanted->any,
		.visibility = q->index_visibility,
		.most = matches_most(q),
	};
	struct index_match *matches = calloc(query.most, sizeof(*matches));
	struct short_sketch short_sketch;
	int err = matches ? 0 : -ENOMEM;

	*count_out = 0;
	if (digests_short_sketch(wanted->digests, &short_sketch))
		query.short_sketch = &short_sketch;
	if (!err)
		err = match(q, wanted, &query, matches, count_out) ?: q->err;
	if (err)
		free(matches);
	else
		*out = matches;
	return err;
}

/* Whether this query is likely to be repeated: it asks for everything that
 * resembles a content of the catalog, for a caller that may see everything. */
static bool may_be_cached(const struct search_query *q,
			  const struct content_query *wanted)
{
	return q->self_content && !q->digests && !q->index_visibility &&
	       wanted->relation == INDEX_ALIKE && wanted->first_content == 1 &&
	       !wanted->any;
}

int near_contents(struct search_query *q, const struct content_query *wanted,
		  struct index_match **out, size_t *count_out)
{
	struct match_cache *cache = q->searcher->matches;
	uint64_t changes = index_change_count(q->context->index);
	int err;

	if (!may_be_cached(q, wanted))
		return find_contents(q, wanted, out, count_out);
	if (match_cache_get(cache, q->self_content, wanted->digests, changes,
			    out, count_out))
		return 0;
	err = find_contents(q, wanted, out, count_out);
	if (!err)
		match_cache_put(cache, q->self_content, wanted->digests,
				changes, *out, *count_out);
	return err;
}

/* ---- the listing of one file ---- */

struct listing_state {
	enum { LIST_IDENTICAL, LIST_SEARCH, LIST_ALIKE } phase;
	const struct digests *digests; /* of the query, or of the file */
	struct index_match *matches;   /* owned */
	size_t match_count, next;
	size_t alike;                 /* hits of matches before the next */
	struct content_copies copies; /* of the content at hand */
	bool cut;
};

static int compare_hits(const void *a, const void *b)
{
	const struct search_hit *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes < y->bytes ? 1 : -1;
	if (x->score != y->score)
		return y->score - x->score;
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
	return context->get_digests(context->ctx, q->fd, DIGEST_ALL,
				    &q->hits.file);
}

static int find_self(struct search_query *q, const struct digests *d)
{
	struct file_record rec;
	struct stat st;
	int err;

	if (!q->digests) {
		if (fstat(q->fd, &st))
			return -errno;
		source_get_key(q->context->source, q->fd, &st, &q->self);
		if (!catalog_file_get(q->txn, &q->self, &rec) &&
		    rec.state == FILE_FRESH)
			q->self_content = rec.content;
	}
	if (q->self_content)
		return 0;
	err = catalog_content_find(q->txn, d, &q->self_content);
	return err == -ENOENT ? 0 : err;
}

/* Adds the files of a content with what it has in common. */
static int add_match(struct search_query *q, struct listing_state *state,
		     const struct index_match *match, size_t limit)
{
	size_t first = q->hits.count;
	int err = content_add_hits(q, match->content, match->score, limit,
				   &state->copies, &state->cut);

	for (; first < q->hits.count; first++) {
		q->hits.hits[first].distinctive_score =
			match->distinctive_score;
		q->hits.hits[first].bytes = match->bytes;
	}
	return err;
}

/* Whether an exact copy is in the relation.  None contains more than the
 * other. */
static bool copies_are_related(const struct search_query *q, uint64_t size)
{
	if (q->relation == INDEX_SHARES)
		return size >= q->context->share_min;
	return index_is_alike(q->relation);
}

static int list_identical(struct search_query *q, struct listing_state *state)
{
	struct index_match self = { .score = 100, .distinctive_score = 100 };
	uint64_t size = state->digests->size;
	int err = 0;

	if (!state->copies.cursor.begun)
		err = find_self(q, state->digests);
	self.content = q->self_content;
	if (q->relation == INDEX_SHARES)
		self.bytes = size;
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
	struct sif_sketch *sketch;
	int err = sketch_of(
		state->digests,
		q->relation == INDEX_TEXT ? DIGEST_TEXT : DIGEST_SIF, &sketch);

	if (err)
		return err;
	wanted.sketch = sketch;
	err = near_contents(q, &wanted, &state->matches, &state->match_count);
	free(sketch);
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
		/* Of the last one only whether it is there: there may be
		 * more. */
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
	.begin = file_begin,
	.turn = file_turn,
	.release = file_release,
};
