/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/similar/similar.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/json.h"
#include "core/base/text.h"

/*
 * What resembles a file that is not in the mount: its digests are worked out
 * here and written to .similar/.query, which answers with paths.
 */

/* NULL without memory. */
static json_t *make_query(const struct similar_job *job)
{
	return json_pack("{s:s, s:I, s:o}", "relation",
			 index_relation_names[job->relation], "size",
			 (json_int_t)job->digests.size, "digests",
			 digests_to_json(&job->digests, UINT32_MAX));
}

/* ---- the answer ---- */

static enum verdict_reason reason_of(const json_t *line)
{
	const char *name = json_string_value(json_object_get(line, "reason"));
	int reason = VERDICT_REASONS;

	while (name && --reason > 0 &&
	       strcmp(name, verdict_reason_names[reason]) != 0)
		;
	return name ? (enum verdict_reason)reason : 0;
}

/* Without its path. */
static int parse_found(const json_t *line, struct similar_found *out)
{
	uint64_t score = UINT64_MAX, distinctive = 0, bytes = 0;
	int err = json_get_number(line, "score", 100, &score);

	if (!err)
		err = json_get_number(line, "distinctive", 100, &distinctive);
	if (!err)
		err = json_get_number(line, "bytes", INT64_MAX, &bytes);
	*out = (struct similar_found){
		.score = (int)score,
		.distinctive = json_object_get(line, "distinctive") ?
				       (int)distinctive :
				       -1,
		.bytes =
			json_object_get(line, "bytes") ? (json_int_t)bytes : -1,
		.reason = reason_of(line),
	};
	return err || score > 100 ? -EBADMSG : 0;
}

static int take_line(struct similar_job *job, const json_t *line,
		     similar_take_fn *take, void *arg)
{
	struct similar_found found;
	char *rel = json_get_path(line, "path"), *path = NULL;
	int err = parse_found(line, &found);

	if (!err && (!rel || !text_is_plain_path(rel)))
		err = -EBADMSG;
	if (!err)
		path = similar_path(job, rel);
	if (!err)
		found.path = path;
	if (!err)
		err = path ? take(arg, &found) : -ENOMEM;
	free(path);
	free(rel);
	return err;
}

static void look_end(struct similar_job *job, const json_t *end)
{
	if (!json_is_true(json_object_get(end, "complete")))
		(void)snprintf(job->reason, sizeof(job->reason), "incomplete");
	else if (json_is_true(json_object_get(end, "cut")))
		(void)snprintf(job->reason, sizeof(job->reason), "cut");
}

/* ---- all of it ---- */

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
	if (!err)
		return 0;
	cli_complain_errno(path, err);
	return 1;
}

int similar_ask(struct similar_job *job, similar_take_fn *take, void *arg)
{
	struct client_query c;
	int more = 1, err = client_ask(&c, job->listings, make_query(job));

	while (!err && (more = client_next(&c)) > 0)
		err = take_line(job, c.line, take, arg);
	if (!err)
		err = more;
	if (!err)
		look_end(job, c.line);
	client_close(&c);
	if (err != -ENOENT && err != -EISDIR)
		return err;
	cli_complain(job->mount.root,
		     "its kinfs is too old to search for files outside it");
	return 1;
}

static int show(void *arg, const struct similar_found *found)
{
	return similar_show(arg, found);
}

int similar_of(struct similar_job *job)
{
	int err = similar_digest(job, job->of);

	return err ? err : similar_ask(job, show, job);
}
