/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/similar/similar.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/base/text.h"
#include "core/base/utf8.h"

/* ---- relations ---- */

const char *const similar_relation_names[SIMILAR_RELATIONS] = {
	[SIMILAR_ANY] = "",
	[SIMILAR_COPY] = "copy",
	[SIMILAR_VERSION] = "version",
	[SIMILAR_WITHIN] = "within",
	[SIMILAR_CONTAINS] = "contains",
	[SIMILAR_SHARES] = "shares",
	[SIMILAR_BOILERPLATE] = "boilerplate",
};

static enum similar_relation relation_of(const json_t *row)
{
	const char *name = json_string_value(json_object_get(row, "relation"));
	int r = SIMILAR_BOILERPLATE;

	while (r && strcmp(name, similar_relation_names[r]) != 0)
		r--;
	return (enum similar_relation)r;
}

int64_t similar_number(const json_t *row, const char *key)
{
	const json_t *value = json_object_get(row, key);

	return json_is_integer(value) ? json_integer_value(value) : -1;
}

#define ELSEWHERE "//" /* begins the key of a row of another host */

int similar_add(const struct similar_job *job, json_t *rows,
		enum index_relation relation, const char *root,
		const char *path, json_t *row)
{
	const char *reason = json_string_value(json_object_get(row, "reason"));
	const enum similar_relation r =
		relation == INDEX_WITHIN                 ? SIMILAR_WITHIN :
		relation == INDEX_CONTAINS               ? SIMILAR_CONTAINS :
		relation == INDEX_SHARES                 ? SIMILAR_SHARES :
		similar_number(row, "score") == 100      ? SIMILAR_COPY :
		reason && !strcmp(reason, "boilerplate") ? SIMILAR_BOILERPLATE :
							   SIMILAR_VERSION;
	char *key;
	int err = 0;

	if (!path ||
	    asprintf(&key, "%s%s",
		     json_object_get(row, "host") ? ELSEWHERE : "", path) < 0)
		key = NULL;
	(void)json_object_del(row, "reason");
	if (!key || json_set_path(row, "of", job->name) ||
	    json_set_path(row, "path", path) ||
	    (root && json_set_path(row, "root", root)) ||
	    json_object_set_new(row, "relation",
				json_string(similar_relation_names[r])) ||
	    (!json_object_get(rows, key) &&
	     json_object_set_nocheck(rows, key, row)))
		err = -ENOMEM;
	free(key);
	json_decref(row);
	return err;
}

void similar_set_measures(const struct similar_job *job,
			  const struct digests *d, json_t *row)
{
	struct measures m;
	int id;

	if (!job->table.output.verbose || measures_take(&job->digests, d, &m))
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
		order = (m < n) - (m > n);
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
			     path_shown(job->mount.root, key, false) :
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
		if (other && job->table.output.verbose && S_ISREG(st.st_mode)) {
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
	const enum similar_relation r = relation_of(row);
	const char *path = *key == '/' ? key + strlen(ELSEWHERE) : key;

	return (job->relation ? r == job->relation :
				r != SIMILAR_BOILERPLATE) &&
	       (!job->within || *key == '/' || path_below(key, job->within)) &&
	       look_at(job, row, key) &&
	       filter_takes(&job->filter, path,
			    (uint64_t)similar_number(row, "size"));
}

/* With several operands each has a list of its own. */
static void print_heading(struct similar_job *job)
{
	if (!job->several || job->table.output.json || job->table.output.nul)
		return;
	if (job->table.rows)
		putchar('\n');
	utf8_print_safe(stdout, job->path);
	puts(":");
	job->table.has_titles = false;
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
	json_object_foreach(job->rows, key, row) {
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
		err = table_row(&job->table, json_incref(all[i]));
	free(all);
	return err;
}

/* ---- what is not in it ---- */

static char *shown(const struct similar_job *job, const json_t *row)
{
	char *path = json_get_path(row, "path");
	char *text =
		path ? path_shown(job->mount.root, path, job->table.relative) :
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

	(void)text_format_size((double)job->rules.share_min, TEXT_UNITS_BRIEF,
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
	const char *key;

	json_object_foreach(rows, key, row) {
		if (similar_number(row, number) >
			    (most ? similar_number(most, number) : 0) &&
		    look_at(job, row, key))
			most = row;
	}
	return most;
}

void similar_complain_near(const struct similar_job *job)
{
	const json_t *best = find_most(job, job->alike, "score"),
		     *longest = find_most(job, job->sharing, "shared");
	const int score = (int)similar_number(best, "score");
	struct buf text = { 0 };
	char *path = shown(job, best);

	if (!path)
		(void)buf_append_text(&text, "nothing resembles it");
	else if (score < job->rules.threshold)
		(void)buf_append_format(&text, "nearest: %d, threshold %d, %s",
					score, job->rules.threshold, path);
	else
		(void)buf_append_format(
			&text, "nearest: %d, %s, %s", score,
			relation_of(best) == SIMILAR_BOILERPLATE ?
				"but mere boilerplate "
				"(--relation boilerplate)" :
				"which an option or kin ignore leaves out",
			path);
	if (!job->relation || job->relation == SIMILAR_SHARES)
		append_passage(job, longest, &text);
	cli_complain(job->name, "%s", text.data ? text.data : "");
	buf_release(&text);
	free(path);
}

/* ---- --why ---- */

/* As JSON, and in words. */
static const char *const *reason_of(const struct similar_job *job,
				    const json_t *listed, const json_t *known,
				    const json_t *sharing)
{
	enum why_not { LISTED, SHORT, BELOW, BOILERPLATE, CUT, IGNORED };
	static const char *const reasons[][2] = {
		[LISTED] = { "listed", "" },
		[SHORT] = { "short", "the passages in common are too short" },
		[BELOW] = { "below", "the score is below the threshold" },
		[BOILERPLATE] = { "boilerplate", "mere boilerplate" },
		[CUT] = { "cut",
			  "more files are alike than the mount's limit" },
		[IGNORED] = { "ignored",
			      "the pair is ignored, see kin ignore --list" },
	};
	const bool passages = job->relation == SIMILAR_SHARES;
	const int64_t have = passages ? similar_number(sharing, "shared") :
					similar_number(known, "score");
	const int64_t least =
		passages ? (int64_t)job->rules.share_min : job->rules.threshold;

	if (listed)
		return reasons[LISTED];
	if (have < least)
		return reasons[passages ? SHORT : BELOW];
	if (!passages && relation_of(known) == SIMILAR_BOILERPLATE)
		return reasons[BOILERPLATE];
	return reasons[job->cut ? CUT : IGNORED];
}

static void print_why(const json_t *row, const char *reason)
{
	const int64_t distinctive = similar_number(row, "distinctive"),
		      shared = similar_number(row, "shared");
	const char *relation =
		json_string_value(json_object_get(row, "relation"));
	char size[TEXT_SIZE_ROOM];

	printf("%slisted: %s; score %lld, threshold %lld",
	       relation ? "" : "not ", relation ? relation : reason,
	       (long long)similar_number(row, "score"),
	       (long long)similar_number(row, "threshold"));
	if (json_object_get(row, "by"))
		fputs(", by text", stdout);
	if (distinctive >= 0)
		printf(", distinctive %lld", (long long)distinctive);
	if (shared > 0)
		printf("; passages of about %s",
		       text_format_size((double)shared, TEXT_UNITS_BRIEF,
					size));
	else
		fputs("; no passage that can be told", stdout);
	printf(", share_min %s\n",
	       text_format_size((double)similar_number(row, "share_min"),
				TEXT_UNITS_BRIEF, size));
}

int similar_print_why(const struct similar_job *job)
{
	json_t *listed = json_object_get(job->rows, job->other_rel),
	       *sharing = json_object_get(job->sharing, job->other_rel), *known,
	       *row;
	const char *const *reason;

	/* The score of a pair that the mount does not bring together is 0. */
	if (similar_add(job, job->alike, INDEX_ALIKE, job->mount.root,
			job->other_rel, json_pack("{s:i}", "score", 0)))
		return -ENOMEM;
	known = json_object_get(job->alike, job->other_rel);
	reason = reason_of(job, listed, known, sharing);
	row = json_copy(listed ? listed : known);
	(void)json_object_update_new(
		row,
		json_pack("{s:O*, s:i, s:I, s:s, s:O*}", "distinctive",
			  json_object_get(known, "distinctive"), "threshold",
			  job->rules.threshold, "share_min",
			  (json_int_t)job->rules.share_min, "reason", reason[0],
			  "shared", json_object_get(sharing, "shared")));
	if (!listed)
		(void)json_object_del(row, "relation");
	if (job->table.output.json)
		return cli_print_json(row);
	print_why(row, reason[1]);
	json_decref(row);
	return 0;
}
