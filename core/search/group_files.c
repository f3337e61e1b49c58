/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "core/base/array.h"
#include "core/search/groups.h"
#include "core/search/search_impl.h"

/* Finds the files of groups, a bounded number at a time. */

/* How many files of a head are examined for the first one by path. */
enum { HEAD_FILES = 64 };

struct group_files_state {
	struct file_groups *groups; /* a reference */
	struct search_group_cursor at;
	uint32_t last;
	bool heads, names;
	size_t first; /* index of the first hit of the present member */
	struct search_group_hit *files; /* owned; one for each hit */
	size_t file_count;
	search_group_files_fn *done;
	void *arg;
};

static int group_files_begin(struct search_query *q)
{
	(void)q;
	return 0;
}

struct files_adder {
	struct search_query *q;
	int score;
	size_t most; /* of q->hits */
	bool names;
};

static int add_file(void *arg, const struct file_key *key)
{
	const struct files_adder *a = arg;
	int err = a->names ? hits_add_names(a->q, key, a->score) :
			     hits_add_file(a->q, key, a->score);

	return err < 0 ? err : a->q->hits.count >= a->most;
}

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

/* Adds the files of the member as hits. */
static int find_files(struct search_query *q, struct group_files_state *state,
		      const struct group_member *member)
{
	struct files_adder adder = { q, member->score, GROUP_FILES_MAX,
				     state->names };
	int err;

	if (!state->at.copies.begun)
		state->first = q->hits.count;
	if (state->heads)
		adder.most = state->first + HEAD_FILES;
	err = copies_each(q, member->content, &state->at.copies, add_file,
			  &adder);
	if (err >= 0 && state->heads && q->hits.count > state->first)
		keep_first(&q->hits, state->first);
	return err;
}

/* All digests of a content in the catalog, without XXH128. */
static int format_digests(struct search_query *q, uint32_t content, char **out)
{
	struct buf text = { 0 };
	struct digests d;
	int err = catalog_content_get(q->txn, content, &d);

	if (err)
		return err;
	err = digests_format_lines(&d, DIGEST_ALL & ~DIGEST_BIT(DIGEST_XXH128),
				   &text);
	digests_release(&d);
	if (!err)
		err = buf_append(&text, "", 1);
	*out = buf_take(&text);
	return err;
}

/* 1: there is no room for more files. */
static int add_member(struct search_query *q, struct group_files_state *state,
		      const struct group_member *member)
{
	struct search_group_hit file = { .group = state->at.group };
	bool begins = !state->at.copies.begun;
	size_t i = q->hits.count, first = i;
	struct digests d;
	int err = catalog_content_brief(q->txn, member->content, &d), found;

	if (err)
		return err == -ENOENT ? 0 : err;
	found = find_files(q, state, member);
	file.size = d.size;
	memcpy(file.xxh128, d.xxh128, sizeof(file.xxh128));
	for (; i < q->hits.count; i++) {
		/* Hits of a head that were dropped have left room. */
		struct search_group_hit *files =
			i < state->file_count ? state->files :
						array_with_room(state->files, i,
								sizeof(*files));

		if (!files)
			return -ENOMEM;
		state->file_count += i == state->file_count;
		state->files = files;
		files[i] = file;
	}
	if (begins && i > first && state->groups->set->rules.every)
		err = format_digests(q, member->content,
				     &state->files[first].digests);
	if (err)
		return err;
	return found ? found : q->err;
}

static bool is_at_end(const struct group_files_state *state)
{
	return state->at.group > state->last ||
	       state->at.group >= state->groups->set->count;
}

static int group_files_turn(struct search_query *q)
{
	struct group_files_state *state = q->state;
	const struct group_set *set = state->groups->set;
	struct search_group_cursor *at = &state->at;

	while (!is_at_end(state) && q->hits.count < GROUP_FILES_MAX) {
		const struct content_group *group = &set->groups[at->group];
		int err = add_member(q, state,
				     &set->members[group->first + at->member]);

		if (err < 0 || (err && !state->heads))
			return err < 0 ? err : 0;
		if (state->heads || ++at->member >= group->count)
			*at = (struct search_group_cursor){
				.group = at->group + 1,
			};
		at->copies = (struct copy_cursor){ 0 };
	}
	return 0;
}

static void group_files_end(struct search_query *q, int err)
{
	struct group_files_state *state = q->state;
	const struct search_group_hits files = {
		.hits = &q->hits,
		.files = state->files,
		.next = state->at,
		.end = is_at_end(state),
	};

	state->done(state->arg, err, err ? NULL : &files);
}

static void group_files_release(struct search_query *q)
{
	struct group_files_state *state = q->state;
	size_t i;

	if (state)
		file_groups_unref(state->groups);
	for (i = 0; state && i < state->file_count; i++)
		free(state->files[i].digests);
	free(state ? state->files : NULL);
	free(state);
	q->state = NULL;
}

static const struct query_kind query_group_files = {
	.begin = group_files_begin,
	.turn = group_files_turn,
	.end = group_files_end,
	.release = group_files_release,
};

int search_group_files(struct searcher *s, struct file_groups *groups,
		       const struct search_group_range *range,
		       const struct search_caller *caller,
		       search_group_files_fn *done, void *arg)
{
	struct group_files_state *state;
	struct search_query *q;
	int err = query_new(s, &query_group_files, -1, caller, &q);

	if (err)
		return err;
	state = calloc(1, sizeof(*state));
	if (!state) {
		query_free(q);
		return -ENOMEM;
	}
	state->groups = file_groups_ref(groups);
	state->at = range->from;
	state->last = range->last;
	state->heads = range->heads;
	state->names = range->names;
	state->done = done;
	state->arg = arg;
	q->state = state;
	q->within = &groups->within;
	query_hold(q);
	return 0;
}
