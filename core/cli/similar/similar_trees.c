/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/similar/similar.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/act/export/export.h"
#include "core/act/groups/groups.h"
#include "core/base/array.h"
#include "core/cli/progress.h"
#include "core/index/judge.h"

/*
 * kin similar DIRECTORY DIRECTORY: how the files of two directories differ.  One
 * query brings the files with their digests; those that have none are found by
 * walking.
 */

struct tree_file {
	char *name; /* owned; below the root of the tree */
	uint64_t size;
	const struct digests *digests; /* NULL: not known */
	bool same;                     /* the other tree has the content */
	struct tree_file *other;       /* of that name, or that it resembles */
	int score;                     /* with other; -1: not known */
};

struct tree {
	const char *root; /* borrowed; relative to the root of the mount */
	char *path;       /* owned; absolute */
	struct tree_file *files; /* in byte order of the names */
	size_t count;
};

struct trees {
	struct tree of[2];         /* here, there */
	struct digests **contents; /* owned */
	size_t content_count;
	int threshold; /* of the mount */
};

/* ---- reading ---- */

static int by_name(const void *a, const void *b)
{
	const struct tree_file *x = a, *y = b;

	return strcmp(x->name, y->name);
}

static void sort(struct tree *t)
{
	if (t->count)
		qsort(t->files, t->count, sizeof(*t->files), by_name);
}

static int add_file(struct tree *t, const char *name, uint64_t size)
{
	struct tree_file *files =
		array_with_room(t->files, t->count, sizeof(*files));

	if (!files)
		return -ENOMEM;
	t->files = files;
	files[t->count] =
		(struct tree_file){ .name = strdup(name), .size = size };
	return files[t->count].name ? (int)(t->count++, 0) : -ENOMEM;
}

static int parse_digests(struct trees *t, const struct found_member *m,
			 const struct digests **out)
{
	struct digests **all = array_with_room(t->contents, t->content_count,
					       sizeof(*all)),
		       *d = calloc(1, sizeof(*d));
	int err = all && d ? digests_from_json(m->digests, d) : -ENOMEM;

	if (all)
		t->contents = all;
	if (err) {
		free(d);
		return err == -EINVAL ? -EBADMSG : err;
	}
	d->size = m->size;
	all[t->content_count++] = d;
	*out = d;
	return 0;
}

/* The names of one content in both trees. */
static int take_content(struct trees *t, const struct found_member *m)
{
	const size_t before[] = { t->of[0].count, t->of[1].count };
	const struct digests *digests = NULL;
	const char *path, *name;
	size_t i, k;
	int side, err = 0;
	bool same;

	for (i = 0; i < m->file_count; i++)
		for (k = 0; (path = found_file_name(&m->files[i], k)); k++)
			for (side = 0; side < 2 && !err; side++) {
				name = path_below(path, t->of[side].root);
				if (name)
					err = add_file(&t->of[side], name,
						       m->size);
			}
	same = t->of[0].count > before[0] && t->of[1].count > before[1];
	if (!err)
		err = parse_digests(t, m, &digests);
	for (side = 0; side < 2 && !err; side++)
		for (i = before[side]; i < t->of[side].count; i++) {
			t->of[side].files[i].same = same;
			t->of[side].files[i].digests = digests;
		}
	return err;
}

struct tree_walk {
	struct similar_job *job;
	struct tree *tree;
	size_t known; /* of its files: from the mount */
};

/* A file that the mount did not tell: one without digests, or empty. */
static int walk_entry(void *arg, FTS *fts, FTSENT *entry)
{
	struct tree_walk *w = arg;
	struct tree *t = w->tree;
	const struct tree_file f = { .name = (char *)path_below(entry->fts_path,
								t->path) };
	struct stat st;

	(void)fts;
	if (cli_walk_failed(entry) && entry->fts_errno != ENOENT)
		cli_complain_errno(entry->fts_path, -entry->fts_errno);
	if ((entry->fts_info != FTS_F && entry->fts_info != FTS_NSOK) ||
	    (w->known && bsearch(&f, t->files, w->known, sizeof(f), by_name)) ||
	    lstat(entry->fts_path, &st) || !S_ISREG(st.st_mode) ||
	    !filter_takes(&w->job->filter,
			  path_below(entry->fts_path, w->job->mount.root),
			  (uint64_t)st.st_size))
		return 0;
	w->job->unknown += st.st_size > 0;
	return add_file(t, f.name, (uint64_t)st.st_size);
}

static int walk(struct similar_job *job, struct tree *t)
{
	struct tree_walk w = { job, t, t->count };
	int err;

	sort(t);
	err = cli_walk(t->path, FTS_NOSTAT | FTS_XDEV, NULL, walk_entry, &w);
	sort(t);
	return err;
}

static int read_trees(struct similar_job *job, struct trees *t)
{
	const char *const roots[] = { t->of[0].root, t->of[1].root };
	const struct groups_wish wish = { .every = true,
					  .filter = job->filter,
					  .within = roots,
					  .within_count = 2 };
	struct tree_file *f;
	struct groups g;
	bool empty[2] = { false };
	int side, event,
		err = groups_ask(&g, &wish, job->mount.root,
				 job->mount.listings);

	while (!err && (event = progress_groups_next(&g, "reading digests",
						     false)) != GROUPS_END)
		err = event < 0 ? event : take_content(t, &g.group.members[0]);
	progress_clear();
	t->threshold = g.totals.threshold;
	groups_close(&g);
	for (side = 0; side < 2 && !err; side++) {
		err = walk(job, &t->of[side]);
		for (f = t->of[side].files;
		     f < t->of[side].files + t->of[side].count; f++)
			empty[side] |= !f->size;
	}
	for (side = 0; side < 2 && !err; side++)
		for (f = t->of[side].files;
		     f < t->of[side].files + t->of[side].count; f++)
			f->same |= !f->size && empty[!side];
	return err;
}

static void trees_release(struct trees *t)
{
	int side;

	for (side = 0; side < 2; side++) {
		while (t->of[side].count)
			free(t->of[side].files[--t->of[side].count].name);
		free(t->of[side].files);
		free(t->of[side].path);
	}
	while (t->content_count) {
		digests_release(t->contents[--t->content_count]);
		free(t->contents[t->content_count]);
	}
	free(t->contents);
}

/* ---- pairs ---- */

static void make_pair(struct tree_file *x, struct tree_file *y, int score)
{
	x->other = y;
	y->other = x;
	x->score = y->score = score;
}

/* A name that both trees have is no file of one of them alone, whatever else is
 * like it. */
static int pair_by_name(struct tree *a, struct tree *b)
{
	const struct judge_rules rules = { .relation = INDEX_ALIKE };
	struct verdict v;
	size_t i = 0, j = 0;
	int err = 0;

	while (i < a->count && j < b->count && !err) {
		struct tree_file *x = &a->files[i], *y = &b->files[j];
		int order = by_name(x, y);

		i += order <= 0;
		j += order >= 0;
		if (order || (x->same && y->same))
			continue;
		v.score = -1;
		if (x->digests && y->digests)
			err = judge_digests(x->digests, y->digests, &rules, &v);
		err = err == -ENODATA ? 0 : err;
		make_pair(x, y, v.score);
	}
	return err;
}

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
	order = by_name(p->a, q->a);
	return order ? order : by_name(p->b, q->b);
}

/* Of the files that one of the trees has alone. */
static bool can_be_paired(const struct tree_file *f)
{
	return f->digests && !f->same && !f->other;
}

static int add_likenesses(struct tree_file *f, struct tree_file **files,
			  const struct near_index *near, size_t found,
			  struct likeness **all, size_t *count)
{
	struct likeness *more;
	size_t k;

	for (k = 0; k < found; k++) {
		const struct index_match *m = &near->matches[k];
		struct tree_file *other = files[m->content - 1];

		more = array_with_room(*all, *count, sizeof(*more));
		if (!more)
			return -ENOMEM;
		*all = more;
		more[(*count)++] = (struct likeness){
			.score = m->verdict.score,
			.same_name = !strcmp(cli_base_name(f->name),
					     cli_base_name(other->name)),
			.a = f,
			.b = other,
		};
	}
	return 0;
}

static int pair_by_likeness(const struct trees *t)
{
	const struct tree *a = &t->of[0], *b = &t->of[1];
	struct near_index *near = calloc(1, sizeof(*near));
	struct tree_file **files = calloc(b->count + 1, sizeof(*files)), *f;
	struct likeness *all = NULL;
	size_t count = 0, found, i;
	int err = near && files ? 0 : -ENOMEM;

	for (f = b->files; f < b->files + b->count && !err; f++)
		if (can_be_paired(f)) {
			files[near->count] = f;
			err = near_add(near, f->digests);
		}
	if (!err)
		err = near_begin(near);
	for (f = a->files; f < a->files + a->count && !err; f++) {
		progress_show("comparing",
			      (double)(f - a->files) / (double)a->count);
		if (!can_be_paired(f))
			continue;
		err = near_search(near, f->digests, t->threshold, &found);
		if (!err)
			err = add_likenesses(f, files, near, found, &all,
					     &count);
	}
	if (count)
		qsort(all, count, sizeof(*all), by_likeness);
	for (i = 0; i < count && !err; i++)
		if (!all[i].a->other && !all[i].b->other)
			make_pair(all[i].a, all[i].b, all[i].score);
	if (near)
		near_release(near);
	free(near);
	free(files);
	free(all);
	progress_clear();
	return err;
}

/* ---- counting ---- */

enum kind {
	SAME,  /* both have the content */
	PAIR,  /* "~": a file here and one there */
	ALONE, /* "<", ">" */
	KINDS,
};

/* The kind that the file counts as; side: 0: here.  Of a pair the file here is
 * printed, but not if its content is there, too. */
static enum kind kind_of(const struct tree_file *f, int side)
{
	if (f->same)
		return side ? KINDS : SAME;
	if (f->other)
		return side && !f->other->same ? KINDS : PAIR;
	return ALONE;
}

struct tree_sums {
	struct {
		int64_t files, bytes;
	} of[KINDS][2]; /* here, there */
	double shared;  /* bytes, similar ones by their scores */
	double larger;  /* bytes of the larger tree */
};

static void sums_take(const struct trees *t, struct tree_sums *out)
{
	struct tree_sums s = { .shared = 0 };
	const struct tree_file *f;
	double bytes;
	int side;

	for (side = 0; side < 2; side++) {
		bytes = 0;
		for (f = t->of[side].files;
		     f < t->of[side].files + t->of[side].count; f++) {
			const enum kind kind = kind_of(f, side);
			const int percent = f->same ? 100 : f->score;

			bytes += (double)f->size;
			if (kind < KINDS) {
				s.of[kind][side].files++;
				s.of[kind][side].bytes += (int64_t)f->size;
			}
			if (!side && percent > 0)
				s.shared += (double)f->size * percent / 100;
		}
		s.larger = bytes > s.larger ? bytes : s.larger;
	}
	/* Pairs count once. */
	s.of[PAIR][0].files += s.of[PAIR][1].files;
	s.of[PAIR][0].bytes += s.of[PAIR][1].bytes;
	*out = s;
}

/* The mount has a score only of directories that it lists. */
static int estimate(const struct tree_sums *s)
{
	double percent;

	if (!s->of[PAIR][0].files && !s->of[ALONE][0].files &&
	    !s->of[ALONE][1].files)
		return 100;
	percent = s->larger > 0 ? 100 * s->shared / s->larger : 0;
	return percent < 99 ? (int)(percent + 0.5) : 99;
}

/* ---- printing ---- */

static const struct column columns[] = {
	{ "of", "OF", COLUMN_NOTE, COLUMN_JSON },
	{ "score", "SCORE", COLUMN_NUMBER, COLUMN_SHOWN },
	{ "relation", "RELATION", COLUMN_WORD, COLUMN_JSON },
	{ "same", "SAME", COLUMN_NUMBER, COLUMN_SHOWN },
	{ "same_bytes", "SIZE", COLUMN_SIZE, COLUMN_SHOWN },
	{ "similar", "SIMILAR", COLUMN_NUMBER, COLUMN_SHOWN },
	{ "similar_bytes", "SIZE", COLUMN_SIZE, COLUMN_SHOWN },
	{ "only_here", "ONLY HERE", COLUMN_NUMBER, COLUMN_SHOWN },
	{ "only_here_bytes", "SIZE", COLUMN_SIZE, COLUMN_SHOWN },
	{ "only_there", "ONLY THERE", COLUMN_NUMBER, COLUMN_SHOWN },
	{ "only_there_bytes", "SIZE", COLUMN_SIZE, COLUMN_SHOWN },
	{ "path", "PATH", COLUMN_PATH, COLUMN_SHOWN },
	{ 0 },
};

static int print_sums(struct similar_job *job, const struct tree_sums *s,
		      const char *rel)
{
	const int score = estimate(s);
	const struct cell cells[] = {
		cell_path(job->path, NULL),
		cell_number(score),
		cell_word(similar_relation_names[similar_relation_of(
			INDEX_ALIKE, score, 0)]),
		cell_number(s->of[SAME][0].files),
		cell_number(s->of[SAME][0].bytes),
		cell_number(s->of[PAIR][0].files),
		cell_number(s->of[PAIR][0].bytes),
		cell_number(s->of[ALONE][0].files),
		cell_number(s->of[ALONE][0].bytes),
		cell_number(s->of[ALONE][1].files),
		cell_number(s->of[ALONE][1].bytes),
		cell_path(rel, job->mount.root),
	};

	job->table.columns = columns;
	job->found++;
	return table_row(&job->table, cells) ? 1 : 0;
}

static const struct column difference_columns[] = {
	{ "score", "SCORE", COLUMN_NUMBER, COLUMN_SHOWN },
	{ "size", "SIZE", COLUMN_SIZE, COLUMN_SHOWN },
	{ "here", "HERE", COLUMN_PATH, COLUMN_SHOWN },
	{ "there", "->", COLUMN_NOTE, COLUMN_SHOWN },
	{ 0 },
};

/* A file that is here or there, or a pair with its score.  In text the only
 * name stands in one place, wherever the file is. */
static int print_difference(struct similar_job *job, const struct tree_file *f,
			    const char *here, const char *there)
{
	const bool pair = here && there;
	const bool told = pair ? job->output.json || strcmp(here, there) :
				 job->output.json && there;
	char score[16] = "~  -";
	const struct cell cells[] = {
		{ .is_set = pair && f->score >= 0,
		  .number = f->score,
		  .text = pair ? score :
			  here ? "<" :
				 ">" },
		cell_number((int64_t)f->size),
		{ .is_set = here, .text = here ? here : there },
		{ .is_set = told, .text = there },
	};

	if (f->score >= 0)
		(void)snprintf(score, sizeof(score), "~%3d", f->score);
	job->table.columns = difference_columns;
	return table_row(&job->table, cells) ? 1 : 0;
}

/* Pairs first, then the files of one tree alone. */
static int print_differences(struct similar_job *job, const struct trees *t)
{
	const struct tree_file *f;
	const char *names[2];
	int pass, side, err = 0;

	for (pass = 2; pass < 6; pass++) {
		side = pass & 1;
		for (f = t->of[side].files;
		     f < t->of[side].files + t->of[side].count && !err; f++) {
			if ((int)kind_of(f, side) != pass / 2)
				continue;
			names[side] = f->name;
			names[!side] = f->other ? f->other->name : NULL;
			err = print_difference(job, f, names[0], names[1]);
		}
	}
	return err;
}

/* ---- two directories ---- */

/* Its path below the root of the mount.  1 after a message. */
static int find_other(const struct similar_job *job, char **other_out)
{
	const char *wrong = NULL, *rel = job->mount.rel;
	char *other = NULL;
	struct stat st;

	if (mount_path_or_complain(job->other, job->mount.root, &other))
		return 1;
	if (stat(job->other, &st) || !S_ISDIR(st.st_mode))
		wrong = "not a directory";
	else if (!*other || path_below(other, rel) || path_below(rel, other))
		wrong = "one of the directories is inside of the other";
	if (!wrong) {
		*other_out = other;
		return 0;
	}
	free(other);
	return cli_complain(job->other, "%s", wrong);
}

int similar_trees(struct similar_job *job)
{
	struct trees t = { .of[0].root = job->mount.rel };
	struct tree_sums sums;
	char *other = NULL;
	int side, err = find_other(job, &other);

	t.of[1].root = other;
	for (side = 0; side < 2 && !err; side++) {
		t.of[side].path =
			path_shown(job->mount.root, t.of[side].root, NULL);
		err = t.of[side].path ? 0 : -ENOMEM;
	}
	if (!err)
		err = read_trees(job, &t);
	if (!err)
		err = pair_by_name(&t.of[0], &t.of[1]);
	if (!err)
		err = pair_by_likeness(&t);
	if (!err) {
		sums_take(&t, &sums);
		err = print_sums(job, &sums, other);
	}
	if (!err && !job->output.nul)
		err = print_differences(job, &t);
	/* A file without digests counts as one that the other tree lacks. */
	if (job->unknown)
		(void)snprintf(job->reason, sizeof(job->reason), "incomplete");
	trees_release(&t);
	free(other);
	return err;
}
