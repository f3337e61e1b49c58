/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/similar/similar.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/json.h"
#include "core/base/text.h"
#include "core/cli/everywhere/everywhere.h"

/*
 * What resembles a content: its digests, of the mount's own or worked out here,
 * are written to .similar/.query, which answers with paths; so does a kin-share.
 */

int similar_digest(struct similar_job *job, const char *path)
{
	struct reader reader;
	int err;

	if (reader_init(&reader, DIGEST_DEFAULT))
		return 1;
	err = reader_digest_named(&reader, path, true, &job->digests);
	reader_release(&reader);
	return err ? cli_complain_errno(path, err) : 0;
}

void similar_look_file(struct similar_job *job, const char *file)
{
	struct buf state = { 0 };

	if (!mount_get_attribute(file, STATE_ATTRIBUTE, &state) &&
	    strcmp(state.data, "fresh") != 0)
		(void)snprintf(job->reason, sizeof(job->reason), "%s",
			       state.data);
	buf_release(&state);
}

/* ---- the query ---- */

json_t *similar_settings(const struct similar_job *job, int threshold,
			 uint64_t share_min, uint64_t limit)
{
	const json_int_t most =
		limit < LIMIT_OF_FILTERS ? (json_int_t)limit : LIMIT_OF_FILTERS;

	return json_pack("{s:o*, s:o*, s:o*, s:o*}", "ignore",
			 job->of ? NULL : json_true(), "threshold",
			 threshold ? json_integer(threshold) : NULL,
			 "share_min",
			 share_min ? json_integer((json_int_t)share_min) : NULL,
			 "limit", limit ? json_integer(most) : NULL);
}

/* ---- the answer ---- */

/* Only what is known is taken: it may be another user's mount that answers. */
static int take_line(const struct similar_job *job,
		     enum index_relation relation, const json_t *line,
		     json_t *rows)
{
	const char *reason = json_string_value(json_object_get(line, "reason"));
	const json_int_t score = similar_number(line, "score");
	char *path = json_get_path(line, "path");
	const bool is_good =
		path && text_is_plain_path(path) && score >= 0 && score <= 100;
	json_t *row =
		json_pack("{s:I, s:O*, s:O*, s:O*}", "score", score,
			  "distinctive", json_object_get(line, "distinctive"),
			  "by", json_object_get(line, "by"), "shared",
			  json_object_get(line, "bytes"));
	int err = is_good ? 0 : -EBADMSG;

	if (!err && (!row || json_set_path(row, "path", path) ||
		     json_set_path(row, "root", job->mount.root)))
		err = -ENOMEM;
	if (!err)
		err = similar_add(rows, path, relation,
				  reason && !strcmp(reason, "boilerplate"),
				  json_incref(row));
	json_decref(row);
	free(path);
	return err;
}

int similar_ask(struct similar_job *job, enum index_relation relation,
		json_t *settings, json_t *rows)
{
	json_t *query = json_pack("{s:s, s:I, s:o}", "relation",
				  index_relation_names[relation], "size",
				  (json_int_t)job->digests.size, "digests",
				  digests_to_json(&job->digests, UINT32_MAX));
	struct client_query c;
	int more = 1, err;

	(void)json_object_update_new(query, settings);
	err = client_ask(&c, job->mount.listings, query);
	while (!err && (more = client_next(&c)) > 0)
		err = take_line(job, relation, c.line, rows);
	if (!err)
		err = more;
	if (!err && !json_is_true(json_object_get(c.line, "complete")))
		(void)snprintf(job->reason, sizeof(job->reason), "incomplete");
	else if (!err && json_is_true(json_object_get(c.line, "cut")))
		job->cut = true;
	client_close(&c);
	if (err != -ENOENT && err != -EISDIR && err != -EINVAL)
		return err;
	return cli_complain(job->mount.root,
			    "its kinfs is too old to be asked this");
}

/* ---- other hosts ---- */

static int add_copies(const struct similar_job *job, const json_t *line,
		      const struct digests *d)
{
	const json_t *copy;
	json_t *row;
	char *name, *key;
	size_t i;
	int err = 0;

	json_array_foreach(json_object_get(line, "copies"), i, copy)
	{
		name = everywhere_name(copy);
		row = json_pack("{s:I, s:I, s:O*}", "score",
				(json_int_t)similar_number(line, "score"),
				"size", (json_int_t)d->size, "host",
				json_object_get(copy, "host"));
		if (row)
			similar_set_measures(job, d, row);
		if (!row || !name || json_set_path(row, "path", name)) {
			json_decref(row);
			row = NULL;
		}
		if (!name || asprintf(&key, SIMILAR_ELSEWHERE "%s", name) < 0)
			key = NULL;
		err = similar_add(job->rows, key, INDEX_ALIKE, false, row);
		free(name);
		free(key);
		if (err)
			break;
	}
	return err;
}

static int ask_everywhere(struct similar_job *job)
{
	const uint32_t sent = ~DIGEST_BIT(DIGEST_SDHASH);
	struct everywhere e;
	struct digests d;
	json_t *line;
	int err;

	/* A file that is not hashed has no digests to ask with. */
	if (!(job->digests.set & DIGEST_BIT(DIGEST_XXH128)) ||
	    !job->digests.size)
		return 0;
	err = everywhere_ask(&e, &job->mount,
			     json_pack("{s:{s:I, s:o}, s:i}", "similar", "size",
				       (json_int_t)job->digests.size, "digests",
				       digests_to_json(&job->digests, sent),
				       "threshold", similar_threshold(job)));
	while (!err && (line = everywhere_next(&e))) {
		d = (struct digests){ 0 };
		err = digests_from_json(json_object_get(line, "digests"), &d);
		d.size = (uint64_t)json_integer_value(
			json_object_get(line, "size"));
		err = err == -EINVAL ? 0 : err ?: add_copies(job, line, &d);
		digests_release(&d);
	}
	if (!err && *e.reason && !*job->reason)
		(void)snprintf(job->reason, sizeof(job->reason),
			       "elsewhere: %s", e.reason);
	client_close(&e.answer);
	return err;
}

/* ---- all relations ---- */

static int tell_near(struct similar_job *job)
{
	const bool cut = job->cut;
	json_t *alike = json_object(), *sharing = json_object();
	/* Of copies that are equally near the first by name is told, which
	 * the limit must not cut. */
	int err = similar_ask(job, INDEX_ALL, similar_settings(job, 1, 0, 64),
			      alike);

	if (!err)
		err = similar_ask(job, INDEX_SHARES,
				  similar_settings(job, 0, 1, 64), sharing);
	if (!err)
		similar_complain_near(job, alike, sharing);
	json_decref(alike);
	json_decref(sharing);
	job->cut = cut;
	return err;
}

/* Sets what the file is, and its digests. */
static int look_at(struct similar_job *job)
{
	char *file;

	if (job->of)
		return similar_digest(job, job->of);
	file = path_shown(job->mount.root, job->mount.rel, NULL);
	if (!file)
		return -ENOMEM;
	(void)cli_told_digests(file, DIGEST_DEFAULT, &job->digests);
	similar_look_file(job, file);
	if (stat(file, &job->self))
		(void)snprintf(job->reason, sizeof(job->reason), "gone");
	free(file);
	return 0;
}

int similar_file(struct similar_job *job)
{
	const struct filter *f = &job->filter;
	enum index_relation relation;
	uint64_t limit = 0;
	int at = 0, err = look_at(job);
	const bool is_known =
		!err && !*job->reason && job->digests.size && job->digests.set;

	if (f->include.count || f->exclude.count || f->min_size || job->within)
		limit = LIMIT_OF_FILTERS;
	else if (job->best.limit) /* one more may be the file itself */
		limit = job->best.limit + 1;
	while (is_known && !err && similar_next(job, &at, &relation))
		err = similar_ask(job, relation,
				  similar_settings(job, job->best.threshold,
						   job->share_min, limit),
				  job->rows);
	if (!err && job->everywhere)
		err = ask_everywhere(job);
	if (!err)
		err = similar_print(job);
	if (!err && is_known && !job->listed && !job->everywhere &&
	    !*job->reason)
		err = tell_near(job);
	return err;
}
