/* SPDX-License-Identifier: Apache-2.0 */
#include "core/search/search_impl.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/array.h"
#include "core/base/filter.h"
#include "core/base/text.h"

/*
 * Finds the directories that resemble a directory:
 *
 *   1. The sketches of all contents below the directory make its sketch.
 *   2. The contents that share a value with that sketch are found,
 *   3. and the directories (struct place) above the files with these contents.
 *      The values that each shares are summed up.
 *   4. The best directories are compared by their own sketches.
 *
 * An archive of which the members make nearly the same sketch is a hit, too.
 */
enum {
	CONTENTS = 8192,  /* most contents */
	COPIES = 64,      /* most files of a content */
	PLACES = 1 << 17, /* most directories, repeats included */
	COMPARED = 32,    /* directories that are compared, and archives */
};

/* ---- the tree below a directory ---- */

struct directory_tree {
	struct sketch sketch;
	uint64_t contents; /* sum of the hashes of the content ids */
	size_t files;
};

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
	uint32_t text;
	int err;

	if (rec->state != FILE_FRESH || !rec->identity.size ||
	    !file_is_visible(q, key))
		return 0;
	t->files++;
	t->contents += hash_id(rec->content);
	/* Of documents the texts are compared. */
	err = text_of_content(q, rec->content, &text) ?:
		      catalog_sketch_get(q->txn, text ? text : rec->content,
					 &sketch);
	if (!err)
		sketch_merge(&t->sketch, &sketch);
	return err == -ENOENT ? 0 : err;
}

/* Reads all that the caller sees below the directory.  The caller frees the
 * tree. */
static int tree_read(struct search_query *q, const struct file_key *directory,
		     struct directory_tree **out)
{
	struct directory_tree *t = calloc(1, sizeof(*t));
	struct key_list stack = { 0 };
	struct file_record rec;
	struct file_key key;
	int err = t ? key_list_add(&stack, directory) : -ENOMEM;

	while (!err && (err = key_list_next_file(q, &stack, &key, &rec)) == 1)
		err = tree_add_file(q, t, &key, &rec);
	free(stack.keys);
	if (!err)
		err = q->err;
	if (err)
		free(t);
	else
		*out = t;
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
	const char *path; /* of the directory of the query */
	struct place *places;
	size_t count;
};

static void places_release(struct places *p)
{
	size_t i;

	for (i = 0; i < p->count; i++)
		free(p->places[i].path);
	free(p->places);
}

static int place_add(struct places *p, const struct index_candidate *content,
		     const char *path, size_t len)
{
	struct place *place =
		array_with_room(p->places, p->count, sizeof(*place));

	if (!place)
		return -ENOMEM;
	p->places = place;
	place = &p->places[p->count];
	*place = (struct place){ strndup(path, len), content->content,
				 content->rank };
	if (!place->path)
		return -ENOMEM;
	if (text_path_is_above(place->path, p->path) ||
	    text_path_is_above(p->path, place->path))
		free(place->path);
	else
		p->count++;
	return 0;
}

/* Adds the directories above a file by each of its visible paths.  1: it has
 * one outside of the query's directory; else 0. */
static int add_above(struct search_query *q, struct places *p,
		     const struct index_candidate *content,
		     const struct file_key *key)
{
	struct catalog_walk *walk;
	const char *path, *end;
	bool seen = false;
	int err = catalog_paths_begin(q->txn, &q->context->source->root, key,
				      &walk);

	if (err)
		return err;
	while (!err && (err = catalog_paths_next(walk, &path)) == 1) {
		err = 0;
		if (text_path_is_above(p->path, path) ||
		    (path_is_internal(path) && !path_is_internal(p->path)) ||
		    !copy_is_visible(q, key, path))
			continue;
		seen = true;
		for (end = strrchr(path, '/'); end && !err && p->count < PLACES;
		     end = memrchr(path, '/', (size_t)(end - path)))
			err = place_add(p, content, path, (size_t)(end - path));
	}
	catalog_walk_end(walk);
	return err ? err : seen;
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

/* ---- hits ---- */

static int compare_trees(struct search_query *q, const struct directory_tree *a,
			 const struct directory_tree *b, struct verdict *out)
{
	const struct judge_rules rules = { .relation = INDEX_ALIKE,
					   .threshold = q->context->threshold };
	const struct subject first = subject_of_bytes(&a->sketch);
	const struct subject second = subject_of_bytes(&b->sketch);

	if (a->files == b->files && a->contents == b->contents) {
		*out = (struct verdict){ .score = 100, .distinctive = 100 };
		return 0;
	}
	return index_judge(q->context->index, q->index_visibility, &first,
			   &second, &rules, out);
}

/* Adds the files with a content of which the text shares values, if the members
 * of that archive make nearly the same tree. */
static int compare_archive(struct search_query *q,
			   const struct directory_tree *tree,
			   const struct index_candidate *found)
{
	struct directory_tree *archive = calloc(1, sizeof(*archive));
	struct verdict verdict = { .reason = VERDICT_BELOW };
	struct file_key at = { 0 };
	int err = archive ? catalog_sketch_get(q->txn, found->text,
					       &archive->sketch) :
			    -ENOMEM;

	if (!err)
		err = compare_trees(q, tree, archive, &verdict) ?: q->err;
	free(archive);
	verdict.by = SUBJECT_TEXT;
	while (!err && verdict.reason == VERDICT_LISTED &&
	       (err = copy_next(q, found->content, &at)) == 1) {
		err = hits_add_file(q, &at, &verdict, HIT_NAMES_MAX);
		err = err < 0 ? err : q->err;
	}
	return err == -ENOENT ? 0 : err;
}

/* Adds the places of a content. */
static int add_places(struct search_query *q, struct places *p,
		      const struct index_candidate *content)
{
	struct file_key at = { 0 };
	size_t files = 0;
	int err = 0;

	while (!err && files < COPIES && p->count < PLACES &&
	       (err = copy_next(q, content->content, &at)) == 1) {
		err = add_above(q, p, content, &at);
		files += err > 0;
		err = err < 0 ? err : q->err;
	}
	return err;
}

/* Finds the places of the contents that share values with the tree, and the
 * archives that resemble it. */
static int places_find(struct search_query *q,
		       const struct directory_tree *tree, struct places *p)
{
	const struct index_query query = {
		.subject = subject_of_bytes(&tree->sketch),
		.visibility = q->index_visibility,
	};
	struct index_candidate *found =
		calloc(SUBJECT_PARTS * CONTENTS, sizeof(*found));
	size_t count = 0, archives = 0, i;
	int err = -ENOMEM;

	if (found)
		err = index_candidates(q->context->index, &query, false, found,
				       CONTENTS, &count);
	if (!err)
		err = q->err;
	for (i = 0; i < count && !err; i++) {
		if (found[i].by_text && archives++ < COMPARED)
			err = compare_archive(q, tree, &found[i]);
		if (!err)
			err = add_places(q, p, &found[i]);
		if (err == -ENOENT)
			err = 0;
	}
	free(found);
	if (err)
		return err;
	places_sum(p);
	return q->err;
}

/* Adds a hit for the directory if its score is high enough, or any will do. */
static int compare_place(struct search_query *q,
			 const struct directory_tree *tree, const char *path,
			 bool any)
{
	struct search_hit hit = { .verdict = { .reason = VERDICT_BELOW } };
	struct directory_tree *other;
	int err;

	if (!path_is_visible(q, path) ||
	    !directory_is_open(q->context->source, path, &hit.key))
		return 0;
	err = tree_read(q, &hit.key, &other);
	if (err)
		return err;
	if (other->files)
		err = compare_trees(q, tree, other, &hit.verdict) ?: q->err;
	free(other);
	if (err || (hit.verdict.reason != VERDICT_LISTED && !any))
		return err;
	hit.path = strdup(path);
	return hits_append(q, &hit);
}

static int compare_hits(const void *a, const void *b)
{
	const struct search_hit *x = a, *y = b;

	if (x->verdict.score != y->verdict.score)
		return y->verdict.score - x->verdict.score;
	return strcmp(y->path, x->path); /* a directory before its parent */
}

/* Of directories that are above one another only the best stays a hit, and an
 * archive below the directory that was asked about is none. */
static void hits_prune(struct search_hits *hits, const char *asked)
{
	size_t kept = 0, i, k;

	qsort(hits->hits, hits->count, sizeof(*hits->hits), compare_hits);
	for (i = 0; i < hits->count; i++) {
		const char *path = hits->hits[i].path;
		const bool is_own = text_path_is_above(asked, path);

		for (k = 0; k < kept && !is_own; k++)
			if (text_path_is_above(hits->hits[k].path, path) ||
			    text_path_is_above(path, hits->hits[k].path))
				break;
		if (is_own || k < kept)
			free(hits->hits[i].path);
		else
			hits->hits[kept++] = hits->hits[i];
	}
	hits->count = kept;
}

/* ---- the query ---- */

/* with: only that directory; or NULL. */
static int find_directories(struct search_query *q, const char *path,
			    const char *with)
{
	struct places places = { .path = path };
	struct directory_tree *tree;
	size_t i;
	int err = tree_read(q, &q->self, &tree);

	if (err)
		return err;
	if (with)
		err = compare_place(q, tree, with, true);
	else if (tree->files)
		err = places_find(q, tree, &places);
	for (i = 0; i < places.count && i < COMPARED && !err; i++)
		err = compare_place(q, tree, places.places[i].path, false);
	q->hits.cut = places.count > COMPARED;
	places_release(&places);
	free(tree);
	return err ? err : q->err;
}

static int directories_answer(struct search_query *q, const char *with)
{
	struct stat st;
	char *path;
	int err;

	if (faccessat(q->fd, "", R_OK | X_OK, AT_EMPTY_PATH | AT_EACCESS))
		return -EACCES;
	if (fstat(q->fd, &st))
		return -errno;
	source_get_key(q->context->source, q->fd, &st, &q->self);
	err = query_begin_read(q);
	if (!err)
		err = directory_path(q, &q->self, &path);
	if (err)
		return err == -ENOENT ? 0 : err;
	if (*path)
		err = find_directories(q, path, with);
	if (!err && q->hits.count)
		hits_prune(&q->hits, path);
	free(path);
	return err;
}

int search_directories(struct search_job *job, int fd, const char *with,
		       struct search_hits *out)
{
	struct search_query q;
	int err;

	query_init(&q, job, fd);
	err = query_begin(&q);
	if (!err)
		err = directories_answer(&q, with);
	if (!err)
		err = hits_settle_incomplete(&q);
	return query_end(&q, err, out);
}
