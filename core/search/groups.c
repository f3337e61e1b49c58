/* SPDX-License-Identifier: Apache-2.0 */
#include "core/search/groups.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/array.h"
#include "core/base/clock.h"
#include "core/search/search_impl.h"

/* The search for groups: collects contents, then groups them. */

/* ---- objects ---- */

int search_paths_add(struct search_paths *p, const char *path, size_t len)
{
	char **paths = array_with_room(p->paths, p->count, sizeof(*paths));

	if (!paths)
		return -ENOMEM;
	p->paths = paths;
	paths[p->count] = strndup(path, len);
	if (!paths[p->count])
		return -ENOMEM;
	p->count++;
	return 0;
}

void search_paths_release(struct search_paths *p)
{
	while (p->count)
		free(p->paths[--p->count]);
	free(p->paths);
	*p = (struct search_paths){ 0 };
}

bool search_paths_have(const struct search_paths *p, const char *path)
{
	size_t i, len;

	for (i = 0; i < p->count; i++) {
		len = strlen(p->paths[i]);
		if (!len || (!strncmp(path, p->paths[i], len) &&
			     (path[len] == '/' || !path[len])))
			return true;
	}
	return !p->count;
}

static int paths_copy(const struct search_paths *from, struct search_paths *out)
{
	size_t i;
	int err = 0;

	*out = (struct search_paths){ 0 };
	for (i = 0; i < from->count && !err; i++)
		err = search_paths_add(out, from->paths[i],
				       strlen(from->paths[i]));
	if (err)
		search_paths_release(out);
	return err;
}

struct file_groups *file_groups_ref(struct file_groups *groups)
{
	atomic_fetch_add(&groups->refs, 1);
	return groups;
}

void file_groups_unref(struct file_groups *groups)
{
	if (!groups || atomic_fetch_sub(&groups->refs, 1) != 1)
		return;
	group_set_free(groups->set);
	search_paths_release(&groups->within);
	free(groups);
}

struct groups_state {
	struct group_rules rules;
	uint64_t min_size;
	struct file_groups_watch *watch; /* borrowed */
	struct file_groups *groups;      /* owned until done */
	struct grouping *grouping;       /* owned */
	struct group_content content;    /* that is being counted */
	struct copy_cursor cursor;       /* in its files */
	bool collected;                  /* all contents are */
	int64_t progress_ms;             /* of the last report */
};

/* ---- collecting ---- */

/* Whether all files are visible, so that they need not be opened. */
static bool sees_all(const struct search_query *q)
{
	return q->caller.trusted && !q->within->count;
}

static int add_content(struct search_query *q, struct groups_state *state)
{
	struct group_content *c = &state->content;
	struct digests d;
	int err;

	if (c->files < (state->rules.exact ? 2 : 1))
		return 0;
	err = catalog_content_brief(q->txn, c->content, &d);
	if (err)
		return err == -ENOENT ? 0 : err;
	if (d.size < state->min_size)
		return 0;
	c->size = d.size;
	memcpy(c->xxh128, d.xxh128, sizeof(c->xxh128));
	return grouping_add(state->grouping, c);
}

struct collecting {
	struct search_query *q;
	struct groups_state *state;
	size_t seen;
};

/* Reading a record costs little compared with examining a file. */
enum { RECORDS_PER_WORK = 64 };

static int count_record(void *arg, uint32_t content, const struct file_key *key)
{
	struct collecting *w = arg;
	struct group_content *c = &w->state->content;
	int err = 0;

	(void)key;
	if (++w->seen % RECORDS_PER_WORK == 0)
		query_count_work(w->q, 1);
	if (content != c->content) {
		err = add_content(w->q, w->state);
		*c = (struct group_content){ .content = content };
		if (!err)
			err = query_may_go_on(w->q);
	}
	c->files++;
	return err;
}

/* Collects contents without opening files. */
static int collect_records(struct search_query *q, struct groups_state *state)
{
	struct collecting w = { .q = q, .state = state };
	int err;

	/* The content of the last turn is counted again from its first file. */
	state->content.files = 0;
	err = catalog_copies_from(q->txn, state->content.content, count_record,
				  &w);
	return err ? err : add_content(q, state);
}

static int take_first(void *arg, uint32_t content, const struct file_key *key)
{
	uint32_t *out = arg;

	(void)key;
	*out = content;
	return 1;
}

static int count_two(void *arg, uint32_t content, const struct file_key *key)
{
	unsigned *count = arg;

	(void)content;
	(void)key;
	return ++*count == 2;
}

/* 1: by its records the content may be in a group; else 0. */
static int is_wanted(struct search_query *q, const struct groups_state *state,
		     uint32_t content)
{
	unsigned files = 0;
	struct digests d;
	int err = catalog_content_brief(q->txn, content, &d);

	if (err)
		return err == -ENOENT ? 0 : err;
	if (d.size < state->min_size || (!d.size && !state->rules.every))
		return 0;
	if (!state->rules.exact)
		return 1;
	err = catalog_copies_each(q->txn, content, count_two, &files);
	return err < 0 ? err : files == 2;
}

struct file_count {
	struct search_query *q;
	uint32_t *files;
};

static int count_file(void *arg, const struct file_key *key)
{
	struct file_count *c = arg;
	int err = hits_probe_file(c->q, key);

	*c->files += err == 1;
	return err < 0 ? err : 0;
}

/* Counts the visible files of the content, and adds it. */
static int probe_content(struct search_query *q, struct groups_state *state)
{
	struct group_content *c = &state->content;
	struct file_count count = { q, &c->files };
	int err = 1;

	if (!state->cursor.begun) {
		err = is_wanted(q, state, c->content);
		query_count_work(q, 1);
	}
	if (err == 1)
		err = copies_each(q, c->content, &state->cursor, count_file,
				  &count);
	return err ? err : add_content(q, state);
}

/* Collects contents by examining every file. */
static int collect_files(struct search_query *q, struct groups_state *state)
{
	struct group_content *c = &state->content;
	uint32_t next = 0;
	int err;

	for (;;) {
		if (!c->content)
			c->content = 1;
		err = state->cursor.begun ?
			      1 :
			      catalog_copies_from(q->txn, c->content,
						  take_first, &next);
		if (err <= 0)
			return err;
		if (!state->cursor.begun)
			*c = (struct group_content){ .content = next };
		err = query_may_go_on(q);
		if (!err)
			err = probe_content(q, state) ?: q->err;
		if (err)
			return err;
		*c = (struct group_content){ .content = c->content + 1 };
		state->cursor = (struct copy_cursor){ 0 };
	}
}

/* ---- turns ---- */

static int groups_begin(struct search_query *q)
{
	struct groups_state *state = q->state;

	state->rules.all = q->context->measure == DIGEST_SIF;
	if (!state->rules.threshold)
		state->rules.threshold = q->context->threshold;
	return grouping_new(&state->rules, &state->grouping);
}

static int fetch_sketch(void *arg, uint32_t content, struct sketch *out)
{
	return catalog_sketch_get(arg, content, out);
}

/* Whether the user ignores, for each member, the pair of the content and
 * itself. */
static bool copies_are_ignored(struct search_query *q,
			       const struct group_member *members,
			       uint32_t count)
{
	struct digests d;
	uint32_t i;

	for (i = 0; i < count; i++)
		if (catalog_content_brief(q->txn, members[i].content, &d) ||
		    !pair_is_ignored(q, &d, members[i].content))
			return false;
	return true;
}

/* Whether the user ignores every pair of the head and another member, and, if
 * the group has exact copies, every pair of a content and itself.  (Which
 * members have copies is not known here.) */
static bool group_is_ignored(struct search_query *q,
			     const struct group_set *set,
			     const struct content_group *group)
{
	const struct group_member *members = &set->members[group->first];
	struct digests head;
	uint32_t i;

	if (group->files > group->count &&
	    !copies_are_ignored(q, members, group->count))
		return false;
	if (catalog_content_brief(q->txn, members->content, &head))
		return false;
	for (i = 1; i < group->count; i++)
		if (!pair_is_ignored(q, &head, members[i].content))
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

static int group_contents(struct search_query *q, struct groups_state *state)
{
	const struct index_store store = { .sketch = fetch_sketch,
					   .arg = q->txn };
	int err = query_may_go_on(q);

	if (!err)
		err = grouping_step(state->grouping, &store, q->work_left);
	if (err)
		return err == 1 ? TURN_OVER : err;
	state->groups->set = grouping_take(state->grouping);
	drop_ignored(q, state->groups->set);
	return 0;
}

/* A file that could not be read may belong to a group.  Whether there is one is
 * told to trusted callers alone. */
static int find_failed(struct search_query *q)
{
	struct catalog_counts counts = { 0 };
	int err = q->caller.trusted ? catalog_counts(q->txn, &counts) : 0;

	if (counts.failed)
		q->hits.incomplete = true;
	return err;
}

static int groups_turn(struct search_query *q)
{
	struct groups_state *state = q->state;
	int err = 0;

	if (atomic_load(state->watch->cancelled))
		return -ECANCELED;
	if (!state->collected) {
		err = sees_all(q) ? collect_records(q, state) :
				    collect_files(q, state);
		state->collected = !err;
	}
	if (!err)
		err = group_contents(q, state);
	return err ? err : find_failed(q);
}

enum { PROGRESS_MS = 100 };

/* The share of collecting in the whole work, of 1000. */
static unsigned collect_part(const struct search_query *q)
{
	return sees_all(q) ? 50 : 400;
}

static void groups_turn_over(struct search_query *q)
{
	const struct groups_state *state = q->state;
	uint32_t end = index_end(q->context->index);
	unsigned part = collect_part(q), done = part;
	int64_t now = clock_now_ms();

	/* What has been collected counts contents that others cannot see, and so
	 * does the rest of the turn in which that ends. */
	if (!q->caller.trusted || !state->watch->progress ||
	    now - state->progress_ms < PROGRESS_MS)
		return;
	((struct groups_state *)q->state)->progress_ms = now;
	if (state->collected)
		done += (1000 - part) * grouping_progress(state->grouping) /
			1000;
	else if (end && state->content.content < end)
		done = (unsigned)((uint64_t)part * state->content.content /
				  end);
	state->watch->progress(state->watch->arg, done);
}

static void groups_end(struct search_query *q, int err)
{
	struct groups_state *state = q->state;
	struct file_groups_watch *watch = state->watch;
	struct file_groups *groups = state->groups;

	if (err) {
		watch->done(watch->arg, err, NULL);
		return;
	}
	groups->incomplete = q->hits.incomplete;
	state->groups = NULL;
	watch->done(watch->arg, 0, groups);
}

static void groups_release(struct search_query *q)
{
	struct groups_state *state = q->state;

	if (!state)
		return;
	grouping_free(state->grouping);
	file_groups_unref(state->groups);
	free(state);
	q->state = NULL;
}

static const struct query_kind query_groups = {
	.tells_incomplete = true,
	.begin = groups_begin,
	.turn = groups_turn,
	.turn_over = groups_turn_over,
	.end = groups_end,
	.release = groups_release,
};

static int state_new(const struct file_groups_query *query,
		     struct file_groups_watch *watch, struct groups_state **out)
{
	struct groups_state *state = calloc(1, sizeof(*state));
	struct file_groups *groups = calloc(1, sizeof(*groups));
	int err = state && groups ?
			  paths_copy(&query->within, &groups->within) :
			  -ENOMEM;

	if (err) {
		free(state);
		free(groups);
		return err;
	}
	atomic_init(&groups->refs, 1);
	state->rules = query->rules;
	state->min_size = query->min_size;
	state->watch = watch;
	state->groups = groups;
	*out = state;
	return 0;
}

int search_groups(struct searcher *s, const struct file_groups_query *query,
		  const struct search_caller *caller,
		  struct file_groups_watch *watch)
{
	struct groups_state *state;
	struct search_query *q;
	int err = query_new(s, &query_groups, -1, caller, &q);

	if (err)
		return err;
	err = state_new(query, watch, &state);
	if (err) {
		query_free(q);
		return err;
	}
	q->state = state;
	q->within = &state->groups->within;
	q->takes_memory = group_rules_compare(&query->rules);
	query_hold(q);
	return 0;
}
