/* SPDX-License-Identifier: Apache-2.0 */
#include "core/share/feed.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/array.h"
#include "core/base/xxh3.h"

/* Files that one transaction visits, so that it does not keep pages for
 * long. */
enum { VISITS = 20000, PIECE = 1000, PUBLICATIONS_MAX = 64 };

uint64_t share_rules_hash(const struct share_rules *rules)
{
	uint64_t hash = (uint64_t)(rules->none | rules->no_paths << 1);
	size_t i;

	for (i = 0; i < rules->glob_count; i++)
		hash = XXH3_64bits_withSeed(rules->globs[i],
					    strlen(rules->globs[i]), hash);
	return hash;
}

int feed_init(struct feed *f)
{
	f->sketch = malloc(sizeof(*f->sketch));
	return f->sketch ? 0 : -ENOMEM;
}

void feed_restart(struct feed *f)
{
	batch_clear(&f->batch);
	free(f->work);
	f->work = NULL;
	f->work_count = 0;
	f->step = FEED_BEGIN;
	f->has_key = false;
	f->content = 0;
	f->visited = 0;
}

void feed_release(struct feed *f)
{
	feed_restart(f);
	free(f->sketch);
	f->sketch = NULL;
}

/* ---- one file ---- */

static bool is_shared(const struct share_rules *rules, const char *path)
{
	size_t i;

	for (i = 0; i < rules->glob_count; i++)
		if (!fnmatch(rules->globs[i], path, 0))
			return true;
	return !rules->none && !rules->glob_count;
}

/* The first path by name that is shared, so that it does not change with the
 * order of links; NULL: none is.  The caller frees it. */
static int first_path(struct feed *f, struct catalog_txn *txn,
		      const struct file_key *key, char **out)
{
	struct catalog_walk *walk;
	const char *path;
	int err = catalog_paths_begin(txn, &f->root, key, &walk);

	*out = NULL;
	if (err)
		return err;
	while ((err = catalog_paths_next(walk, &path)) == 1) {
		if (!is_shared(f->rules, path) ||
		    (*out && strcmp(*out, path) <= 0))
			continue;
		free(*out);
		*out = strdup(path);
		if (!*out) {
			err = -ENOMEM;
			break;
		}
	}
	catalog_walk_end(walk);
	return err;
}

/* The absolute path that is shared, or NULL. */
static int find_path(struct feed *f, struct catalog_txn *txn,
		     const struct file_key *key, char **out)
{
	struct buf path = { 0 };
	char *found;
	int err = first_path(f, txn, key, &found);

	if (!err && found)
		err = buf_append_format(&path, "%s/%s",
					strcmp(f->source, "/") ? f->source : "",
					found);
	free(found);
	if (err)
		buf_release(&path);
	else
		*out = buf_take(&path);
	return err;
}

static uint64_t hash_of(const char *path, int64_t mtime_ns)
{
	return path ? XXH3_64bits_withSeed(path, strlen(path),
					   (XXH64_hash_t)mtime_ns) :
		      1;
}

static int add_content(struct feed *f, struct catalog_txn *txn,
		       uint32_t content, const struct digests *d)
{
	int err = catalog_sketch_get(txn, content, f->sketch);

	if (err && err != -ENOENT)
		return err;
	return batch_add_content(&f->batch, d, err ? NULL : f->sketch,
				 f->limit);
}

/* A file that is visited, and what is published of it. */
struct file_visit {
	const struct file_record *r;
	struct digests digests;
	/* The publication that it is to have, if wanted.is_known. */
	struct share_publication wanted;
	char *path; /* of that publication, or NULL; owned */
	struct share_publication has[PUBLICATIONS_MAX];
	size_t count;
};

static int find_wanted(struct feed *f, struct catalog_txn *txn,
		       struct file_visit *v)
{
	const struct file_record *r = v->r;
	int err;

	if (r->state != FILE_FRESH || !r->identity.size)
		return 0;
	err = find_path(f, txn, &v->wanted.file, &v->path);
	if (err || !v->path)
		return err;
	err = catalog_content_brief(txn, r->content, &v->digests);
	if (err)
		return err == -ENOENT ? -EUCLEAN : err;
	memcpy(v->wanted.content, v->digests.xxh128, DB_UUID_BYTES);
	v->wanted.is_known = true;
	if (f->rules->no_paths) {
		free(v->path);
		v->path = NULL;
	}
	v->wanted.hash = hash_of(v->path, r->identity.mtime_ns);
	return 0;
}

static bool is_of(const struct share_publication *a,
		  const struct share_publication *b)
{
	return !memcmp(a->content, b->content, DB_UUID_BYTES);
}

/* Nothing is to be done: it has the publication that it is to have. */
static bool is_published(const struct file_visit *v)
{
	if (!v->wanted.is_known)
		return !v->count;
	return v->count == 1 && is_of(v->has, &v->wanted) && v->has->is_known &&
	       v->has->hash == v->wanted.hash;
}

/* Of a file that changed, all publications are sent again. */
static int add_file(struct feed *f, struct catalog_txn *txn,
		    struct file_visit *v)
{
	const struct share_publication *wanted = &v->wanted;
	size_t i;
	int err = 0;

	for (i = 0; i < v->count && !err; i++)
		if (!wanted->is_known || !is_of(&v->has[i], wanted))
			err = batch_add_gone(&f->batch, &v->has[i]);
	if (err || !wanted->is_known)
		return err;
	err = add_content(f, txn, v->r->content, &v->digests);
	if (!err)
		err = batch_add_copy(&f->batch, wanted, v->path,
				     v->r->identity.mtime_ns);
	if (!err)
		v->path = NULL;
	return err;
}

static int visit_file(struct feed *f, struct catalog_txn *txn,
		      const struct file_key *key, const struct file_record *r)
{
	struct file_visit v;
	int err = 0;

	v.r = r;
	v.digests = (struct digests){ 0 };
	v.wanted = (struct share_publication){ .file = *key };
	v.path = NULL;
	v.count = 0;
	if (!f->is_blind)
		err = share_state_of_file(f->state, key, v.has,
					  PUBLICATIONS_MAX, &v.count);
	if (err || (r->state == FILE_PENDING && r->identity.size))
		return err;
	err = find_wanted(f, txn, &v);
	if (!err && !is_published(&v))
		err = add_file(f, txn, &v);
	free(v.path);
	return err;
}

/* ---- files to be visited ---- */

static int push(struct feed *f, const struct file_key *key)
{
	struct file_key *all =
		array_with_room(f->work, f->work_count, sizeof(*all));

	if (!all)
		return -ENOMEM;
	f->work = all;
	all[f->work_count++] = *key;
	return 0;
}

static int push_entries(struct feed *f, struct catalog_txn *txn,
			const struct file_key *directory)
{
	struct catalog_walk *walk;
	struct catalog_name name;
	struct file_key key;
	int err = catalog_entries_begin(txn, directory, &walk);

	if (err)
		return err;
	while (!err && (err = catalog_entries_next(walk, &name, &key)) == 1)
		err = push(f, &key);
	catalog_walk_end(walk);
	return err;
}

/* A directory stands for all that is below it. */
static int visit(struct feed *f, struct catalog_txn *txn,
		 const struct file_key *key)
{
	struct file_record r = { .state = FILE_FAILED };
	int err = catalog_file_get(txn, key, &r);

	if (err && err != -ENOENT)
		return err;
	if (r.state == FILE_DIRECTORY && f->step == FEED_CHANGES)
		return push_entries(f, txn, key);
	return visit_file(f, txn, key, &r);
}

static int visit_work(struct feed *f, struct catalog_txn *txn)
{
	struct file_key key;
	int err = 0;

	while (!err && f->work_count && !batch_is_full(&f->batch)) {
		key = f->work[--f->work_count];
		f->visited++;
		err = visit(f, txn, &key);
	}
	return err;
}

/* ---- passes ---- */

/* Whether the piece ends before a file of that content. */
static bool ends_before(const struct feed *f, uint32_t content, uint64_t visits)
{
	if (batch_is_full(&f->batch) && !f->is_blind)
		return true;
	return (batch_is_full(&f->batch) || visits >= VISITS) &&
	       content != f->content;
}

static int next_files(struct feed *f, struct catalog_txn *txn)
{
	struct catalog_walk *walk;
	struct file_key key;
	uint64_t visits = 0;
	uint32_t content;
	bool ends = false;
	int err = catalog_copies_begin(txn, f->content, &walk);

	if (err)
		return err;
	while (!err && !ends &&
	       (err = catalog_copies_next(walk, &content, &key)) == 1) {
		ends = ends_before(f, content, visits++);
		f->content = content;
		err = 0;
		if (ends)
			break;
		f->visited++;
		err = visit(f, txn, &key);
	}
	catalog_walk_end(walk);
	if (!err && !ends) {
		f->step = FEED_PUBLICATIONS;
		f->has_key = false;
	}
	return err;
}

/* Those of files that are gone, or are not shared any more. */
static int next_publications(struct feed *f, struct catalog_txn *txn)
{
	struct file_key keys[PIECE];
	size_t count = 0, i;
	int err = 0;

	if (!f->is_blind)
		err = share_state_files(f->state, f->has_key ? &f->key : NULL,
					keys, PIECE, &count);

	for (i = 0; i < count && !err && !batch_is_full(&f->batch); i++) {
		err = visit(f, txn, &keys[i]);
		f->key = keys[i];
		f->has_key = true;
	}
	if (!err && !count)
		f->step = FEED_END;
	return err;
}

static int push_some(void *arg, const struct file_key *key)
{
	struct feed *f = arg;

	f->key = *key;
	f->has_key = true;
	if (push(f, key))
		return -ENOMEM;
	return f->work_count >= PIECE;
}

static int next_changes(struct feed *f, struct catalog_txn *txn,
			const struct dirty_mark *done)
{
	struct file_key from = f->key;
	int result = 0;

	if (!f->work_count) {
		result = dirty_each(txn, done->change,
				    f->has_key ? &from : NULL, push_some, f);
		if (result == 0 && !f->work_count)
			f->step = FEED_END;
	}
	return result < 0 ? result : visit_work(f, txn);
}

static int begin_pass(struct feed *f, struct catalog_txn *txn, bool all)
{
	struct catalog_counts counts;
	int err = dirty_get_mark(txn, &f->mark);

	if (!err)
		err = catalog_counts(txn, &counts);
	if (err)
		return err;
	feed_restart(f);
	f->all = counts.fresh;
	f->step = all ? FEED_FILES : FEED_CHANGES;
	return 0;
}

static int take_piece(struct feed *f, const struct dirty_mark *done)
{
	struct catalog_txn *txn;
	int err = catalog_read(f->catalog, &txn);

	if (err)
		return err;
	if (f->stop)
		catalog_stop_when(txn, f->stop);
	if (f->step == FEED_BEGIN)
		err = begin_pass(f, txn, !done);
	if (!err && f->step == FEED_FILES)
		err = next_files(f, txn);
	else if (!err && f->step == FEED_PUBLICATIONS)
		err = next_publications(f, txn);
	else if (!err)
		err = next_changes(f, txn, done);
	catalog_abort(txn);
	return err;
}

static bool has_something(const struct share_batch *b)
{
	return b->copy_count || b->gone_count;
}

/* The last batch is sent before the pass has come to its end. */
static int go_on(struct feed *f, const struct dirty_mark *done)
{
	int err = 0;

	while (!err && f->step != FEED_END && !batch_is_full(&f->batch))
		err = take_piece(f, done);
	if (err)
		return err;
	if (has_something(&f->batch))
		return 1;
	f->step = FEED_BEGIN;
	return 0;
}

int feed_all(struct feed *f)
{
	return go_on(f, NULL);
}

/* Nothing tells that a file was visited before, so a piece goes on with the
 * next content: all files of one content are in one batch. */
int feed_all_again(struct feed *f)
{
	f->is_blind = true;
	return go_on(f, NULL);
}

int feed_changes(struct feed *f, const struct dirty_mark *done)
{
	return go_on(f, done);
}
