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

static int add_content(struct tree_table *t, uint64_t size, json_t *told)
{
	struct tree_content *contents = array_with_room(
		t->contents, t->content_count, sizeof(*contents));

	if (!contents)
		return -ENOMEM;
	t->contents = contents;
	contents[t->content_count++] =
		(struct tree_content){ .size = size, .told = told };
	return 0;
}

/* A group is one content. */
static int take_content(struct tree_table *t, const struct found_group *group)
{
	struct found_member *m = &group->members[0];
	size_t i;
	int err = add_content(t, m->size, m->digests);

	if (!err)
		m->digests = NULL;
	for (i = 0; i < m->file_count && !err; i++)
		err = add_file(t, m->files[i].path, t->content_count - 1,
			       m->size);
	return err;
}

/* Of two that are equal the one with a content comes first. */
static int by_path(const void *a, const void *b)
{
	const struct tree_file *x = a, *y = b;
	int order = strcmp(x->path, y->path);

	return order ? order :
		       (x->content == TREE_UNKNOWN) -
			       (y->content == TREE_UNKNOWN);
}

struct tree_walk {
	struct tree_table *t;
	size_t skip; /* of a path: the root of the mount */
};

static int walk_entry(void *arg, FTS *fts, FTSENT *entry)
{
	struct tree_walk *w = arg;

	(void)fts;
	if (entry->fts_info == FTS_F || entry->fts_info == FTS_NSOK)
		return add_file(w->t, entry->fts_path + w->skip, TREE_UNKNOWN,
				0);
	if (cli_walk_failed(entry) && entry->fts_errno != ENOENT)
		cli_complain_errno(entry->fts_path, -entry->fts_errno);
	return 0;
}

/* A file that the walk alone has found: one without digests, or empty.  False:
 * it does not count. */
static bool look_at(const struct similar_job *job, struct tree_table *t,
		    struct tree_file *f)
{
	char *path = path_shown(job->mount.root, f->path, NULL);
	struct stat st;
	bool counts = path && !lstat(path, &st) && S_ISREG(st.st_mode) &&
		      filter_takes(&job->filter, f->path, (uint64_t)st.st_size);

	free(path);
	f->size = counts ? (uint64_t)st.st_size : 0;
	if (counts && !st.st_size)
		f->content = t->content_count - 1;
	return counts;
}

/* The files that have no digests are not in the answer.  One directory may be
 * below another, and its files are found twice then. */
static int walk_roots(struct similar_job *job, const char *const *roots,
		      size_t root_count, struct tree_table *t)
{
	const char *mount = job->mount.root;
	struct tree_walk w = { t, strcmp(mount, "/") ? strlen(mount) + 1 : 1 };
	size_t i, kept = 0;
	int err = 0;

	for (i = 0; i < root_count && !err; i++) {
		char *path = path_shown(mount, roots[i], NULL);

		err = path ? cli_walk(path, FTS_XDEV | FTS_NOSTAT, NULL,
				      walk_entry, &w) :
			     -ENOMEM;
		free(path);
	}
	if (!err) /* of all empty files */
		err = add_content(t, 0, NULL);
	if (t->count)
		qsort(t->files, t->count, sizeof(*t->files), by_path);
	for (i = 0; i < t->count; i++) {
		struct tree_file *f = &t->files[i];
		const bool again =
			kept && !strcmp(t->files[kept - 1].path, f->path);

		if (!again && !err &&
		    (f->content != TREE_UNKNOWN || look_at(job, t, f)))
			t->files[kept++] = *f;
		else
			free(f->path);
	}
	t->count = kept;
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
	struct tree_file *f;
	size_t i;
	unsigned pass;

	for (i = 0; i < t->content_count; i++)
		t->contents[i].seen = 0;
	/* Twice over both: what there is, and what that means. */
	for (pass = 0; pass < 4; pass++)
		for (f = trees[pass & 1]->files;
		     f < trees[pass & 1]->files + trees[pass & 1]->count; f++) {
			c = content_of(t, f);
			if (c && pass < 2)
				c->seen |= 1U << pass;
			f->same = c && c->seen == 3;
			f->other = NULL;
			f->score = 0;
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

/* ---- by likeness ---- */

struct likeness {
	int score;
	bool same_name;
	struct tree_file *a, *b;
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

static bool is_alone(const struct tree_file *file)
{
	return !file->same && !file->other;
}

/* The digests of the files that one of the trees has alone; files: of each. */
static int collect(const struct tree_table *t, struct near_index *near,
		   const struct tree *b, struct tree_file **files)
{
	const struct digests *d;
	size_t i;
	int err = 0;

	for (i = 0; i < b->count && !err; i++) {
		if (!is_alone(&b->files[i]))
			continue;
		err = digests_of(t, &b->files[i], &d);
		if (err || !d)
			continue;
		files[near->count] = &b->files[i];
		err = near_add(near, d);
	}
	return err ? err : near_begin(near);
}

static int pair_by_likeness(const struct tree_table *t, struct tree *a,
			    struct tree *b)
{
	struct near_index *near = calloc(1, sizeof(*near));
	struct tree_file **files = calloc(b->count + 1, sizeof(*files)), *f;
	struct likeness *all = NULL, *more;
	size_t count = 0, found, i, k;
	const struct digests *d;
	int err = near && files ? collect(t, near, b, files) : -ENOMEM;

	for (i = 0; i < a->count && !err; i++) {
		f = &a->files[i];
		progress_show("comparing", (double)i / (double)a->count);
		if (!is_alone(f) || (err = digests_of(t, f, &d)) || !d)
			continue;
		found = 0;
		err = near_search(near, d, t->threshold, &found);
		for (k = 0; k < found && !err; k++) {
			const struct index_match *m = &near->matches[k];
			struct tree_file *other = files[m->content - 1];

			more = array_with_room(all, count, sizeof(*all));
			err = more ? 0 : -ENOMEM;
			if (!more)
				break;
			all = more;
			all[count++] = (struct likeness){
				.score = m->verdict.score,
				.same_name =
					!strcmp(cli_base_name(f->path),
						cli_base_name(other->path)),
				.a = f,
				.b = other,
			};
		}
	}
	if (count)
		qsort(all, count, sizeof(*all), by_likeness);
	for (i = 0; i < count && !err; i++) {
		struct tree_file *x = all[i].a, *y = all[i].b;

		if (x->other || y->other)
			continue;
		x->other = y;
		y->other = x;
		x->score = y->score = all[i].score;
	}
	if (near)
		near_release(near);
	free(near);
	free(files);
	free(all);
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
