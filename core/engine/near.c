/* SPDX-License-Identifier: Apache-2.0 */
#include "core/engine/near.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/array.h"
#include "core/engine/engine_impl.h"
#include "core/engine/file.h"

/*
 * From contents to files.
 *
 * The index proposes contents, the digests score them, the catalog says which
 * files carry them, and the disk has the last word: a file becomes a hit only
 * when it can be opened by its path with the viewer's credentials and is, at
 * that moment, the file and in the state that was hashed.
 */

enum {
	CANDIDATES = 512,
	SLACK = 25, /* how far an estimate may lie below the true score */
};

/* One request's view of the catalog. */
struct look {
	struct request *r;
	struct engine *e;
	struct catalog_txn *txn;
	struct file_key self;
	uint32_t self_content;    /* 0: not in the catalog */
	struct engine_hits *hits; /* NULL: one is enough, keep nothing */
	size_t found;
};

/* Whether the viewer, whom the thread is by now, may read the file. */
static bool viewer_can_read(const struct engine_viewer *v, int fd)
{
	if (v->trusted)
		return true;
	return faccessat(fd, "", R_OK, AT_EMPTY_PATH | AT_EACCESS) == 0;
}

static bool is_stopping(const struct look *l)
{
	return atomic_load(&l->e->stopping);
}

/* ---- files ---- */

struct hit_search {
	struct look *l;
	const struct file_key *key;
	const struct file_record *rec;
	int score;
	bool stale;                    /* it is there, and changed ... */
	struct file_identity identity; /* ... to this */
};

static int hit_add(const struct hit_search *s, const char *path)
{
	struct engine_hits *hits = s->l->hits;
	struct engine_hit *hit;

	s->l->found++;
	if (!hits)
		return 0;
	hit = array_with_room(hits->hits, hits->count, sizeof(*hit));
	if (!hit)
		return -ENOMEM;
	hits->hits = hit;
	hit = &hits->hits[hits->count];
	*hit = (struct engine_hit){
		.path = strdup(path),
		.score = s->score,
		.key = *s->key,
		.identity = s->rec->identity,
	};
	if (!hit->path)
		return -ENOMEM;
	hits->count++;
	return 0;
}

/* The identity of fd if it is the regular file that key says. */
static bool identify(const struct engine *e, int fd, const struct file_key *key,
		     struct file_identity *out)
{
	struct file_key found;
	struct stat st;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		return false;
	engine_file_key(e, fd, &st, &found);
	engine_file_identity(&st, out);
	return file_key_equal(&found, key);
}

static bool is_unchanged(struct hit_search *s, int fd)
{
	if (!identify(s->l->e, fd, s->key, &s->identity))
		return false;
	s->stale = !file_identity_equal(&s->identity, &s->rec->identity);
	return !s->stale;
}

bool engine_hit_holds(const struct engine *e, const char *path,
		      const struct file_key *key,
		      const struct file_identity *identity)
{
	int fd = file_open_beneath(e->options.source_fd, path, O_PATH);
	struct file_identity now;
	bool holds;

	if (fd < 0)
		return false;
	holds = identify(e, fd, key, &now) &&
		file_identity_equal(&now, identity) &&
		!faccessat(fd, "", R_OK, AT_EMPTY_PATH | AT_EACCESS);
	close(fd);
	return holds;
}

/* 1 when the path leads to the file, 0 to try the next one. */
static int try_hit(void *arg, const char *path)
{
	struct hit_search *s = arg;
	struct look *l = s->l;
	int fd, err = 0;

	fd = file_open_beneath(l->e->options.source_fd, path, O_PATH);
	if (fd < 0)
		return 0;
	if (is_unchanged(s, fd) && viewer_can_read(&l->r->viewer, fd))
		err = hit_add(s, path) ?: 1;
	close(fd);
	return err;
}

/* Adds the file to the hits if it is one.  1, 0 or an error. */
static int file_hit(struct look *l, const struct file_key *key, int score)
{
	struct hit_search s = { .l = l, .key = key, .score = score };
	struct file_record rec;
	int err;

	if (catalog_file_get(l->txn, key, &rec) || rec.state != FILE_FRESH)
		return 0;
	s.rec = &rec;
	err = catalog_path_each(l->txn, &l->e->root, key, try_hit, &s);
	if (s.stale)
		(void)queue_push(&l->e->queue, key, JOB_CLOSED, &s.identity);
	return err;
}

/* Whether the viewer may know that this file has near-duplicates. */
static bool is_visible(struct look *l, const struct file_key *key)
{
	struct look one = *l;

	if (l->r->viewer.trusted)
		return true;
	one.hits = NULL;
	return file_hit(&one, key, 0) == 1;
}

/* ---- contents ---- */

struct key_list {
	struct file_key *keys;
	size_t count;
};

/* Serves as a callback of the catalog. */
static int key_list_add(void *arg, const struct file_key *key)
{
	struct key_list *c = arg;
	struct file_key *keys =
		array_with_room(c->keys, c->count, sizeof(*keys));

	if (!keys)
		return -ENOMEM;
	c->keys = keys;
	c->keys[c->count++] = *key;
	return 0;
}

/* Adds the files with that content, at most limit; sets cut when there may be
 * more.  With no list to fill it stops at the first. */
static int content_hits(struct look *l, uint32_t content, int score,
			size_t limit, bool *cut)
{
	struct key_list c = { 0 };
	size_t i, added = 0;
	int err;

	err = catalog_copies_each(l->txn, content, key_list_add, &c);
	for (i = 0; i < c.count && err >= 0 && !is_stopping(l); i++) {
		if (file_key_equal(&c.keys[i], &l->self))
			continue;
		if (added == limit) {
			*cut = true;
			break;
		}
		err = file_hit(l, &c.keys[i], score);
		added += err == 1;
		if (err == 1 && !l->hits)
			break;
	}
	free(c.keys);
	return err < 0 ? err : 0;
}

struct scored {
	uint32_t content;
	int score;
};

static int compare_scored(const void *a, const void *b)
{
	const struct scored *x = a, *y = b;

	if (x->score != y->score)
		return y->score - x->score;
	return x->content < y->content ? -1 : x->content > y->content;
}

static int score_candidate(struct look *l, struct index_subject *subject,
			   uint32_t content, int *score_out)
{
	struct digests other;
	int err = catalog_content_get(l->txn, content, &other);

	if (err)
		return err;
	err = index_score(subject, &other, score_out);
	digests_release(&other);
	return err;
}

/* Keeps those that score at least the threshold. */
static int score_candidates(struct look *l, const struct digests *d,
			    const struct candidate *candidates, size_t count,
			    struct scored *out, size_t *kept_out)
{
	struct index_subject *subject;
	size_t kept = 0, i;
	int err = index_subject_new(l->e->index, d, &subject);

	if (err)
		return err;
	for (i = 0; i < count && !err; i++) {
		struct scored *s = &out[kept];

		s->content = candidates[i].content;
		err = score_candidate(l, subject, s->content, &s->score);
		if (!err && s->score >= l->e->options.threshold &&
		    s->score < 100)
			kept++;
		if (err == -ENOENT) /* removed since */
			err = 0;
	}
	index_subject_free(subject);
	*kept_out = kept;
	return err;
}

/* The contents that score at least the threshold, best first. */
static int near_contents(struct look *l, const struct digests *d,
			 uint32_t first_content, struct scored **out,
			 size_t *count_out)
{
	struct index_query query = { .digests = d,
				     .self = l->self_content,
				     .first_content = first_content,
				     .min_estimate =
					     l->e->options.threshold - SLACK };
	struct candidate *candidates = calloc(CANDIDATES, sizeof(*candidates));
	struct scored *scored = calloc(CANDIDATES, sizeof(*scored));
	size_t count = 0, kept = 0;
	int err = candidates && scored ? 0 : -ENOMEM;

	if (!err)
		err = index_query(l->e->index, &query, candidates, CANDIDATES,
				  &count);
	if (!err && count)
		err = score_candidates(l, d, candidates, count, scored, &kept);
	free(candidates);
	if (err) {
		free(scored);
		return err;
	}
	qsort(scored, kept, sizeof(*scored), compare_scored);
	*out = scored;
	*count_out = kept;
	return 0;
}

/* ---- the listing of one file ---- */

static int compare_hits(const void *a, const void *b)
{
	const struct engine_hit *x = a, *y = b;

	if (x->score != y->score)
		return y->score - x->score;
	return strcmp(x->path, y->path);
}

static int list_near(struct look *l, const struct digests *d)
{
	size_t limit = l->e->options.limit, exact = l->found, count, i;
	struct scored *scored;
	bool cut = false;
	int err;

	err = near_contents(l, d, 1, &scored, &count);
	if (err)
		return err;
	for (i = 0; i < count && !err && !cut; i++)
		err = content_hits(l, scored[i].content, scored[i].score,
				   limit - (l->found - exact), &cut);
	free(scored);
	l->hits->cut = cut;
	return err;
}

static int look_begin(struct request *r, struct look *l)
{
	*l = (struct look){ .r = r, .e = r->engine };
	return catalog_read(l->e->catalog, &l->txn);
}

static int list_file(struct look *l, const struct digests *d)
{
	struct file_record rec;
	bool cut = false;
	int err = 0;

	if (!d->size)
		return 0;
	if (!catalog_file_get(l->txn, &l->self, &rec) &&
	    rec.state == FILE_FRESH)
		l->self_content = rec.content;
	if (l->self_content)
		err = content_hits(l, l->self_content, 100, SIZE_MAX, &cut);
	if (!err)
		err = list_near(l, d);
	if (!err && l->hits->count)
		qsort(l->hits->hits, l->hits->count, sizeof(*l->hits->hits),
		      compare_hits);
	return err;
}

int near_list(struct request *r, struct engine_hits *hits_out)
{
	struct engine_answer answer = { 0 };
	struct engine_hits hits = { 0 };
	struct look l = { 0 };
	struct stat st;
	int err;

	if (!viewer_can_read(&r->viewer, r->fd))
		return -EACCES;
	err = engine_ask(r->engine, r->fd, &answer);
	if (err)
		return err;
	if (answer.state != ENGINE_FRESH)
		goto out;
	err = fstat(r->fd, &st) ? -errno : look_begin(r, &l);
	if (err)
		goto out;
	l.hits = &hits;
	engine_file_key(l.e, r->fd, &st, &l.self);
	err = list_file(&l, &answer.digests);
	catalog_abort(l.txn);
out:
	engine_answer_release(&answer);
	if (err)
		engine_hits_release(&hits);
	else
		*hits_out = hits;
	return err;
}

void engine_hits_release(struct engine_hits *hits)
{
	size_t i;

	for (i = 0; i < hits->count; i++)
		free(hits->hits[i].path);
	free(hits->hits);
	*hits = (struct engine_hits){ 0 };
}

/* ---- whether a file has any ---- */

static struct near memory_get(struct look *l, uint32_t content)
{
	struct inquiry *q = &l->e->inquiry;
	struct near near;

	pthread_mutex_lock(&q->lock);
	near = q->near[content % NEAR_SLOTS];
	pthread_mutex_unlock(&q->lock);
	if (near.content != content)
		near = (struct near){ .content = content, .upto = 1 };
	return near;
}

static void memory_put(struct look *l, const struct near *near)
{
	struct inquiry *q = &l->e->inquiry;

	pthread_mutex_lock(&q->lock);
	q->near[near->content % NEAR_SLOTS] = *near;
	pthread_mutex_unlock(&q->lock);
}

/* 1 when a file with that content is a hit. */
static int has_copy(struct look *l, uint32_t content)
{
	size_t before = l->found;
	bool cut = false;
	int err = content_hits(l, content, 0, SIZE_MAX, &cut);

	return err ? err : l->found > before;
}

static int search_near(struct look *l, struct near *near)
{
	uint32_t end = index_end(l->e->index);
	struct scored *scored;
	struct digests d;
	size_t count, i;
	int err;

	err = catalog_content_get(l->txn, near->content, &d);
	if (err)
		return err;
	err = near_contents(l, &d, near->upto, &scored, &count);
	digests_release(&d);
	if (err)
		return err;
	for (i = 0; i < count && !err; i++) {
		err = has_copy(l, scored[i].content);
		if (err == 1)
			near->near = scored[i].content;
	}
	if (!count)
		near->upto = end;
	free(scored);
	memory_put(l, near);
	return err;
}

/* 1 when the file has a near-duplicate, 0 when not. */
static int has_near(struct look *l, const struct file_key *key,
		    const struct file_record *rec)
{
	struct near near;
	int err;

	if (rec->state != FILE_FRESH || !rec->identity.size ||
	    !is_visible(l, key))
		return 0;
	l->self = *key;
	l->self_content = rec->content;
	err = has_copy(l, rec->content);
	if (err)
		return err;
	near = memory_get(l, rec->content);
	if (near.near) {
		err = has_copy(l, near.near);
		if (err)
			return err;
		near.near = 0;
		near.upto = 1;
	}
	return search_near(l, &near);
}

/* ---- directories ---- */

static int note_child(void *arg, struct catalog_name name,
		      const struct file_key *key)
{
	(void)name;
	return key_list_add(arg, key);
}

static int directory_has_near(struct look *l, const struct file_key *dir)
{
	struct key_list stack = { 0 };
	int err = key_list_add(&stack, dir);

	while (err == 0 && stack.count && !is_stopping(l)) {
		struct file_key key = stack.keys[--stack.count];
		struct file_record rec;

		if (catalog_file_get(l->txn, &key, &rec))
			continue;
		if (rec.state != FILE_DIRECTORY)
			err = has_near(l, &key, &rec);
		else
			err = catalog_directory_each(l->txn, &key, note_child,
						     &stack);
	}
	free(stack.keys);
	return err;
}

/* 1 when the entry is to be shown. */
static int is_worth_showing(struct look *l, int dir_fd, const char *name,
			    struct stat *st)
{
	struct file_identity identity;
	struct file_record rec;
	struct file_key key;

	if (fstatat(dir_fd, name, st, AT_SYMLINK_NOFOLLOW))
		return 0;
	if (!S_ISREG(st->st_mode) && !S_ISDIR(st->st_mode))
		return 0;
	file_key_at(l->e, dir_fd, name, st, &key);
	if (S_ISDIR(st->st_mode))
		return directory_has_near(l, &key);
	if (catalog_file_get(l->txn, &key, &rec))
		return 0;
	engine_file_identity(st, &identity);
	if (!file_identity_equal(&identity, &rec.identity))
		return 0;
	return has_near(l, &key, &rec);
}

static int entry_add(struct engine_entries *entries, const char *name,
		     const struct stat *st)
{
	struct engine_entry *entry;

	entry = array_with_room(entries->entries, entries->count,
				sizeof(*entry));
	if (!entry)
		return -ENOMEM;
	entries->entries = entry;
	entry = &entries->entries[entries->count];
	entry->name = strdup(name);
	entry->directory = S_ISDIR(st->st_mode);
	if (!entry->name)
		return -ENOMEM;
	entries->count++;
	return 0;
}

static int browse_entries(struct look *l, DIR *dir,
			  struct engine_entries *entries)
{
	struct dirent *d;
	struct stat st;
	int err = 0;

	while (err >= 0 && !is_stopping(l)) {
		errno = 0;
		d = readdir(dir);
		if (!d)
			return -errno;
		if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0)
			continue;
		err = is_worth_showing(l, dirfd(dir), d->d_name, &st);
		if (err == 1)
			err = entry_add(entries, d->d_name, &st);
	}
	return err < 0 ? err : -ECANCELED;
}

static int compare_entries(const void *a, const void *b)
{
	const struct engine_entry *x = a, *y = b;

	return strcmp(x->name, y->name);
}

int near_browse(struct request *r, struct engine_entries *entries_out)
{
	struct engine_entries entries = { 0 };
	struct look l;
	DIR *dir;
	int err, fd;

	fd = file_open_beneath(r->fd, "", O_RDONLY | O_DIRECTORY);
	if (fd < 0)
		return fd;
	dir = fdopendir(fd);
	if (!dir) {
		err = -errno;
		close(fd);
		return err;
	}
	err = look_begin(r, &l);
	if (!err) {
		err = browse_entries(&l, dir, &entries);
		catalog_abort(l.txn);
	}
	closedir(dir);
	if (err) {
		engine_entries_release(&entries);
		return err;
	}
	if (entries.count)
		qsort(entries.entries, entries.count, sizeof(*entries.entries),
		      compare_entries);
	*entries_out = entries;
	return 0;
}

void engine_entries_release(struct engine_entries *entries)
{
	size_t i;

	for (i = 0; i < entries->count; i++)
		free(entries->entries[i].name);
	free(entries->entries);
	*entries = (struct engine_entries){ 0 };
}
