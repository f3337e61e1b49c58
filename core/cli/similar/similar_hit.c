/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/similar/similar.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/array.h"
#include "core/base/text.h"
#include "core/cli/record.h"

struct similar_hit {
	int score, distinctive; /* distinctive: -1 when not asked for */
	bool is_boilerplate;
	json_int_t bytes; /* -1 but with INDEX_SHARES */
	const char *path; /* owned by those that are kept */
	uint64_t size;
	bool has_size;
	struct measures measures;
};

char *similar_format(const char *pattern, ...)
{
	va_list args;
	char *text;

	va_start(args, pattern);
	if (vasprintf(&text, pattern, args) < 0)
		text = NULL;
	va_end(args);
	return text;
}

void similar_digests(const char *path, struct digests *out)
{
	struct buf text = { 0 };
	struct stat st;
	int id;

	/* The others are computed for each file that is asked for them. */
	for (id = 0; id < DIGEST_COUNT; id++)
		if ((DIGEST_DEFAULT & DIGEST_BIT(id)) &&
		    !mount_get_attribute(path, digest_table[id]->attribute,
					 &text))
			(void)digest_parse((enum digest_id)id, text.data,
					   text.len, out);
	if (!stat(path, &st))
		out->size = (uint64_t)st.st_size;
	buf_release(&text);
}

char *similar_path(const struct similar_job *job, const char *rel)
{
	const char *root = job->mount.root;

	if (!*rel)
		return strdup(root);
	return similar_format("%s/%s", strcmp(root, "/") != 0 ? root : "", rel);
}

/* ---- printing ---- */

static void hit_measure(const struct similar_job *job, struct similar_hit *hit)
{
	struct digests d = { 0 };
	struct stat st;

	similar_digests(hit->path, &d);
	if (measures_take(&job->digests, &d, &hit->measures))
		memset(&hit->measures, -1, sizeof(hit->measures));
	hit->has_size = !stat(hit->path, &st);
	hit->size = d.size;
	digests_release(&d);
}

static void print_column(int value)
{
	if (value < 0)
		printf("%8s", "-");
	else
		printf("%8d", value);
}

static void hit_print(struct similar_job *job, const struct similar_hit *hit)
{
	bool all = job->relation == INDEX_ALL;
	bool shares = job->relation == INDEX_SHARES;
	char bytes[TEXT_SIZE_ROOM];

	if (!job->printed++)
		printf("%5s%s%8s%8s%8s%8s%8s%14s  %s\n", "SCORE",
		       all    ? "  DISTINCTIVE" :
		       shares ? "  SHARES" :
				"",
		       "SISE", "SIMHASH", "RDC", "SIF", "SSDEEP", "SIZE",
		       "PATH");
	printf("%5d", hit->score);
	if (all && hit->distinctive < 0)
		printf("%12s ", "-");
	else if (all)
		printf("%12d%s", hit->distinctive,
		       hit->is_boilerplate ? "*" : " ");
	if (shares)
		printf("%8s", text_format_size((double)hit->bytes,
					       TEXT_UNITS_BRIEF, bytes));
	print_column(hit->measures.by_digest[DIGEST_SISE]);
	print_column(hit->measures.by_digest[DIGEST_SIMHASH]);
	print_column(hit->measures.by_digest[DIGEST_RDC]);
	print_column(hit->measures.by_digest[DIGEST_SIF]);
	print_column(hit->measures.by_digest[DIGEST_SSDEEP]);
	if (hit->has_size)
		printf("%14llu  ", (unsigned long long)hit->size);
	else
		printf("%14s  ", "-");
	cli_print_escaped(hit->path, ESCAPE_TERMINAL);
	putchar('\n');
}

static int hit_add_json(struct similar_job *job, const struct similar_hit *hit)
{
	struct record r;

	record_begin(&r);
	record_number(&r, "score", hit->score);
	if (hit->distinctive >= 0) {
		record_number(&r, "distinctive", hit->distinctive);
		record_flag(&r, "boilerplate", hit->is_boilerplate);
	}
	if (hit->bytes >= 0)
		record_number(&r, "bytes", hit->bytes);
	measures_record(&hit->measures, &r);
	if (hit->has_size)
		record_number(&r, "size", (int64_t)hit->size);
	else
		record_score(&r, "size", -1);
	record_path(&r, "path", hit->path);
	return json_array_append_new(job->array, record_end(&r)) ? -ENOMEM : 0;
}

static int hit_print_now(struct similar_job *job, const struct similar_hit *hit)
{
	if (job->json)
		return hit_add_json(job, hit);
	hit_print(job, hit);
	return 0;
}

static int hit_keep(struct similar_job *job, const struct similar_hit *hit)
{
	struct similar_hit *all =
		array_with_room(job->kept, job->kept_count, sizeof(*all));
	char *path = strdup(hit->path);

	if (all)
		job->kept = all;
	if (!all || !path) {
		free(path);
		return -ENOMEM;
	}
	all += job->kept_count++;
	*all = *hit;
	all->path = path;
	return 0;
}

/* Those of several places are kept until all are there. */
static int hit_show(struct similar_job *job, const struct similar_hit *hit)
{
	return job->everywhere ? hit_keep(job, hit) : hit_print_now(job, hit);
}

/* In one array, so the addresses are the order of arrival. */
static int by_score(const void *a, const void *b)
{
	const struct similar_hit *const *x = a, *const *y = b;

	if ((*x)->score != (*y)->score)
		return (*y)->score - (*x)->score;
	return *x < *y ? -1 : *x > *y;
}

int similar_show_kept(struct similar_job *job)
{
	struct similar_hit **order =
		calloc(job->kept_count + 1, sizeof(struct similar_hit *));
	size_t i;
	int err = order ? 0 : -ENOMEM;

	for (i = 0; !err && i < job->kept_count; i++)
		order[i] = &job->kept[i];
	if (!err)
		qsort(order, job->kept_count, sizeof(struct similar_hit *),
		      by_score);
	for (i = 0; !err && i < job->kept_count; i++)
		err = hit_print_now(job, order[i]);
	free(order);
	for (i = 0; i < job->kept_count; i++)
		free((char *)job->kept[i].path);
	free(job->kept);
	job->kept = NULL;
	job->kept_count = 0;
	return err;
}

int similar_show(struct similar_job *job, const struct similar_found *found)
{
	struct similar_hit hit = { .score = found->score,
				   .distinctive = found->distinctive,
				   .is_boilerplate =
					   found->reason == VERDICT_BOILERPLATE,
				   .bytes = found->bytes,
				   .path = found->path };

	hit_measure(job, &hit);
	return hit_show(job, &hit);
}

int similar_show_measured(struct similar_job *job, int score, const char *path,
			  uint64_t size, const struct measures *measures)
{
	const struct similar_hit hit = { .score = score,
					 .distinctive = -1,
					 .bytes = -1,
					 .path = path,
					 .size = size,
					 .has_size = true,
					 .measures = *measures };

	return hit_show(job, &hit);
}

/* ---- listings: "097_report.txt" -> "../../docs/report.txt" ---- */

static bool entry_score(const char *name, int *score_out)
{
	if (strspn(name, "0123456789") != 3 || name[3] != '_')
		return false;
	*score_out = (int)strtol(name, NULL, 10);
	return true;
}

/* The target's path below the root is what follows its "../"s; NULL: the entry
 * is gone, or its path is longer than a link can be. */
static int entry_path(struct similar_job *job, int dirfd, const char *name,
		      char **out)
{
	char target[PATH_MAX + 1];
	const char *rel = target;
	ssize_t len = readlinkat(dirfd, name, target, sizeof(target) - 1);

	*out = NULL;
	if (len < 0) {
		job->unnamed += errno == ENAMETOOLONG;
		return 0;
	}
	target[len] = '\0';
	while (!strncmp(rel, "../", 3))
		rel += 3;
	if (*rel && !text_is_plain_path(rel))
		return -EBADMSG;
	*out = similar_path(job, rel);
	return *out ? 0 : -ENOMEM;
}

void similar_look_state(struct similar_job *job, const char *listing)
{
	struct buf state = { 0 };

	job->reason[0] = '\0';
	if (!mount_get_attribute(listing, STATE_ATTRIBUTE, &state) &&
	    strcmp(state.data, "complete") != 0)
		(void)snprintf(job->reason, sizeof(job->reason), "%s",
			       state.data);
	else if (job->unnamed)
		(void)snprintf(job->reason, sizeof(job->reason),
			       "error:ENAMETOOLONG");
	buf_release(&state);
}

bool similar_is_cut(const struct similar_job *job)
{
	return !strncmp(job->reason, "cut", 3);
}

int similar_each(struct similar_job *job, const char *listing,
		 int (*take)(void *arg, int score, const char *path), void *arg)
{
	DIR *dir = opendir(listing);
	struct dirent *entry;
	int score, err = 0;
	char *path;

	if (!dir)
		return -errno;
	for (errno = 0; !err && (entry = readdir(dir)); errno = 0) {
		if (!entry_score(entry->d_name, &score))
			continue;
		err = entry_path(job, dirfd(dir), entry->d_name, &path);
		if (path)
			err = take(arg, score, path);
		free(path);
	}
	if (!err)
		err = -errno;
	closedir(dir);
	return err;
}

int similar_paths_add(void *arg, int score, const char *path)
{
	struct similar_paths *paths = arg;
	struct similar_path *all;

	all = array_with_room(paths->all, paths->count, sizeof(*all));
	if (!all)
		return -ENOMEM;
	paths->all = all;
	all[paths->count] = (struct similar_path){ strdup(path), score };
	if (!all[paths->count].path)
		return -ENOMEM;
	paths->count++;
	return 0;
}

void similar_paths_release(struct similar_paths *paths)
{
	while (paths->count)
		free(paths->all[--paths->count].path);
	free(paths->all);
}
