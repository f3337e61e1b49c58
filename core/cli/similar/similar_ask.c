/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/similar/similar.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/json.h"
#include "core/base/text.h"

/*
 * What resembles a content: its digests, of the mount's own or worked out here,
 * are written to .similar/.query, which answers with paths.
 */

/* A filter that kin applies must not be starved by the mount's limit. */
enum { LIMIT_OF_FILTERS = 4096 };

int similar_digest(struct similar_job *job, const char *path)
{
	struct reader reader;
	int err;

	if (reader_init(&reader, DIGEST_DEFAULT))
		return 1;
	if (!strcmp(path, "-"))
		err = reader_digest_fd(&reader, STDIN_FILENO, "stdin",
				       &job->digests);
	else
		err = reader_digest_path(&reader, path, true, &job->digests);
	reader_release(&reader);
	if (!err && strcmp(path, "-") != 0)
		cli_add_text(path, &job->digests);
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

/* NULL without memory. */
static json_t *make_query(const struct similar_job *job,
			  const struct similar_question *q)
{
	const uint64_t limit =
		q->limit < LIMIT_OF_FILTERS ? q->limit : LIMIT_OF_FILTERS;
	json_t *query = json_pack("{s:s, s:I, s:o}", "relation",
				  index_relation_names[q->relation], "size",
				  (json_int_t)job->digests.size, "digests",
				  digests_to_json(&job->digests, UINT32_MAX));

	if (!job->of && !q->all)
		(void)json_object_set_new(query, "ignore", json_true());
	if (q->threshold)
		(void)json_object_set_new(query, "threshold",
					  json_integer(q->threshold));
	if (q->share_min)
		(void)json_object_set_new(
			query, "share_min",
			json_integer((json_int_t)q->share_min));
	if (limit)
		(void)json_object_set_new(query, "limit",
					  json_integer((json_int_t)limit));
	return query;
}

/* ---- the answer ---- */

static int64_t number_of(const json_t *line, const char *key)
{
	uint64_t value = 0;

	if (!json_object_get(line, key) ||
	    json_get_number(line, key, INT64_MAX, &value))
		return -1;
	return (int64_t)value;
}

static int take_line(struct similar_job *job, enum index_relation relation,
		     const json_t *line, struct similar_hits *out)
{
	const char *name = json_string_value(json_object_get(line, "reason"));
	const int64_t score = number_of(line, "score");
	int reason = name ? VERDICT_REASONS - 1 : 0, err = -EBADMSG;
	struct similar_hit hit = {
		.score = (int)score,
		.distinctive = (int)number_of(line, "distinctive"),
		.shared = number_of(line, "bytes"),
		.by_text = json_object_get(line, "by") != NULL,
		.path = json_get_path(line, "path"),
		.root = job->mount.root,
		.size = -1,
		.on_disk = -1,
	};

	while (reason > 0 && strcmp(name, verdict_reason_names[reason]) != 0)
		reason--;
	hit.relation = similar_relation_of(relation, hit.score,
					   (enum verdict_reason)reason);
	if (hit.path && text_is_plain_path(hit.path) && score >= 0 &&
	    score <= 100)
		err = similar_hits_add(out, &hit);
	free(hit.path);
	return err;
}

int similar_ask(struct similar_job *job, const struct similar_question *q,
		struct similar_hits *out)
{
	struct client_query c;
	int more = 1,
	    err = client_ask(&c, job->mount.listings, make_query(job, q));

	while (!err && (more = client_next(&c)) > 0)
		err = take_line(job, q->relation, c.line, out);
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

/* ---- all relations ---- */

static int tell_near(struct similar_job *job)
{
	/* Of copies that are equally near the first by name is told, which
	 * the limit must not cut. */
	static const struct similar_question questions[] = {
		{ .relation = INDEX_ALL, .threshold = 1, .limit = 64 },
		{ .relation = INDEX_SHARES, .share_min = 1, .limit = 64 },
	};
	const bool cut = job->cut;
	struct similar_hits near = { 0 };
	int err = similar_ask(job, &questions[0], &near);

	if (!err)
		err = similar_ask(job, &questions[1], &near);
	if (!err)
		similar_complain_near(job, &near);
	similar_hits_release(&near);
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
	struct similar_question q = { .threshold = job->best.threshold,
				      .share_min = job->share_min };
	int at = 0, err = look_at(job);
	const bool is_known =
		!err && !*job->reason && job->digests.size && job->digests.set;

	if (f->include.count || f->exclude.count || f->min_size || job->within)
		q.limit = LIMIT_OF_FILTERS;
	else if (job->best.limit) /* one more may be the file itself */
		q.limit = job->best.limit + 1;
	while (is_known && !err && similar_next(job, &at, &q.relation))
		err = similar_ask(job, &q, &job->hits);
	if (!err && job->everywhere)
		err = similar_everywhere(job);
	if (!err)
		err = similar_print(job);
	if (!err && is_known && !job->hits.count && !job->everywhere &&
	    !*job->reason)
		err = tell_near(job);
	return err;
}
