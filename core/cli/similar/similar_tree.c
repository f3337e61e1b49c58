/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/similar/similar_tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/array.h"
#include "core/cli/progress.h"
#include "core/act/export/near.h"
#include "core/act/groups/groups.h"
#include "core/index/judge.h"

/* ---- reading ---- */

static int add_file(struct tree_table *t, const char *path, size_t content,
		    uint64_t size)
{
	struct tree_file *files;

	files = array_with_room(t->files, t->count, sizeof(*files));
	if (!files)
		return -ENOMEM;
	t->files = files;
	files[t->count] = (struct tree_file){ .path = strdup(path),
					      .content = content,
					      .size = size };
	return files[t->count].path ? (int)(t->count++, 0) : -ENOMEM;
}

/* A group is one content. */
static int take_content(struct tree_table *t, const struct found_group *group)
{
	struct found_member *m = &group->members[0];
	struct tree_content *contents;
	size_t i;
	int err = 0;

	contents = array_with_room(t->contents, t->content_count,
				   sizeof(*contents));
	if (!contents)
		return -ENOMEM;
	t->contents = contents;
	contents[t->content_count] =
		(struct tree_content){ .size = m->size, .told = m->digests };
	m->digests = NULL;
	for (i = 0; i < m->file_count && !err; i++)
		err = add_file(t, m->files[i].path, t->content_count, m->size);
	t->content_count++;
	return err;
}

static int by_path(const void *a, const void *b)
{
	const struct tree_file *x = a, *y = b;

	return strcmp(x->path, y->path);
}

static struct tree_file *find_path(const struct tree_file *files, size_t count,
				   const char *path)
{
	struct tree_file key = { .path = (char *)(uintptr_t)path };

	return count ? bsearch(&key, files, count, sizeof(key), by_path) : NULL;
}

static int add_empty(struct tree_table *t, const char *path)
{
	struct tree_content *contents;
	size_t i = 0;

	while (i < t->content_count && t->contents[i].size)
		i++;
	if (i == t->content_count) {
		contents = array_with_room(t->contents, i, sizeof(*contents));
		if (!contents)
			return -ENOMEM;
		t->contents = contents;
		contents[t->content_count++] = (struct tree_content){ 0 };
	}
	return add_file(t, path, i, 0);
}

struct walk {
	struct tree_table *t;
	size_t known; /* files that have a content, sorted */
	size_t skip;  /* of a path: the root of the mount */
	const struct filter *filter;
};

static int walk_entry(void *arg, FTS *fts, FTSENT *entry)
{
	struct walk *w = arg;
	const char *path = entry->fts_path + w->skip;
	struct stat st;

	(void)fts;
	switch (entry->fts_info) {
	case FTS_F:
	case FTS_NSOK:
		if (find_path(w->t->files, w->known, path) ||
		    lstat(entry->fts_path, &st) || !S_ISREG(st.st_mode) ||
		    !filter_takes(w->filter, path, (uint64_t)st.st_size))
			return 0;
		return st.st_size ? add_file(w->t, path, TREE_UNKNOWN,
					     (uint64_t)st.st_size) :
				    add_empty(w->t, path);
	case FTS_DNR:
	case FTS_ERR:
	case FTS_NS:
		cli_complain_errno(entry->fts_path, -entry->fts_errno);
		return 0;
	default:
		return 0;
	}
}

/* One directory may be below another, and its files are found twice then. */
static void drop_doubles(struct tree_table *t)
{
	size_t i, kept = 0;

	for (i = 0; i < t->count; i++)
		if (kept && !by_path(&t->files[kept - 1], &t->files[i]))
			free(t->files[i].path);
		else
			t->files[kept++] = t->files[i];
	t->count = kept;
}

static void sort(struct tree_table *t)
{
	if (t->count)
		qsort(t->files, t->count, sizeof(*t->files), by_path);
}

/* The files that have no digests are not in the answer. */
static int walk_roots(struct similar_job *job, const char *const *roots,
		      size_t root_count, struct tree_table *t)
{
	const char *mount = job->mount.root;
	struct walk w = { t, t->count,
			  strcmp(mount, "/") ? strlen(mount) + 1 : 1,
			  &job->filter };
	size_t i;
	int err = 0;

	sort(t);
	for (i = 0; i < root_count && !err; i++) {
		char *path = path_shown(job->mount.root, roots[i], NULL);

		err = path ? cli_walk(path, FTS_XDEV | FTS_NOSTAT, NULL,
				      walk_entry, &w) :
			     -ENOMEM;
		free(path);
	}
	sort(t);
	drop_doubles(t);
	return err;
}

int tree_table_read(struct similar_job *job, const char *const *roots,
		    size_t root_count, struct tree_table *out)
{
	const struct groups_wish wish = { .every = true,
					  .filter = job->filter,
					  .within = roots,
					  .within_count = root_count };
	struct groups g;
	int err, event;

	*out = (struct tree_table){ 0 };
	err = groups_ask(&g, &wish, job->mount.root, job->listings);
	while (!err && (event = progress_groups_next(&g, "reading digests",
						     false)) != GROUPS_END)
		err = event < 0 ? event : take_content(out, &g.group);
	progress_clear();
	out->threshold = g.totals.threshold;
	groups_close(&g);
	return err ? err : walk_roots(job, roots, root_count, out);
}

void tree_table_release(struct tree_table *t)
{
	while (t->count)
		free(t->files[--t->count].path);
	while (t->content_count) {
		struct tree_content *c = &t->contents[--t->content_count];

		digests_release(&c->digests);
		json_decref(c->told);
	}
	free(t->files);
	free(t->contents);
}

struct tree tree_below(const struct tree_table *t, const char *root)
{
	struct tree tree = { .root = root };
	size_t len = strlen(root), i;

	for (i = 0; i < t->count; i++) {
		struct tree_file *f = &t->files[i];

		if (strncmp(f->path, root, len) != 0 || f->path[len] != '/') {
			if (tree.count)
				break;
			continue;
		}
		if (!tree.count++)
			tree.files = f;
		tree.unknown += f->content == TREE_UNKNOWN;
	}
	return tree;
}

/* ---- comparing ---- */

static struct tree_content *content_of(const struct tree_table *t,
				       const struct tree_file *file)
{
	return file->content == TREE_UNKNOWN ? NULL :
					       &t->contents[file->content];
}

static void mark_same(const struct tree_table *t, const struct tree *a,
		      const struct tree *b)
{
	const struct tree *const trees[] = { a, b };
	struct tree_content *c;
	size_t i;
	int side;

	for (i = 0; i < t->content_count; i++)
		t->contents[i].seen = 0;
	for (side = 0; side < 2; side++)
		for (i = 0; i < trees[side]->count; i++) {
			c = content_of(t, &trees[side]->files[i]);
			if (c)
				c->seen |= 1U << side;
		}
	for (side = 0; side < 2; side++)
		for (i = 0; i < trees[side]->count; i++) {
			struct tree_file *file = &trees[side]->files[i];

			c = content_of(t, file);
			file->same = c && c->seen == 3;
			file->other = NULL;
			file->score = 0;
		}
}

/* What the mount told of a file.  NULL: nothing; -ENOMEM and -EBADMSG are
 * errors. */
static int digests_of(const struct tree_table *t, const struct tree_file *file,
		      const struct digests **out)
{
	struct tree_content *c = content_of(t, file);
	int err;

	*out = c && c->told ? &c->digests : NULL;
	if (!*out || c->parsed)
		return 0;
	c->parsed = true;
	c->digests.size = c->size;
	err = digests_from_json(c->told, &c->digests);
	return err == -EINVAL ? -EBADMSG : err;
}

/* -1 without the digests of one of them. */
static int score_of(const struct tree_table *t, const struct tree_file *x,
		    const struct tree_file *y, int *score_out)
{
	const struct judge_rules rules = { .relation = INDEX_ALIKE };
	const struct digests *a, *b;
	struct verdict v;
	int err = digests_of(t, x, &a);

	if (!err)
		err = digests_of(t, y, &b);
	*score_out = -1;
	if (err || !a || !b)
		return err;
	err = judge_digests(a, b, &rules, &v);
	if (!err)
		*score_out = v.score;
	return err == -ENODATA ? 0 : err;
}

/* A path that both trees have is no file of one of them alone, whatever else is
 * like it. */
static int pair_by_path(const struct tree_table *t, struct tree *a,
			struct tree *b)
{
	size_t i = 0, j = 0;
	int err = 0;

	while (i < a->count && j < b->count && !err) {
		struct tree_file *x = &a->files[i], *y = &b->files[j];
		int order = strcmp(tree_name(a, x), tree_name(b, y));

		i += order <= 0;
		j += order >= 0;
		if (order || (x->same && y->same))
			continue;
		x->other = y;
		y->other = x;
		err = score_of(t, x, y, &x->score);
		y->score = x->score;
	}
	return err;
}

static bool is_alone(const struct tree_file *file)
{
	return !file->same && !file->other;
}

/* ---- by likeness ---- */

struct likeness {
	int score;
	bool same_name;
	struct tree_file *a, *b;
};

struct likenesses {
	struct near_index near;
	struct tree_file **files; /* what near has */
	struct likeness *all;
	size_t count;
};

/* The best first; of two that are as good the one with equal names. */
static int by_likeness(const void *x, const void *y)
{
	const struct likeness *p = x, *q = y;
	int order;

	if (p->score != q->score)
		return q->score - p->score;
	if (p->same_name != q->same_name)
		return p->same_name ? -1 : 1;
	order = strcmp(p->a->path, q->a->path);
	return order ? order : strcmp(p->b->path, q->b->path);
}

static int collect(const struct tree_table *t, struct likenesses *l,
		   const struct tree *b)
{
	const struct digests *d;
	size_t i;
	int err = 0;

	l->files = calloc(b->count + 1, sizeof(struct tree_file *));
	if (!l->files)
		return -ENOMEM;
	for (i = 0; i < b->count && !err; i++) {
		if (!is_alone(&b->files[i]))
			continue;
		err = digests_of(t, &b->files[i], &d);
		if (err || !d)
			continue;
		l->files[l->near.count] = &b->files[i];
		err = near_add(&l->near, d);
	}
	return err ? err : near_begin(&l->near);
}

static int search(const struct tree_table *t, struct likenesses *l,
		  struct tree_file *file)
{
	const struct digests *d;
	struct likeness *all;
	size_t count = 0, i;
	int err = digests_of(t, file, &d);

	if (!err && d)
		err = near_search(&l->near, d, t->threshold, &count);
	for (i = 0; i < count && !err; i++) {
		struct tree_file *b = l->files[l->near.matches[i].content - 1];

		all = array_with_room(l->all, l->count, sizeof(*all));
		if (!all)
			return -ENOMEM;
		l->all = all;
		all[l->count++] = (struct likeness){
			.score = l->near.matches[i].verdict.score,
			.same_name = !strcmp(cli_base_name(file->path),
					     cli_base_name(b->path)),
			.a = file,
			.b = b,
		};
	}
	return err;
}

static void take_best(struct likenesses *l)
{
	size_t i;

	if (l->count)
		qsort(l->all, l->count, sizeof(*l->all), by_likeness);
	for (i = 0; i < l->count; i++) {
		struct tree_file *a = l->all[i].a, *b = l->all[i].b;

		if (a->other || b->other)
			continue;
		a->other = b;
		b->other = a;
		a->score = b->score = l->all[i].score;
	}
}

static int pair_by_likeness(const struct tree_table *t, struct tree *a,
			    struct tree *b)
{
	struct likenesses *l = calloc(1, sizeof(*l));
	size_t i;
	int err = l ? collect(t, l, b) : -ENOMEM;

	for (i = 0; i < a->count && !err; i++) {
		progress_show("comparing", (double)i / (double)a->count);
		if (is_alone(&a->files[i]))
			err = search(t, l, &a->files[i]);
	}
	if (!err)
		take_best(l);
	if (l) {
		near_release(&l->near);
		free(l->files);
		free(l->all);
	}
	free(l);
	progress_clear();
	return err;
}

int tree_compare(struct tree_table *t, struct tree *a, struct tree *b)
{
	int err;

	mark_same(t, a, b);
	err = pair_by_path(t, a, b);
	return err ? err : pair_by_likeness(t, a, b);
}
