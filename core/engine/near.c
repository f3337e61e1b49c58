/* SPDX-License-Identifier: Apache-2.0 */
#include "core/engine/near.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/engine/look.h"

/*
 * What resembles a file: the index proposes contents, the digests score them,
 * and those that score enough are turned into files (hits.c).
 */

enum {
	CANDIDATES = 512,
	SLACK = 25, /* how far an estimate may lie below the true score */
};

/* ---- contents ---- */

static int compare_scored(const void *a, const void *b)
{
	const struct scored *x = a, *y = b;

	if (x->score != y->score)
		return y->score - x->score;
	return x->content < y->content ? -1 : x->content > y->content;
}

static int score_candidate(struct look *l, struct index_subject *subject,
			   uint32_t content, int *score_out)
{
	struct digests other;
	int err = catalog_content_get(l->txn, content, &other);

	if (err)
		return err;
	err = index_score(subject, &other, score_out);
	digests_release(&other);
	return err;
}

/* Keeps those that score at least the threshold. */
static int score_candidates(struct look *l, const struct digests *d,
			    const struct candidate *candidates, size_t count,
			    struct scored *out, size_t *kept_out)
{
	struct index_subject *subject;
	size_t kept = 0, i;
	int err = index_subject_new(l->e->index, d, &subject);

	if (err)
		return err;
	for (i = 0; i < count && !err; i++) {
		struct scored *s = &out[kept];

		s->content = candidates[i].content;
		err = score_candidate(l, subject, s->content, &s->score);
		if (!err && s->score >= l->e->options.threshold &&
		    s->score < 100)
			kept++;
		if (err == -ENOENT) /* removed since */
			err = 0;
	}
	index_subject_free(subject);
	*kept_out = kept;
	return err;
}

int near_contents(struct look *l, const struct digests *d,
		  uint32_t first_content, struct scored **out,
		  size_t *count_out)
{
	struct index_query query = { .digests = d,
				     .self = l->self_content,
				     .first_content = first_content,
				     .min_estimate =
					     l->e->options.threshold - SLACK };
	struct candidate *candidates = calloc(CANDIDATES, sizeof(*candidates));
	struct scored *scored = calloc(CANDIDATES, sizeof(*scored));
	size_t count = 0, kept = 0;
	int err = candidates && scored ? 0 : -ENOMEM;

	if (!err)
		err = index_query(l->e->index, &query, candidates, CANDIDATES,
				  &count);
	if (!err && count)
		err = score_candidates(l, d, candidates, count, scored, &kept);
	free(candidates);
	if (err) {
		free(scored);
		return err;
	}
	qsort(scored, kept, sizeof(*scored), compare_scored);
	*out = scored;
	*count_out = kept;
	return 0;
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
	size_t limit = l->e->options.limit, exact = l->found, count, i;
	struct scored *scored;
	bool cut = false;
	int err;

	err = near_contents(l, d, 1, &scored, &count);
	if (err)
		return err;
	for (i = 0; i < count && !err && !cut; i++)
		err = content_hits(l, scored[i].content, scored[i].score,
				   limit - (l->found - exact), &cut);
	free(scored);
	l->hits->cut = cut;
	return err;
}

static int list_file(struct look *l, const struct digests *d)
{
	struct file_record rec;
	bool cut = false;
	int err = 0;

	if (!d->size)
		return 0;
	if (!catalog_file_get(l->txn, &l->self, &rec) &&
	    rec.state == FILE_FRESH)
		l->self_content = rec.content;
	if (l->self_content)
		err = content_hits(l, l->self_content, 100, SIZE_MAX, &cut);
	if (!err)
		err = list_near(l, d);
	if (!err && l->hits->count)
		qsort(l->hits->hits, l->hits->count, sizeof(*l->hits->hits),
		      compare_hits);
	return err;
}

int near_list(struct request *r, struct engine_hits *hits_out)
{
	struct engine_answer answer = { 0 };
	struct engine_hits hits = { 0 };
	struct look l = { 0 };
	struct stat st;
	int err;

	if (!viewer_can_read(&r->viewer, r->fd))
		return -EACCES;
	err = engine_ask(r->engine, r->fd, &answer);
	if (err)
		return err;
	if (answer.state != ENGINE_FRESH)
		goto out;
	err = fstat(r->fd, &st) ? -errno : look_begin(r, &l);
	if (err)
		goto out;
	l.hits = &hits;
	engine_file_key(l.e, r->fd, &st, &l.self);
	err = list_file(&l, &answer.digests);
	catalog_abort(l.txn);
out:
	engine_answer_release(&answer);
	if (err)
		engine_hits_release(&hits);
	else
		*hits_out = hits;
	return err;
}
