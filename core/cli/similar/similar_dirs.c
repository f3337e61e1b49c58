/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/similar/similar.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/text.h"
#include "core/cli/record.h"
#include "core/cli/similar/link_list.h"
#include "core/cli/similar/similar_tree.h"

enum { NO_SCORE = -1 };

/* ---- counting ---- */

struct sum {
	size_t files;
	uint64_t bytes;
};

struct tree_sums {
	struct sum same, similar, here, there;
	double shared;   /* bytes, similar ones by their scores */
	uint64_t larger; /* bytes of the larger tree */
};

static void sum_add(struct sum *s, const struct tree_file *file)
{
	s->files++;
	s->bytes += file->size;
}

static uint64_t tree_bytes(const struct tree *t)
{
	uint64_t bytes = 0;
	size_t i;

	for (i = 0; i < t->count; i++)
		bytes += t->files[i].size;
	return bytes;
}

/* Of a pair the file here is printed, but not if its content is there, too. */
static bool is_pair_of_there(const struct tree_file *there)
{
	return !there->same && there->other && there->other->same;
}

static void sums_take(const struct tree *a, const struct tree *b,
		      struct tree_sums *out)
{
	size_t i;

	*out = (struct tree_sums){ .larger = tree_bytes(a) };
	if (out->larger < tree_bytes(b))
		out->larger = tree_bytes(b);
	for (i = 0; i < a->count; i++) {
		const struct tree_file *f = &a->files[i];

		sum_add(f->same  ? &out->same :
			f->other ? &out->similar :
				   &out->here,
			f);
	}
	for (i = 0; i < b->count; i++) {
		const struct tree_file *f = &b->files[i];

		if (is_pair_of_there(f))
			sum_add(&out->similar, f);
		else if (!f->same && !f->other)
			sum_add(&out->there, f);
	}
	for (i = 0; i < a->count; i++) {
		int percent = a->files[i].same ? 100 : a->files[i].score;

		if (percent > 0)
			out->shared += (double)a->files[i].size * percent / 100;
	}
}

/* The score of two that were named: the mount has it only of those it lists. */
static int estimate(const struct tree_sums *s)
{
	double percent;

	if (!s->similar.files && !s->here.files && !s->there.files)
		return 100;
	if (!s->larger)
		return 0;
	percent = 100 * s->shared / (double)s->larger;
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
		cell_number((int64_t)s->same.files),
		cell_number((int64_t)s->same.bytes),
		cell_number((int64_t)s->similar.files),
		cell_number((int64_t)s->similar.bytes),
		cell_number((int64_t)s->here.files),
		cell_number((int64_t)s->here.bytes),
		cell_number((int64_t)s->there.files),
		cell_number((int64_t)s->there.bytes),
		cell_path(rel, job->mount.root),
	};

	job->table.columns = columns;
	job->found++;
	return table_row(&job->table, cells) ? 1 : 0;
}

/* "~" and the score: both have it; "<", ">": one has it alone. */
static int print_difference(const struct similar_job *job,
			    const struct tree_file *f, const char *here,
			    const char *there)
{
	char size[TEXT_SIZE_ROOM], score[8] = "   ";
	struct record r;

	if (job->output.json) {
		record_begin(&r);
		if (here)
			record_path(&r, "here", here);
		if (there)
			record_path(&r, "there", there);
		if (here && there && f->score >= 0)
			record_number(&r, "score", f->score);
		record_number(&r, "size", (int64_t)f->size);
		return record_print(&r) ? 1 : 0;
	}
	if (here && there)
		(void)snprintf(score, sizeof(score),
			       f->score < 0 ? "  -" : "%3d", f->score);
	printf("  %c %s%6s  ",
	       !there ? '<' :
	       !here  ? '>' :
			'~',
	       score,
	       text_format_size((double)f->size, TEXT_UNITS_BRIEF, size));
	cli_print_escaped(here ? here : there, ESCAPE_TERMINAL);
	if (here && there && strcmp(here, there) != 0) {
		printf(" -> ");
		cli_print_escaped(there, ESCAPE_TERMINAL);
	}
	putchar('\n');
	return 0;
}

/* Pairs first, then the files of one tree alone. */
static int print_differences(const struct similar_job *job,
			     const struct tree *a, const struct tree *b)
{
	const struct tree_file *f;
	int err = 0;

	for (f = a->files; f < a->files + a->count && !err; f++)
		if (!f->same && f->other)
			err = print_difference(job, f, tree_name(a, f),
					       tree_name(b, f->other));
	for (f = b->files; f < b->files + b->count && !err; f++)
		if (is_pair_of_there(f))
			err = print_difference(job, f, tree_name(a, f->other),
					       tree_name(b, f));
	for (f = a->files; f < a->files + a->count && !err; f++)
		if (!f->same && !f->other)
			err = print_difference(job, f, tree_name(a, f), NULL);
	for (f = b->files; f < b->files + b->count && !err; f++)
		if (!f->same && !f->other)
			err = print_difference(job, f, NULL, tree_name(b, f));
	return err;
}

/* ---- the directories ---- */

static int list(struct similar_job *job, struct link_list *hits)
{
	int err = link_list_read(job->listings, job->mount.rel, ".dirs", hits,
				 job->reason);

	if (!strncmp(job->reason, "cut", 3)) {
		job->cut = true;
		job->reason[0] = '\0';
	}
	return err;
}

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
	struct tree_sums sums;
	int err = tree_compare(table, a, &b);

	note_unknown(job, &b);
	if (err)
		return err;
	sums_take(a, &b, &sums);
	if (score == NO_SCORE)
		score = estimate(&sums);
	else if (score < job->best.threshold ||
		 (job->best.limit && job->found >= job->best.limit))
		return 0;
	err = print_sums(job, score, &sums, rel);
	if (err || !job->other || job->output.nul)
		return err;
	return print_differences(job, a, &b);
}

/* ---- two of them ---- */

static bool is_inside(const char *path, const char *of)
{
	size_t len = strlen(of);

	if (!*of)
		return true;
	return !strncmp(path, of, len) && (!path[len] || path[len] == '/');
}

/* Its path below the root of the mount.  1 after a message. */
static int find_other(const struct similar_job *job, char **other_out)
{
	struct mount mount = { 0 };
	const char *wrong = NULL;
	struct stat st;
	const char *rel = job->mount.rel;

	if (mount_find_or_complain(job->other, &mount))
		return 1;
	if (strcmp(mount.root, job->mount.root) != 0)
		wrong = "in another mount";
	else if (stat(job->other, &st) || !S_ISDIR(st.st_mode))
		wrong = "not a directory";
	else if (is_inside(mount.rel, rel) || is_inside(rel, mount.rel))
		wrong = "one of the directories is inside of the other";
	if (wrong) {
		cli_complain(job->other, "%s", wrong);
	} else {
		*other_out = mount.rel;
		mount.rel = NULL;
	}
	mount_release(&mount);
	return wrong != NULL;
}

/* Of two directories the other one is the only hit. */
static int collect(struct similar_job *job, struct link_list *hits)
{
	char *other = NULL;
	int err;

	if (!job->other)
		return list(job, hits);
	err = find_other(job, &other);
	if (!err)
		err = link_list_add(hits, NO_SCORE, other);
	free(other);
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
			     "the whole mount; nothing is beside it");
		return 1;
	}
	err = collect(job, &hits);
	if (!err && hits.count)
		err = show_all(job, &hits);
	link_list_release(&hits);
	return err;
}
