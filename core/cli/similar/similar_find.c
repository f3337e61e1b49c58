/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/text.h"
#include "core/cli/everywhere/everywhere.h"
#include "core/cli/groups/groups.h"
#include "core/cli/similar/similar.h"
#include "core/index/judge.h"

/* ---- a mount ---- */

/* Only what is known is taken: it may be another user's mount that answers. */
static int take_line(const struct similar_job *job,
		     enum index_relation relation, const char *near,
		     const json_t *line)
{
	const json_int_t score = similar_number(line, "score");
	const char *reason = json_string_value(json_object_get(line, "reason"));
	char *path = json_get_path(line, "path");
	json_t *row;
	int err = -EBADMSG;

	if (relation == INDEX_ALL &&
	    (!reason || strcmp(reason, "boilerplate") != 0))
		relation = INDEX_ALIKE;
	if (path && text_is_plain_path(path) && score >= 0 && score <= 100) {
		row = json_pack("{s:I, s:O*, s:O*, s:O*}", "score", score,
				"distinctive",
				json_object_get(line, "distinctive"), "by",
				json_object_get(line, "by"), "shared",
				json_object_get(line, "bytes"));
		err = similar_add(job, near, relation, job->mount.root, path,
				  row);
	}
	free(path);
	return err;
}

/*
 * Asks for the files in a relation to a content with job->digests, best first;
 * near, as similar_add() has it: for all of them, whatever they have in common.
 * A part is certain or not by the threshold, which is asked for then, too.
 * Files that are left out here must not take the room of those that are listed:
 * then the limit is applied here, too.
 */
static int ask(struct similar_job *job, enum index_relation relation,
	       const char *near)
{
	enum { MOST = 4096 };
	const struct filter *f = &job->filter;
	const bool all = near || f->include.count || f->exclude.count ||
			 f->min_size || job->within || job->best.limit > MOST ||
			 (relation == INDEX_ALL && job->best.limit);
	const bool any =
		near && (relation == INDEX_ALL || relation == INDEX_SHARES);
	struct lines c;
	int more = 1, err;

	err = client_ask(
		&c, job->mount.listings,
		json_pack("{s:s, s:I, s:o, s:b, s:i, s:I, s:I}", "relation",
			  index_relation_names[relation], "size",
			  (json_int_t)job->digests.size, "digests",
			  digests_to_json(&job->digests, UINT32_MAX), "ignore",
			  !near && !job->of, "threshold",
			  any ? 1 : job->rules.threshold, "share_min",
			  near ? 1 : (json_int_t)job->rules.share_min, "limit",
			  all ? MOST : (json_int_t)job->best.limit));
	while (!err && (more = client_next(&c)) > 0)
		err = take_line(job, relation, near, c.line);
	if (!err)
		err = more;
	if (!err && !json_is_true(json_object_get(c.line, "complete")))
		similar_set_incomplete(job);
	else if (!err && !near && json_is_true(json_object_get(c.line, "cut")))
		job->cut = true;
	lines_close(&c);
	if (err != -ENOENT && err != -EISDIR && err != -EINVAL)
		return err;
	return cli_complain(job->mount.root,
			    "its kinfs is too old to be asked this");
}

int similar_find_near(struct similar_job *job)
{
	int err = 0;

	if (job->why && job->relation &&
	    (similar_asks(job, INDEX_WITHIN) ||
	     similar_asks(job, INDEX_CONTAINS)))
		err = ask(job, job->relation->found_by, "score");
	if (!err && !json_object_get(job->near, "score"))
		err = ask(job, INDEX_ALL, "score");
	return err ? err : ask(job, INDEX_SHARES, "shared");
}

/* ---- other hosts ---- */

static int add_copies(const struct similar_job *job, const json_t *line)
{
	struct digests d = { 0 };
	const json_t *copy;
	size_t i;
	int err = digests_from_json(json_object_get(line, "digests"), &d);

	d.size = (uint64_t)json_integer_value(json_object_get(line, "size"));
	json_array_foreach(err ? NULL : json_object_get(line, "copies"), i,
			   copy) {
		char *name = everywhere_name(copy);
		json_t *row =
			json_pack("{s:I, s:I, s:O*}", "score",
				  (json_int_t)similar_number(line, "score"),
				  "size", (json_int_t)d.size, "host",
				  json_object_get(copy, "host"));

		similar_set_measures(job, &d, row);
		err = similar_add(job, NULL, INDEX_ALIKE, NULL, name, row);
		free(name);
		if (err)
			break;
	}
	digests_release(&d);
	return err == -EINVAL ? 0 : err;
}

static int ask_everywhere(struct similar_job *job)
{
	const uint32_t sent = ~DIGEST_BIT(DIGEST_SDHASH);
	struct lines c;
	const char *doubt;
	json_t *line;
	int err;

	/* A file that is not hashed has no digests to ask with. */
	if (!(job->digests.set & DIGEST_BIT(DIGEST_XXH128)))
		return 0;
	err = everywhere_ask(&c, &job->mount,
			     json_pack("{s:{s:I, s:o}, s:i}", "similar", "size",
				       (json_int_t)job->digests.size, "digests",
				       digests_to_json(&job->digests, sent),
				       "threshold", job->rules.threshold));
	while (!err && (line = everywhere_next(&c)))
		err = add_copies(job, line);
	doubt = everywhere_doubt(&c);
	if (!err && doubt && !*job->reason)
		(void)snprintf(job->reason, sizeof(job->reason),
			       "elsewhere: %s", doubt);
	lines_close(&c);
	return err;
}

int similar_find(struct similar_job *job)
{
	const bool is_known = job->digests.set && !*job->reason;
	int relation, err = 0;

	for (relation = 0; relation < INDEX_RELATIONS && !err; relation++)
		if (is_known && similar_asks(job, relation))
			err = ask(job, relation, NULL);
	return err || !job->everywhere ? err : ask_everywhere(job);
}

/* ---- an export ---- */

/* A row for each file of a content. */
static int add_files(const struct similar_job *job, const char *near,
		     const struct export_reader *r,
		     enum index_relation relation, const struct verdict *v)
{
	const struct found_member *m = export_member(r);
	const int64_t shared =
		relation == INDEX_SHARES ? (int64_t)v->bytes : -1;
	/* In text a root would say that something is there. */
	const char *root = job->table.output.json ? r->content.root : NULL;
	size_t i;
	int err = 0;

	for (i = 0; i < m->file_count && !err; i++) {
		json_t *row = json_pack(
			"{s:i, s:s, s:o*, s:I, s:o*}", "score", v->score, "by",
			subject_part_names[v->by], "shared", row_number(shared),
			"size", (json_int_t)m->size, "mtime",
			row_time(m->files[i].mtime_ns));

		if (!near)
			similar_set_measures(job, &r->digests, row);
		err = similar_add(job, near, relation, root,
				  m->files[i].names[0], row);
	}
	return err;
}

static int compare_content(const struct similar_job *job,
			   const struct export_reader *r)
{
	static const char *const nearest[INDEX_RELATIONS] = {
		[INDEX_ALIKE] = "score",
		[INDEX_SHARES] = "shared",
	};
	struct judge_rules rules = job->rules;
	struct verdict v;
	int relation, err = 0;

	for (relation = 0; relation < INDEX_RELATIONS && !err; relation++) {
		rules.relation = relation;
		/* Boilerplate is not told apart here. */
		if (relation == INDEX_ALL || !similar_asks(job, relation))
			continue;
		err = judge_digests(&job->digests, &r->digests, &rules, &v);
		if (!err && v.reason == VERDICT_LISTED)
			err = add_files(job, NULL, r, relation, &v);
		else if (!err && nearest[relation] && v.bytes)
			err = add_files(job, nearest[relation], r, relation,
					&v);
	}
	return err == -ENODATA ? 0 : err;
}

int similar_find_in(struct similar_job *job)
{
	struct export_reader r;
	int err = 0;

	export_open(&r, job->in);
	if (r.mount.root || r.err == -ENODEV)
		r.err = -EISDIR;
	while (!err && export_next(&r))
		err = compare_content(job, &r);
	if (!err)
		err = export_complain(&r);
	if (!err && !r.is_complete)
		similar_set_incomplete(job);
	export_close(&r);
	return err;
}
