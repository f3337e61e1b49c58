/* SPDX-License-Identifier: Apache-2.0 */
#include "core/search/near.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/search/search_ctx.h"

/*
 * What resembles a file: the index finds contents that score enough by the
 * measure of the mount, and they are turned into files (hits.c).
 */

/* ---- contents ---- */

/* The sketch of a text, NULL when there is none. */
static int sketch_of(const struct digests *d, struct sif_sketch **out)
{
	const char *text = d->text[DIGEST_SIF];
	int err;

	*out = NULL;
	if (!(d->set & DIGEST_BIT(DIGEST_SIF)) || !text)
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

/* By a digest that is kept as text.  What has none is not alike. */
static int score_texts(struct look *l, const struct near_query *q,
		       uint32_t content, int *score_out)
{
	enum digest_id measure = l->e->options.measure;
	struct digests other;
	int err = catalog_content_get(l->txn, content, &other), score;

	if (err)
		return err;
	err = digest_compare(measure, q->digests, &other, &score);
	digests_release(&other);
	if (err)
		return err == -ENODATA ? -ENOENT : err;
	*score_out = score < 99 ? score : 99;
	return 0;
}

static int match_by_texts(struct look *l, const struct near_query *q,
			  const struct index_query *query,
			  struct index_match *out, size_t *count_out)
{
	bool sketched = query->sketch && query->sketch->count;
	struct candidate *candidates =
		calloc(INDEX_MATCHES, sizeof(*candidates));
	size_t count = 0, kept = 0, i;
	int err = -ENOMEM;

	if (candidates)
		err = index_candidates(l->e->index, query,
				       sketched ? INDEX_BY_SKETCH :
						  INDEX_BY_ESTIMATE,
				       candidates, INDEX_MATCHES, &count);
	for (i = 0; i < count && !err; i++) {
		out[kept].content = candidates[i].content;
		err = score_texts(l, q, candidates[i].content,
				  &out[kept].score);
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

static int match_by_columns(struct look *l, const struct index_query *query,
			    struct index_match *out, size_t *count_out)
{
	enum index_source source = l->e->options.measure == DIGEST_SIMHASH ?
					   INDEX_BY_SIMHASH :
					   INDEX_BY_TRAITS;
	struct candidate *candidates =
		calloc(INDEX_MATCHES, sizeof(*candidates));
	size_t i;
	int err = -ENOMEM;

	if (candidates)
		err = index_candidates(l->e->index, query, source, candidates,
				       INDEX_MATCHES, count_out);
	for (i = 0; !err && i < *count_out; i++) {
		out[i].content = candidates[i].content;
		out[i].score =
			candidates[i].rank < 99 ? candidates[i].rank : 99;
	}
	free(candidates);
	return err;
}

static int match(struct look *l, const struct near_query *q,
		 const struct index_query *query, struct index_match *out,
		 size_t *count_out)
{
	const struct index_store store = { fetch_sketch, l->txn };

	if (q->relation != INDEX_ALIKE)
		return index_search(l->e->index, query, &store, out, count_out);
	switch (l->e->options.measure) {
	case DIGEST_SISE:
	case DIGEST_SSDEEP:
		return match_by_texts(l, q, query, out, count_out);
	case DIGEST_SIMHASH:
	case DIGEST_RDC:
		return match_by_columns(l, query, out, count_out);
	default:
		return index_search(l->e->index, query, &store, out, count_out);
	}
}

int near_contents(struct look *l, const struct near_query *q,
		  struct index_match **out, size_t *count_out)
{
	struct index_query query = { .digests = q->digests,
				     .sketch = q->sketch,
				     .relation = q->relation,
				     .self = l->self_content,
				     .first_content = q->first_content,
				     .least = l->e->options.threshold,
				     .any = q->any,
				     .viewer = l->viewer,
				     .plain = l->e->options.measure ==
					      DIGEST_SIF };
	struct index_match *matches = calloc(INDEX_MATCHES, sizeof(*matches));
	int err = matches ? 0 : -ENOMEM;

	*count_out = 0;
	if (!err)
		err = match(l, q, &query, matches, count_out) ?: l->err;
	if (err)
		free(matches);
	else
		*out = matches;
	return err;
}

/* ---- the listing of one file ---- */

static int compare_hits(const void *a, const void *b)
{
	const struct engine_hit *x = a, *y = b;

	if (x->score != y->score)
		return y->score - x->score;
	return strcmp(x->path, y->path);
}

static int list_near(struct look *l, const struct digests *d)
{
	struct near_query q = { .digests = d,
				.relation = l->r->relation,
				.first_content = 1 };
	size_t limit = l->e->options.limit, exact = l->found, count = 0, i;
	struct index_match *matches = NULL;
	struct sif_sketch *sketch;
	bool cut = false;
	int err = sketch_of(d, &sketch);

	q.sketch = sketch;
	if (!err)
		err = near_contents(l, &q, &matches, &count);
	free(sketch);
	for (i = 0; i < count && !err && !cut; i++) {
		/* Of the last one only whether it is there: there may be more. */
		if (i == INDEX_MATCHES - 1)
			limit = l->found - exact;
		err = content_hits(l, matches[i].content, matches[i].score,
				   limit - (l->found - exact), &cut);
	}
	free(matches);
	l->hits->cut = cut;
	return err ? err : l->err;
}

/* d may be that of a file elsewhere. */
static int list_contents(struct look *l, const struct digests *d)
{
	bool cut = false;
	int err = 0;

	if (!d->size)
		return 0;
	if (!l->self_content) {
		err = catalog_content_find(l->txn, d, &l->self_content);
		err = err == -ENOENT ? 0 : err;
	}
	if (!err && l->self_content && l->r->relation == INDEX_ALIKE)
		err = content_hits(l, l->self_content, 100, SIZE_MAX, &cut);
	if (!err)
		err = list_near(l, d);
	if (!err && l->hits->count)
		qsort(l->hits->hits, l->hits->count, sizeof(*l->hits->hits),
		      compare_hits);
	return err;
}

/* The digests to look for: those given, or those of the file. */
static int find_digests(struct request *r, struct engine_answer *answer)
{
	if (r->digests) {
		answer->state = ENGINE_FRESH;
		return digests_copy(r->digests, &answer->digests);
	}
	if (!caller_can_read(&r->caller, r->fd))
		return -EACCES;
	return engine_ask(r->engine, r->fd, answer);
}

static int find_self(struct look *l)
{
	struct file_record rec;
	struct stat st;

	if (l->r->digests)
		return 0;
	if (fstat(l->r->fd, &st))
		return -errno;
	source_get_key(&l->e->source, l->r->fd, &st, &l->self);
	if (!catalog_file_get(l->txn, &l->self, &rec) &&
	    rec.state == FILE_FRESH)
		l->self_content = rec.content;
	return 0;
}

static int list_digests(struct request *r, const struct digests *d,
			struct engine_hits *hits)
{
	struct look l;
	int err = look_begin(r, &l);

	if (err)
		return err;
	l.hits = hits;
	err = find_self(&l);
	if (!err)
		err = list_contents(&l, d);
	look_end(&l);
	return err;
}

int near_list(struct request *r, struct engine_hits *hits_out)
{
	struct engine_answer answer = { 0 };
	struct engine_hits hits = { 0 };
	int err = find_digests(r, &answer);

	if (!err && answer.state == ENGINE_FRESH)
		err = list_digests(r, &answer.digests, &hits);
	engine_answer_release(&answer);
	hits.file = answer;
	if (err)
		engine_hits_release(&hits);
	else
		*hits_out = hits;
	return err;
}
