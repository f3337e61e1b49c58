/* SPDX-License-Identifier: Apache-2.0 */
#include "core/search/search_ctx.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/array.h"
#include "core/source/file.h"
#include "core/source/source.h"

/*
 * Which directories resemble one.
 *
 * The sketch of a directory is that of all the contents below it taken
 * together: sketches of a union follow from sketches.  Contents that share a
 * value with it lead to files, files to the directories above them, and those
 * that share most values are compared by their own sketches.
 */
enum {
	CONTENTS = 8192,  /* that share a value */
	COPIES = 64,      /* files of one of them */
	PLACES = 1 << 17, /* directories above these, repeats included */
	COMPARED = 32,    /* directories */
};

/* ---- what is below a directory ---- */

struct tree {
	struct sif_sketch sketch;
	uint64_t contents; /* of the ids, in any order: a sum of hashes */
	size_t files;
};

static uint64_t mixed(uint32_t id)
{
	uint64_t x = id * UINT64_C(0x9e3779b97f4a7c15);

	x = (x ^ x >> 32) * UINT64_C(0xd6e8feb86659fd93);
	return x ^ x >> 32;
}

static int tree_add_file(struct look *l, struct tree *t,
			 const struct file_key *key,
			 const struct file_record *rec)
{
	struct sif_sketch sketch;
	int err;

	if (rec->state != FILE_FRESH || !rec->identity.size ||
	    !file_is_visible(l, key))
		return 0;
	t->files++;
	t->contents += mixed(rec->content);
	err = catalog_sketch_get(l->txn, rec->content, &sketch);
	if (err || sketch.window != SIF_WINDOW)
		return err == -ENOENT ? 0 : err;
	return sif_merge(&t->sketch, &sketch, SIF_MAX_VALUES);
}

static int push_child(void *arg, struct catalog_name name,
		      const struct file_key *key)
{
	(void)name;
	return key_list_add(arg, key);
}

static int tree_read(struct look *l, const struct file_key *dir,
		     struct tree *out)
{
	struct key_list stack = { 0 };
	int err = key_list_add(&stack, dir);

	*out = (struct tree){ .sketch.window = SIF_WINDOW };
	while (!err && stack.count && !look_is_stopping(l)) {
		struct file_key key = stack.keys[--stack.count];
		struct file_record rec;

		if (catalog_file_get(l->txn, &key, &rec))
			continue;
		if (rec.state == FILE_DIRECTORY)
			err = directory_is_visible(l, &key) ?
				      catalog_directory_each(l->txn, &key,
							     push_child,
							     &stack) :
				      0;
		else
			err = tree_add_file(l, out, &key, &rec);
	}
	free(stack.keys);
	return err;
}

/* ---- places ---- */

/* A directory that has something in common with the asked one. */
struct place {
	char *path; /* owned */
	uint32_t content;
	size_t shared; /* values */
};

struct places {
	struct look *look;
	const char *asked; /* path of the directory that was asked for */
	struct place *places;
	size_t count;
	size_t files; /* of the content at hand, that the caller sees */
	const struct candidate *content;
	const struct file_key *file; /* with it */
	bool seen;
};

static void places_release(struct places *p)
{
	size_t i;

	for (i = 0; i < p->count; i++)
		free(p->places[i].path);
	free(p->places);
}

/* Whether one is the other or above it. */
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
	if (is_above(place->path, p->asked) || is_above(p->asked, place->path))
		free(place->path);
	else
		p->count++;
	return 0;
}

/* The directories above a file. */
static int add_above(void *arg, const char *path)
{
	struct places *p = arg;
	const char *end = path + strlen(path);
	int err = 0;

	if (is_above(p->asked, path) ||
	    !copy_is_visible(p->look, p->file, path))
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
	struct look *l = p->look;
	int err;

	if (look_is_stopping(l))
		return -ECANCELED;
	p->file = key;
	p->seen = false;
	err = catalog_path_each(l->txn, &l->e->source.root, key, add_above, p);
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

/* Each directory once, each content in it counted once, most first. */
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

static int find_places(struct look *l, const struct tree *asked,
		       const char *path, struct places *out)
{
	struct candidate *found = calloc(CONTENTS, sizeof(*found));
	struct digests digests = { .size = 1 };
	struct index_query query = { .digests = &digests,
				     .sketch = &asked->sketch,
				     .first_content = 1,
				     .viewer = l->viewer };
	size_t count = 0, i;
	int err = found ? 0 : -ENOMEM;

	*out = (struct places){ .look = l, .asked = path };
	if (!err)
		err = index_candidates(l->e->index, &query, INDEX_BY_SKETCH,
				       found, CONTENTS, &count);
	for (i = 0; i < count && err >= 0 && out->count < PLACES; i++) {
		out->content = &found[i];
		out->files = 0;
		err = catalog_copies_each(l->txn, found[i].content, add_copy,
					  out);
	}
	err = err < 0 ? err : l->err;
	free(found);
	places_sum(out);
	return err;
}

/* ---- hits ---- */

bool engine_directory_holds(const struct engine *e, const char *path,
			    const struct file_key *key)
{
	struct file_key found;

	return directory_is_open(e, path, &found) &&
	       file_key_equal(&found, key) && directories_are_open(e, path);
}

static int compare_trees(struct look *l, const struct tree *a,
			 const struct tree *b, struct index_match *out)
{
	if (a->files == b->files && a->contents == b->contents) {
		out->score = out->merit = 100;
		return 0;
	}
	return index_score(l->e->index, l->viewer, &a->sketch, &b->sketch,
			   INDEX_ALIKE, out);
}

/* Keeps it if it is alike enough. */
static int try_place(struct look *l, const struct tree *asked, const char *path)
{
	struct engine_hits *hits = l->hits;
	struct engine_hit hit = { 0 }, *room;
	struct index_match match = { 0 };
	struct tree *tree;
	int err;

	if (!path_is_visible(l, path) ||
	    !directory_is_open(l->e, path, &hit.key))
		return 0;
	tree = malloc(sizeof(*tree));
	if (!tree)
		return -ENOMEM;
	err = tree_read(l, &hit.key, tree);
	if (!err && tree->files)
		err = compare_trees(l, asked, tree, &match);
	free(tree);
	if (err || match.merit < l->e->options.threshold)
		return err;
	hit.score = match.score;
	room = array_with_room(hits->hits, hits->count, sizeof(*room));
	if (!room)
		return -ENOMEM;
	hits->hits = room;
	hit.path = strdup(path);
	if (!hit.path)
		return -ENOMEM;
	hits->hits[hits->count++] = hit;
	return 0;
}

static int compare_hits(const void *a, const void *b)
{
	const struct engine_hit *x = a, *y = b;

	if (x->score != y->score)
		return y->score - x->score;
	return strcmp(y->path, x->path); /* what is below first */
}

/* Of directories within one another only the best is one. */
static void hits_prune(struct engine_hits *hits)
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

/* ---- all of it ---- */

static int search_places(struct look *l, const char *path)
{
	struct tree *asked = malloc(sizeof(*asked));
	struct places p = { 0 };
	int err = asked ? tree_read(l, &l->self, asked) : -ENOMEM;
	size_t i;

	if (!err && asked->files)
		err = find_places(l, asked, path, &p);
	for (i = 0; i < p.count && i < COMPARED && !err; i++)
		err = try_place(l, asked, p.places[i].path);
	l->hits->cut = p.count > COMPARED;
	places_release(&p);
	free(asked);
	err = err ? err : l->err;
	if (!err && l->hits->count)
		hits_prune(l->hits);
	return err;
}

static int copy_path(void *arg, const char *path)
{
	char **out = arg;

	*out = strdup(path);
	return *out ? 1 : -ENOMEM;
}

int near_directories(struct request *r, struct engine_hits *hits_out)
{
	struct engine_hits hits = { 0 };
	char *path = NULL;
	struct stat st;
	struct look l;
	int err = look_begin(r, &l);

	if (err)
		return err;
	l.hits = &hits;
	if (faccessat(r->fd, "", R_OK | X_OK, AT_EMPTY_PATH | AT_EACCESS))
		err = -EACCES;
	else
		err = fstat(r->fd, &st) ? -errno : 0;
	if (!err) {
		source_get_key(&l.e->source, r->fd, &st, &l.self);
		err = catalog_path_each(l.txn, &l.e->source.root, &l.self,
					copy_path, &path);
	}
	/* All others are below the root; what has no path is not known. */
	if (err == 1 && path && *path)
		err = search_places(&l, path);
	look_end(&l);
	free(path);
	if (err < 0)
		engine_hits_release(&hits);
	else
		*hits_out = hits;
	return err < 0 ? err : 0;
}
