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

/* In the order of the list, as the scores of two relations are shares of different
 * files. */
static const struct similar_relation relations[] = {
	{ "copy", INDEX_ALIKE }, /* by a score of 100 */
	{ "version", INDEX_ALIKE },     { "within", INDEX_WITHIN },
	{ "contains", INDEX_CONTAINS }, { "shares", INDEX_SHARES },
	{ "boilerplate", INDEX_ALL }, /* if asked for by name alone */
};

const struct similar_relation *similar_relation_find(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(relations) / sizeof(relations[0]); i++)
		if (!strcmp(name, relations[i].name))
			return &relations[i];
	return NULL;
}

static const struct similar_relation *relation_of(const json_t *row)
{
	return similar_relation_find(
		json_string_value(json_object_get(row, "relation")));
}

int64_t similar_number(const json_t *row, const char *key)
{
	const json_t *value = json_object_get(row, key);

	return json_is_integer(value) ? json_integer_value(value) : -1;
}

json_t *similar_row(const struct similar_job *job, enum index_relation relation,
		    const char *root, const char *path, json_t *row)
{
	const struct similar_relation *r = relations;

	r += similar_number(row, "score") != 100;
	while (r->found_by != relation)
		r++;
	row = json_with_path(row, "of", job->name);
	row = json_with_path(row, "path", path);
	row = json_with_path(row, "root", root);
	if (!json_object_set_new(row, "relation", json_string(r->name)))
		return row;
	json_decref(row);
	return NULL;
}

void similar_set_measures(const struct similar_job *job,
			  const struct digests *d, json_t *row)
{
	struct measures m;
	int id;

	if (!job->table.output.verbose || measures_take(&job->digests, d, &m))
		return;
	for (id = 0; id < DIGEST_COUNT; id++)
		if (m.by_digest[id] >= 0 && id != DIGEST_XXH128)
			(void)json_object_set_new(
				row, digest_table[id]->name,
				json_integer(m.by_digest[id]));
	(void)json_object_update_new(
		row, json_pack("{s:o*, s:o*}", "simhash_distance",
			       row_number(m.distance), "rdc_matches",
			       row_number(m.matches)));
}

/* ---- what is taken ---- */

/* Adds what the file system knows of a path of the mount.  False: it is the file
 * itself. */
static bool look_at(const struct similar_job *job, json_t *row,
		    const char *path)
{
	struct digests d = { 0 };
	struct stat st;
	bool is_file;

	if (job->in || json_object_get(row, "host") || stat(path, &st))
		return true;
	if (st.st_ino == job->self.st_ino && st.st_dev == job->self.st_dev)
		return false;
	is_file = S_ISREG(st.st_mode);
	(void)json_object_update_new(
		row, json_pack("{s:o*, s:o*, s:o*}", "size",
			       row_number(is_file ? st.st_size : -1), "on_disk",
			       row_number(is_file ? st.st_blocks * 512 : -1),
			       "mtime", row_time(timespec_to_ns(&st.st_mtim))));
	if (is_file && job->table.output.verbose) {
		(void)cli_told_digests(path, DIGEST_DEFAULT, &d);
		similar_set_measures(job, &d, row);
		digests_release(&d);
	}
	return true;
}

static bool is_nearer(const struct similar_job *job, const char *near,
		      const json_t *row)
{
	const int64_t number = similar_number(row, near);

	return number > 0 &&
	       number > similar_number(json_object_get(job->near, near), near);
}

/* Whether the filters leave a row in the list.  path: below the root; at: with
 * it. */
static bool is_listed(const struct similar_job *job, json_t *row,
		      const char *path, const char *at)
{
	return (!job->within || json_object_get(row, "host") ||
		path_below(path, job->within)) &&
	       look_at(job, row, at) &&
	       filter_takes(&job->filter, path,
			    (uint64_t)similar_number(row, "size"));
}

int similar_add(const struct similar_job *job, const char *near,
		enum index_relation relation, const char *root,
		const char *path, json_t *row)
{
	char *at = path ? path_shown(root, path, false) : NULL;
	json_t *rows = near ? job->near : job->rows;
	bool wanted = false;
	int err = 0;

	row = similar_row(job, relation, root, path, row);
	if (!row || !at)
		err = -ENOMEM;
	else if (job->why && strcmp(path, job->other_rel) != 0)
		wanted = false;
	else if (near)
		wanted = is_nearer(job, near, row) &&
			 (job->why || look_at(job, row, at));
	else
		wanted =
			!json_object_get(rows, at) &&
			(!job->relation || relation_of(row) == job->relation) &&
			(job->why || is_listed(job, row, path, at));
	if (wanted && json_object_set_nocheck(rows, near ? near : at, row))
		err = -ENOMEM;
	json_decref(row);
	free(at);
	return err;
}

/* ---- the list ---- */

static int most_first(const json_t *x, const json_t *y, const char *key)
{
	const int64_t m = similar_number(x, key), n = similar_number(y, key);

	return (m < n) - (m > n);
}

/* Files here before those of other hosts. */
static int by_score(const void *a, const void *b)
{
	const json_t *x = *(json_t *const *)a, *y = *(json_t *const *)b;

	return (int)(relation_of(x) - relation_of(y)) ?:
		       most_first(x, y, "score")      ?:
		       most_first(x, y, "shared")     ?:
		       !!json_object_get(x, "host") - !!json_object_get(y, "host") ?:
		       strcmp(json_string_value(json_object_get(x, "path")),
			      json_string_value(json_object_get(y, "path")));
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

static bool is_boilerplate(const json_t *row)
{
	return relation_of(row)->found_by == INDEX_ALL;
}

void similar_complain_near(const struct similar_job *job)
{
	const json_t *best = json_object_get(job->near, "score"),
		     *longest = json_object_get(job->near, "shared");
	const int score = (int)similar_number(best, "score");
	const bool by_passage = similar_asks(job, INDEX_SHARES);
	char *path = shown(job, best),
	     *passage = by_passage ? shown(job, longest) : NULL;
	char size[TEXT_SIZE_ROOM], least[TEXT_SIZE_ROOM];
	struct buf text = { 0 };
	struct sketch sketch;

	if (!path)
		(void)buf_append_text(&text, "nothing resembles it");
	else if (score < job->rules.threshold)
		(void)buf_append_format(&text, "nearest: %d, threshold %d, %s",
					score, job->rules.threshold, path);
	else
		(void)buf_append_format(
			&text, "nearest: %d, %s, %s", score,
			is_boilerplate(best) ?
				"but mere boilerplate "
				"(--relation boilerplate)" :
				"which an option or kin ignore leaves out",
			path);
	(void)text_format_size((double)job->rules.share_min, TEXT_UNITS_BRIEF,
			       least);
	if (passage)
		(void)buf_append_format(
			&text, "; longest passage: %s, --share-min %s, %s",
			text_format_size(
				(double)similar_number(longest, "shared"),
				TEXT_UNITS_BRIEF, size),
			least, passage);
	else if (by_passage && !digests_sketch(&job->digests, &sketch))
		(void)buf_append_format(
			&text, "; no passage of %s or more, --share-min %s",
			text_format_size((double)judge_least_passage(&sketch),
					 TEXT_UNITS_FULL, size),
			least);
	cli_complain(job->name, "%s", text.data ? text.data : "");
	buf_release(&text);
	free(path);
	free(passage);
}

/* ---- --why ---- */

/* Why a pair is not listed, as JSON and in words.  alike: by the score, or NULL;
 * sharing: by passages, or NULL. */
static const char *const *reason_of(const struct similar_job *job,
				    const json_t *alike, const json_t *sharing)
{
	enum why_not { SHORT, BELOW, BOILERPLATE, RELATION, CUT, IGNORED };
	static const char *const reasons[][2] = {
		[SHORT] = { "short", "the passages in common are too short" },
		[BELOW] = { "below", "the score is below the threshold" },
		[BOILERPLATE] = { "boilerplate", "mere boilerplate" },
		[RELATION] = { "relation", "it is in another relation" },
		[CUT] = { "cut",
			  "more files are alike than the mount's limit" },
		[IGNORED] = { "ignored",
			      "the pair is ignored, see kin ignore --list" },
	};

	if (job->relation && similar_asks(job, INDEX_SHARES)) {
		if (similar_number(sharing, "shared") <
		    (int64_t)job->rules.share_min)
			return reasons[SHORT];
	} else if (!alike ||
		   similar_number(alike, "score") < job->rules.threshold) {
		return reasons[BELOW];
	} else if (!job->relation || relation_of(alike) != job->relation) {
		if (is_boilerplate(alike))
			return reasons[BOILERPLATE];
		if (job->relation)
			return reasons[RELATION];
	}
	return reasons[job->cut ? CUT : IGNORED];
}

/* Says of a text that was not read, or not all of it, what became of it. */
static void print_doubt(const char *path)
{
	struct buf text = { 0 };

	if (!mount_get_attribute(path, TEXT_ATTRIBUTE, &text) &&
	    strcmp(text.data, "yes") != 0 && strcmp(text.data, "none") != 0) {
		fputs("; text of ", stdout);
		utf8_print_safe(stdout, path);
		printf(": %s", text.data);
	}
	buf_release(&text);
}

int similar_print_why(const struct similar_job *job)
{
	json_t *listed = json_object_iter_value(json_object_iter(job->rows)),
	       *alike = json_object_get(job->near, "score"),
	       *sharing = json_object_get(job->near, "shared"), *row;
	const char *const *reason = reason_of(job, alike, sharing);
	const char *by = NULL;
	int64_t distinctive, shared;
	char size[TEXT_SIZE_ROOM];

	if (listed || alike)
		row = json_copy(listed ? listed : alike);
	else /* the mount does not bring the pair together */
		row = similar_row(job, INDEX_ALIKE, job->mount.root,
				  job->other_rel,
				  json_pack("{s:i}", "score", 0));
	if (!row)
		return -ENOMEM;
	(void)json_object_update_new(
		row, json_pack("{s:O*, s:i, s:I, s:s, s:O*}", "distinctive",
			       json_object_get(alike, "distinctive"),
			       "threshold", job->rules.threshold, "share_min",
			       (json_int_t)job->rules.share_min, "reason",
			       listed ? "listed" : reason[0], "shared",
			       json_object_get(sharing, "shared")));
	if (!listed)
		(void)json_object_del(row, "relation");
	if (job->table.output.json)
		return cli_print_json(row);
	distinctive = similar_number(row, "distinctive");
	shared = similar_number(row, "shared");
	by = json_string_value(json_object_get(row, "by"));
	if (by && !strcmp(by, subject_part_names[SUBJECT_BYTES]))
		by = NULL;
	printf("%slisted: %s; score %lld, threshold %d%s%s",
	       listed ? "" : "not ",
	       listed ? relation_of(row)->name : reason[1],
	       (long long)similar_number(row, "score"), job->rules.threshold,
	       by ? ", by " : "", by ? by : "");
	if (distinctive >= 0)
		printf(", distinctive %lld", (long long)distinctive);
	if (shared > 0)
		printf("; passages of about %s",
		       text_format_size((double)shared, TEXT_UNITS_BRIEF,
					size));
	else
		fputs("; no passage that can be told", stdout);
	printf(", share_min %s", text_format_size((double)job->rules.share_min,
						  TEXT_UNITS_BRIEF, size));
	print_doubt(job->path);
	print_doubt(job->other);
	putchar('\n');
	json_decref(row);
	return 0;
}
