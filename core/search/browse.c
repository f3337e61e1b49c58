/* SPDX-License-Identifier: Apache-2.0 */
#include "core/search/search_impl.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/array.h"
#include "core/source/file.h"

/*
 * Finds the entries of a directory that have a near-duplicate, or that have
 * such a file below them.  For trusted callers the answer for each content is
 * cached (struct near), and the next query searches only contents that were
 * added since.  Files are examined in every query.
 */

/* ---- whether a file has a near-duplicate ---- */

static struct near near_cache_get(struct search_query *q, uint32_t content)
{
	struct searcher *s = q->searcher;
	struct near near = { .content = content, .upto = 1 };

	if (q->index_visibility)
		return near;
	pthread_mutex_lock(&s->lock);
	near = s->near[content % SEARCH_NEAR_SLOTS];
	pthread_mutex_unlock(&s->lock);
	if (near.content != content)
		near = (struct near){ .content = content, .upto = 1 };
	return near;
}

static void near_cache_put(struct search_query *q, const struct near *near)
{
	struct searcher *s = q->searcher;

	if (q->index_visibility)
		return;
	pthread_mutex_lock(&s->lock);
	s->near[near->content % SEARCH_NEAR_SLOTS] = *near;
	pthread_mutex_unlock(&s->lock);
}

/* Searches the contents from near->upto on; any: until one match is found.  1:
 * a match has a visible file, and near is set; 0: none has. */
static int search_contents(struct search_query *q, struct near *near, bool any,
			   size_t *count_out)
{
	struct content_query wanted = { .first_content = near->upto,
					.any = any };
	struct index_match *matches;
	size_t count, i;
	int err = near_contents(q, &wanted, &matches, &count);

	if (err)
		return err;
	for (i = 0; i < count && !err; i++) {
		if (self_pair_is_ignored(q, matches[i].content))
			continue;
		err = content_has_hit(q, matches[i].content);
		if (err == 1)
			near->near = matches[i].content;
	}
	free(matches);
	*count_out = count;
	return err;
}

/* Searches for one match first, because it most often has a visible file.  But
 * if all contents are searched, all matches are found at once: the listing of
 * the file, which often comes next, needs them (match_cache.h). */
static int search_near(struct search_query *q, struct near *near)
{
	uint32_t end = index_end(q->context->index);
	bool first = near->upto == 1 && !q->index_visibility;
	size_t count = 0;
	int err = 0;

	if (near->upto < end)
		err = search_contents(q, near, !first, &count);
	if (!err && count && !first)
		err = search_contents(q, near, false, &count);
	if (!err && !count)
		near->upto = end;
	if (err >= 0)
		near_cache_put(q, near);
	return err;
}

/* 1: the file has a near-duplicate; 0: it has none. */
static int has_near(struct search_query *q, const struct file_key *key,
		    const struct file_record *rec)
{
	struct near near;
	int err;

	if (rec->state != FILE_FRESH || !rec->identity.size ||
	    !file_is_visible(q, key))
		return 0;
	q->self = *key;
	q->self_content = rec->content;
	err = self_pair_is_ignored(q, rec->content) ?
		      0 :
		      content_has_hit(q, rec->content);
	if (err)
		return err;
	near = near_cache_get(q, rec->content);
	if (near.near) {
		err = self_pair_is_ignored(q, near.near) ?
			      0 :
			      content_has_hit(q, near.near);
		if (err)
			return err;
		near.near = 0;
		near.upto = 1;
	}
	return search_near(q, &near);
}

/* ---- directories ---- */

struct browse_name {
	char *text; /* owned */
	bool is_directory;
	bool has_near; /* it is an entry of the answer */
};

struct browse_state {
	int dir_fd;
	struct browse_name *names; /* owned: of all entries */
	size_t count, next;
	bool walking; /* names[next] is a directory, and a walk has begun */
	struct key_list stack; /* of that walk */
};

static int push_child(void *arg, struct catalog_name name,
		      const struct file_key *key)
{
	(void)name;
	return key_list_add(arg, key);
}

/* Removes the last key of the stack and examines it, or pushes the entries of a
 * directory.  1: it is a file with a near-duplicate. */
static int examine_last(struct search_query *q, struct key_list *stack)
{
	struct file_key key = stack->keys[stack->count - 1];
	struct file_record rec;
	int err = 0;

	if (catalog_file_get(q->txn, &key, &rec)) {
		stack->count--;
	} else if (rec.state != FILE_DIRECTORY) {
		err = has_near(q, &key, &rec);
		if (err != TURN_OVER)
			stack->count--;
	} else {
		stack->count--;
		if (directory_is_visible(q, &key))
			err = catalog_directory_each(q->txn, &key, push_child,
						     stack);
	}
	return err;
}

static int directory_has_near(struct search_query *q, struct key_list *stack)
{
	int err = 0;

	while (!err && stack->count) {
		err = query_may_go_on(q);
		if (err)
			break;
		err = examine_last(q, stack);
		query_count_work(q, 1);
	}
	return err;
}

static int file_entry_has_near(struct search_query *q,
			       const struct file_key *key,
			       const struct stat *st)
{
	struct file_identity identity;
	struct file_record rec;

	if (catalog_file_get(q->txn, key, &rec))
		return 0;
	source_get_identity(st, &identity);
	if (!file_identity_equal(&identity, &rec.identity))
		return 0;
	return has_near(q, key, &rec);
}

/* Examines the next entry.  1: it has a near-duplicate. */
static int examine_entry(struct search_query *q, struct browse_state *state)
{
	struct browse_name *entry = &state->names[state->next];
	int dir_fd = state->dir_fd, err;
	const char *name = entry->text;
	struct file_key key;
	struct stat st;

	if (state->walking)
		return directory_has_near(q, &state->stack);
	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW))
		return 0;
	entry->is_directory = S_ISDIR(st.st_mode);
	if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
		return 0;
	source_get_entry_key(q->context->source, dir_fd, name, &st, &key);
	if (S_ISREG(st.st_mode))
		return file_entry_has_near(q, &key, &st);
	state->stack.count = 0;
	err = key_list_add(&state->stack, &key);
	state->walking = !err;
	return err ?: directory_has_near(q, &state->stack);
}

static int add_name(void *arg, int dir_fd, const char *name)
{
	struct browse_state *state = arg;
	struct browse_name *names =
		array_with_room(state->names, state->count, sizeof(*names));

	(void)dir_fd;
	if (!names)
		return -ENOMEM;
	state->names = names;
	names[state->count] = (struct browse_name){ .text = strdup(name) };
	if (!names[state->count].text)
		return -ENOMEM;
	state->count++;
	return 0;
}

static int browse_begin(struct search_query *q)
{
	struct browse_state *state = calloc(1, sizeof(*state));

	if (!state)
		return -ENOMEM;
	q->state = state;
	state->dir_fd = file_open_beneath(q->fd, "", O_RDONLY | O_DIRECTORY);
	if (state->dir_fd < 0)
		return state->dir_fd;
	return file_each_in(state->dir_fd, add_name, state);
}

/* ---- the answer ---- */

static int entry_add(struct search_entries *entries, struct browse_name *name)
{
	struct search_entry *entry = array_with_room(
		entries->entries, entries->count, sizeof(*entry));

	if (!entry)
		return -ENOMEM;
	entries->entries = entry;
	entries->entries[entries->count++] = (struct search_entry){
		.name = name->text,
		.directory = name->is_directory,
	};
	name->text = NULL;
	return 0;
}

static int compare_entries(const void *a, const void *b)
{
	const struct search_entry *x = a, *y = b;

	return strcmp(x->name, y->name);
}

static int browse_answer(struct search_query *q,
			 const struct browse_state *state)
{
	size_t i;
	int err = 0;

	for (i = 0; i < state->count && !err; i++)
		if (state->names[i].has_near)
			err = entry_add(&q->entries, &state->names[i]);
	if (q->entries.count)
		qsort(q->entries.entries, q->entries.count,
		      sizeof(*q->entries.entries), compare_entries);
	return err;
}

static int browse_turn(struct search_query *q)
{
	struct browse_state *state = q->state;
	int err;

	for (; state->next < state->count; state->next++) {
		err = query_may_go_on(q);
		if (!err)
			err = examine_entry(q, state) ?: q->err;
		if (err < 0)
			return err;
		state->names[state->next].has_near = err == 1;
		state->walking = false;
		query_count_work(q, 1);
	}
	return browse_answer(q, state);
}

static void browse_release(struct search_query *q)
{
	struct browse_state *state = q->state;
	size_t i;

	if (!state)
		return;
	for (i = 0; i < state->count; i++)
		free(state->names[i].text);
	free(state->names);
	free(state->stack.keys);
	if (state->dir_fd >= 0)
		close(state->dir_fd);
	free(state);
	q->state = NULL;
}

const struct query_kind query_browse = {
	.begin = browse_begin,
	.turn = browse_turn,
	.release = browse_release,
};
