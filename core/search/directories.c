/* SPDX-License-Identifier: Apache-2.0 */
#include "core/search/search_impl.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/array.h"

/*
 * Finds the directories that resemble a directory, in four phases:
 *
 *   READ_TREE      merges the sketches of all contents below the directory into
 *                  the sketch of the directory
 *   FIND_CONTENTS  finds the contents that share a value with that sketch
 *   FIND_PLACES    finds the directories (struct place) above the files with
 *                  these contents, and sums up the values that each shares
 *   COMPARE        compares the best directories by their own sketches
 */
enum {
	CONTENTS = 8192,  /* most contents */
	COPIES = 64,      /* most files of a content */
	PLACES = 1 << 17, /* most directories, repeats included */
	COMPARED = 32,    /* directories that are compared */
};

/* ---- the tree below a directory ---- */

struct directory_tree {
	struct sketch sketch;
	uint64_t contents; /* sum of the hashes of the content ids */
	size_t files;
	struct key_list stack; /* files and directories still to be read */
};

static struct directory_tree *tree_new(const struct file_key *directory)
{
	struct directory_tree *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	if (!key_list_add(&t->stack, directory))
		return t;
	free(t);
	return NULL;
}

static void tree_free(struct directory_tree *t)
{
	if (t)
		free(t->stack.keys);
	free(t);
}

static uint64_t hash_id(uint32_t id)
{
	uint64_t x = id * UINT64_C(0x9e3779b97f4a7c15);

	x = (x ^ x >> 32) * UINT64_C(0xd6e8feb86659fd93);
	return x ^ x >> 32;
}

static int tree_add_file(struct search_query *q, struct directory_tree *t,
			 const struct file_key *key,
			 const struct file_record *rec)
{
	struct sketch sketch;
	int err;

	if (rec->state != FILE_FRESH || !rec->identity.size ||
	    !file_is_visible(q, key))
		return 0;
	t->files++;
	t->contents += hash_id(rec->content);
	err = catalog_sketch_get(q->txn, rec->content, &sketch);
	if (!err)
		sketch_merge(&t->sketch, &sketch);
	return err == -ENOENT ? 0 : err;
}

static int push_child(void *arg, struct catalog_name name,
		      const struct file_key *key)
{
	(void)name;
	return key_list_add(arg, key);
}

static int tree_read_next(struct search_query *q, struct directory_tree *t)
{
	struct file_key key = t->stack.keys[--t->stack.count];
	struct file_record rec;

	if (catalog_file_get(q->txn, &key, &rec))
		return 0;
	if (rec.state != FILE_DIRECTORY)
		return tree_add_file(q, t, &key, &rec);
	if (!directory_is_visible(q, &key))
		return 0;
	return catalog_directory_each(q->txn, &key, push_child, &t->stack);
}

static int tree_read(struct search_query *q, struct directory_tree *t)
{
	int err = 0;

	while (!err && t->stack.count) {
		err = query_may_go_on(q);
		if (err)
			break;
		err = tree_read_next(q, t);
		query_count_work(q, 1);
	}
	return err;
}

/* ---- places ---- */

/* A directory that shares values of a content with that of the query. */
struct place {
	char *path; /* owned */
	uint32_t content;
	size_t shared; /* number of values */
};

struct places {
	struct search_query *q;
	const char *path; /* of the directory of the query */
	struct place *places;
	size_t count;
	/* The walk over the contents and their files. */
	const struct index_candidate *content;
	size_t files;                /* visible files of the content so far */
	const struct file_key *file; /* the present file */
	bool seen;                   /* it is visible */
};

struct directories_state {
	enum { READ_TREE, FIND_CONTENTS, FIND_PLACES, COMPARE } phase;
	char *path;                    /* owned: of the directory */
	struct directory_tree *tree;   /* owned: of the directory */
	struct index_candidate *found; /* owned: contents */
	size_t found_count, next;
	struct copy_cursor cursor; /* in the files with found[next] */
	struct places places;
	size_t compared;
	struct search_hit hit;        /* places[compared]; path borrowed */
	struct directory_tree *other; /* owned: of that place, or NULL */
};

static void places_release(struct places *p)
{
	size_t i;

	for (i = 0; i < p->count; i++)
		free(p->places[i].path);
	free(p->places);
}

/* Whether path is above or below it. */
static bool is_above(const char *above, const char *path)
{
	size_t len = strlen(above);

	return strncmp(above, path, len) == 0 &&
	       (path[len] == '/' || path[len] == '\0' || len == 0);
}

static int place_add(struct places *p, const char *path, size_t len)
{
	struct place *place =
		array_with_room(p->places, p->count, sizeof(*place));

	if (!place)
		return -ENOMEM;
	p->places = place;
	place = &p->places[p->count];
	*place = (struct place){ strndup(path, len), p->content->content,
				 p->content->rank };
	if (!place->path)
		return -ENOMEM;
	if (is_above(place->path, p->path) || is_above(p->path, place->path))
		free(place->path);
	else
		p->count++;
	return 0;
}

/* Adds the directories above a file. */
static int add_above(void *arg, const char *path)
{
	struct places *p = arg;
	const char *end = path + strlen(path);
	int err = 0;

	if (is_above(p->path, path) || !copy_is_visible(p->q, p->file, path))
		return 0;
	p->seen = true;
	while (!err && end > path && p->count < PLACES) {
		do
			end--;
		while (end > path && *end != '/');
		if (end > path)
			err = place_add(p, path, (size_t)(end - path));
	}
	return err;
}

static int add_copy(void *arg, const struct file_key *key)
{
	struct places *p = arg;
	struct search_query *q = p->q;
	int err;

	p->file = key;
	p->seen = false;
	err = catalog_path_each(q->txn, &q->context->source->root, key,
				add_above, p);
	p->files += p->seen;
	return err ? err : p->files == COPIES || p->count == PLACES;
}

static int by_path(const void *a, const void *b)
{
	const struct place *x = a, *y = b;
	int order = strcmp(x->path, y->path);

	if (order)
		return order;
	return x->content < y->content ? -1 : x->content > y->content;
}

static int by_shared(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	if (x->shared != y->shared)
		return x->shared < y->shared ? 1 : -1;
	return strcmp(x->path, y->path);
}

/* Merges the places of a directory, counting each content once; sorts them by
 * shared values, most first. */
static void places_sum(struct places *p)
{
	struct place *all = p->places;
	size_t kept = 0, i;

	if (!p->count)
		return;
	qsort(all, p->count, sizeof(*all), by_path);
	for (i = 1; i < p->count; i++) {
		if (strcmp(all[i].path, all[kept].path) != 0) {
			all[++kept] = all[i];
			continue;
		}
		if (all[i].content != all[kept].content)
			all[kept].shared += all[i].shared;
		all[kept].content = all[i].content;
		free(all[i].path);
	}
	p->count = kept + 1;
	qsort(all, p->count, sizeof(*all), by_shared);
}

static int find_contents(struct search_query *q,
			 struct directories_state *state)
{
	struct digests digests = { .size = 1 };
	struct index_query query = { .digests = &digests,
				     .sketch = &state->tree->sketch,
				     .first_content = 1,
				     .visibility = q->index_visibility };
	int err;

	if (!state->found)
		state->found = calloc(CONTENTS, sizeof(*state->found));
	if (!state->found)
		return -ENOMEM;
	err = index_candidates(q->context->index, &query, INDEX_BY_SKETCH,
			       state->found, CONTENTS, &state->found_count);
	return err ? err : q->err;
}

static int find_places(struct search_query *q, struct directories_state *state)
{
	struct places *p = &state->places;
	int err;

	p->q = q;
	p->path = state->path;
	for (; state->next < state->found_count && p->count < PLACES;
	     state->next++) {
		p->content = &state->found[state->next];
		err = copies_each(q, p->content->content, &state->cursor,
				  add_copy, p);
		if (err < 0)
			return err;
		p->files = 0;
		state->cursor = (struct copy_cursor){ 0 };
	}
	places_sum(p);
	return q->err;
}

/* ---- hits ---- */

static int compare_trees(struct search_query *q, const struct directory_tree *a,
			 const struct directory_tree *b, struct verdict *out)
{
	const struct judge_rules rules = { .relation = INDEX_ALIKE,
					   .threshold = q->context->threshold };

	if (a->files == b->files && a->contents == b->contents) {
		*out = (struct verdict){ .score = 100, .distinctive = 100 };
		return 0;
	}
	return index_judge(q->context->index, q->index_visibility, &a->sketch,
			   &b->sketch, &rules, out);
}

/* Copies the path. */
static int hit_add(struct search_hits *hits, const struct search_hit *hit)
{
	struct search_hit *room =
		array_with_room(hits->hits, hits->count, sizeof(*room));

	if (!room)
		return -ENOMEM;
	hits->hits = room;
	room = &hits->hits[hits->count];
	*room = *hit;
	room->path = strdup(hit->path);
	if (!room->path)
		return -ENOMEM;
	hits->count++;
	return 0;
}

/* Adds a hit for the directory if its score is high enough. */
static int compare_place(struct search_query *q,
			 struct directories_state *state, char *path)
{
	struct search_hit *hit = &state->hit;
	struct verdict verdict = { .reason = VERDICT_BELOW };
	int err;

	if (!state->other) {
		*hit = (struct search_hit){ .path = path };
		if (!path_is_visible(q, path) ||
		    !directory_is_open(q->context->source, path, &hit->key))
			return 0;
		state->other = tree_new(&hit->key);
		if (!state->other)
			return -ENOMEM;
	}
	err = tree_read(q, state->other);
	if (!err && state->other->files)
		err = compare_trees(q, state->tree, state->other, &verdict);
	err = err ? err : q->err;
	if (err == TURN_OVER)
		return err;
	tree_free(state->other);
	state->other = NULL;
	if (err || verdict.reason != VERDICT_LISTED)
		return err;
	hit->verdict = verdict;
	return hit_add(&q->hits, hit);
}

static int compare_places(struct search_query *q,
			  struct directories_state *state)
{
	struct places *p = &state->places;
	int err;

	for (; state->compared < p->count && state->compared < COMPARED;
	     state->compared++) {
		err = compare_place(q, state, p->places[state->compared].path);
		if (err)
			return err;
	}
	q->hits.cut = p->count > COMPARED;
	return q->err;
}

static int compare_hits(const void *a, const void *b)
{
	const struct search_hit *x = a, *y = b;

	if (x->verdict.score != y->verdict.score)
		return y->verdict.score - x->verdict.score;
	return strcmp(y->path, x->path); /* a directory before its parent */
}

/* Of directories that are above one another only the best stays a hit. */
static void hits_prune(struct search_hits *hits)
{
	size_t kept = 0, i, k;

	qsort(hits->hits, hits->count, sizeof(*hits->hits), compare_hits);
	for (i = 0; i < hits->count; i++) {
		const char *path = hits->hits[i].path;

		for (k = 0; k < kept; k++)
			if (is_above(hits->hits[k].path, path) ||
			    is_above(path, hits->hits[k].path))
				break;
		if (k < kept)
			free(hits->hits[i].path);
		else
			hits->hits[kept++] = hits->hits[i];
	}
	hits->count = kept;
}

/* ---- the kind of query ---- */

static int copy_path(void *arg, const char *path)
{
	char **out = arg;

	*out = strdup(path);
	return *out ? 1 : -ENOMEM;
}

static int directories_begin(struct search_query *q)
{
	struct stat st;

	q->state = calloc(1, sizeof(struct directories_state));
	if (!q->state)
		return -ENOMEM;
	if (faccessat(q->fd, "", R_OK | X_OK, AT_EMPTY_PATH | AT_EACCESS))
		return -EACCES;
	if (fstat(q->fd, &st))
		return -errno;
	source_get_key(q->context->source, q->fd, &st, &q->self);
	return 0;
}

/* 1: there is nothing to search for, because the directory is the root, has no
 * path in the catalog, or has no visible file. */
static int read_tree(struct search_query *q, struct directories_state *state)
{
	int err = 1;

	if (!state->path)
		err = catalog_path_each(q->txn, &q->context->source->root,
					&q->self, copy_path, &state->path);
	if (err < 0)
		return err;
	if (!state->path || !*state->path)
		return 1;
	if (!state->tree)
		state->tree = tree_new(&q->self);
	err = state->tree ? tree_read(q, state->tree) : -ENOMEM;
	return err ? err : !state->tree->files;
}

static int (*const phases[])(struct search_query *q,
			     struct directories_state *state) = {
	[READ_TREE] = read_tree,
	[FIND_CONTENTS] = find_contents,
	[FIND_PLACES] = find_places,
	[COMPARE] = compare_places,
};

static int directories_turn(struct search_query *q)
{
	struct directories_state *state = q->state;
	int err = 0;

	while (!err && state->phase <= COMPARE) {
		err = phases[state->phase](q, state);
		state->phase += !err;
	}
	if (err < 0)
		return err;
	if (q->hits.count)
		hits_prune(&q->hits);
	return 0;
}

static void directories_release(struct search_query *q)
{
	struct directories_state *state = q->state;

	if (!state)
		return;
	places_release(&state->places);
	tree_free(state->tree);
	tree_free(state->other);
	free(state->found);
	free(state->path);
	free(state);
	q->state = NULL;
}

const struct query_kind query_directories = {
	.tells_incomplete = true,
	.begin = directories_begin,
	.turn = directories_turn,
	.release = directories_release,
};
