/* SPDX-License-Identifier: Apache-2.0 */
#include "core/search/search_impl.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/array.h"
#include "core/source/file.h"

/*
 * Finds the files with a content.
 *
 * The catalog has the keys and names of these files.  A file becomes a hit only
 * if its path can be opened with the caller's credentials, and leads to the
 * file of that key, with the identity that was hashed.
 */

struct hit_search {
	struct search_query *q;
	const struct file_key *key;
	struct file_record rec; /* of the file */
	int score;
	bool keep;                     /* add a hit */
	bool all;                      /* for each name */
	size_t found;                  /* names, with all */
	uint64_t nlink;                /* of the file, with all */
	bool stale;                    /* the identity differs from rec's */
	struct file_identity identity; /* the present one */
	uint64_t disk;                 /* bytes that it takes */
};

/* Takes path, also on failure. */
static int hit_add(const struct hit_search *s, char *path)
{
	struct search_hits *hits = &s->q->hits;
	struct search_hit *hit =
		array_with_room(hits->hits, hits->count, sizeof(*hit));

	if (!hit || !path) {
		free(path);
		return -ENOMEM;
	}
	hits->hits = hit;
	hits->hits[hits->count++] = (struct search_hit){
		.path = path,
		.verdict.score = s->score,
		.disk = s->disk,
		.key = *s->key,
		.identity = s->rec.identity,
		.nlink = s->nlink,
		.link = s->found > 0,
	};
	return 0;
}

/* Takes path.  1: the hit that was added is the last one. */
static int hit_add_name(struct hit_search *s, char *path)
{
	int err = hit_add(s, path);

	if (err || !s->all)
		return err ?: 1;
	query_count_work(s->q, s->found > 0);
	s->found++;
	return s->found == s->nlink || s->found == HIT_NAMES_MAX;
}

static uint64_t disk_of(const struct stat *st)
{
	return (uint64_t)st->st_blocks * 512;
}

static bool is_unchanged(struct hit_search *s, int fd)
{
	struct stat st;

	if (!file_identify(s->q->context->source, fd, s->key, &st))
		return false;
	source_get_identity(&st, &s->identity);
	s->disk = disk_of(&st);
	s->nlink = st.st_nlink;
	s->stale = !file_identity_equal(&s->identity, &s->rec.identity);
	return !s->stale;
}

static bool path_is_within(const struct search_query *q, const char *path)
{
	return !q->within || search_paths_have(q->within, path);
}

/* ---- files that the caller must be able to open ---- */

/* 1: the path is visible and leads to the unchanged file; else 0. */
static int try_path(void *arg, const char *path)
{
	struct hit_search *s = arg;
	struct search_query *q = s->q;
	int fd, err = 0;

	if (!path_is_within(q, path) || !path_is_visible(q, path))
		return 0;
	fd = file_open_beneath(q->context->source->fd, path, O_PATH);
	if (fd < 0)
		return 0;
	if (is_unchanged(s, fd) && caller_can_read(&q->caller, fd))
		err = s->keep ? hit_add_name(s, strdup(path)) : 1;
	close(fd);
	return err;
}

/* ---- files of a trusted caller ---- */

/* Whether the entry of a directory is the unchanged file.  With TIMES_OWN the
 * generation need not be compared: a new file with the same inode number has
 * another ctime. */
static bool entry_is_unchanged(struct hit_search *s, int dir_fd,
			       const char *name)
{
	const struct source *source = s->q->context->source;
	struct file_identity found;
	struct stat st;

	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) ||
	    !S_ISREG(st.st_mode) || st.st_ino != s->key->inode ||
	    source_get_device(source, st.st_dev) != s->key->device)
		return false;
	source_get_identity(&st, &found);
	s->nlink = st.st_nlink;
	s->disk = disk_of(&st);
	return file_identity_equal(&found, &s->rec.identity);
}

static char *join_path(const char *directory, struct catalog_name name)
{
	size_t len = strlen(directory);
	char *path = malloc(len + name.len + 1);

	if (!path)
		return NULL;
	memcpy(path, directory, len);
	memcpy(path + len, name.bytes, name.len);
	path[len + name.len] = '\0';
	return path;
}

/* As try_path(), for a name in a cached directory. */
static int try_link(void *arg, const struct file_key *parent,
		    struct catalog_name name)
{
	struct hit_search *s = arg;
	struct search_query *q = s->q;
	const struct directory_cache_entry *directory;
	char *path;
	int err = directory_cache_get(q->directories, q->txn,
				      q->context->source, parent, &directory);

	if (err)
		return err == -ENOENT ? 0 : err;
	path = join_path(directory->path, name);
	if (!path)
		return -ENOMEM;
	if (path_is_within(q, path) &&
	    entry_is_unchanged(s, directory->fd,
			       path + strlen(directory->path))) {
		if (s->keep)
			return hit_add_name(s, path);
		err = 1;
	}
	free(path);
	return err;
}

/* Tries the file's names without opening the file: a trusted caller may open
 * any.  0: the file may still be found by try_path(). */
static int try_links(struct hit_search *s)
{
	const struct search_query *q = s->q;

	if (!q->caller.trusted ||
	    source_get_times(q->context->source, s->key) != TIMES_OWN)
		return 0;
	return catalog_link_each(q->txn, s->key, try_link, s);
}

/* ---- files ---- */

/* 1: the file is a hit, by the first of its paths that is visible; else 0. */
static int try_file(struct hit_search *s)
{
	const struct search_context *context = s->q->context;
	int err;

	if (catalog_file_get(s->q->txn, s->key, &s->rec) ||
	    s->rec.state != FILE_FRESH)
		return 0;
	err = try_links(s);
	if (!err && !s->found)
		err = catalog_path_each(s->q->txn, &context->source->root,
					s->key, try_path, s);
	if (s->stale)
		context->file_changed(context->ctx, s->key, &s->identity);
	return err ? err : s->found > 0;
}

int hits_add_file(struct search_query *q, const struct file_key *key, int score)
{
	return try_file(&(struct hit_search){
		.q = q, .key = key, .score = score, .keep = true });
}

int hits_add_names(struct search_query *q, const struct file_key *key,
		   int score)
{
	return try_file(&(struct hit_search){ .q = q,
					      .key = key,
					      .score = score,
					      .keep = true,
					      .all = true });
}

int hits_probe_file(struct search_query *q, const struct file_key *key)
{
	return try_file(&(struct hit_search){ .q = q, .key = key });
}

bool file_is_visible(struct search_query *q, const struct file_key *key)
{
	return q->caller.trusted || hits_probe_file(q, key) == 1;
}

bool copy_is_visible(struct search_query *q, const struct file_key *key,
		     const char *path)
{
	struct hit_search s = { .q = q, .key = key };

	if (q->caller.trusted)
		return true;
	if (catalog_file_get(q->txn, key, &s.rec) || s.rec.state != FILE_FRESH)
		return false;
	return try_path(&s, path) == 1;
}

/* ---- files that are still to be hashed ---- */

struct pending_search {
	struct search_query *q;
	const struct file_key *key;
};

/* 1: the path is visible and leads to the file; else 0. */
static int try_pending_path(void *arg, const char *path)
{
	const struct pending_search *s = arg;
	struct search_query *q = s->q;
	struct stat st;
	int fd, found;

	if (!path_is_within(q, path) || !path_is_visible(q, path))
		return 0;
	fd = file_open_beneath(q->context->source->fd, path, O_PATH);
	if (fd < 0)
		return 0;
	found = file_identify(q->context->source, fd, s->key, &st) &&
		caller_can_read(&q->caller, fd);
	close(fd);
	return found;
}

/* 1: the file counts as missing in the caller's answer; else 0. */
static int is_missing(struct search_query *q, const struct file_key *key)
{
	const struct search_context *context = q->context;
	struct pending_search s = { q, key };

	query_count_work(q, 1);
	if (context->is_recent(context->ctx, key))
		return 0;
	return catalog_path_each(q->txn, &context->source->root, key,
				 try_pending_path, &s);
}

int hits_settle_incomplete(struct search_query *q)
{
	struct file_record rec;
	struct file_key key;
	int err = 0;

	if (!q->kind->tells_incomplete || q->caller.trusted || !q->only_pending)
		return 0;
	while (!err) {
		err = catalog_pending_next(q->txn, &q->pending, &key, &rec);
		if (!err)
			err = query_may_go_on(q);
		if (!err)
			err = is_missing(q, &key) ?: q->err;
		if (!err)
			q->pending = key;
	}
	q->hits.incomplete = err == 1;
	return err == -ENOENT || err == 1 ? 0 : err;
}

/* ---- the files with a content ---- */

struct copy_walk {
	struct search_query *q;
	struct copy_cursor *cursor;
	int (*each)(void *arg, const struct file_key *key);
	void *arg;
};

/* In the order of catalog_copies_each(). */
static bool comes_after(const struct file_key *a, const struct file_key *b)
{
	if (a->device != b->device)
		return a->device > b->device;
	if (a->inode != b->inode)
		return a->inode > b->inode;
	return a->generation > b->generation;
}

static int walk_copy(void *arg, uint32_t content, const struct file_key *key)
{
	struct copy_walk *w = arg;
	int err;

	(void)content;
	if (w->cursor->begun && !comes_after(key, &w->cursor->last))
		return 0;
	err = query_may_go_on(w->q);
	if (err)
		return err;
	err = w->each(w->arg, key);
	query_count_work(w->q, 1);
	w->cursor->last = *key;
	w->cursor->begun = true;
	return err;
}

int copies_each(struct search_query *q, uint32_t content,
		struct copy_cursor *cursor,
		int (*each)(void *arg, const struct file_key *key), void *arg)
{
	struct copy_walk w = { q, cursor, each, arg };

	return catalog_copies_each(q->txn, content, walk_copy, &w);
}

struct hits_adder {
	struct search_query *q;
	int score;
	size_t limit, *added;
	bool *cut;
};

static int add_copy(void *arg, const struct file_key *key)
{
	struct hits_adder *a = arg;
	int err;

	if (file_key_equal(key, &a->q->self))
		return 0;
	if (*a->added == a->limit) {
		err = hits_probe_file(a->q, key);
		*a->cut |= err == 1;
		return err;
	}
	err = hits_add_file(a->q, key, a->score);
	*a->added += err == 1;
	return err < 0 ? err : 0;
}

int content_add_hits(struct search_query *q, uint32_t content, int score,
		     size_t limit, struct content_copies *copies, bool *cut)
{
	struct hits_adder a = { q, score, limit, &copies->added, cut };
	int err = copies_each(q, content, &copies->cursor, add_copy, &a);

	return err < 0 ? err : 0;
}

/* ---- pairs that are ignored ---- */

bool pair_is_ignored(struct search_query *q, const struct digests *d,
		     uint32_t content)
{
	const struct search_context *context = q->context;
	struct digests other;

	if (!q->ignores || catalog_content_brief(q->txn, content, &other))
		return false;
	return context->is_ignored(context->ctx, d, &other);
}

bool self_pair_is_ignored(struct search_query *q, uint32_t content)
{
	struct digests self;

	if (!q->ignores ||
	    catalog_content_brief(q->txn, q->self_content, &self))
		return false;
	return pair_is_ignored(q, &self, content);
}

/* ---- which contents the caller sees ---- */

struct copy_count {
	struct search_query *q;
	struct file_key first;
	size_t visible, most;
};

static int count_copy(void *arg, const struct file_key *key)
{
	struct copy_count *c = arg;
	int err = hits_probe_file(c->q, key);

	if (err == 1 && c->visible++ == 0)
		c->first = *key;
	return err < 0 ? err : c->visible == c->most;
}

/* Counts visible files with a content, from where the last count ended, until
 * there are most of them.  *out is valid until the next entry is looked up. */
static int count_visible(struct search_query *q, uint32_t content, size_t most,
			 struct visibility_entry **out)
{
	struct visibility_entry *entry =
		visibility_of_content(&q->visibility, content);
	struct copy_count c = { .q = q, .most = most };
	struct copy_cursor cursor;
	int err = 0;

	if (!entry)
		return -ENOMEM;
	if (!entry->complete && entry->visible < most) {
		c.first = entry->first;
		c.visible = entry->visible;
		cursor = entry->cursor;
		err = copies_each(q, content, &cursor, count_copy, &c);
		entry = visibility_of_content(&q->visibility, content);
		if (!entry)
			return -ENOMEM;
		entry->first = c.first;
		entry->visible = c.visible;
		entry->cursor = cursor;
		entry->complete = err == 0;
	}
	*out = entry;
	return err < 0 ? err : 0;
}

int content_has_hit(struct search_query *q, uint32_t content)
{
	struct visibility_entry *entry;
	int err = count_visible(q, content, 1, &entry);

	if (!err && entry->visible == 1 &&
	    file_key_equal(&entry->first, &q->self))
		err = count_visible(q, content, 2, &entry);
	if (err || !entry->visible)
		return err;
	return entry->visible > 1 || !file_key_equal(&entry->first, &q->self);
}

bool content_is_visible(void *arg, uint32_t content)
{
	struct search_query *q = arg;
	struct visibility_entry *entry;

	if (!q->err)
		q->err = count_visible(q, content, 1, &entry);
	return !q->err && entry->visible;
}
