/* SPDX-License-Identifier: Apache-2.0 */
#include "core/index/index_impl.h"

#include <errno.h>
#include <stdlib.h>

#include "core/index/score.h"
#include "core/index/visible.h"

struct search {
	struct visible view;
	struct weighed_sketch own;
	struct sif_sketch other;
	struct candidate candidates[INDEX_MATCHES];
	size_t count;
};

static int percent_of(const struct shares *shares, enum index_relation relation)
{
	switch (relation) {
	case INDEX_ALIKE:
		return score_percent(shares->larger);
	case INDEX_WITHIN:
		return score_percent(shares->within);
	case INDEX_CONTAINS:
		return score_percent(shares->contains);
	}
	return 0;
}

/* What the values count for the viewer, or for all. */
static struct weigher weigher_of(struct visible *v)
{
	if (v->viewer)
		return (struct weigher){ NULL, visible_weight, v };
	return (struct weigher){ .frequency = v->ix->frequency };
}

/* The frequencies are read under the lock; sees() is called without. */
static void view_lock(const struct visible *v)
{
	if (!v->viewer)
		(void)pthread_rwlock_rdlock(&v->ix->columns_lock);
}

static void view_unlock(const struct visible *v)
{
	if (!v->viewer)
		(void)pthread_rwlock_unlock(&v->ix->columns_lock);
}

static void view_init(struct visible *v, struct index *ix,
		      struct index_viewer *viewer)
{
	*v = (struct visible){ .ix = ix, .viewer = viewer };
	if (viewer)
		v->limit = visible_limit(ix);
}

static int weigh(struct visible *v, const struct sif_sketch *sketch,
		 struct weighed_sketch *out)
{
	struct weigher w = weigher_of(v);

	view_lock(v);
	score_weigh(&w, sketch, out);
	view_unlock(v);
	return v->err;
}

/* Sets score and merit, the latter only as to whether it is below least. */
static int score(struct visible *v, const struct weighed_sketch *a,
		 const struct sif_sketch *b, enum index_relation relation,
		 int least, struct index_match *out)
{
	struct weigher w = weigher_of(v);
	struct shares shares, merits;
	int err;

	view_lock(v);
	/* One less, as scores are rounded. */
	err = score_shares(&w, a, b, (least - 1) / 100.0, &shares, &merits);
	view_unlock(v);
	if (err || v->err)
		return err ? err : v->err;
	out->score = percent_of(&shares, relation);
	out->merit = percent_of(&merits, relation);
	return 0;
}

int index_score(struct index *ix, struct index_viewer *viewer,
		const struct sif_sketch *a, const struct sif_sketch *b,
		enum index_relation relation, struct index_match *out)
{
	struct weighed_sketch *own = malloc(sizeof(*own));
	struct visible view;
	int err;

	if (!own)
		return -ENOMEM;
	view_init(&view, ix, viewer);
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

	if (x->score != y->score)
		return y->score - x->score;
	if (x->merit != y->merit)
		return y->merit - x->merit;
	return x->content < y->content ? -1 : x->content > y->content;
}

/* By their sketches. */
static int match_candidates(struct search *s, const struct index_query *q,
			    const struct index_store *store,
			    struct index_match *out, size_t *count_out)
{
	size_t i, kept = 0;
	int err = weigh(&s->view, q->sketch, &s->own);

	if (err)
		return err;
	if (q->plain)
		s->own.has_common = false;
	for (i = 0; i < s->count && !(q->any && kept); i++) {
		out[kept].content = s->candidates[i].content;
		err = store->sketch(store->arg, out[kept].content, &s->other);
		if (err == -ENOENT)
			continue;
		if (!err)
			err = score(&s->view, &s->own, &s->other, q->relation,
				    q->least, &out[kept]);
		if (err)
			return err;
		kept += out[kept].merit >= q->least;
	}
	*count_out = kept;
	return 0;
}

static void match_estimates(const struct search *s, struct index_match *out,
			    size_t *count_out)
{
	size_t i;

	for (i = 0; i < s->count; i++)
		out[i] = (struct index_match){
			.content = s->candidates[i].content,
			.score = s->candidates[i].rank,
			.merit = s->candidates[i].rank,
		};
	*count_out = s->count;
}

int index_search(struct index *ix, const struct index_query *q,
		 const struct index_store *store, struct index_match *out,
		 size_t *count_out)
{
	bool sketched = q->sketch && q->sketch->count;
	struct search *s = malloc(sizeof(*s));
	size_t count = 0;
	int err;

	if (!s)
		return -ENOMEM;
	view_init(&s->view, ix, q->viewer);
	err = index_candidates(ix, q,
			       sketched ? INDEX_BY_SHARE : INDEX_BY_ESTIMATE,
			       s->candidates, INDEX_MATCHES, &s->count);
	if (!err && sketched)
		err = match_candidates(s, q, store, out, &count);
	else if (!err && q->relation == INDEX_ALIKE)
		match_estimates(s, out, &count);
	free(s);
	if (err)
		return err;
	qsort(out, count, sizeof(*out), index_match_order);
	*count_out = count;
	return 0;
}
