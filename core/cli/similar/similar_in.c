/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/cli/groups/groups.h"
#include "core/cli/similar/similar.h"
#include "core/index/judge.h"

/*
 * kin similar --in: what of an export resembles a file.  The export is read
 * once, and each of its contents is compared with the file.
 */

struct in_search {
	struct similar_job *job;
	/* Of pairs that are not listed, each nearer than those before. */
	json_t *alike, *sharing;
	int nearest;
	uint64_t longest;
};

/* A row for each name of a content. */
static int add(const struct similar_job *job, json_t *rows,
	       const struct export_reader *r, enum index_relation relation,
	       const struct verdict *v)
{
	const struct found_member *m = export_member(r);
	const int64_t shared =
		relation == INDEX_SHARES ? (int64_t)v->bytes : -1;
	json_t *row;
	size_t i;
	int err = 0;

	for (i = 0; i < m->file_count && !err; i++) {
		row = json_pack("{s:i, s:o*, s:I, s:o}", "score", v->score,
				"shared", row_number(shared), "size",
				(json_int_t)m->size, "mtime",
				row_time(m->files[i].mtime_ns));
		if (row)
			similar_set_measures(job, &r->digests, row);
		/* In text a root would say that something is there. */
		if (!row || json_set_path(row, "path", m->files[i].path) ||
		    (job->output.json && r->content.root &&
		     json_set_path(row, "root", r->content.root))) {
			json_decref(row);
			row = NULL;
		}
		err = similar_add(rows, m->files[i].path, relation,
				  v->reason == VERDICT_BOILERPLATE, row);
	}
	return err;
}

/* Of a pair that is not listed. */
static int keep_near(struct in_search *in, const struct export_reader *r,
		     enum index_relation relation, const struct verdict *v)
{
	if (relation == INDEX_ALIKE && v->score > in->nearest) {
		in->nearest = v->score;
		return add(in->job, in->alike, r, relation, v);
	}
	if (relation == INDEX_SHARES && v->bytes > in->longest) {
		in->longest = v->bytes;
		return add(in->job, in->sharing, r, relation, v);
	}
	return 0;
}

static int compare_content(struct in_search *in, const struct export_reader *r)
{
	struct similar_job *job = in->job;
	struct judge_rules rules = {
		.threshold = similar_threshold(job),
		.share_min = similar_share_min(job),
	};
	struct verdict v;
	int at = 0, err = 0;

	while (!err && similar_next(job, &at, &rules.relation)) {
		err = judge_digests(&job->digests, &r->digests, &rules, &v);
		if (err)
			return err == -ENODATA ? 0 : err;
		if (v.reason == VERDICT_LISTED)
			err = add(job, job->rows, r, rules.relation, &v);
		else
			err = keep_near(in, r, rules.relation, &v);
	}
	return err;
}

int similar_in(struct similar_job *job)
{
	const struct export_source source = { .path = job->in };
	struct in_search in = { .job = job };
	struct export_reader r;
	int more = 0, err;

	if (similar_digest(job, job->path))
		return 1;
	in.alike = json_object();
	in.sharing = json_object();
	err = export_open(&r, &source);
	while (!err && (more = export_next(&r)) > 0)
		err = compare_content(&in, &r);
	if (!err)
		err = more;
	if (err)
		(void)export_complain(&source, r.content.file.number, err);
	else if (!r.is_complete)
		(void)snprintf(job->reason, sizeof(job->reason), "incomplete");
	if (!err)
		err = similar_print(job);
	if (!err && !job->listed && !*job->reason)
		similar_complain_near(job, in.alike, in.sharing);
	export_close(&r);
	json_decref(in.alike);
	json_decref(in.sharing);
	return err ? 1 : 0;
}
