/* SPDX-License-Identifier: Apache-2.0 */
#include "core/index/index_impl.h"

#include <errno.h>
#include <stdlib.h>

#include "core/index/score.h"

struct search {
	struct index *ix;
	struct weighed_sketch own;
	struct sif_sketch other;
	struct candidate candidates[INDEX_MATCHES];
	size_t count;
};

static void weigh(struct index *ix, const struct sif_sketch *sketch,
		  struct weighed_sketch *out)
{
	(void)pthread_rwlock_rdlock(&ix->columns_lock);
	score_weigh(ix->frequency, sketch, out);
	(void)pthread_rwlock_unlock(&ix->columns_lock);
}

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

/* Sets score and merit, the latter only as to whether it is below least. */
static int score(struct index *ix, const struct weighed_sketch *a,
		 const struct sif_sketch *b, enum index_relation relation,
		 int least, struct index_match *out)
{
	struct shares shares, merits;
	int err;

	(void)pthread_rwlock_rdlock(&ix->columns_lock);
	/* One less, as scores are rounded. */
	err = score_shares(ix->frequency, a, b, (least - 1) / 100.0, &shares,
			   &merits);
	(void)pthread_rwlock_unlock(&ix->columns_lock);
	if (err)
		return err;
	out->score = percent_of(&shares, relation);
	out->merit = percent_of(&merits, relation);
	return 0;
}

int index_score(struct index *ix, const struct sif_sketch *a,
		const struct sif_sketch *b, enum index_relation relation,
		struct index_match *out)
{
	struct weighed_sketch *own = malloc(sizeof(*own));
	int err;

	if (!own)
		return -ENOMEM;
	weigh(ix, a, own);
	err = score(ix, own, b, relation, 0, out);
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
	int err = 0;

	weigh(s->ix, q->sketch, &s->own);
	if (q->plain)
		s->own.has_common = false;
	for (i = 0; i < s->count && !(q->any && kept); i++) {
		out[kept].content = s->candidates[i].content;
		err = store->sketch(store->arg, out[kept].content, &s->other);
		if (err == -ENOENT)
			continue;
		if (!err)
			err = score(s->ix, &s->own, &s->other, q->relation,
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
	s->ix = ix;
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
