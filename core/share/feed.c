/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/array.h"
#include "core/base/xxh3.h"
#include "core/share/session.h"

/* Files that one transaction visits, so that it does not keep pages for
 * long. */
enum { VISITS = 20000, PIECE = 1000, PUBLICATIONS_MAX = 64 };

void feed_restart(struct session *s)
{
	batch_clear(&s->batch);
	free(s->work);
	free(s->path);
	s->work = NULL;
	s->path = NULL;
	s->work_count = 0;
	s->step = PASS_NONE;
	s->has_key = false;
	s->content = 0;
	s->visited = 0;
}

static bool is_shared(const struct share_rules *rules, const char *path)
{
	size_t i;

	for (i = 0; i < rules->globs.count; i++)
		if (!fnmatch(rules->globs.all[i], path, 0))
			return true;
	return !rules->none && !rules->globs.count;
}

/* The first path by name that is shared, so that it does not change with the
 * order of links, to s->path. */
static int find_path(struct session *s, const struct file_key *key)
{
	struct catalog_walk *walk;
	const char *path;
	int err = catalog_paths_begin(s->txn, &s->root, key, &walk);

	if (err)
		return err;
	free(s->path);
	s->path = NULL;
	while ((err = catalog_paths_next(walk, &path)) == 1) {
		if (!is_shared(s->rules, path) ||
		    (s->path && strcmp(s->path, path) <= 0))
			continue;
		free(s->path);
		s->path = strdup(path);
		if (!s->path) {
			err = -ENOMEM;
			break;
		}
	}
	catalog_walk_end(walk);
	return err;
}

/* The publication that a file is to have; is_known: there is one. */
static int find_wanted(struct session *s, const struct file_record *r,
		       struct share_publication *wanted,
		       struct digests *digests)
{
	const XXH64_hash_t mtime = (XXH64_hash_t)r->identity.mtime_ns;
	struct buf path = { 0 };
	int err;

	if (r->state != FILE_FRESH || !r->identity.size)
		return 0;
	err = find_path(s, &wanted->file);
	if (err || !s->path)
		return err;
	err = catalog_content_get(s->txn, r->content, 0, digests);
	if (err)
		return err == -ENOENT ? -EUCLEAN : err;
	memcpy(wanted->content, digests->xxh128, DB_UUID_BYTES);
	wanted->is_known = true;
	wanted->hash = 1;
	if (!s->rules->no_paths)
		err = buf_append_format(&path, "%s/%s",
					strcmp(s->source, "/") ? s->source : "",
					s->path);
	free(s->path);
	s->path = buf_take(&path);
	if (s->path)
		wanted->hash =
			XXH3_64bits_withSeed(s->path, strlen(s->path), mtime);
	return err;
}

static bool same_content(const struct share_publication *a,
			 const struct share_publication *b)
{
	return !memcmp(a->content, b->content, DB_UUID_BYTES);
}

static int visit_file(struct session *s, const struct file_key *key,
		      const struct file_record *r)
{
	struct share_publication has[PUBLICATIONS_MAX], wanted = { 0 };
	struct digests digests = { 0 };
	size_t i, count = 0;
	int err = 0;

	wanted.file = *key;
	if (!s->is_blind)
		err = share_state_read(s->state, key, true, has,
				       PUBLICATIONS_MAX, &count);
	if (err || (r->state == FILE_PENDING && r->identity.size))
		return err;
	err = find_wanted(s, r, &wanted, &digests);
	if (err || (wanted.is_known && count == 1 && has->is_known &&
		    has->hash == wanted.hash && same_content(has, &wanted))) {
		count = 0; /* there is nothing to do */
	} else if (wanted.is_known) {
		err = catalog_sketch_get(s->txn, r->content, s->sketch);
		if (!err)
			share_cut_sketch(s->sketch);
		if (!err || err == -ENOENT)
			err = batch_add_content(&s->batch, &digests,
						err ? NULL : s->sketch,
						s->limit);
		if (!err)
			err = batch_add_copy(&s->batch, &wanted, s->path,
					     r->identity.mtime_ns);
	}
	for (i = 0; i < count && !err; i++)
		if (!wanted.is_known || !same_content(&has[i], &wanted))
			err = batch_add_gone(&s->batch, &has[i]);
	return err;
}

static int push(struct session *s, const struct file_key *key)
{
	struct file_key *all =
		array_with_room(s->work, s->work_count, sizeof(*all));

	if (!all)
		return -ENOMEM;
	s->work = all;
	all[s->work_count++] = *key;
	return 0;
}

static int push_entries(struct session *s, const struct file_key *directory)
{
	struct catalog_walk *walk;
	struct catalog_name name;
	struct file_key key;
	int err = catalog_entries_begin(s->txn, directory, &walk);

	if (err)
		return err;
	while (!err && (err = catalog_entries_next(walk, &name, &key)) == 1)
		err = push(s, &key);
	catalog_walk_end(walk);
	return err;
}

/* Of changes, a directory stands for all that is below it. */
static int visit(struct session *s, const struct file_key *key)
{
	struct file_record r = { .state = FILE_FAILED };
	int err = catalog_file_get(s->txn, key, &r);

	if (err && err != -ENOENT)
		return err;
	if (r.state == FILE_DIRECTORY && s->step == PASS_CHANGES)
		return push_entries(s, key);
	return visit_file(s, key, &r);
}

/* Until the batch is full.  In a blind pass nothing tells that a file was
 * visited before, so a piece has all files of a content. */
static int visit_files(struct session *s)
{
	struct catalog_walk *walk;
	struct file_key key;
	uint64_t visits;
	uint32_t content;
	bool is_full, ends = false;
	int err = catalog_copies_begin(s->txn, s->content, &walk), got = 0;

	if (err)
		return err;
	for (visits = 0; !err && !ends; visits++) {
		got = catalog_copies_next(walk, &content, &key);
		if (got != 1)
			break;
		is_full = batch_is_full(&s->batch);
		ends = (is_full && !s->is_blind) ||
		       ((is_full || visits >= VISITS) && content != s->content);
		s->content = content;
		s->visited += !ends;
		err = ends ? 0 : visit(s, &key);
	}
	catalog_walk_end(walk);
	if (!err && !ends && !got)
		s->step = PASS_PUBLICATIONS;
	return err ? err : got < 0 ? got : 0;
}

/* Those of files that are gone, or are not shared any more. */
static int visit_publications(struct session *s)
{
	struct share_publication all[PIECE];
	size_t count = 0, i;
	int err = 0;

	if (!s->is_blind)
		err = share_state_read(s->state, s->has_key ? &s->key : NULL,
				       false, all, PIECE, &count);
	for (i = 0; i < count && !err && !batch_is_full(&s->batch); i++) {
		if (s->has_key && file_key_equal(&s->key, &all[i].file))
			continue;
		err = visit(s, &all[i].file);
		s->key = all[i].file;
		s->has_key = true;
	}
	if (!err && !count)
		s->step = PASS_END;
	return err;
}

/* Some of the files that changed, from the one after the last one on. */
static int push_changes(struct session *s)
{
	const uint64_t done = s->state->identity.done.change;
	const struct file_key last = s->key;
	const struct file_key *from = s->has_key ? &last : NULL;
	struct catalog_walk *walk;
	int err = dirty_begin(s->txn, from, &walk);

	if (err)
		return err;
	while (!err && s->work_count < PIECE) {
		struct file_key key;

		err = dirty_next(walk, done, &key);
		if (err != 1)
			break;
		err = from && file_key_equal(&key, from) ? 0 : push(s, &key);
		s->key = key;
		s->has_key = true;
	}
	catalog_walk_end(walk);
	if (!err && !s->work_count)
		s->step = PASS_END;
	return err;
}

static int visit_changes(struct session *s)
{
	int err = s->work_count ? 0 : push_changes(s);

	while (!err && s->work_count && !batch_is_full(&s->batch)) {
		struct file_key key = s->work[--s->work_count];

		s->visited++;
		err = visit(s, &key);
	}
	return err;
}

/* The last batch is sent before the pass has come to its end. */
int feed_fill(struct session *s)
{
	int err = 0;

	while (!err && s->step != PASS_END && !batch_is_full(&s->batch)) {
		err = catalog_read(s->catalog, &s->txn);
		if (err)
			break;
		/* It changes when SOURCE was mounted again. */
		err = catalog_root(s->txn, &s->root);
		if (!err && s->step == PASS_FILES)
			err = visit_files(s);
		else if (!err && s->step == PASS_PUBLICATIONS)
			err = visit_publications(s);
		else if (!err)
			err = visit_changes(s);
		catalog_abort(s->txn);
	}
	if (err)
		return err;
	if (s->batch.put_count || s->batch.gone_count)
		return 1;
	s->step = PASS_NONE;
	return 0;
}
