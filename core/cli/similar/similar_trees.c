/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/similar/similar.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/act/export/export.h"
#include "core/act/groups/groups.h"
#include "core/base/array.h"
#include "core/base/json.h"
#include "core/cli/progress.h"
#include "core/index/judge.h"

/*
 * kin similar DIRECTORY DIRECTORY: how the files of two directories differ.  A
 * walk finds the files; one query brings the digests of those that have some.
 */

struct tree_content {
	struct digests digests;
	bool is_in[2]; /* of the trees */
};

struct tree_file {
	char *name; /* owned; below the root of its tree */
	int side;   /* 0: here; 1: there */
	uint64_t size;
	struct tree_content *content; /* NULL: not known */
	struct tree_file *other;      /* of that name, or that it resembles */
	int score; /* with other; -1: it has none, or it is not known */
};

struct trees {
	struct similar_job *job;
	const char *roots[2]; /* borrowed; relative to the root of the mount */
	char *paths[2];       /* owned; absolute */
	struct tree_file *files; /* of both, in byte order of the names */
	size_t count;
	struct tree_content empty; /* of all files without a byte */
};

/* Whether the other tree has the content. */
static bool is_same(const struct tree_file *f)
{
	return f->content && f->content->is_in[0] && f->content->is_in[1];
}

/* ---- reading ---- */

/* Those that have one name lie together. */
static int by_name(const void *a, const void *b)
{
	const struct tree_file *x = a, *y = b;
	int order = strcmp(x->name, y->name);

	return order ? order : x->side - y->side;
}

static void set_content(struct tree_file *f, struct tree_content *content)
{
	f->content = content;
	content->is_in[f->side] = true;
}

static int take_entry(struct trees *t, int side, const struct tree_entry *entry)
{
	const char *name = path_below(entry->path, t->paths[side]);
	struct tree_file *f;

	if (entry->error && entry->error != -ENOENT) {
		cli_complain_errno(entry->path, entry->error);
		similar_set_incomplete(t->job);
	}
	if (!entry->is_file ||
	    !filter_takes(&t->job->filter,
			  path_below(entry->path, t->job->mount.root),
			  (uint64_t)entry->st.st_size))
		return 0;
	f = array_with_room(t->files, t->count, sizeof(*f));
	if (!f)
		return -ENOMEM;
	t->files = f;
	f += t->count;
	*f = (struct tree_file){
		.name = strdup(name),
		.side = side,
		.size = (uint64_t)entry->st.st_size,
		.score = -1,
	};
	if (!f->name)
		return -ENOMEM;
	if (!f->size)
		set_content(f, &t->empty);
	t->count++;
	return 0;
}

/* By its path below the root of the mount; NULL: the walk did not find it. */
static struct tree_file *find_file(const struct trees *t, const char *path)
{
	struct tree_file key = { .side = !path_below(path, t->roots[0]) };

	key.name = (char *)path_below(path, t->roots[key.side]);
	return key.name && t->count ?
		       bsearch(&key, t->files, t->count, sizeof(key), by_name) :
		       NULL;
}

/* The names of one content in both trees. */
static int take_content(struct trees *t, const struct found_member *m)
{
	struct tree_content *content = NULL;
	struct tree_file *f;
	size_t i, k;
	int err;

	for (i = 0; i < m->file_count; i++)
		for (k = 0; k < m->files[i].name_count; k++) {
			f = find_file(t, m->files[i].names[k]);
			if (!f || f->content)
				continue;
			if (!content)
				content = calloc(1, sizeof(*content));
			if (!content)
				return -ENOMEM;
			set_content(f, content);
		}
	if (!content)
		return 0;
	content->digests.size = m->size;
	err = digests_from_json(m->digests, &content->digests);
	return err == -EINVAL ? -EBADMSG : err;
}

static int read_trees(struct trees *t)
{
	const struct mount *mount = &t->job->mount;
	const struct groups_wish wish = { .every = true,
					  .filter = t->job->filter,
					  .within = { t->roots, 2 } };
	struct groups g;
	const struct tree_entry *entry;
	struct tree_walk *walk;
	int side, event, err = 0;

	for (side = 0; side < 2 && !err; side++) {
		t->paths[side] = path_shown(mount->root, t->roots[side], false);
		if (!t->paths[side])
			return -ENOMEM;
		walk = tree_walk_begin(t->paths[side], TREE_ONE_DEVICE);
		while (walk && !err && (entry = tree_walk_next(walk)))
			err = take_entry(t, side, entry);
		err = tree_walk_end(walk, err);
	}
	if (err)
		return err;
	if (t->count)
		qsort(t->files, t->count, sizeof(*t->files), by_name);
	err = groups_ask(&g, &wish, mount);
	while (!err && (event = progress_groups_next(&g, "reading digests",
						     false)) != GROUPS_END)
		err = event < 0 ? event : take_content(t, &g.group.members[0]);
	progress_clear();
	groups_close(&g);
	return err;
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
static int pair_by_name(struct trees *t)
{
	const struct judge_rules rules = { .relation = INDEX_ALIKE };
	struct tree_file *f;
	struct verdict v;
	int score, err = 0;

	for (f = t->files; f + 1 < t->files + t->count && !err; f++) {
		if (strcmp(f[0].name, f[1].name) ||
		    (is_same(&f[0]) && is_same(&f[1])))
			continue;
		score = -1;
		if (f[0].content && f[1].content && f[0].size && f[1].size) {
			err = judge_digests(&f[0].content->digests,
					    &f[1].content->digests, &rules, &v);
			score = err ? -1 : v.score;
		}
		err = err == -ENODATA ? 0 : err;
		make_pair(&f[0], &f[1], score);
	}
	return err;
}

/* Two files that one of the trees has alone each. */
struct likeness {
	int score;
	struct tree_file *here, *there;
};

/* The best first. */
static int by_likeness(const void *x, const void *y)
{
	const struct likeness *p = x, *q = y;
	int order = q->score - p->score;

	if (!order)
		order = by_name(p->here, q->here);
	return order ? order : by_name(p->there, q->there);
}

static bool can_be_paired(const struct tree_file *f, int side)
{
	return f->side == side && f->content && !is_same(f) && !f->other;
}

static int pair_by_likeness(struct trees *t)
{
	static struct near_index near; /* of the files that are there alone */
	struct tree_file *f;
	struct likeness *all = NULL, *l;
	size_t count = 0, i;
	int err = 0;

	for (f = t->files; f < t->files + t->count && !err; f++)
		if (can_be_paired(f, 1))
			err = near_add(&near, &f->content->digests,
				       (uint32_t)(f - t->files));
	if (!err)
		err = near_begin(&near);
	for (f = t->files; f < t->files + t->count && !err; f++) {
		progress_show("comparing",
			      (double)(f - t->files) / (double)t->count);
		if (!can_be_paired(f, 0))
			continue;
		err = near_search(&near, &f->content->digests,
				  t->job->rules.threshold);
		for (i = 0; i < near.match_count && !err; i++) {
			const struct index_match *m = &near.matches[i];

			l = array_with_room(all, count, sizeof(*all));
			if (!l) {
				err = -ENOMEM;
				break;
			}
			all = l;
			all[count++] =
				(struct likeness){ m->verdict.score, f,
						   &t->files[m->content] };
		}
	}
	if (count)
		qsort(all, count, sizeof(*all), by_likeness);
	for (l = all; l < all + count && !err; l++)
		if (!l->here->other && !l->there->other)
			make_pair(l->here, l->there, l->score);
	free(all);
	progress_clear();
	return err;
}

/* ---- printing ---- */

enum kind {
	SAME,       /* both have the content */
	PAIR,       /* "~": a file here and one there */
	ONLY_HERE,  /* "<" */
	ONLY_THERE, /* ">" */
	KINDS,
};

/* The kind that the file counts as; KINDS: none, as the other one is counted.
 * Of a pair that is the file here, but not if its content is there, too. */
static enum kind kind_of(const struct tree_file *f)
{
	if (is_same(f))
		return f->side ? KINDS : SAME;
	if (f->other)
		return f->side && !is_same(f->other) ? KINDS : PAIR;
	return f->side ? ONLY_THERE : ONLY_HERE;
}

static const struct column columns[] = {
	{ "score", "SCORE", COLUMN_NUMBER, COLUMN_SHOWN },
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

/* The score is that of the listings, of all that is in both. */
static int print_sums(const struct trees *t)
{
	struct similar_job *job = t->job;
	struct question question;
	struct answer a;
	json_int_t files[KINDS + 1] = { 0 }, bytes[KINDS + 1] = { 0 };
	const struct tree_file *f;
	json_t *row;
	int score;

	similar_question(job, INDEX_ALIKE, &question);
	question.kind = QUESTION_DIRECTORIES;
	score = similar_ask_one(job, &question, &a);
	if (score > 0)
		score = a.verdict.score;
	else if (score)
		return score;
	for (f = t->files; f < t->files + t->count; f++) {
		job->unknown += !f->content;
		files[kind_of(f)]++;
		bytes[kind_of(f)] += (json_int_t)f->size;
	}
	row = JSON_NUMBERS({ "score", score }, { "same", files[SAME] },
			   { "same_bytes", bytes[SAME] },
			   { "similar", files[PAIR] },
			   { "similar_bytes", bytes[PAIR] },
			   { "only_here", files[ONLY_HERE] },
			   { "only_here_bytes", bytes[ONLY_HERE] },
			   { "only_there", files[ONLY_THERE] },
			   { "only_there_bytes", bytes[ONLY_THERE] });
	row = json_with_path(row, "of", job->name);
	row = json_with_path(row, "path", t->roots[1]);
	job->table.columns = columns;
	return table_row(&job->table,
			 json_with_path(row, "root", job->mount.root));
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
static int print_difference(struct similar_job *job, const struct tree_file *f)
{
	const bool text = !job->table.output.json;
	const struct tree_file *first = f->side ? f->other : f,
			       *second = f->side ? f : f->other;
	const char *here = first ? first->name : NULL,
		   *there = second ? second->name : NULL;
	char score[16] = "<";
	json_t *row;

	if (f->other)
		(void)snprintf(score, sizeof(score),
			       f->score < 0 ? "~  -" : "~%3d", f->score);
	else if (f->side)
		*score = '>';
	if (text && (!here || !there || !strcmp(here, there))) {
		here = here ? here : there;
		there = NULL;
	}
	row = json_pack("{s:I, s:o*}", "size", (json_int_t)f->size, "score",
			text ? json_string(score) : row_number(f->score));
	row = json_with_path(row, "here", here);
	job->table.columns = difference_columns;
	return table_row(&job->table, json_with_path(row, "there", there));
}

/* Pairs first, then the files of one tree alone. */
static int print_differences(const struct trees *t)
{
	const struct tree_file *f;
	int kind, side, err = 0;

	for (kind = PAIR; kind < KINDS; kind++)
		for (side = 0; side < 2; side++)
			for (f = t->files; f < t->files + t->count; f++)
				if (!err && f->side == side &&
				    (int)kind_of(f) == kind)
					err = print_difference(t->job, f);
	return err;
}

/* ---- two directories ---- */

int similar_trees(struct similar_job *job)
{
	static struct trees t;
	int err;

	t.job = job;
	t.roots[0] = job->mount.rel;
	t.roots[1] = job->other_rel;
	err = read_trees(&t);
	if (!err)
		err = pair_by_name(&t);
	if (!err)
		err = pair_by_likeness(&t);
	if (!err)
		err = print_sums(&t);
	if (!err && !job->table.output.nul)
		err = print_differences(&t);
	/* A file without digests counts as one that the other tree lacks. */
	if (job->unknown)
		similar_set_incomplete(job);
	return err;
}
