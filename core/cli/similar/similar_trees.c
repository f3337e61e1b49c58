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

struct tree_file {
	char *name; /* owned; below the root of its tree */
	int side;   /* 0: here; 1: there */
	uint64_t size;
	struct digests *digests; /* NULL: not known */
	struct tree_file *next;  /* that has these; the last one owns them */
	bool same;               /* the other tree has the content */
	struct tree_file *other; /* of that name, or that it resembles */
	int score;               /* with other; -1: not known */
};

struct trees {
	struct similar_job *job;
	const char *roots[2]; /* borrowed; relative to the root of the mount */
	char *paths[2];       /* owned; absolute */
	struct tree_file *files; /* of both, in byte order of the names */
	size_t count;
	int threshold; /* of the mount */
};

/* ---- reading ---- */

/* Those that have one name lie together. */
static int by_name(const void *a, const void *b)
{
	const struct tree_file *x = a, *y = b;
	int order = strcmp(x->name, y->name);

	return order ? order : x->side - y->side;
}

static int take_entry(struct trees *t, int side, const FTSENT *entry)
{
	const char *name = path_below(entry->fts_path, t->paths[side]);
	struct tree_file *files;

	if (cli_walk_failed(entry) && entry->fts_errno != ENOENT)
		cli_complain_errno(entry->fts_path, -entry->fts_errno);
	if (entry->fts_info != FTS_F ||
	    !filter_takes(&t->job->filter,
			  path_below(entry->fts_path, t->job->mount.root),
			  (uint64_t)entry->fts_statp->st_size))
		return 0;
	files = array_with_room(t->files, t->count, sizeof(*files));
	if (!files)
		return -ENOMEM;
	t->files = files;
	files[t->count] = (struct tree_file){
		.name = strdup(name),
		.side = side,
		.size = (uint64_t)entry->fts_statp->st_size,
	};
	return files[t->count].name ? (int)(t->count++, 0) : -ENOMEM;
}

/* The names of one content in both trees. */
static int take_content(struct trees *t, const struct found_member *m)
{
	struct digests *d = calloc(1, sizeof(*d));
	struct tree_file *all = NULL, *f, key;
	bool has[2] = { false };
	size_t i, k;
	int err = d ? digests_from_json(m->digests, d) : -ENOMEM;

	for (i = 0; i < m->file_count && !err; i++)
		for (k = 0; k < m->files[i].name_count; k++)
			for (key.side = 0; key.side < 2; key.side++) {
				key.name =
					(char *)path_below(m->files[i].names[k],
							   t->roots[key.side]);
				f = key.name && t->count ?
					    bsearch(&key, t->files, t->count,
						    sizeof(key), by_name) :
					    NULL;
				if (!f || f->digests)
					continue;
				f->digests = d;
				f->next = all;
				all = f;
				has[key.side] = true;
			}
	for (f = all; f; f = f->next)
		f->same = has[0] && has[1];
	if (all) {
		d->size = m->size;
	} else if (d) {
		digests_release(d);
		free(d);
	}
	return err == -EINVAL ? -EBADMSG : err;
}

static int read_trees(struct trees *t)
{
	const struct mount *mount = &t->job->mount;
	const struct groups_wish wish = { .every = true,
					  .filter = t->job->filter,
					  .within = { t->roots, 2 } };
	struct tree_file *f;
	struct groups g;
	bool empty[2] = { false };
	const FTSENT *entry;
	FTS *fts;
	int side, event, end, err = 0;

	for (side = 0; side < 2 && !err; side++) {
		fts = cli_walk_begin(t->paths[side], FTS_XDEV);
		while (!err && (entry = cli_walk_next(fts)))
			err = take_entry(t, side, entry);
		end = cli_walk_end(fts);
		err = err ? err : end;
	}
	if (err)
		return err;
	if (t->count)
		qsort(t->files, t->count, sizeof(*t->files), by_name);
	err = groups_ask(&g, &wish, mount->root, mount->listings);
	while (!err && (event = progress_groups_next(&g, "reading digests",
						     false)) != GROUPS_END)
		err = event < 0 ? event : take_content(t, &g.group.members[0]);
	progress_clear();
	t->threshold = g.totals.threshold;
	groups_close(&g);
	for (f = t->files; f < t->files + t->count; f++) {
		empty[f->side] |= !f->size;
		t->job->unknown += f->size && !f->digests;
	}
	for (f = t->files; f < t->files + t->count; f++)
		f->same |= !f->size && empty[!f->side];
	return err;
}

static void trees_release(struct trees *t)
{
	struct tree_file *f;

	for (f = t->files; f < t->files + t->count; f++) {
		if (f->digests && !f->next) {
			digests_release(f->digests);
			free(f->digests);
		}
		free(f->name);
	}
	free(t->files);
	free(t->paths[0]);
	free(t->paths[1]);
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
	int err = 0;

	for (f = t->files; f + 1 < t->files + t->count && !err; f++) {
		if (strcmp(f[0].name, f[1].name) || (f[0].same && f[1].same))
			continue;
		v.score = -1;
		if (f[0].digests && f[1].digests)
			err = judge_digests(f[0].digests, f[1].digests, &rules,
					    &v);
		err = err == -ENODATA ? 0 : err;
		make_pair(&f[0], &f[1], v.score);
	}
	return err;
}

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

/* Of the files that one of the trees has alone. */
static bool can_be_paired(const struct tree_file *f, int side)
{
	return f->side == side && f->digests && !f->same && !f->other;
}

static int pair_by_likeness(struct trees *t)
{
	struct near_index *near = calloc(1, sizeof(*near));
	struct tree_file **there = calloc(t->count + 1, sizeof(*there)), *f;
	struct likeness *all = NULL, *more;
	size_t count = 0, found = 0, i;
	int err = near && there ? 0 : -ENOMEM;

	for (f = t->files; f < t->files + t->count; f++)
		if (!err && can_be_paired(f, 1)) {
			there[near->count] = f;
			err = near_add(near, f->digests);
		}
	if (!err)
		err = near_begin(near);
	for (f = t->files; f < t->files + t->count; f++) {
		progress_show("comparing",
			      (double)(f - t->files) / (double)t->count);
		if (err || !can_be_paired(f, 0))
			continue;
		err = near_search(near, f->digests, t->threshold, &found);
		for (i = 0; i < found && !err; i++) {
			const struct index_match *m = &near->matches[i];

			more = array_with_room(all, count, sizeof(*all));
			if (!more) {
				err = -ENOMEM;
				break;
			}
			all = more;
			all[count++] = (struct likeness){
				.score = m->verdict.score,
				.here = f,
				.there = there[m->content - 1],
			};
		}
	}
	if (count)
		qsort(all, count, sizeof(*all), by_likeness);
	for (i = 0; i < count && !err; i++)
		if (!all[i].here->other && !all[i].there->other)
			make_pair(all[i].here, all[i].there, all[i].score);
	if (near)
		near_release(near);
	free(near);
	free(there);
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
	if (f->same)
		return f->side ? KINDS : SAME;
	if (f->other)
		return f->side && !f->other->same ? KINDS : PAIR;
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

/* The mount has a score only of directories that it lists: here it is the share
 * of the larger tree, similar files by their scores. */
static int print_sums(const struct trees *t)
{
	struct similar_job *job = t->job;
	json_int_t files[KINDS + 1] = { 0 }, bytes[KINDS + 1] = { 0 };
	double all[2] = { 0 }, shared = 0, larger;
	const struct tree_file *f;
	json_t *row;
	int score, percent, err;

	for (f = t->files; f < t->files + t->count; f++) {
		percent = f->same ? 100 : f->score;
		all[f->side] += (double)f->size;
		files[kind_of(f)]++;
		bytes[kind_of(f)] += (json_int_t)f->size;
		if (!f->side && percent > 0)
			shared += (double)f->size * percent / 100;
	}
	larger = all[0] > all[1] ? all[0] : all[1];
	score = larger > 0 ? (int)(100 * shared / larger + 0.5) : 0;
	if (!files[PAIR] && !files[ONLY_HERE] && !files[ONLY_THERE])
		score = 100;
	else if (score > 99)
		score = 99;
	row = json_pack("{s:i, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}",
			"score", score, "same", files[SAME], "same_bytes",
			bytes[SAME], "similar", files[PAIR], "similar_bytes",
			bytes[PAIR], "only_here", files[ONLY_HERE],
			"only_here_bytes", bytes[ONLY_HERE], "only_there",
			files[ONLY_THERE], "only_there_bytes",
			bytes[ONLY_THERE]);
	job->table.columns = columns;
	err = similar_add(job, job->rows, INDEX_ALIKE, job->mount.root,
			  t->roots[1], json_incref(row));
	if (!err)
		return table_row(&job->table, row);
	json_decref(row);
	return err;
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
	const struct tree_file *here = f->side ? f->other : f,
			       *there = f->side ? f : f->other;
	char score[16] = "~  -";
	json_t *row = json_pack("{s:I}", "size", (json_int_t)f->size);
	int err = row ? 0 : -ENOMEM;

	if (f->other && f->score >= 0)
		(void)snprintf(score, sizeof(score), "~%3d", f->score);
	if (text)
		err = json_object_set_new(row, "score",
					  json_string(f->other ? score :
						      here     ? "<" :
								 ">"));
	else if (f->other && f->score >= 0)
		err = json_object_set_new(row, "score", json_integer(f->score));
	if (!err && (here || text))
		err = json_set_path(row, "here", (here ? here : there)->name);
	if (!err && there &&
	    (!text || (here && strcmp(here->name, there->name) != 0)))
		err = json_set_path(row, "there", there->name);
	if (err) {
		json_decref(row);
		return -ENOMEM;
	}
	job->table.columns = difference_columns;
	return table_row(&job->table, row) ? 1 : 0;
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
	struct trees t = { .job = job,
			   .roots = { job->mount.rel, job->other_rel } };
	int side, err = 0;

	for (side = 0; side < 2 && !err; side++) {
		t.paths[side] =
			path_shown(job->mount.root, t.roots[side], false);
		err = t.paths[side] ? 0 : -ENOMEM;
	}
	if (!err)
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
		(void)snprintf(job->reason, sizeof(job->reason), "incomplete");
	trees_release(&t);
	return err;
}
