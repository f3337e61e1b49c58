/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/similar/similar.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/text.h"
#include "core/cli/record.h"
#include "core/cli/similar/similar_tree.h"

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

/* The score of two that the mount does not list: they are not alike enough, or
 * a directory within one of them is more so. */
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

static void print_size(int width, uint64_t size)
{
	char text[TEXT_SIZE_ROOM];

	printf("%*s", width,
	       text_format_size((double)size, TEXT_UNITS_BRIEF, text));
}

static void print_sum(const struct sum *s)
{
	printf("%7zu", s->files);
	print_size(6, s->bytes);
}

static void print_sums(struct similar_job *job, int score,
		       const struct tree_sums *sums, const char *path)
{
	if (!job->printed++)
		printf("%5s%13s%13s%13s%13s  %s\n", "SCORE", "SAME", "SIMILAR",
		       "ONLY HERE", "ONLY THERE", "PATH");
	printf("%5d", score);
	print_sum(&sums->same);
	print_sum(&sums->similar);
	print_sum(&sums->here);
	print_sum(&sums->there);
	printf("  ");
	cli_print_escaped(path, ESCAPE_TERMINAL);
	putchar('\n');
}

static void print_pair(const char *here, const char *there,
		       const struct tree_file *file)
{
	if (file->score < 0)
		printf("  ~   -");
	else
		printf("  ~ %3d", file->score);
	print_size(6, file->size);
	printf("  ");
	cli_print_escaped(here, ESCAPE_TERMINAL);
	if (strcmp(here, there) != 0) {
		printf(" -> ");
		cli_print_escaped(there, ESCAPE_TERMINAL);
	}
	putchar('\n');
}

static void print_single(char mark, const struct tree_file *file,
			 const char *name)
{
	printf("  %c    ", mark);
	print_size(6, file->size);
	printf("  ");
	cli_print_escaped(name, ESCAPE_TERMINAL);
	putchar('\n');
}

static void print_differences(const struct tree *a, const struct tree *b)
{
	const struct tree_file *f;

	for (f = a->files; f < a->files + a->count; f++)
		if (!f->same && f->other)
			print_pair(tree_name(a, f), tree_name(b, f->other), f);
	for (f = b->files; f < b->files + b->count; f++)
		if (is_pair_of_there(f))
			print_pair(tree_name(a, f->other), tree_name(b, f), f);
	for (f = a->files; f < a->files + a->count; f++)
		if (!f->same && !f->other)
			print_single('<', f, tree_name(a, f));
	for (f = b->files; f < b->files + b->count; f++)
		if (!f->same && !f->other)
			print_single('>', f, tree_name(b, f));
}

/* ---- JSON ---- */

static void record_sum(struct record *r, const char *key, const struct sum *s)
{
	record_object(r, key);
	record_number(r, "files", (int64_t)s->files);
	record_number(r, "bytes", (int64_t)s->bytes);
	record_close(r);
}

/* Names of one file, or of two with a score; -1: not known. */
static void record_difference(struct record *r, const char *here,
			      const char *there, int score)
{
	record_object(r, NULL);
	if (here)
		record_path(r, "here", here);
	if (there)
		record_path(r, "there", there);
	if (here && there)
		record_score(r, "score", score);
	record_close(r);
}

static void record_differences(struct record *r, const struct tree *a,
			       const struct tree *b)
{
	const struct tree_file *f, *o;
	size_t i;

	record_list(r, "differences");
	for (i = 0; i < a->count; i++) {
		f = &a->files[i];
		o = f->other;
		if (!f->same)
			record_difference(r, tree_name(a, f),
					  o ? tree_name(b, o) : NULL, f->score);
	}
	for (i = 0; i < b->count; i++) {
		f = &b->files[i];
		o = f->other;
		if (is_pair_of_there(f) || (!f->same && !o))
			record_difference(r, o ? tree_name(a, o) : NULL,
					  tree_name(b, f), f->score);
	}
	record_close(r);
}

static int add_json(struct similar_job *job, int score,
		    const struct tree_sums *sums, const struct tree *a,
		    const struct tree *b, const char *path)
{
	struct record r;

	record_begin(&r);
	record_number(&r, "score", score);
	record_sum(&r, "same", &sums->same);
	record_sum(&r, "similar", &sums->similar);
	record_sum(&r, "only_here", &sums->here);
	record_sum(&r, "only_there", &sums->there);
	if (job->other)
		record_differences(&r, a, b);
	record_path(&r, "path", path);
	return json_array_append_new(job->array, record_end(&r)) ? -ENOMEM : 0;
}

/* ---- the directories ---- */

static int list(struct similar_job *job, struct similar_paths *hits)
{
	char *listing =
		similar_format("%s/%s%s.dirs", job->listings, job->mount.rel,
			       *job->mount.rel ? "/" : "");
	int err = -ENOMEM;

	if (listing) {
		err = similar_each(job, listing, similar_paths_add, hits);
		similar_look_state(job, listing);
	}
	free(listing);
	return err;
}

/* A file without digests counts as one that the other tree lacks. */
static void note_unknown(struct similar_job *job, const struct tree *t)
{
	job->unknown += t->unknown;
	if (job->unknown)
		(void)snprintf(job->reason, sizeof(job->reason), "incomplete");
}

/* A directory by its path below the root of the mount.  score: -1 when it is
 * not listed. */
static int show(struct similar_job *job, struct tree_table *table,
		struct tree *a, const char *rel, int score)
{
	struct tree b = tree_below(table, rel);
	char *path = similar_path(job, rel);
	struct tree_sums sums;
	int err = path ? tree_compare(table, a, &b) : -ENOMEM;

	note_unknown(job, &b);
	if (!err)
		sums_take(a, &b, &sums);
	if (!err && score < 0)
		score = estimate(&sums);
	if (!err && job->json) {
		err = add_json(job, score, &sums, a, &b, path);
	} else if (!err) {
		print_sums(job, score, &sums, path);
		if (job->other)
			print_differences(a, &b);
	}
	free(path);
	return err;
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

/* What is to be compared, best first. */
struct directories {
	const char **rels; /* the first is that of job->path */
	int *scores;
	size_t count;
};

static int collect(const struct similar_job *job,
		   const struct similar_paths *hits, const char *other,
		   struct directories *d)
{
	const char *root = job->mount.root;
	size_t skip = strcmp(root, "/") != 0 ? strlen(root) + 1 : 1, i;

	d->rels = calloc(hits->count + 2, sizeof(*d->rels));
	d->scores = calloc(hits->count + 2, sizeof(*d->scores));
	if (!d->rels || !d->scores)
		return -ENOMEM;
	d->rels[d->count++] = job->mount.rel;
	if (other) {
		d->scores[d->count] = -1;
		d->rels[d->count++] = other;
	}
	for (i = 0; i < hits->count; i++) {
		const char *rel = hits->all[i].path + skip;

		if (other && !strcmp(rel, other)) {
			d->scores[1] = hits->all[i].score;
		} else if (!other) {
			d->scores[d->count] = hits->all[i].score;
			d->rels[d->count++] = rel;
		}
	}
	return 0;
}

static int show_all(struct similar_job *job, const struct directories *d)
{
	struct tree_table table = { 0 };
	int err = tree_table_read(job, d->rels, d->count, &table);
	struct tree a = tree_below(&table, d->rels[0]);
	size_t i;

	note_unknown(job, &a);
	for (i = 1; i < d->count && !err; i++)
		err = show(job, &table, &a, d->rels[i], d->scores[i]);
	tree_table_release(&table);
	return err;
}

int similar_directories(struct similar_job *job)
{
	struct similar_paths hits = { 0 };
	struct directories d = { 0 };
	char *other = NULL;
	int err;

	if (!*job->mount.rel) {
		cli_complain(job->path,
			     "the whole mount; nothing is beside it");
		return 1;
	}
	err = job->other ? find_other(job, &other) : 0;
	if (!err)
		err = list(job, &hits);
	if (!err && other)
		job->reason[0] = '\0';
	if (!err && (hits.count || other))
		err = collect(job, &hits, other, &d);
	if (!err && d.count)
		err = show_all(job, &d);
	similar_paths_release(&hits);
	free(d.rels);
	free(d.scores);
	free(other);
	return err;
}
