/* SPDX-License-Identifier: Apache-2.0 */
#include "core/search/search_impl.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/array.h"
#include "core/base/clock.h"

/* The search for groups: collects contents, then groups them; and the files of
 * groups. */

/* ---- objects ---- */

void file_groups_free(struct file_groups *groups)
{
	if (!groups)
		return;
	group_set_free(groups->set);
	search_held_release(&groups->held);
	search_paths_release(&groups->within);
	free(groups);
}

struct groups_query {
	struct search_query q;
	const struct file_groups_query *asked;
	struct group_rules rules;
	struct grouping *grouping;    /* owned */
	struct group_content content; /* that is being counted */
	unsigned grouped;    /* thousandths; 0 while contents are collected */
	int64_t progress_ms; /* of the last report */
};

/* ---- collecting ---- */

/* Whether all files are visible, so that they need not be opened. */
static bool sees_all(const struct search_query *q)
{
	return q->caller->trusted && !q->within->count;
}

/* Counts the files of the content again, without those that are internal. */
static int count_live(struct groups_query *g)
{
	struct group_content *c = &g->content;
	struct catalog_walk *walk;
	struct file_key key;
	uint32_t content;
	int internal, err = catalog_copies_begin(g->q.txn, c->content, &walk);

	if (err)
		return err;
	c->files = 0;
	while ((err = catalog_copies_next(walk, &content, &key)) == 1 &&
	       content == c->content) {
		internal = file_is_internal(&g->q, &key);
		if (internal < 0)
			err = internal;
		if (err < 0)
			break;
		c->files += !internal;
	}
	catalog_walk_end(walk);
	return err < 0 ? err : 0;
}

/* Adds the content that was counted. */
static int add_content(struct groups_query *g)
{
	const size_t least = g->rules.exact ? 2 : 1;
	struct group_content *c = &g->content;
	struct digests d;
	int err = 0;

	if (c->files >= least && g->q.live && sees_all(&g->q))
		err = count_live(g);
	if (err || c->files < least)
		return err;
	err = catalog_content_get(g->q.txn, c->content, 0, &d);
	if (err)
		return err == -ENOENT ? 0 : err;
	if (d.size < g->asked->min_size)
		return 0;
	if (group_rules_compare(&g->rules))
		err = text_of_content(&g->q, c->content, &c->text);
	if (err)
		return err;
	c->size = d.size;
	memcpy(c->xxh128, d.xxh128, sizeof(c->xxh128));
	return grouping_add(g->grouping, c);
}

enum { PROGRESS_MS = 100 };

/* The number of contents collected counts some that others than the owner cannot
 * see. */
static void report_progress(struct groups_query *g)
{
	const struct file_groups_query *asked = g->asked;
	/* The fraction of collecting in the whole work, of 1000. */
	unsigned part = sees_all(&g->q) ? 50 : 400, done = part;
	uint32_t end = index_end(g->q.context->index);
	int64_t now = clock_now_ms();

	if (now - g->progress_ms < PROGRESS_MS)
		return;
	g->progress_ms = now;
	if (g->grouped)
		done += (1000 - part) * g->grouped / 1000;
	else if (end && g->content.content < end)
		done = (unsigned)((uint64_t)part * g->content.content / end);
	asked->progress(asked->arg, done);
}

/* As query_yield(); -ECANCELED also if nobody wants the groups any more. */
static int yield(struct groups_query *g)
{
	if (atomic_load(g->asked->cancelled))
		return -ECANCELED;
	if (g->q.caller->trusted && g->asked->progress)
		report_progress(g);
	return query_yield(&g->q);
}

/* Reading a record costs little compared with examining a file. */
enum { RECORDS_PER_WORK = 64 };

/* Counts files of the contents from g->content on by their records, until the
 * work of the turn is done.  1: there are more, the first is g->content. */
static int count_records(struct groups_query *g)
{
	struct group_content *c = &g->content;
	struct catalog_walk *walk;
	struct file_key key;
	uint32_t content;
	size_t seen = 0;
	int err = catalog_copies_begin(g->q.txn, c->content, &walk);

	if (err)
		return err;
	while ((err = catalog_copies_next(walk, &content, &key)) == 1) {
		if (++seen % RECORDS_PER_WORK == 0)
			query_count_work(&g->q, 1);
		if (content != c->content) {
			err = add_content(g);
			*c = (struct group_content){ .content = content };
			if (err || !g->q.work_left)
				break;
		}
		c->files++;
	}
	catalog_walk_end(walk);
	if (err)
		return err;
	if (seen && !c->files)
		return 1;
	return add_content(g);
}

static int collect_records(struct groups_query *g)
{
	int err;

	g->content.content = 1;
	while ((err = count_records(g)) == 1) {
		err = yield(g);
		if (err)
			break;
	}
	return err;
}

/* The first content from that id on that has a file.  -ENOENT. */
static int next_content(struct search_query *q, uint32_t from, uint32_t *out)
{
	struct catalog_walk *walk;
	struct file_key key;
	int err = catalog_copies_begin(q->txn, from, &walk);

	if (err)
		return err;
	err = catalog_copies_next(walk, out, &key);
	catalog_walk_end(walk);
	return err == 1 ? 0 : err ? err : -ENOENT;
}

/* 1: by its records the content may be in a group; else 0. */
static int is_wanted(struct groups_query *g, uint32_t content)
{
	struct catalog_txn *txn = g->q.txn;
	struct file_key key;
	struct digests d;
	int err = catalog_content_get(txn, content, 0, &d);

	if (!err &&
	    (d.size < g->asked->min_size || (!d.size && !g->rules.every)))
		return 0;
	if (!err && g->rules.exact) {
		err = catalog_copy_after(txn, content, NULL, &key);
		if (!err)
			err = catalog_copy_after(txn, content, &key, &key);
	}
	return err ? err == -ENOENT ? 0 : err : 1;
}

/* Collects contents by examining every file. */
static int collect_files(struct groups_query *g)
{
	struct group_content *c = &g->content;
	struct search_query *q = &g->q;
	uint32_t content = 0;
	int err;

	while (!(err = yield(g)) &&
	       !(err = next_content(q, content + 1, &content))) {
		struct file_key at = { 0 };

		*c = (struct group_content){ .content = content };
		err = is_wanted(g, content);
		query_count_work(q, 1);
		while (err == 1 && (err = copy_next(q, content, &at)) == 1) {
			err = hits_add_file(q, &at, NULL, 0);
			c->files += err > 0;
			err = err < 0 ? err : q->err ? q->err : 1;
		}
		if (!err)
			err = add_content(g);
		if (err)
			break;
	}
	return err == -ENOENT ? 0 : err;
}

/* ---- grouping ---- */

/* Whether the user ignores every pair of the head and another member, and, if
 * the group has exact copies, every pair of a content and itself.  (Which
 * members have copies is not known here.) */
static bool group_is_ignored(struct search_query *q,
			     const struct group_set *set,
			     const struct content_group *group)
{
	const struct group_member *m = &set->members[group->first];
	uint32_t i;

	for (i = 0; i < group->count; i++)
		if ((i && !contents_are_ignored(q, m->content, m[i].content)) ||
		    (group->files > group->count &&
		     !contents_are_ignored(q, m[i].content, m[i].content)))
			return false;
	return true;
}

static void drop_ignored(struct search_query *q, struct group_set *set)
{
	size_t i, kept = 0;

	if (!q->ignores || set->rules.every)
		return;
	for (i = 0; i < set->count; i++)
		if (!group_is_ignored(q, set, &set->groups[i]))
			set->groups[kept++] = set->groups[i];
	set->count = kept;
}

/* What could not be hashed or looked at may belong to a group, and a document by
 * its text.  Whether there is any is told to trusted callers alone. */
static int find_failed(struct search_query *q, struct file_groups *groups)
{
	struct catalog_counts counts = { 0 };
	int err = q->caller->trusted ? catalog_counts(q->txn, &counts) : 0;

	groups->failed = counts.failed + counts.unread;
	if (q->context->texts && !q->exact)
		groups->failed_texts = counts.failed_texts;
	q->hits.incomplete |=
		q->context->texts && !q->exact && counts.pending_texts;
	return err;
}

static int count_work(void *arg, size_t work, unsigned done)
{
	struct groups_query *g = arg;

	query_count_work(&g->q, work);
	g->grouped = done;
	return g->q.work_left ? 0 : yield(g);
}

static int groups_answer(struct groups_query *g, struct file_groups *groups)
{
	struct search_query *q = &g->q;
	const struct group_source source = {
		.store = { .sketch = query_fetch_sketch, .arg = q },
		.spent = count_work,
		.arg = g,
	};
	int err;

	g->rules = g->asked->rules;
	if (!g->rules.threshold)
		g->rules.threshold = q->context->threshold;
	err = grouping_new(&g->rules, &g->grouping);
	if (!err)
		err = query_begin_read(q);
	if (!err)
		err = sees_all(q) ? collect_records(g) : collect_files(g);
	if (!err)
		err = yield(g) ?:
				 grouping_run(g->grouping, &source, &groups->set);
	if (err)
		return err;
	drop_ignored(q, groups->set);
	err = find_failed(q, groups) ?: q->err ?: hits_settle_incomplete(q);
	atomic_store(&groups->incomplete, q->hits.incomplete || q->missed ||
						  groups->failed ||
						  groups->failed_texts);
	return err;
}

int search_groups(struct search_job *job, struct file_groups_query *query,
		  struct file_groups **out)
{
	struct groups_query g = { .asked = query };
	struct file_groups *groups = calloc(1, sizeof(*groups));
	int err;

	if (!groups)
		return -ENOMEM;
	query_init(&g.q, job, -1);
	groups->within = query->within;
	groups->internal = query->internal;
	query->within = (struct search_paths){ 0 };
	g.q.within = &groups->within;
	g.q.live = !query->internal;
	g.q.exact = query->rules.exact;
	job->takes_memory = group_rules_compare(&query->rules);
	err = query_begin(&g.q) ?: groups_answer(&g, groups);
	grouping_free(g.grouping);
	err = query_end(&g.q, err, NULL);
	if (!err)
		err = search_hold(&groups->held, job->uid,
				  groups->set->member_count *
						  sizeof(struct group_member) +
					  groups->set->count *
						  sizeof(struct content_group));
	if (err)
		file_groups_free(groups);
	else
		*out = groups;
	return err;
}

/* ---- the files of groups, a bounded number at a time ---- */

/* How many files of a head are examined for the first one by path. */
enum { HEAD_FILES = 64 };

/* Keeps the first by path of the hits from an index on. */
static void keep_first(struct search_hits *hits, size_t from)
{
	struct search_hit *first = &hits->hits[from];

	while (hits->count > from + 1) {
		struct search_hit *last = &hits->hits[--hits->count];

		if (strcmp(last->path, first->path) < 0) {
			struct search_hit worse = *first;

			*first = *last;
			*last = worse;
		}
		free(last->path);
	}
}

/* All digests of a content in the catalog, without XXH128. */
static int read_digests(struct search_query *q, uint32_t content,
			struct json_t **out)
{
	uint32_t text;
	struct digests d;
	int err = catalog_content_get(q->txn, content, CONTENT_ALL, &d);

	if (err)
		return err;
	*out = digests_to_json(&d, DIGEST_ALL & ~DIGEST_BIT(DIGEST_XXH128));
	digests_release(&d);
	err = text_of_content(q, content, &text);
	if (*out && !text)
		(void)json_object_del(*out, DIGEST_TEXT_NAME);
	return *out ? err : -ENOMEM;
}

/* Adds files of a member as hits.  1: there is no room for more files; 0: it
 * has no more. */
static int add_member(struct search_query *q, struct file_groups *groups,
		      struct search_group_range *range,
		      const struct group_member *member)
{
	const struct verdict verdict = { .score = member->score,
					 .by = member->by };
	struct content_text text = { .date = TEXT_NO_DATE };
	bool begins = !range->copy.inode;
	size_t first = q->hits.count, most = GROUP_FILES_MAX, i;
	struct digests d;
	int found = 1,
	    err = catalog_content_get(q->txn, member->content, 0, &d);

	if (err)
		return err == -ENOENT ? 0 : err;
	if (range->heads)
		most = first + HEAD_FILES;
	while (found > 0 && q->hits.count < most) {
		found = copy_next(q, member->content, &range->copy);
		if (found == 1)
			err = hits_add_file(q, &range->copy, &verdict,
					    range->names ? HIT_NAMES_MAX : 1);
		if (err < 0 || found < 0)
			return err < 0 ? err : found;
	}
	if (range->heads && q->hits.count > first)
		keep_first(&q->hits, first);
	err = catalog_text_get(q->txn, member->content, &text);
	if (err && err != -ENOENT)
		return err;
	for (i = first; i < q->hits.count; i++) {
		struct search_hit *hit = &q->hits.hits[i];

		hit->group = range->group;
		hit->member = range->member;
		hit->date =
			q->caller->trusted || catalog_text_is_told(
						      q->txn, member->content,
						      &hit->key) == 1 ?
				text.date :
				TEXT_NO_DATE;
		memcpy(hit->xxh128, d.xxh128, sizeof(hit->xxh128));
	}
	err = 0;
	if (begins && q->hits.count > first && groups->set->rules.every)
		err = read_digests(q, member->content,
				   &q->hits.hits[first].digests);
	if (!err)
		err = q->err;
	return err ? err : found > 0;
}

static int group_files_answer(struct search_query *q,
			      struct file_groups *groups,
			      struct search_group_range *range)
{
	const struct group_set *set = groups->set;
	int err = query_begin_read(q);

	while (!err && range->group <= range->last &&
	       range->group < set->count && q->hits.count < GROUP_FILES_MAX) {
		const struct content_group *group = &set->groups[range->group];

		err = add_member(q, groups, range,
				 &set->members[group->first + range->member]);
		if (err < 0 || (err && !range->heads))
			break;
		err = 0;
		range->copy = (struct file_key){ 0 };
		if (range->heads || ++range->member >= group->count) {
			range->group++;
			range->member = 0;
		}
	}
	range->end = range->group > range->last || range->group >= set->count;
	if (q->missed)
		atomic_store(&groups->incomplete, true);
	return err < 0 ? err : 0;
}

int search_group_files(struct search_job *job, struct file_groups *groups,
		       struct search_group_range *range,
		       struct search_hits *out)
{
	struct search_query q;
	int err;

	query_init(&q, job, -1);
	q.within = &groups->within;
	q.live = !groups->internal;
	q.goes_on = true;
	err = query_begin(&q) ?: group_files_answer(&q, groups, range);
	return query_end(&q, err, out);
}
