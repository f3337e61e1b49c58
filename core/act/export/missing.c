/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/array.h"
#include "core/act/export/export.h"

/* A content of the one tree that the other has not. */
struct candidate {
	struct digests digests;
	size_t first, count; /* its files */
};

struct batch {
	struct missing *m;
	const struct export_source *other;
	int threshold;
	struct candidate *all;
	size_t count;
	struct near_index near; /* content i + 1 is all[i] */
};

static void batch_clear(struct batch *b)
{
	while (b->count)
		digests_release(&b->all[--b->count].digests);
	free(b->all);
	b->all = NULL;
}

void missing_release(struct missing *m)
{
	while (m->count) {
		free(m->files[--m->count].path);
		free(m->files[m->count].near);
	}
	free(m->files);
	m->files = NULL;
	free(m->root);
}

static int fail(struct missing *m, const struct export_source *source,
		const struct export_reader *r, int err)
{
	m->failed = source;
	m->failed_line = r->content.file.number;
	return err;
}

/* ---- near-duplicates ---- */

/* Of two that are as like, the first path is taken. */
static int set_near(struct missing_file *f, int score, const char *path)
{
	if (score < f->score ||
	    (score == f->score && f->near && strcmp(f->near, path) <= 0))
		return 0;
	free(f->near);
	f->near = strdup(path);
	f->score = score;
	return f->near ? 0 : -ENOMEM;
}

/* Searches for the content at hand of the other tree in the batch. */
static int search_content(struct batch *b, const struct export_reader *r)
{
	const char *path = export_member(r)->files[0].path;
	size_t count = 0, i, k;
	int err = near_search(&b->near, &r->digests, b->threshold, &count);

	for (i = 0; i < count && !err; i++) {
		const struct index_match *match = &b->near.matches[i];
		const struct candidate *c = &b->all[match->content - 1];

		for (k = 0; k < c->count && !err; k++)
			err = set_near(&b->m->files[c->first + k],
				       match->verdict.score, path);
	}
	return err;
}

/* Finds near-duplicates of all in the batch, and empties it. */
static int finish_batch(struct batch *b)
{
	struct missing *m = b->m;
	struct export_reader r = { 0 };
	size_t i;
	int err = 0, more = 1;

	for (i = 0; i < b->count && !err; i++)
		err = near_add(&b->near, &b->all[i].digests);
	if (!err && b->count)
		err = near_begin(&b->near);
	if (!err && b->count) {
		err = export_open(&r, b->other);
		while (!err && (more = export_next(&r)) > 0)
			err = search_content(b, &r);
		err = fail(m, b->other, &r, err ? err : more);
	}
	export_close(&r);
	near_release(&b->near);
	batch_clear(b);
	return err;
}

/* ---- equal contents ---- */

/* The files of the content at hand. */
static int add_files(struct missing *m, const struct export_reader *r,
		     bool is_there)
{
	const struct found_member *of = export_member(r);
	struct missing_file *files;
	size_t i;

	for (i = 0; i < of->file_count; i++) {
		files = array_with_room(m->files, m->count, sizeof(*files));
		if (!files)
			return -ENOMEM;
		m->files = files;
		files += m->count;
		*files = (struct missing_file){
			.path = strdup(of->files[i].path),
			.size = of->size,
			.mtime_ns = of->files[i].mtime_ns,
			.is_there = is_there,
		};
		if (!files->path)
			return -ENOMEM;
		m->count++;
	}
	return 0;
}

static int batch_add(struct batch *b, const struct export_reader *r)
{
	struct candidate *c = array_with_room(b->all, b->count, sizeof(*c));
	const size_t files = export_member(r)->file_count;

	if (!c)
		return -ENOMEM;
	b->all = c;
	c += b->count++;
	*c = (struct candidate){ .first = b->m->count - files, .count = files };
	return digests_copy(&r->digests, &c->digests);
}

static int compare(struct batch *b, const struct export_source *source,
		   struct export_reader *one, struct export_reader *other)
{
	struct missing *m = b->m;
	int more = export_next(other), next = 1, err = 0;
	bool is_there;

	while (!err && more >= 0 && (next = export_next(one)) > 0) {
		while (more > 0 &&
		       export_order(&other->digests, &one->digests) < 0)
			more = export_next(other);
		is_there = more > 0 &&
			   !export_order(&other->digests, &one->digests);
		err = add_files(m, one, is_there);
		if (!err && more >= 0 && !is_there && b->threshold)
			err = batch_add(b, one);
		if (!err && b->count >= MISSING_BATCH)
			err = finish_batch(b);
	}
	if (err)
		return err;
	if (next < 0)
		return fail(m, source, one, next);
	/* The end of other is read, too: it may be damaged or not complete. */
	while (more > 0)
		more = export_next(other);
	if (more < 0)
		return fail(m, b->other, other, more);
	m->incomplete = !one->is_complete || !other->is_complete;
	return finish_batch(b);
}

int missing_find(struct missing *m, const struct export_source *one,
		 const struct export_source *other, int threshold)
{
	struct batch *b = calloc(1, sizeof(*b));
	struct export_reader of_one, of_other = { 0 };
	int err;

	*m = (struct missing){ .failed = one };
	if (!b)
		return -ENOMEM;
	b->m = m;
	b->other = other;
	b->threshold = threshold;
	err = fail(m, one, &of_one, export_open(&of_one, one));
	if (!err && of_one.content.root &&
	    !(m->root = strdup(of_one.content.root)))
		err = -ENOMEM;
	if (!err)
		err = fail(m, other, &of_other, export_open(&of_other, other));
	if (!err)
		err = compare(b, one, &of_one, &of_other);
	export_close(&of_one);
	export_close(&of_other);
	batch_clear(b);
	free(b);
	return err;
}
