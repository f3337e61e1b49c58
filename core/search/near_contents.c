/* SPDX-License-Identifier: Apache-2.0 */
#include "core/search/search_impl.h"

#include <stdlib.h>
#include <string.h>

#include "core/index/texts.h"

/* Finds the contents that resemble a content, by the mount's measure. */

/* ---- sketches ---- */

/* A caller that is not trusted uses no cache: the time of its query would show
 * what other users have asked for. */
static struct sketch_cache *cache_of(const struct search_query *q)
{
	return q->caller.trusted ? q->searcher->sketches : NULL;
}

static int fetch_sketch(void *query, uint32_t content, struct sif_sketch *out)
{
	const struct search_query *q = query;

	if (!cache_of(q))
		return catalog_sketch_get(q->txn, content, out);
	return sketch_cache_get(cache_of(q), q->txn, content, out);
}

static int fetch_text_sketch(void *query, uint32_t content,
			     struct sif_sketch *out)
{
	const struct search_query *q = query;

	return catalog_text_sketch_get(q->txn, content, out);
}

static int fetch_short_sketch(void *query, uint32_t content,
			      struct short_sketch *out)
{
	const struct search_query *q = query;

	if (!cache_of(q))
		return catalog_short_sketch_get(q->txn, content, out);
	return sketch_cache_get_short(cache_of(q), q->txn, content, out);
}

static int fetch_sise(void *query, uint32_t content, struct sise_signature *out)
{
	const struct search_query *q = query;

	return catalog_sise_get(q->txn, content, out);
}

/* ---- the content of the query ---- */

struct own_sketches {
	bool has_sketch, has_short;
	struct sif_sketch sketch; /* INDEX_TEXT: of the text */
	struct short_sketch short_sketch;
};

uint32_t near_texts(const struct search_query *q)
{
	enum digest_id measure = q->context->measure;

	return measure < DIGEST_COUNT ? DIGEST_BIT(measure) : 0;
}

/* 0 becomes 1, -ENOENT becomes 0. */
static int err_to_exists(int err)
{
	return err ? err == -ENOENT ? 0 : err : 1;
}

/* Reads the sketches of q->self_content. */
static int sketches_fetch(struct search_query *q, enum index_relation relation,
			  struct own_sketches *out)
{
	uint32_t content = q->self_content;
	int sketch, sif8;

	sketch = err_to_exists(
		relation == INDEX_TEXT ?
			fetch_text_sketch(q, content, &out->sketch) :
			fetch_sketch(q, content, &out->sketch));
	if (sketch < 0)
		return sketch;
	sif8 = err_to_exists(
		fetch_short_sketch(q, content, &out->short_sketch));
	out->has_sketch = sketch;
	out->has_short = sif8 > 0;
	return sif8 < 0 ? sif8 : 0;
}

/* Parses the text forms of sketches. */
static int sketches_parse(const struct digests *d, enum index_relation relation,
			  struct own_sketches *out)
{
	enum digest_id id = relation == INDEX_TEXT ? DIGEST_TEXT : DIGEST_SIF;
	const char *text = d->set & DIGEST_BIT(id) ? d->text[id] : NULL;

	out->has_sketch = text != NULL;
	out->has_short = digests_short_sketch(d, &out->short_sketch);
	return text ? sif_parse(text, strlen(text), &out->sketch) : 0;
}

/* ---- contents ---- */

/* Compares the sketches of texts; the mount's measure is one of bytes. */
static int match_texts(struct search_query *q, const struct index_query *query,
		       struct index_match *out, size_t *count_out)
{
	const struct index_store store = { .sketch = fetch_text_sketch,
					   .arg = q };
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
		err = score_texts(q, query->digests, candidates[i].content,
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

static int match_contents(struct search_query *q,
			  const struct index_query *query,
			  struct index_match *out, size_t *count_out)
{
	const struct index_store store = { .sketch = fetch_sketch,
					   .arg = q,
					   .short_sketch = fetch_short_sketch,
					   .sise = fetch_sise };

	if (query->relation == INDEX_TEXT)
		return match_texts(q, query, out, count_out);
	if (!index_is_alike(query->relation))
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

static int search_sketches(struct search_query *q,
			   const struct content_query *wanted,
			   const struct digests *digests,
			   const struct own_sketches *own,
			   struct index_match **out, size_t *count_out)
{
	struct index_query query = {
		.digests = digests,
		.sketch = own->has_sketch ? &own->sketch : NULL,
		.short_sketch = own->has_short ? &own->short_sketch : NULL,
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
	struct own_sketches *own = malloc(sizeof(*own));
	int err = -ENOMEM;

	if (own)
		err = q->self_content ?
			      sketches_fetch(q, wanted->relation, own) :
			      sketches_parse(digests, wanted->relation, own);
	if (!err)
		err = search_sketches(q, wanted, digests, own, out, count_out);
	free(own);
	return err;
}

static int find_contents(struct search_query *q,
			 const struct content_query *wanted,
			 struct index_match **out, size_t *count_out)
{
	struct digests d;
	int err;

	q->has_searched = true;
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
	if (match_cache_get(cache, q->self_content, changes, out, count_out))
		return 0;
	err = find_contents(q, wanted, out, count_out);
	if (!err)
		match_cache_put(cache, q->self_content, changes, *out,
				*count_out);
	return err;
}
