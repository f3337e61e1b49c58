/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/similar/similar.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/text.h"
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
	for (i = 0; i < b->count; i++)
		if (!b->files[i].same && !b->files[i].other)
			sum_add(&out->there, &b->files[i]);
	for (i = 0; i < a->count; i++)
		out->shared += (double)a->files[i].size *
			       (a->files[i].same ? 100 : a->files[i].score) /
			       100;
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

static void print_pair(const struct tree_file *file)
{
	printf("  ~ %3d", file->score);
	print_size(6, file->size);
	printf("  ");
	cli_print_escaped(file->path, ESCAPE_TERMINAL);
	if (strcmp(file->path, file->other->path) != 0) {
		printf(" -> ");
		cli_print_escaped(file->other->path, ESCAPE_TERMINAL);
	}
	putchar('\n');
}

static void print_single(char mark, const struct tree_file *file)
{
	printf("  %c    ", mark);
	print_size(6, file->size);
	printf("  ");
	cli_print_escaped(file->path, ESCAPE_TERMINAL);
	putchar('\n');
}

static void print_differences(const struct tree *a, const struct tree *b)
{
	size_t i;

	for (i = 0; i < a->count; i++)
		if (!a->files[i].same && a->files[i].other)
			print_pair(&a->files[i]);
	for (i = 0; i < a->count; i++)
		if (!a->files[i].same && !a->files[i].other)
			print_single('<', &a->files[i]);
	for (i = 0; i < b->count; i++)
		if (!b->files[i].same && !b->files[i].other)
			print_single('>', &b->files[i]);
}

/* ---- JSON ---- */

static int set_sum(json_t *object, const char *key, const struct sum *s)
{
	json_t *value = json_pack("{s:I,s:I}", "files", (json_int_t)s->files,
				  "bytes", (json_int_t)s->bytes);

	return json_object_set_new(object, key, value) ? -ENOMEM : 0;
}

static int set_sums(json_t *object, const struct tree_sums *sums)
{
	int err = set_sum(object, "same", &sums->same);

	if (!err)
		err = set_sum(object, "similar", &sums->similar);
	if (!err)
		err = set_sum(object, "only_here", &sums->here);
	if (!err)
		err = set_sum(object, "only_there", &sums->there);
	return err;
}

/* One file that is not the same; other is that on the other side. */
static int add_difference(json_t *array, const struct tree_file *here,
			  const struct tree_file *there)
{
	json_t *object = json_object();
	int err = object ? 0 : -ENOMEM;

	if (!err && here)
		err = cli_set_json_path(object, "here", here->path);
	if (!err && there)
		err = cli_set_json_path(object, "there", there->path);
	if (!err && here && there &&
	    json_object_set_new(object, "score", json_integer(here->score)))
		err = -ENOMEM;
	if (!err && json_array_append(array, object))
		err = -ENOMEM;
	json_decref(object);
	return err;
}

static int set_differences(json_t *object, const struct tree *a,
			   const struct tree *b)
{
	json_t *array = json_array();
	int err = array ? 0 : -ENOMEM;
	size_t i;

	for (i = 0; i < a->count && !err; i++)
		if (!a->files[i].same)
			err = add_difference(array, &a->files[i],
					     a->files[i].other);
	for (i = 0; i < b->count && !err; i++)
		if (!b->files[i].same && !b->files[i].other)
			err = add_difference(array, NULL, &b->files[i]);
	if (!err && json_object_set(object, "differences", array))
		err = -ENOMEM;
	json_decref(array);
	return err;
}

static int add_json(struct similar_job *job, int score,
		    const struct tree_sums *sums, const struct tree *a,
		    const struct tree *b)
{
	json_t *object = json_object();
	int err = object ? 0 : -ENOMEM;

	if (!err && json_object_set_new(object, "score", json_integer(score)))
		err = -ENOMEM;
	if (!err)
		err = set_sums(object, sums);
	if (!err && job->other)
		err = set_differences(object, a, b);
	if (!err)
		err = cli_set_json_path(object, "path", b->root);
	if (!err && json_array_append(job->array, object))
		err = -ENOMEM;
	json_decref(object);
	return err;
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

/* score: -1 when it is not listed. */
static int show(struct similar_job *job, struct tree *a, const char *path,
		int score)
{
	struct tree b = { 0 };
	struct tree_sums sums;
	int err = tree_read(path, &b);

	if (!err)
		note_unknown(job, &b);
	if (!err)
		err = tree_compare(job, a, &b);
	if (!err)
		sums_take(a, &b, &sums);
	if (!err && score < 0)
		score = estimate(&sums);
	if (!err && job->json) {
		err = add_json(job, score, &sums, a, &b);
	} else if (!err) {
		print_sums(job, score, &sums, path);
		if (job->other)
			print_differences(a, &b);
	}
	tree_release(&b);
	return err;
}

/* ---- two of them ---- */

static bool is_inside(const char *path, const char *of)
{
	size_t len = strlen(of);

	if (!strcmp(of, "/"))
		return true;
	return !strncmp(path, of, len) && (!path[len] || path[len] == '/');
}

/* 1 after a message. */
static int find_other(const struct similar_job *job, const char *path,
		      char **other_out)
{
	struct mount mount = { 0 };
	const char *wrong = NULL;
	struct stat st;
	char *other = NULL;

	if (mount_find_or_complain(job->other, &mount))
		return 1;
	if (strcmp(mount.root, job->mount.root) != 0)
		wrong = "in another mount";
	else if (stat(job->other, &st) || !S_ISDIR(st.st_mode))
		wrong = "not a directory";
	else
		other = similar_path(job, mount.rel);
	mount_release(&mount);
	if (other && (is_inside(other, path) || is_inside(path, other)))
		wrong = "one of the directories is inside of the other";
	if (wrong) {
		cli_complain(job->other, "%s", wrong);
		free(other);
		return 1;
	}
	if (!other)
		return -ENOMEM;
	*other_out = other;
	return 0;
}

static int show_pair(struct similar_job *job, struct tree *a,
		     const struct similar_paths *hits)
{
	char *other = NULL;
	int score = -1, err = find_other(job, a->root, &other);
	size_t i;

	for (i = 0; i < hits->count && !err; i++)
		if (!strcmp(hits->all[i].path, other))
			score = hits->all[i].score;
	if (!err)
		err = show(job, a, other, score);
	free(other);
	return err;
}

int similar_directories(struct similar_job *job)
{
	char *path = similar_path(job, job->mount.rel);
	struct similar_paths hits = { 0 };
	bool is_pair = job->other != NULL;
	struct tree a = { 0 };
	int err;
	size_t i;

	if (!*job->mount.rel) {
		cli_complain(job->path,
			     "the whole mount; nothing is beside it");
		free(path);
		return 1;
	}
	err = path ? list(job, &hits) : -ENOMEM;
	if (!err && (hits.count || is_pair))
		err = tree_read(path, &a);
	if (!err && is_pair)
		job->reason[0] = '\0';
	if (!err)
		note_unknown(job, &a);
	if (!err && is_pair)
		err = show_pair(job, &a, &hits);
	for (i = 0; i < hits.count && !err && !is_pair; i++)
		err = show(job, &a, hits.all[i].path, hits.all[i].score);
	similar_paths_release(&hits);
	tree_release(&a);
	free(path);
	return err;
}
