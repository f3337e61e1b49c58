/* SPDX-License-Identifier: Apache-2.0 */
#include "core/search/search_impl.h"

#include <stdlib.h>
#include <string.h>

/* Finds the contents that resemble a content, by the mount's measure. */

/* ---- sketches ---- */

/* A caller that is not trusted uses no cache: the time of its query would show
 * what other users have asked for. */
static struct sketch_cache *cache_of(const struct search_query *q)
{
	return q->caller.trusted ? q->searcher->sketches : NULL;
}

static int fetch_sketch(void *query, uint32_t content, struct sketch *out)
{
	const struct search_query *q = query;

	if (!cache_of(q))
		return catalog_sketch_get(q->txn, content, out);
	return sketch_cache_get(cache_of(q), q->txn, content, out);
}

/* ---- the content of the query ---- */

struct own_sketch {
	bool has_sketch;
	struct sketch sketch;
};

uint32_t near_texts(const struct search_query *q)
{
	enum digest_id measure = q->context->measure;

	return measure < DIGEST_COUNT ? DIGEST_BIT(measure) : 0;
}

/* Reads the sketch of q->self_content. */
static int sketch_fetch(struct search_query *q, struct own_sketch *out)
{
	int err = fetch_sketch(q, q->self_content, &out->sketch);

	out->has_sketch = !err;
	return err == -ENOENT ? 0 : err;
}

static int sketch_of(const struct digests *d, struct own_sketch *out)
{
	int err = digests_sketch(d, &out->sketch);

	out->has_sketch = !err;
	return err == -ENODATA ? 0 : err;
}

/* ---- contents ---- */

/* Compares by a digest in text form.  -ENOENT: the content has none. */
static int score_texts(struct search_query *q, const struct digests *own,
		       uint32_t content, int *score_out)
{
	enum digest_id measure = q->context->measure;
	struct digests other;
	int err = catalog_content_some(q->txn, content, DIGEST_BIT(measure),
				       &other);
	int score;

	if (err)
		return err;
	err = digest_compare(measure, own, &other, &score);
	digests_release(&other);
	if (err)
		return err == -ENODATA ? -ENOENT : err;
	*score_out = score < 99 ? score : 99;
	return 0;
}

static int match_by_texts(struct search_query *q,
			  const struct index_query *query,
			  struct index_match *out, size_t *count_out)
{
	struct index_candidate *candidates =
		calloc(query->most, sizeof(*candidates));
	size_t count = 0, kept = 0, i;
	int score = 0, err = -ENOMEM;

	if (candidates)
		err = index_candidates(q->context->index, query,
				       INDEX_BY_SKETCH, candidates, query->most,
				       &count);
	for (i = 0; i < count && !err; i++) {
		out[kept].content = candidates[i].content;
		err = score_texts(q, query->digests, candidates[i].content,
				  &score);
		if (err == -ENOENT) {
			err = 0;
			continue;
		}
		out[kept].verdict = (struct verdict){ .score = score,
						      .distinctive = score };
		kept += !err && score >= query->rules.threshold;
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
		int score = candidates[i].rank < 99 ? candidates[i].rank : 99;

		out[i] = (struct index_match){
			.content = candidates[i].content,
			.verdict = { .score = score, .distinctive = score },
		};
	}
	free(candidates);
	return err;
}

static int match_contents(struct search_query *q,
			  const struct index_query *query,
			  struct index_match *out, size_t *count_out)
{
	const struct index_store store = { .sketch = fetch_sketch, .arg = q };

	if (!index_is_alike(query->rules.relation))
		return index_search(q->context->index, query, &store, out,
				    count_out);
	switch (q->context->measure) {
	case DIGEST_SISE:
	case DIGEST_SSDEEP:
		return match_by_texts(q, query, out, count_out);
	case DIGEST_SIMHASH:
	case DIGEST_RDC:
		return match_by_columns(q, query, out, count_out);
	default:
		return index_search(q->context->index, query, &store, out,
				    count_out);
	}
}

/* With the measure sif, boilerplate counts like other content. */
static enum index_relation relation_of(const struct search_query *q,
				       const struct content_query *wanted)
{
	if (q->context->measure == DIGEST_SIF &&
	    wanted->relation == INDEX_ALIKE)
		return INDEX_ALL;
	return wanted->relation;
}

size_t matches_most(const struct search_query *q)
{
	size_t most = 2 * q->context->limit;

	return most > INDEX_MATCHES ? most : INDEX_MATCHES;
}

static int search_sketch(struct search_query *q,
			 const struct content_query *wanted,
			 const struct digests *digests,
			 const struct own_sketch *own, struct index_match **out,
			 size_t *count_out)
{
	struct index_query query = {
		.digests = digests,
		.sketch = own->has_sketch ? &own->sketch : NULL,
		.rules = { .relation = relation_of(q, wanted),
			   .threshold = q->threshold ?: q->context->threshold,
			   .share_min = q->context->share_min },
		.self = q->self_content,
		.first_content = wanted->first_content,
		.any = wanted->any,
		.visibility = q->index_visibility,
		.most = matches_most(q),
	};
	struct index_match *matches = calloc(query.most, sizeof(*matches));
	int err = matches ? 0 : -ENOMEM;

	*count_out = 0;
	if (!err)
		err = match_contents(q, &query, matches, count_out) ?: q->err;
	if (err)
		free(matches);
	else
		*out = matches;
	return err;
}

static int search_digests(struct search_query *q,
			  const struct content_query *wanted,
			  const struct digests *digests,
			  struct index_match **out, size_t *count_out)
{
	struct own_sketch *own = malloc(sizeof(*own));
	int err = -ENOMEM;

	if (own)
		err = q->self_content ? sketch_fetch(q, own) :
					sketch_of(digests, own);
	if (!err)
		err = search_sketch(q, wanted, digests, own, out, count_out);
	free(own);
	return err;
}

static int find_contents(struct search_query *q,
			 const struct content_query *wanted,
			 struct index_match **out, size_t *count_out)
{
	struct digests d;
	int err;

	if (wanted->digests)
		return search_digests(q, wanted, wanted->digests, out,
				      count_out);
	err = catalog_content_some(q->txn, q->self_content, near_texts(q), &d);
	if (err)
		return err;
	err = search_digests(q, wanted, &d, out, count_out);
	digests_release(&d);
	return err;
}

/* Whether the match cache is for this query: all matches of a content in the
 * catalog, for a caller that may see every content. */
static bool may_be_cached(const struct search_query *q,
			  const struct content_query *wanted)
{
	return q->self_content && !q->digests && !q->index_visibility &&
	       !q->threshold && wanted->relation == INDEX_ALIKE &&
	       wanted->first_content == 1 && !wanted->any;
}

int near_contents(struct search_query *q, const struct content_query *wanted,
		  struct index_match **out, size_t *count_out)
{
	struct match_cache *cache = q->searcher->matches;
	uint64_t changes = index_change_count(q->context->index);
	int err;

	if (!may_be_cached(q, wanted))
		return find_contents(q, wanted, out, count_out);
	if (match_cache_get(cache, q->self_content, changes, out, count_out))
		return 0;
	err = find_contents(q, wanted, out, count_out);
	if (!err)
		match_cache_put(cache, q->self_content, changes, *out,
				*count_out);
	return err;
}
