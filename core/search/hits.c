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
 * From contents to files.
 *
 * The catalog says which files carry a content, and the disk has the last
 * word: a file becomes a hit only when it can be opened by its path with the
 * caller's credentials and is, at that moment, the file and in the state that
 * was hashed.
 */

bool look_is_stopping(const struct look *l)
{
	return atomic_load(&l->e->stopping);
}

bool caller_can_read(const struct engine_caller *v, int fd)
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
	source_get_key(&e->source, fd, &st, &found);
	source_get_identity(&st, out);
	return file_key_equal(&found, key);
}

static bool is_unchanged(struct hit_search *s, int fd)
{
	if (!identify(s->l->e, fd, s->key, &s->identity))
		return false;
	s->stale = !file_identity_equal(&s->identity, &s->rec->identity);
	return !s->stale;
}

/* ---- directories ---- */

/* Whether the calling thread may. */
static bool may_look_into(int fd)
{
	return !faccessat(fd, "", R_OK | X_OK, AT_EMPTY_PATH | AT_EACCESS);
}

bool directory_is_open(const struct engine *e, const char *path,
		       struct file_key *key_out)
{
	int fd = file_open_beneath(e->source.fd, path, O_PATH | O_DIRECTORY);
	struct stat st;
	bool opens;

	if (fd < 0)
		return false;
	opens = !fstat(fd, &st) && may_look_into(fd);
	if (opens && key_out)
		source_get_key(&e->source, fd, &st, key_out);
	close(fd);
	return opens;
}

/* Ends path at its last '/'; false when it has none. */
static bool cut_last(char *path)
{
	char *slash = strrchr(path, '/');

	if (slash)
		*slash = '\0';
	return slash;
}

bool directories_are_open(const struct engine *e, const char *path)
{
	char *above = strdup(path);
	bool open = above;

	while (open && cut_last(above))
		open = directory_is_open(e, above, NULL);
	free(above);
	return open;
}

/* Whether the directory that path names, and all above it, can be listed.
 * Each is looked at once in a request.  path is cut. */
static bool is_open(struct look *l, char *path)
{
	struct sight *known = sights_path(&l->sights, path);
	bool open;

	if (known && known->answer >= 0)
		return known->answer;
	open = known && directory_is_open(l->e, path, NULL);
	if (open) {
		char *slash = strrchr(path, '/');

		if (slash) {
			*slash = '\0';
			open = is_open(l, path);
			*slash = '/';
		}
	}
	known = sights_path(&l->sights, path);
	if (!known)
		l->err = -ENOMEM;
	else
		known->answer = open;
	return open && known;
}

bool path_is_visible(struct look *l, const char *path)
{
	char *above;
	bool visible = true;

	if (l->r->caller.trusted)
		return true;
	above = strdup(path);
	if (!above)
		l->err = -ENOMEM;
	else if (cut_last(above))
		visible = is_open(l, above);
	free(above);
	return above && visible;
}

static int open_at(void *arg, const char *path)
{
	struct look *l = arg;
	char *copy = strdup(path);
	bool open;

	if (!copy)
		return -ENOMEM;
	open = !*path || is_open(l, copy);
	free(copy);
	return open;
}

bool directory_is_visible(struct look *l, const struct file_key *key)
{
	int err;

	if (l->r->caller.trusted)
		return true;
	err = catalog_path_each(l->txn, &l->e->source.root, key, open_at, l);
	if (err < 0)
		l->err = err;
	return err == 1;
}

/* ---- one file ---- */

bool engine_hit_holds(const struct engine *e, const char *path,
		      const struct file_key *key,
		      const struct file_identity *identity)
{
	int fd = file_open_beneath(e->source.fd, path, O_PATH);
	struct file_identity now;
	bool holds;

	if (fd < 0)
		return false;
	holds = identify(e, fd, key, &now) &&
		file_identity_equal(&now, identity) &&
		!faccessat(fd, "", R_OK, AT_EMPTY_PATH | AT_EACCESS);
	close(fd);
	return holds && directories_are_open(e, path);
}

/* 1 when the path leads to the file, 0 to try the next one. */
static int try_hit(void *arg, const char *path)
{
	struct hit_search *s = arg;
	struct look *l = s->l;
	int fd, err = 0;

	if (!path_is_visible(l, path))
		return 0;
	fd = file_open_beneath(l->e->source.fd, path, O_PATH);
	if (fd < 0)
		return 0;
	if (is_unchanged(s, fd) && caller_can_read(&l->r->caller, fd))
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
	err = catalog_path_each(l->txn, &l->e->source.root, key, try_hit, &s);
	if (s.stale)
		(void)queue_push(&l->e->queue, key, JOB_CLOSED, &s.identity);
	return err;
}

/* The same for a file that is not to be listed. */
static int probe_file(struct look *l, const struct file_key *key)
{
	struct engine_hits *hits = l->hits;
	size_t found = l->found;
	int err;

	l->hits = NULL;
	err = file_hit(l, key, 0);
	l->hits = hits;
	l->found = found;
	return err;
}

bool file_is_visible(struct look *l, const struct file_key *key)
{
	return l->r->caller.trusted || probe_file(l, key) == 1;
}

bool copy_is_visible(struct look *l, const struct file_key *key,
		     const char *path)
{
	struct hit_search s = { .l = l, .key = key };
	struct file_record rec;
	bool visible;
	int fd;

	if (l->r->caller.trusted)
		return true;
	if (!path_is_visible(l, path) || catalog_file_get(l->txn, key, &rec) ||
	    rec.state != FILE_FRESH)
		return false;
	fd = file_open_beneath(l->e->source.fd, path, O_PATH);
	if (fd < 0)
		return false;
	s.rec = &rec;
	visible = is_unchanged(&s, fd) && caller_can_read(&l->r->caller, fd);
	close(fd);
	return visible;
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

struct copies {
	struct look *l;
	int score;
	size_t limit, added;
	bool *cut;
};

static int add_copy(void *arg, const struct file_key *key)
{
	struct copies *c = arg;
	struct look *l = c->l;
	int err;

	if (look_is_stopping(l))
		return -ECANCELED;
	if (file_key_equal(key, &l->self))
		return 0;
	if (c->added == c->limit) {
		err = probe_file(l, key);
		*c->cut |= err == 1;
		return err;
	}
	err = file_hit(l, key, c->score);
	c->added += err == 1;
	return err < 0 ? err : 0;
}

int content_hits(struct look *l, uint32_t content, int score, size_t limit,
		 bool *cut)
{
	struct copies c = { l, score, limit, 0, cut };
	int err = catalog_copies_each(l->txn, content, add_copy, &c);

	return err < 0 ? err : 0;
}

/* ---- which contents the caller sees ---- */

struct counting {
	struct look *l;
	struct file_key first;
	int count, most;
};

static int count_copy(void *arg, const struct file_key *key)
{
	struct counting *c = arg;
	int err = look_is_stopping(c->l) ? -ECANCELED : probe_file(c->l, key);

	if (err == 1 && c->count++ == 0)
		c->first = *key;
	return err < 0 ? err : c->count == c->most;
}

/* Finds out whether there is one, or whether there are two.  What is known is
 * valid until the next that is asked for. */
static int count_copies(struct look *l, uint32_t content, int most,
			struct sight **out)
{
	struct sight *known = sights_content(&l->sights, content);
	struct counting c = { .l = l, .most = most };
	int err;

	if (known &&
	    (known->answer < 0 || (known->answer == SIGHT_FILE && most > 1))) {
		err = catalog_copies_each(l->txn, content, count_copy, &c);
		if (err < 0)
			return err;
		known = sights_content(&l->sights, content);
		if (!known)
			return -ENOMEM;
		known->first = c.first;
		known->answer = c.count == 2    ? SIGHT_FILES :
				c.count < 1     ? SIGHT_NONE :
				c.count == most ? SIGHT_FILE :
						  SIGHT_ONE_FILE;
	}
	*out = known;
	return known ? 0 : -ENOMEM;
}

int content_has_hit(struct look *l, uint32_t content)
{
	struct sight *known;
	int err = count_copies(l, content, 1, &known);

	if (!err && known->answer == SIGHT_FILE &&
	    file_key_equal(&known->first, &l->self))
		err = count_copies(l, content, 2, &known);
	if (err || known->answer == SIGHT_NONE)
		return err;
	return known->answer == SIGHT_FILES ||
	       !file_key_equal(&known->first, &l->self);
}

static bool sees(void *arg, uint32_t content)
{
	struct look *l = arg;
	struct sight *known;

	if (!l->err)
		l->err = count_copies(l, content, 1, &known);
	return !l->err && known->answer != SIGHT_NONE;
}

/* ---- a request ---- */

int look_begin(struct request *r, struct look *l)
{
	int err;

	*l = (struct look){ .r = r, .e = r->engine };
	if (!r->caller.trusted) {
		l->viewer = calloc(1, sizeof(*l->viewer));
		if (!l->viewer)
			return -ENOMEM;
		l->viewer->sees = sees;
		l->viewer->arg = l;
	}
	err = catalog_read(l->e->catalog, &l->txn);
	if (err)
		free(l->viewer);
	return err;
}

void look_end(struct look *l)
{
	catalog_abort(l->txn);
	sights_release(&l->sights);
	free(l->viewer);
}

void engine_hits_release(struct engine_hits *hits)
{
	size_t i;

	for (i = 0; i < hits->count; i++)
		free(hits->hits[i].path);
	free(hits->hits);
	*hits = (struct engine_hits){ 0 };
}
