/* SPDX-License-Identifier: Apache-2.0 */
#include "core/search/search_impl.h"

#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/source/file.h"

/*
 * Finds the near-duplicates of a file, or of digests: first the contents that
 * are alike, then the files with these contents (hits.c).
 */

/* ---- contents ---- */

int text_of_content(struct search_query *q, uint32_t content, uint32_t *out)
{
	struct content_text text = { 0 };
	int err = -ENOENT;

	if (q->context->texts && content)
		err = catalog_text_get(q->txn, content, &text);
	if (text.sketch && !q->caller->trusted &&
	    !text_is_visible(q, content, text.sketch))
		text.sketch = 0;
	*out = text.sketch;
	return err == -ENOENT ? 0 : err;
}

int query_fetch_sketch(void *query, uint32_t id, struct sketch *out)
{
	struct search_query *q = query;
	uint32_t content;

	if (!q->err && !q->caller->trusted &&
	    !catalog_text_owner(q->txn, id, &content) &&
	    !text_is_visible(q, content, id) && !q->err)
		return -ENOENT;
	return q->err ? q->err : catalog_sketch_get(q->txn, id, out);
}

static int fetch_picture(void *query, uint32_t id, struct pdq *out)
{
	struct search_query *q = query;
	struct picture_hashes picture;
	uint32_t content;
	int err = 0;

	if (!q->context->pictures)
		return -ENOENT;
	if (!q->err && !q->caller->trusted)
		err = catalog_text_owner(q->txn, id, &content);
	if (!err && !q->err && !q->caller->trusted &&
	    !text_is_visible(q, content, id))
		err = -ENOENT;
	if (!err)
		err = q->err;
	if (!err)
		err = catalog_picture_get(q->txn, id, &picture);
	if (!err && !(picture.has & PICTURE_JUDGING))
		err = -ENOENT;
	if (!err)
		*out = picture.judging;
	return err;
}

/* How many matches are searched for.  More than the limit of hits, because some
 * may have no visible file. */
static size_t matches_most(const struct search_query *q)
{
	size_t most = 2 * q->limit;

	return most > INDEX_MATCHES ? most : INDEX_MATCHES;
}

/* The subject of the content, or else of digests as they are; out borrows room. */
static int own_subject(struct search_query *q, const struct digests *digests,
		       struct sketch room[SUBJECT_PARTS], struct subject *out)
{
	const struct index_store store = { .sketch = query_fetch_sketch,
					   .picture = fetch_picture,
					   .arg = q };
	uint32_t text;
	int err;

	if (!q->self_content) {
		err = subject_of_digests(digests, room, out);
		return err == -ENODATA ? 0 : err;
	}
	err = text_of_content(q, q->self_content, &text);
	return err ? err :
		     index_fetch_subject(
			     &store,
			     (const uint32_t[]){ q->self_content, text }, room,
			     out);
}

static int search_digests(struct search_query *q, const struct digests *digests,
			  bool any, struct index_match **out, size_t *count_out)
{
	const struct index_store store = { .sketch = query_fetch_sketch,
					   .picture = fetch_picture,
					   .arg = q };
	struct index_query query = {
		.rules = q->rules,
		.self = q->self_content,
		.any = any,
		.visibility = q->index_visibility,
		.most = matches_most(q),
	};
	struct sketch *room = calloc(SUBJECT_PARTS, sizeof(*room));
	struct index_match *matches = calloc(query.most, sizeof(*matches));
	int err = -ENOMEM;

	if (room && matches)
		err = own_subject(q, digests, room, &query.subject);
	if (!err)
		err = index_search(q->context->index, &query, &store, matches,
				   count_out);
	if (!err)
		err = q->err;
	free(room);
	if (err)
		free(matches);
	else
		*out = matches;
	return err;
}

int near_contents(struct search_query *q, const struct digests *own, bool any,
		  struct index_match **out, size_t *count_out)
{
	struct match_cache *cache = q->searcher->matches;
	uint64_t changes = index_change_count(q->context->index);
	/* All matches of a content in the catalog, for a caller that may see
	 * every content. */
	bool cached = q->caller->trusted && q->self_content && !q->digests &&
		      q->rules.threshold == q->context->threshold &&
		      q->rules.relation == INDEX_ALIKE && !any;
	int err;

	if (cached &&
	    match_cache_get(cache, q->self_content, changes, out, count_out))
		return 0;
	err = search_digests(q, own, any, out, count_out);
	if (cached && !err)
		match_cache_put(cache, q->self_content, changes, *out,
				*count_out);
	return err;
}

/* ---- the listing of one file ---- */

/* Sets q->self, and looks the digests up again if the file has changed. */
static int find_self(struct search_query *q)
{
	const struct search_context *context = q->context;
	struct stat st;

	if (q->digests)
		return 0;
	if (!caller_can_read(q->caller, q->fd))
		return -EACCES;
	if (fstat(q->fd, &st))
		return -errno;
	source_get_key(context->source, q->fd, &st, &q->self);
	if (hash_answer_holds(context->hasher, q->fd, &q->hits.file))
		return 0;
	file_digests_release(&q->hits.file);
	return hash_ask(context->hasher, q->fd, 0, &q->hits.file);
}

/*
 * Begins to read, and sets q->self_content, so that its sketches are read from
 * the catalog.  If a commit failed, or the file has just changed, the catalog
 * has no such content.  Then the digests are looked up again with all text
 * forms, which include the sketches.
 */
static int find_content(struct search_query *q, const struct digests *d)
{
	int err = query_begin_read(q);

	if (!err)
		err = catalog_content_find(q->txn, d, &q->self_content);
	/* Somebody who knows no more than the XXH128 of a content learns nothing
	 * of it. */
	if (!err && q->digests && !q->caller->trusted &&
	    !content_is_visible(q, q->self_content))
		q->self_content = 0;
	if (err != -ENOENT || q->digests)
		return err == -ENOENT ? 0 : err;
	query_end_read(q); /* the look-up has a transaction of its own */
	file_digests_release(&q->hits.file);
	err = hash_ask(q->context->hasher, q->fd, DIGEST_ALL, &q->hits.file);
	return err ? err : query_begin_read(q);
}

/* Adds the files of a matching content other than q->self, at most limit; sets
 * cut when there is another one.  Returns how many. */
static int add_match(struct search_query *q, const struct index_match *match,
		     size_t limit)
{
	struct file_key at = { 0 };
	size_t added = 0;
	int found;

	while (!q->hits.cut && (found = copy_next(q, match->content, &at))) {
		if (found < 0)
			return found;
		if (file_key_equal(&at, &q->self))
			continue;
		found = hits_add_file(q, &at, &match->verdict, added < limit);
		if (found < 0)
			return found;
		q->hits.cut = found && added == limit;
		added += found && added < limit;
	}
	return (int)added;
}

/* Exact copies are in the relation, but of INDEX_WITHIN and INDEX_CONTAINS they
 * are not. */
static bool is_in_relation(const struct search_query *q,
			   const struct digests *d)
{
	return q->rules.relation == INDEX_SHARES ?
		       d->size >= q->rules.share_min :
		       index_is_alike(q->rules.relation);
}

static int add_copies(struct search_query *q, const struct digests *d)
{
	const struct index_match self = { .content = q->self_content,
					  .verdict =
						  verdict_of_copies(d->size) };

	if (!self.content || !is_in_relation(q, d) ||
	    pair_is_ignored(q, d, self.content))
		return 0;
	return add_match(q, &self, SIZE_MAX);
}

static int add_near(struct search_query *q, const struct digests *d)
{
	size_t limit = q->limit, count, i;
	struct index_match *matches;
	int added = near_contents(q, d, false, &matches, &count);

	if (added)
		return added;
	for (i = 0; i < count && added >= 0 && !q->hits.cut; i++) {
		if (pair_is_ignored(q, d, matches[i].content))
			continue;
		/* As many matches as were searched for: there may be more, so
		 * the listing counts as cut if the last one is visible. */
		added = add_match(q, &matches[i],
				  i == matches_most(q) - 1 ? 0 : limit);
		if (added > 0)
			limit -= (size_t)added;
	}
	free(matches);
	return added < 0 ? added : 0;
}

/* ---- one pair, and the base ---- */

/* Of a content in the catalog; related: whether equal contents are in the
 * relation. */
static int judge_content(struct search_query *q, const struct digests *d,
			 uint32_t content, bool related, struct verdict *out)
{
	const struct index_store store = { .sketch = query_fetch_sketch,
					   .picture = fetch_picture,
					   .arg = q };
	struct sketch *room;
	struct subject a = { 0 }, b = { 0 };
	uint32_t text;
	int err;

	*out = (struct verdict){ .reason = VERDICT_BELOW };
	if (content == q->self_content) {
		if (related)
			*out = verdict_of_copies(d->size);
		return 0;
	}
	room = calloc(2 * SUBJECT_PARTS, sizeof(*room));
	err = room ? own_subject(q, d, room, &a) : -ENOMEM;
	if (!err)
		err = text_of_content(q, content, &text);
	if (!err)
		err = index_fetch_subject(&store,
					  (const uint32_t[]){ content, text },
					  room + SUBJECT_PARTS, &b);
	if (!err)
		err = index_judge(q->context->index, q->index_visibility, &a,
				  &b, &q->rules, out);
	free(room);
	return err;
}

/* Adds the file at a path, if the caller sees it and its digests are known. */
static int add_path(struct search_query *q, const struct digests *d,
		    const char *path)
{
	const struct source *source = q->context->source;
	struct search_hit hit = { .path = NULL };
	struct file_record rec;
	struct stat st;
	int fd = path_is_visible(q, path) ?
			 file_open_beneath(source->fd, path, O_PATH) :
			 -ENOENT;
	int err = fd < 0 ? -ENOENT : 0;

	if (!err && (fstat(fd, &st) || !S_ISREG(st.st_mode) ||
		     !caller_can_read(q->caller, fd)))
		err = -ENOENT;
	if (!err) {
		source_get_key(source, fd, &st, &hit.key);
		source_get_identity(&st, &hit.identity);
		err = catalog_file_get(q->txn, &hit.key, &rec);
	}
	if (fd >= 0)
		close(fd);
	if (!err && (rec.state != FILE_FRESH ||
		     !file_identity_equal(&hit.identity, &rec.identity)))
		err = -ENOENT;
	if (!err)
		err = judge_content(q, d, rec.content, is_in_relation(q, d),
				    &hit.verdict);
	if (err)
		return err == -ENOENT ? 0 : err;
	hit.ignored = pair_is_ignored(q, d, rec.content);
	hit.path = strdup(path);
	return hits_append(q, &hit);
}

/* What both have in common is counted in values of the sketch of the file that
 * is asked about: a finer number would be chance.  So may one value be, where a
 * seed has eight: the same path counts as one. */
static struct base_rank rank_of(const struct search_hit *hit,
				const struct search_file_query *query,
				uint64_t size, double value_bytes)
{
	const bool at_path = query->with && !strcmp(query->with, hit->path);
	const double values = (double)hit->verdict.bytes / value_bytes + 0.5;

	return (struct base_rank){
		.identical = hit->verdict.score == 100,
		.shared = (uint64_t)values + at_path,
		.at_path = at_path,
		.distance = size_distance(hit->identity.size, size),
	};
}

/* Leaves the best base among the hits, or none. */
static void hits_keep_base(struct search_hits *hits,
			   const struct search_file_query *query,
			   const struct digests *d, double value_bytes)
{
	struct search_hit *all = hits->hits, best;
	struct base_rank rank, most = { 0 };
	size_t i, kept = 0;

	for (i = 0; i < hits->count; i++) {
		rank = rank_of(&all[i], query, d->size, value_bytes);
		if (all[i].verdict.score < BASE_LEAST ||
		    (kept && !base_is_better(&rank, &most)))
			continue;
		most = rank;
		best = all[i];
		all[i] = all[0];
		all[0] = best;
		kept = 1;
	}
	while (hits->count > kept)
		free(hits->hits[--hits->count].path);
	hits->cut = false;
}

static int choose_base(struct search_query *q, const struct digests *d,
		       const struct search_file_query *query)
{
	struct sketch *room = calloc(SUBJECT_PARTS, sizeof(*room));
	const struct sketch *own;
	struct subject subject = { 0 };
	double value_bytes = 1;
	int err = room ? own_subject(q, d, room, &subject) : -ENOMEM;

	own = subject.sketches[SUBJECT_BYTES];
	if (!err && own && own->count)
		value_bytes = (double)own->folded / (double)own->count;
	if (!err)
		hits_keep_base(&q->hits, query, d, fmax(1, value_bytes));
	free(room);
	return err;
}

/* ---- the query ---- */

static int find_hits(struct search_query *q, const struct digests *d,
		     const struct search_file_query *query)
{
	int err = query->with ? add_path(q, d, query->with) : 0;

	if (err || (query->with && !query->base))
		return err;
	err = add_copies(q, d);
	if (err >= 0 && !(query->base && err > 0))
		err = add_near(q, d);
	if (err < 0)
		return err;
	if (q->hits.count)
		qsort(q->hits.hits, q->hits.count, sizeof(*q->hits.hits),
		      search_hit_order);
	return query->base ? choose_base(q, d, query) : 0;
}

static int file_answer(struct search_query *q,
		       const struct search_file_query *query)
{
	const struct digests *d =
		q->digests ? q->digests : &q->hits.file.digests;
	int err = find_self(q);

	if (err || q->hits.file.state != DIGESTS_FRESH || !d->size)
		return err;
	err = find_content(q, d);
	if (err || q->hits.file.state != DIGESTS_FRESH || !d->size)
		return err;
	err = query_wait_text(q);
	if (!err && !q->digests && q->rules.relation != INDEX_ALL) {
		err = file_is_internal(q, &q->self);
		q->live = !err;
	}
	return err < 0 ? err : find_hits(q, d, query);
}

int search_open(struct search_job *job, const char *path)
{
	const struct searcher *s = job->searcher;
	const struct search_caller *caller = job->caller;
	int fd = caller->trusted ?
			 0 :
			 credentials_enter(&caller->credentials, &s->own);

	if (fd)
		return fd;
	fd = file_open_beneath(s->context.source->fd, *path ? path : ".",
			       O_PATH);
	if (!caller->trusted)
		credentials_leave(&s->own);
	return fd;
}

int search_file(struct search_job *job, const struct search_file_query *query,
		struct search_hits *out)
{
	struct search_query q;
	int err;

	query_init(&q, job, query->digests ? -1 : query->fd);
	job->is_short = true;
	q.digests = query->digests;
	q.ignore = query->ignore;
	q.rules.relation = query->base ? INDEX_ALL : query->rules.relation;
	q.rules.by_bytes = query->base;
	if (query->base)
		q.rules.threshold = BASE_LEAST;
	else if (query->rules.threshold)
		q.rules.threshold = query->rules.threshold;
	if (query->rules.share_min)
		q.rules.share_min = query->rules.share_min;
	if (query->limit)
		q.limit = query->limit;
	q.deadline_ms = clock_now_ms() + query->timeout_ms;
	q.ticket = query->ticket;
	err = q.digests ? 0 : query_wait_digests(&q);
	if (!err)
		err = query_begin(&q);
	if (!err)
		err = file_answer(&q, query);
	if (!err)
		err = hits_settle_incomplete(&q);
	return query_end(&q, err, out);
}
