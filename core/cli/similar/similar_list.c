/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/similar/similar.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/base/text.h"

const char *const similar_relation_names[SIMILAR_RELATIONS] = {
	[SIMILAR_COPY] = "copy",         [SIMILAR_VERSION] = "version",
	[SIMILAR_CONTAINS] = "contains", [SIMILAR_WITHIN] = "within",
	[SIMILAR_SHARES] = "shares",     [SIMILAR_BOILERPLATE] = "boilerplate",
};

/* ---- relations ---- */

/* Whether a hit of that kind is to be listed. */
static bool is_wanted(const struct similar_job *job, enum similar_relation r)
{
	return job->relation ?
		       !strcmp(job->relation, similar_relation_names[r]) :
		       r != SIMILAR_BOILERPLATE;
}

bool similar_next(const struct similar_job *job, int *at_io,
		  enum index_relation *out)
{
	static const enum index_relation found_by[SIMILAR_RELATIONS] = {
		[SIMILAR_COPY] = INDEX_ALIKE,
		[SIMILAR_VERSION] = INDEX_ALIKE,
		[SIMILAR_WITHIN] = INDEX_WITHIN,
		[SIMILAR_CONTAINS] = INDEX_CONTAINS,
		[SIMILAR_SHARES] = INDEX_SHARES,
		[SIMILAR_BOILERPLATE] = INDEX_ALL,
	};
	int at;

	while ((at = (*at_io)++) < SIMILAR_RELATIONS) {
		if (!is_wanted(job, at) ||
		    (at == SIMILAR_VERSION && is_wanted(job, SIMILAR_COPY)))
			continue;
		*out = found_by[at];
		return true;
	}
	return false;
}

static enum similar_relation relation_of(const json_t *row)
{
	const char *name = json_string_value(json_object_get(row, "relation"));
	int r = 0;

	while (r + 1 < SIMILAR_RELATIONS &&
	       strcmp(name, similar_relation_names[r]) != 0)
		r++;
	return (enum similar_relation)r;
}

int64_t similar_number(const json_t *row, const char *key)
{
	const json_t *value = json_object_get(row, key);

	return json_is_integer(value) ? json_integer_value(value) : -1;
}

int similar_add(json_t *rows, const char *key, enum index_relation relation,
		bool is_boilerplate, json_t *row)
{
	const enum similar_relation r =
		relation == INDEX_WITHIN            ? SIMILAR_WITHIN :
		relation == INDEX_CONTAINS          ? SIMILAR_CONTAINS :
		relation == INDEX_SHARES            ? SIMILAR_SHARES :
		similar_number(row, "score") == 100 ? SIMILAR_COPY :
		is_boilerplate                      ? SIMILAR_BOILERPLATE :
						      SIMILAR_VERSION;
	int err = !row || !key ||
				  json_object_set_new(
					  row, "relation",
					  json_string(
						  similar_relation_names[r])) ?
			  -ENOMEM :
			  0;

	if (!err && !json_object_get(rows, key) &&
	    json_object_set_nocheck(rows, key, row))
		err = -ENOMEM;
	json_decref(row);
	return err;
}

void similar_set_measures(const struct similar_job *job,
			  const struct digests *d, json_t *row)
{
	struct measures m;
	int id;

	if (!job->output.verbose || measures_take(&job->digests, d, &m))
		return;
	for (id = 0; id < DIGEST_COUNT; id++)
		if (m.by_digest[id] >= 0 && id != DIGEST_XXH128 &&
		    (DIGEST_DEFAULT & DIGEST_BIT(id)))
			(void)json_object_set_new(
				row, digest_table[id]->name,
				json_integer(m.by_digest[id]));
	if (m.distance >= 0)
		(void)json_object_set_new(row, "simhash_distance",
					  json_integer(m.distance));
	if (m.matches >= 0)
		(void)json_object_set_new(row, "rdc_matches",
					  json_integer(m.matches));
}

/* ---- the list ---- */

/* Files here before those of other hosts. */
static int by_score(const void *a, const void *b)
{
	static const char *const keys[] = { "score", "shared" };
	const json_t *x = *(json_t *const *)a, *y = *(json_t *const *)b;
	int order = (int)relation_of(x) - (int)relation_of(y), i;
	int64_t m, n;

	for (i = 0; i < 2 && !order; i++) {
		m = similar_number(x, keys[i]);
		n = similar_number(y, keys[i]);
		order = m < n ? 1 : m > n ? -1 : 0;
	}
	if (!order)
		order = !!json_object_get(x, "host") -
			!!json_object_get(y, "host");
	if (order)
		return order;
	return strcmp(json_string_value(json_object_get(x, "path")),
		      json_string_value(json_object_get(y, "path")));
}

/* Adds what the file system knows of it.  False: it is the file itself. */
static bool look_at(const struct similar_job *job, json_t *row, const char *key)
{
	char *path = !job->in && *key != '/' ?
			     path_shown(job->mount.root, key, NULL) :
			     NULL;
	struct digests d = { 0 };
	struct stat st;
	bool other = true;

	if (path && !stat(path, &st)) {
		other = st.st_ino != job->self.st_ino ||
			st.st_dev != job->self.st_dev;
		if (S_ISREG(st.st_mode))
			(void)json_object_update_new(
				row,
				json_pack("{s:I, s:I}", "size",
					  (json_int_t)st.st_size, "on_disk",
					  (json_int_t)st.st_blocks * 512));
		(void)json_object_set_new(
			row, "mtime", row_time(timespec_to_ns(&st.st_mtim)));
		if (other && job->output.verbose && S_ISREG(st.st_mode)) {
			(void)cli_told_digests(path, DIGEST_DEFAULT, &d);
			similar_set_measures(job, &d, row);
			digests_release(&d);
		}
	}
	free(path);
	return other;
}

static bool is_listed(const struct similar_job *job, json_t *row,
		      const char *key)
{
	const bool is_elsewhere = *key == '/';

	return is_wanted(job, relation_of(row)) &&
	       (!job->within || is_elsewhere || path_below(key, job->within)) &&
	       look_at(job, row, key) &&
	       filter_takes(&job->filter,
			    key + is_elsewhere * strlen(SIMILAR_ELSEWHERE),
			    (uint64_t)similar_number(row, "size"));
}

/* With several operands each has a list of its own. */
static void print_heading(struct similar_job *job)
{
	if (!job->several || job->output.json || job->output.nul)
		return;
	if (job->found)
		putchar('\n');
	cli_print_escaped(job->path, ESCAPE_TERMINAL);
	puts(":");
	job->table.has_titles = false;
}

static int print_row(struct similar_job *job, json_t *row)
{
	int err = json_set_path(row, "of", job->of ? job->of : job->path);

	if (err)
		return err;
	return table_row(&job->table, json_incref(row)) ? 1 : 0;
}

int similar_print(struct similar_job *job)
{
	json_t **all = calloc(json_object_size(job->rows) + 1, sizeof(*all)),
	       *row;
	const char *key;
	size_t count = 0, i;
	int err = 0;

	if (!all)
		return -ENOMEM;
	json_object_foreach(job->rows, key, row)
	{
		if (is_listed(job, row, key))
			all[count++] = row;
	}
	qsort(all, count, sizeof(*all), by_score);
	if (job->best.limit && count > job->best.limit) {
		count = job->best.limit;
		job->cut = true;
	}
	if (count)
		print_heading(job);
	for (i = 0; i < count && !err; i++)
		err = print_row(job, all[i]);
	job->listed = count;
	job->found += count;
	free(all);
	return err;
}

/* ---- nothing was found ---- */

/* The value of an option, else that of the mount, else the one that kinfs takes by
 * itself. */
static uint64_t setting(const struct similar_job *job, uint64_t wish,
			const char *key, json_int_t otherwise)
{
	const json_int_t told =
		json_integer_value(json_object_get(job->mount.status, key));

	return wish ? wish : (uint64_t)(told > 0 ? told : otherwise);
}

int similar_threshold(const struct similar_job *job)
{
	return (int)setting(job, (uint64_t)job->best.threshold, "threshold",
			    60);
}

uint64_t similar_share_min(const struct similar_job *job)
{
	return setting(job, job->share_min, "share_min", INDEX_SHARE_MIN);
}

static char *shown(const struct similar_job *job, const json_t *row)
{
	char *path = json_get_path(row, "path");
	char *text = path ? path_shown(job->mount.root, path, job->table.base) :
			    NULL;

	free(path);
	return text;
}

static void append_passage(const struct similar_job *job, const json_t *longest,
			   struct buf *out)
{
	char size[TEXT_SIZE_ROOM], least[TEXT_SIZE_ROOM];
	struct sketch *sketch = malloc(sizeof(*sketch));
	char *path = shown(job, longest);

	(void)text_format_size((double)similar_share_min(job), TEXT_UNITS_BRIEF,
			       least);
	if (path)
		(void)buf_append_format(
			out, "; longest passage: %s, --share-min %s, %s",
			text_format_size(
				(double)similar_number(longest, "shared"),
				TEXT_UNITS_BRIEF, size),
			least, path);
	else if (sketch && !digests_sketch(&job->digests, sketch))
		(void)buf_append_format(
			out, "; no passage of %s or more, --share-min %s",
			text_format_size((double)judge_least_passage(sketch),
					 TEXT_UNITS_FULL, size),
			least);
	free(sketch);
	free(path);
}

/* The row of which the number is the largest, and more than 0; or NULL. */
static json_t *find_most(const struct similar_job *job, json_t *rows,
			 const char *number)
{
	json_t *most = NULL, *row;
	int64_t least = 0;
	const char *key;

	json_object_foreach(rows, key, row)
	{
		const int64_t value = similar_number(row, number);

		if (value > least && look_at(job, row, key)) {
			least = value;
			most = row;
		}
	}
	return most;
}

void similar_complain_near(const struct similar_job *job, json_t *alike,
			   json_t *sharing)
{
	const json_t *best = find_most(job, alike, "score"),
		     *longest = find_most(job, sharing, "shared");
	const int threshold = similar_threshold(job);
	const int64_t score = similar_number(best, "score");
	struct buf text = { 0 };
	char *path = shown(job, best);

	if (!path)
		(void)buf_append_text(&text, "nothing resembles it");
	else if (score < threshold)
		(void)buf_append_format(&text,
					"nearest: %lld, threshold %d, %s",
					(long long)score, threshold, path);
	else
		(void)buf_append_format(
			&text, "nearest: %lld, %s, %s", (long long)score,
			relation_of(best) == SIMILAR_BOILERPLATE ?
				"but mere boilerplate "
				"(--relation boilerplate)" :
				"which an option leaves out",
			path);
	if (!job->relation ||
	    !strcmp(job->relation, similar_relation_names[SIMILAR_SHARES]))
		append_passage(job, longest, &text);
	cli_complain(job->of ? job->of : job->path, "%s",
		     text.data ? text.data : "nothing resembles it");
	buf_release(&text);
	free(path);
}
