/* SPDX-License-Identifier: Apache-2.0 */
#include "core/index/index_impl.h"

#include <errno.h>
#include <stdlib.h>

#include "core/index/passage.h"
#include "core/index/scattered.h"
#include "core/index/score.h"
#include "core/index/visible.h"

const char *const index_relation_names[INDEX_RELATIONS] = {
	[INDEX_ALIKE] = "alike",       [INDEX_WITHIN] = "within",
	[INDEX_CONTAINS] = "contains", [INDEX_ALL] = "all",
	[INDEX_SHARES] = "shares",     [INDEX_TEXT] = "text",
};

struct index_search {
	struct visible_index view;
	struct weighed_sketch own;
	struct sif_sketch other;
	struct short_sketch short_other;
	struct index_candidate *candidates; /* owned */
	size_t count;
};

/* Counts the contents that are visible to the caller. */
static struct weigher weigher_of(struct visible_index *v)
{
	if (v->visibility)
		return (struct weigher){ NULL, visible_contents, v };
	return (struct weigher){ .frequency = v->ix->frequency };
}

/* Frequencies are read with the lock held; is_visible() is called without a
 * lock. */
static void view_lock(const struct visible_index *v)
{
	if (!v->visibility)
		(void)pthread_rwlock_rdlock(&v->ix->columns_lock);
}

static void view_unlock(const struct visible_index *v)
{
	if (!v->visibility)
		(void)pthread_rwlock_unlock(&v->ix->columns_lock);
}

static void view_init(struct visible_index *v, struct index *ix,
		      struct index_visibility *visibility)
{
	*v = (struct visible_index){ .ix = ix, .visibility = visibility };
	if (visibility)
		v->limit = visible_limit(ix);
}

static int weigh(struct visible_index *v, const struct sif_sketch *sketch,
		 struct weighed_sketch *out)
{
	struct weigher w = weigher_of(v);

	view_lock(v);
	weight_sketch(&w, sketch, out);
	view_unlock(v);
	return v->err;
}

/* is_boilerplate and the distinctive score are known only from a share of least
 * on. */
static int score(struct visible_index *v, const struct weighed_sketch *a,
		 const struct sif_sketch *b, enum index_relation relation,
		 double least, struct index_match *out)
{
	struct weigher w = weigher_of(v);
	struct score_shares shares, distinctive;
	int err;

	view_lock(v);
	err = score_compare_sketches(&w, a, b, least, &shares, &distinctive);
	view_unlock(v);
	if (err || v->err)
		return err ? err : v->err;
	out->bytes = 0;
	score_set_match(&shares, &distinctive, relation, out);
	return 0;
}

int index_score(struct index *ix, struct index_visibility *visibility,
		const struct sif_sketch *a, const struct sif_sketch *b,
		enum index_relation relation, struct index_match *out)
{
	struct weighed_sketch *own = malloc(sizeof(*own));
	struct visible_index view;
	int err;

	if (!own)
		return -ENOMEM;
	view_init(&view, ix, visibility);
	err = weigh(&view, a, own);
	if (!err)
		err = score(&view, own, b, relation, 0, out);
	free(own);
	return err;
}

/* ---- search ---- */

int index_match_order(const void *a, const void *b)
{
	const struct index_match *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes < y->bytes ? 1 : -1;
	if (x->score != y->score)
		return y->score - x->score;
	if (x->distinctive_score != y->distinctive_score)
		return y->distinctive_score - x->distinctive_score;
	return x->content < y->content ? -1 : x->content > y->content;
}

static int see_scattered(struct index_search *s, const struct index_query *q,
			 const struct index_store *store, uint64_t size,
			 struct index_match *match)
{
	struct scattered_content own = {
		.sketch = q->sketch,
		.short_sketch = q->short_sketch,
		.size = q->digests->size,
		.content = q->self,
		.sise = q->digests->text[DIGEST_SISE],
	};
	struct scattered_content other = {
		.sketch = &s->other,
		.short_sketch = &s->short_other,
		.size = size,
		.content = match->content,
	};

	if (!q->short_sketch || !index_is_alike(q->relation))
		return 0;
	return index_see_scattered(store, &own, &other, &s->short_other, match);
}

static bool is_match(const struct index_query *q, const struct index_match *m)
{
	if (q->relation == INDEX_SHARES)
		return m->bytes >= q->share_min;
	return m->score >= q->least &&
	       (q->relation == INDEX_ALL || !m->is_boilerplate);
}

/* The least share of windows that may be a match.  One less because scores are
 * rounded. */
static double least_share(const struct index_query *q, uint64_t size)
{
	if (q->short_sketch && index_is_alike(q->relation))
		return scattered_least(q->least - 1, q->digests->size, size);
	return (q->least - 1) / 100.0;
}

/* Compares the sketch of a candidate, which is in s->other. */
static int compare_candidate(struct index_search *s,
			     const struct index_query *q,
			     const struct index_candidate *c,
			     struct index_match *out)
{
	if (q->relation == INDEX_SHARES)
		return passage_compare(&s->own, q->digests->size, &s->other,
				       c->size, out);
	return score(&s->view, &s->own, &s->other, q->relation,
		     least_share(q, c->size), out);
}

/* Compares sketches. */
static int match_candidates(struct index_search *s, const struct index_query *q,
			    const struct index_store *store,
			    struct index_match *out, size_t *count_out)
{
	size_t i, kept = 0;
	int err = weigh(&s->view, q->sketch, &s->own);

	if (err)
		return err;
	for (i = 0; i < s->count && !(q->any && kept); i++) {
		out[kept].content = s->candidates[i].content;
		err = store->sketch(store->arg, out[kept].content, &s->other);
		if (err == -ENOENT)
			continue;
		if (!err)
			err = compare_candidate(s, q, &s->candidates[i],
						&out[kept]);
		if (!err)
			err = see_scattered(s, q, store, s->candidates[i].size,
					    &out[kept]);
		if (err)
			return err;
		kept += is_match(q, &out[kept]);
	}
	*count_out = kept;
	return 0;
}

/* Where sketches are kept, a candidate may turn out to repeat one byte. */
static int match_estimates(struct index_search *s, const struct index_query *q,
			   const struct index_store *store,
			   struct index_match *out, size_t *count_out)
{
	size_t i, kept = 0;
	int err;

	for (i = 0; i < s->count; i++) {
		const struct index_candidate *c = &s->candidates[i];

		err = q->sketch ?
			      store->sketch(store->arg, c->content, &s->other) :
			      -ENOENT;
		if (err && err != -ENOENT)
			return err;
		if (!err && score_is_uniform(c->size, &s->other))
			continue;
		out[kept++] = (struct index_match){
			.content = c->content,
			.score = c->rank,
			.distinctive_score = c->rank,
		};
	}
	*count_out = kept;
	return 0;
}

int index_search(struct index *ix, const struct index_query *q,
		 const struct index_store *store, struct index_match *out,
		 size_t *count_out)
{
	bool sketched = q->sketch && q->sketch->count;
	struct index_search *s = malloc(sizeof(*s));
	size_t count = 0;
	int err = -ENOMEM;

	if (!s)
		return -ENOMEM;
	if (q->sketch && score_is_uniform(q->digests->size, q->sketch)) {
		*count_out = 0;
		free(s);
		return 0;
	}
	s->candidates = calloc(index_most(q), sizeof(*s->candidates));
	view_init(&s->view, ix, q->visibility);
	if (s->candidates)
		err = index_candidates(
			ix, q, sketched ? INDEX_BY_SHARE : INDEX_BY_ESTIMATE,
			s->candidates, index_most(q), &s->count);
	if (!err && sketched)
		err = match_candidates(s, q, store, out, &count);
	else if (!err && index_is_alike(q->relation))
		err = match_estimates(s, q, store, out, &count);
	free(s->candidates);
	free(s);
	if (err)
		return err;
	qsort(out, count, sizeof(*out), index_match_order);
	*count_out = count;
	return 0;
}
