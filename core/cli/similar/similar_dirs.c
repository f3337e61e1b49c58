/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/similar/similar.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/cli/similar/link_list.h"
#include "core/cli/similar/similar_tree.h"

enum { NO_SCORE = -1 };

/* ---- counting ---- */

enum kind {
	SAME,  /* both have the content */
	PAIR,  /* "~": a file here and one there */
	ALONE, /* "<", ">" */
	KINDS,
};

/* What the file counts as; side: 0: here.  Of a pair the file here is printed,
 * but not if its content is there, too. */
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

static void sums_take(const struct tree *const trees[2], struct tree_sums *out)
{
	struct tree_sums s = { .shared = 0 };
	const struct tree_file *f;
	double bytes;
	int side;

	for (side = 0; side < 2; side++) {
		bytes = 0;
		for (f = trees[side]->files;
		     f < trees[side]->files + trees[side]->count; f++) {
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

/* The score of two that were named: the mount has it only of those it lists. */
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

static int print_sums(struct similar_job *job, int score,
		      const struct tree_sums *s, const char *rel)
{
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
static int print_differences(struct similar_job *job,
			     const struct tree *const trees[2])
{
	const struct tree_file *f;
	const char *names[2];
	int pass, side, err = 0;

	for (pass = 2; pass < 6; pass++) {
		side = pass & 1;
		for (f = trees[side]->files;
		     f < trees[side]->files + trees[side]->count && !err; f++) {
			if ((int)kind_of(f, side) != pass / 2)
				continue;
			names[side] = tree_name(trees[side], f);
			names[!side] =
				f->other ? tree_name(trees[!side], f->other) :
					   NULL;
			err = print_difference(job, f, names[0], names[1]);
		}
	}
	return err;
}

/* ---- the directories ---- */

/* A file without digests counts as one that the other tree lacks. */
static void note_unknown(struct similar_job *job, const struct tree *t)
{
	job->unknown += t->unknown;
	if (job->unknown)
		(void)snprintf(job->reason, sizeof(job->reason), "incomplete");
}

/* A directory by its path below the root of the mount. */
static int show(struct similar_job *job, struct tree_table *table,
		struct tree *a, const char *rel, int score)
{
	struct tree b = tree_below(table, rel);
	const struct tree *const trees[] = { a, &b };
	struct tree_sums sums;
	int err = tree_compare(table, a, &b);

	note_unknown(job, &b);
	if (err)
		return err;
	sums_take(trees, &sums);
	if (score == NO_SCORE)
		score = estimate(&sums);
	else if (score < job->best.threshold ||
		 (job->best.limit && job->found >= job->best.limit))
		return 0;
	err = print_sums(job, score, &sums, rel);
	if (err || !job->other || job->output.nul)
		return err;
	return print_differences(job, trees);
}

/* ---- two of them ---- */

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

/* Of two directories the other one is the only hit. */
static int collect(struct similar_job *job, struct link_list *hits)
{
	char *other = NULL;
	int err;

	if (job->other) {
		err = find_other(job, &other);
		if (!err)
			err = link_list_add(hits, NO_SCORE, other);
		free(other);
		return err;
	}
	err = link_list_read(job->listings, job->mount.rel, ".dirs", hits,
			     job->reason);
	if (!strncmp(job->reason, "cut", 3)) {
		job->cut = true;
		job->reason[0] = '\0';
	}
	return err;
}

static int show_all(struct similar_job *job, const struct link_list *hits)
{
	const char **rels = calloc(hits->count + 1, sizeof(*rels));
	struct tree_table table = { 0 };
	struct tree a;
	size_t i;
	int err = rels ? 0 : -ENOMEM;

	for (i = 0; i < hits->count && !err; i++)
		rels[i + 1] = hits->all[i].path;
	if (!err) {
		rels[0] = job->mount.rel;
		err = tree_table_read(job, rels, hits->count + 1, &table);
	}
	if (!err) {
		a = tree_below(&table, rels[0]);
		note_unknown(job, &a);
	}
	for (i = 0; i < hits->count && !err; i++)
		err = show(job, &table, &a, rels[i + 1], hits->all[i].score);
	tree_table_release(&table);
	free(rels);
	return err;
}

int similar_directories(struct similar_job *job)
{
	struct link_list hits = { 0 };
	int err;

	if (!*job->mount.rel) {
		cli_complain(job->path,
			     "the whole mount, which nothing is beside; kin "
			     "groups lists what is alike in it");
		return 1;
	}
	err = collect(job, &hits);
	if (!err && hits.count)
		err = show_all(job, &hits);
	link_list_release(&hits);
	return err;
}
