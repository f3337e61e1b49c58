/* SPDX-License-Identifier: Apache-2.0 */
#include "core/engine/look.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/array.h"
#include "core/engine/file.h"

/*
 * From contents to files.
 *
 * The catalog says which files carry a content, and the disk has the last
 * word: a file becomes a hit only when it can be opened by its path with the
 * viewer's credentials and is, at that moment, the file and in the state that
 * was hashed.
 */

int look_begin(struct request *r, struct look *l)
{
	*l = (struct look){ .r = r, .e = r->engine };
	return catalog_read(l->e->catalog, &l->txn);
}

bool look_is_stopping(const struct look *l)
{
	return atomic_load(&l->e->stopping);
}

bool viewer_can_read(const struct engine_viewer *v, int fd)
{
	if (v->trusted)
		return true;
	return faccessat(fd, "", R_OK, AT_EMPTY_PATH | AT_EACCESS) == 0;
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

bool file_is_visible(struct look *l, const struct file_key *key)
{
	struct look one = *l;

	if (l->r->viewer.trusted)
		return true;
	one.hits = NULL;
	return file_hit(&one, key, 0) == 1;
}

/* ---- contents ---- */

int key_list_add(void *arg, const struct file_key *key)
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

int content_hits(struct look *l, uint32_t content, int score, size_t limit,
		 bool *cut)
{
	struct key_list c = { 0 };
	size_t i, added = 0;
	int err;

	err = catalog_copies_each(l->txn, content, key_list_add, &c);
	for (i = 0; i < c.count && err >= 0 && !look_is_stopping(l); i++) {
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

void engine_hits_release(struct engine_hits *hits)
{
	size_t i;

	for (i = 0; i < hits->count; i++)
		free(hits->hits[i].path);
	free(hits->hits);
	*hits = (struct engine_hits){ 0 };
}
