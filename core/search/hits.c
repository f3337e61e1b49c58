/* SPDX-License-Identifier: Apache-2.0 */
#include "core/search/search_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/array.h"
#include "core/base/filter.h"
#include "core/source/file.h"

/*
 * Finds the files with a content.
 *
 * The catalog has the keys and names of these files.  A file becomes a hit only
 * if its path can be opened with the caller's credentials, and leads to the
 * file of that key, with the identity that was hashed.
 */

struct probe {
	const struct file_key *key;
	struct file_record rec;        /* of the file */
	const struct verdict *verdict; /* of the hits to add */
	size_t names;                  /* most hits */
	size_t found;                  /* names that lead to the file */
	uint64_t nlink, disk;          /* of the file, at the last of them */
	bool stale;                    /* the identity differs from rec's */
	bool missed;                   /* ... of a file that the caller sees */
	struct file_identity identity; /* the present one */
};

int hits_append(struct search_query *q, const struct search_hit *hit)
{
	struct search_hits *hits = &q->hits;
	struct search_hit *room;
	int err = hit->path ? search_hold(&hits->held, q->job->uid,
					  sizeof(*hit) + strlen(hit->path)) :
			      -ENOMEM;

	if (err) {
		free(hit->path);
		return err;
	}
	room = array_with_room(hits->hits, hits->count, sizeof(*room));
	if (!room) {
		free(hit->path);
		return -ENOMEM;
	}
	hits->hits = room;
	hits->hits[hits->count++] = *hit;
	return 0;
}

/* Whether the identity is the recorded one; notes what else is of interest. */
static bool is_unchanged(struct probe *p, const struct stat *st)
{
	source_get_identity(st, &p->identity);
	p->disk = (uint64_t)st->st_blocks * 512;
	p->nlink = st->st_nlink;
	p->stale = !file_identity_equal(&p->identity, &p->rec.identity);
	return !p->stale;
}

/* Whether the caller can open the path, and it leads to the unchanged file. */
static bool path_leads_there(struct search_query *q, struct probe *p,
			     const char *path)
{
	const struct source *source = q->context->source;
	bool leads = false;
	struct stat st;
	int fd;

	if (!path_is_visible(q, path))
		return false;
	fd = file_open_beneath(source->fd, path, O_PATH);
	if (fd < 0)
		return false;
	if (file_identify(source, fd, p->key, &st)) {
		leads = is_unchanged(p, &st);
		if (!caller_can_read(q->caller, fd))
			leads = false;
		else
			p->missed |= p->stale;
	}
	close(fd);
	return leads;
}

/* The same without opening the file, in a directory that was verified: a trusted
 * caller may open any.  With TIMES_OWN the generation need not be compared: a
 * new file with the same inode number has another ctime.  A path may be longer
 * than what a system call takes. */
static bool entry_is_the_file(struct search_query *q, struct probe *p,
			      const char *path)
{
	const struct source *source = q->context->source;
	struct stat st;
	bool leads;

	if (fstatat(source->fd, path, &st, AT_SYMLINK_NOFOLLOW))
		return errno == ENAMETOOLONG && path_leads_there(q, p, path);
	if (!S_ISREG(st.st_mode) || !source_has_number(source, p->key, &st))
		return false;
	leads = is_unchanged(p, &st);
	p->missed |= p->stale;
	return leads;
}

static char *join_path(const char *directory, struct catalog_name name)
{
	char *path;

	if (asprintf(&path, "%s%s%.*s", directory, *directory ? "/" : "",
		     (int)name.len, (const char *)name.bytes) < 0)
		return NULL;
	return path;
}

/* The next path by which the caller sees the file: 1, and the caller frees it; 0:
 * there are no more. */
static int next_path(struct search_query *q, struct probe *p,
		     struct catalog_walk *walk, char **out)
{
	const bool by_entry =
		q->caller->trusted &&
		source_get_times(q->context->source, p->key) == TIMES_OWN;
	struct catalog_name name;
	struct file_key parent;
	const char *directory;
	int err;

	while ((err = catalog_links_next(walk, &parent, &name)) == 1) {
		err = directory_find(q, &parent, by_entry, &directory);
		if (err == -ENOENT)
			continue;
		if (err)
			return err;
		*out = join_path(directory, name);
		if (!*out)
			return -ENOMEM;
		if ((!q->within || search_paths_have(q->within, *out)) &&
		    !(q->live && path_is_internal(*out)) &&
		    (by_entry ? entry_is_the_file(q, p, *out) :
				path_leads_there(q, p, *out)))
			return 1;
		free(*out);
	}
	return err;
}

/* Adds the paths by which the caller sees the file. */
static int add_paths(struct search_query *q, struct probe *p)
{
	struct catalog_walk *walk;
	char *path = NULL;
	int err = catalog_links_begin(q->txn, p->key, &walk);

	if (err)
		return err;
	while (!err &&
	       !(p->found && (p->found >= p->names ||
			      (p->nlink && p->found >= p->nlink))) &&
	       (err = next_path(q, p, walk, &path)) == 1) {
		const struct search_hit hit = {
			.path = path,
			.verdict = p->verdict ? *p->verdict :
						(struct verdict){ 0 },
			.disk = p->disk,
			.key = *p->key,
			.identity = p->rec.identity,
			.nlink = p->nlink,
			.link = p->found > 0,
		};

		query_count_work(q, (p->found > 0) +
					    strlen(path) / PATH_BYTES_PER_WORK);
		p->found++;
		err = p->names ? hits_append(q, &hit) : 0;
		if (!p->names)
			free(path);
	}
	catalog_walk_end(walk);
	return err;
}

int hits_add_file(struct search_query *q, const struct file_key *key,
		  const struct verdict *verdict, size_t names)
{
	const struct search_context *context = q->context;
	struct probe p = { .key = key, .verdict = verdict, .names = names };
	int err;

	if (names > HIT_NAMES_MAX)
		p.names = HIT_NAMES_MAX;
	if (catalog_file_get(q->txn, key, &p.rec) || p.rec.state != FILE_FRESH)
		return 0;
	err = add_paths(q, &p);
	q->missed |= p.missed && !p.found;
	if (p.stale)
		(void)queue_push(context->hasher->context.queue, key,
				 JOB_CLOSED, &p.identity);
	return err < 0 ? err : (int)p.found;
}

int file_is_internal(struct search_query *q, const struct file_key *key)
{
	struct catalog_walk *walk;
	struct catalog_name name;
	struct file_key parent;
	const char *directory;
	char *path;
	bool internal = true, found = false;
	int err = catalog_links_begin(q->txn, key, &walk);

	if (err)
		return err;
	while (internal &&
	       (err = catalog_links_next(walk, &parent, &name)) == 1) {
		err = directory_find(q, &parent, false, &directory);
		if (err == -ENOENT)
			continue;
		path = err ? NULL : join_path(directory, name);
		if (!path) {
			err = err ? err : -ENOMEM;
			break;
		}
		internal = path_is_internal(path);
		free(path);
		found = true;
	}
	catalog_walk_end(walk);
	return err < 0 ? err : found && internal;
}

bool file_is_visible(struct search_query *q, const struct file_key *key)
{
	return q->caller->trusted || hits_add_file(q, key, NULL, 0) > 0;
}

bool copy_is_visible(struct search_query *q, const struct file_key *key,
		     const char *path)
{
	struct probe p = { .key = key };

	if (q->caller->trusted)
		return true;
	if (catalog_file_get(q->txn, key, &p.rec) || p.rec.state != FILE_FRESH)
		return false;
	return path_leads_there(q, &p, path);
}

/* ---- files that are still to be hashed ---- */

/* 1: the file counts as missing in the caller's answer; else 0. */
static int is_missing(struct search_query *q, const struct file_key *key,
		      const struct file_record *rec)
{
	struct probe p = { .key = key, .rec = *rec };
	int err;

	if (queue_is_recent(q->context->hasher->context.queue, key))
		return 0;
	err = add_paths(q, &p);
	return err < 0 ? err : p.found || p.missed;
}

/* 1: the text of a document that the caller can read is still to be told. */
static int has_untold_text(struct search_query *q)
{
	struct file_key key = { 0 };
	uint32_t content = 0;
	int err = q->context->texts ? 0 : -ENOENT;

	while (!err) {
		err = query_yield(q);
		if (!err)
			err = catalog_text_untold(q->txn, &content, &key);
		query_count_work(q, 1);
		if (!err)
			err = file_is_visible(q, &key) ? 1 : q->err;
	}
	return err == -ENOENT ? 0 : err;
}

int hits_settle_incomplete(struct search_query *q)
{
	struct file_key key = { 0 };
	struct file_record rec;
	int err;

	if (q->caller->trusted || !q->only_pending)
		return 0;
	err = q->txn ? 0 : query_begin_read(q);
	while (!err) {
		err = query_yield(q);
		if (!err)
			err = catalog_pending_next(q->txn, &key, &key, &rec);
		query_count_work(q, 1);
		if (!err)
			err = is_missing(q, &key, &rec) ?: q->err;
	}
	if (err == -ENOENT)
		err = has_untold_text(q);
	q->hits.incomplete = err == 1 || q->late;
	return err == 1 ? 0 : err;
}

/* ---- the files with a content ---- */

int copy_next(struct search_query *q, uint32_t content, struct file_key *at)
{
	int err = query_yield(q);

	if (!err)
		err = catalog_copy_after(q->txn, content, at->inode ? at : NULL,
					 at);
	if (err)
		return err == -ENOENT ? 0 : err;
	query_count_work(q, 1);
	return 1;
}

/* ---- pairs that are ignored ---- */

bool pair_is_ignored(struct search_query *q, const struct digests *d,
		     uint32_t content)
{
	const struct search_context *context = q->context;
	struct digests other;

	if (!q->ignores || catalog_content_get(q->txn, content, 0, &other))
		return false;
	return ignored_has(context->ignored, d, &other);
}

bool contents_are_ignored(struct search_query *q, uint32_t a, uint32_t b)
{
	struct digests d;

	return q->ignores && !catalog_content_get(q->txn, a, 0, &d) &&
	       pair_is_ignored(q, &d, b);
}

/* ---- which contents the caller sees ---- */

/* What a query knows of a content.  VISIBLE: one file is, or several. */
enum { UNKNOWN, INVISIBLE, ONE_FILE, SEVERAL_FILES, VISIBLE };

/* NULL: no memory. */
static uint8_t *state_of(struct search_query *q, uint32_t content)
{
	size_t count = index_end(q->context->index);
	uint8_t *more;

	if (content < q->content_count)
		return &q->contents[content];
	/* Contents without a sketch are not in the index. */
	if (count <= content)
		count = 2 * (size_t)content;
	more = calloc(count, 1);
	if (!more)
		return NULL;
	if (q->contents)
		memcpy(more, q->contents, q->content_count);
	free(q->contents);
	q->contents = more;
	q->content_count = count;
	return &more[content];
}

/* How many files with the content are visible, most at most; told: of those for
 * which its text is told. */
static int count_visible(struct search_query *q, uint32_t content, bool told,
			 int most)
{
	struct file_key at = { 0 };
	int count = 0, found = 1;

	while (count < most && (found = copy_next(q, content, &at)) == 1) {
		if (told)
			found = catalog_text_is_told(q->txn, content, &at);
		if (found == 1)
			found = hits_add_file(q, &at, NULL, 0);
		if (found < 0)
			break;
		count += found > 0;
	}
	return found < 0 ? found : count;
}

int content_has_copies(struct search_query *q, uint32_t content)
{
	uint8_t *state = state_of(q, content);
	int count;

	if (!state)
		return -ENOMEM;
	if (*state == UNKNOWN || *state == VISIBLE) {
		count = count_visible(q, content, false, 2);
		if (count < 0)
			return count;
		*state = (uint8_t)(INVISIBLE + count);
	}
	return *state == SEVERAL_FILES;
}

/* Whether a file with the content is visible; told: and the text is told of it.
 * id: of the sketch, for which that is noted. */
static bool is_seen(struct search_query *q, uint32_t content, uint32_t id,
		    bool told)
{
	uint8_t *state = q->err ? NULL : state_of(q, id);
	int count = state ? 0 : -ENOMEM;

	if (state && *state == UNKNOWN) {
		count = count_visible(q, content, told, 1);
		if (count >= 0)
			*state = count > 0 ? VISIBLE : INVISIBLE;
	}
	if (count < 0 && !q->err)
		q->err = count;
	return !q->err && *state != INVISIBLE;
}

bool content_is_visible(struct search_query *q, uint32_t content)
{
	return is_seen(q, content, content, false);
}

bool text_is_visible(struct search_query *q, uint32_t content, uint32_t sketch)
{
	return is_seen(q, content, sketch, true);
}

bool sketch_is_visible(void *arg, uint32_t content, uint32_t sketch)
{
	return is_seen(arg, content, sketch, sketch != content);
}
