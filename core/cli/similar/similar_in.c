/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/cli/groups/groups.h"
#include "core/cli/similar/similar.h"
#include "core/index/judge.h"

/*
 * kin similar --in: what of an export resembles a file.  The export is read
 * once, and each of its contents is compared with the file.
 */

struct in_search {
	struct similar_job *job;
	struct similar_hits near; /* each is nearer than those before */
	struct verdict nearest, longest;
	const char *root; /* of the export; NULL in text: nothing is there */
};

static int add(struct in_search *in, const struct export_reader *r,
	       enum index_relation relation, const struct verdict *v)
{
	const struct found_member *m = export_member(r);
	struct similar_hit hit = {
		.relation = similar_relation_of(relation, v->score, v->reason),
		.score = v->score,
		.distinctive = -1,
		.shared = relation == INDEX_SHARES ? (int64_t)v->bytes : -1,
		.root = in->root,
		.size = (int64_t)m->size,
		.on_disk = -1,
		.has_mtime = true,
	};
	size_t i;
	int err = 0;

	if (in->job->output.verbose)
		hit.has_measures = !measures_take(&in->job->digests,
						  &r->digests, &hit.measures);
	for (i = 0; i < m->file_count && !err; i++) {
		hit.path = m->files[i].path;
		hit.mtime_ns = m->files[i].mtime_ns;
		err = similar_hits_add(&in->job->hits, &hit);
	}
	return err;
}

/* Of a pair that is not listed. */
static int keep_near(struct in_search *in, const struct export_reader *r,
		     enum index_relation relation, const struct verdict *v)
{
	const bool shares = relation == INDEX_SHARES;
	const struct similar_hit hit = {
		.score = v->score,
		.shared = shares ? (int64_t)v->bytes : -1,
		.path = export_member(r)->files[0].path,
	};

	if (shares ? v->bytes <= in->longest.bytes :
		     v->score <= in->nearest.score)
		return 0;
	*(shares ? &in->longest : &in->nearest) = *v;
	return similar_hits_add(&in->near, &hit);
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
			err = add(in, r, rules.relation, &v);
		else if (rules.relation == INDEX_ALIKE ||
			 rules.relation == INDEX_SHARES)
			err = keep_near(in, r, rules.relation, &v);
	}
	return err;
}

int similar_in(struct similar_job *job)
{
	struct in_search in = { .job = job };
	const struct export_source source = { .path = job->in };
	struct export_reader r;
	int more = 0, err = export_open(&r, &source);

	if (!err && similar_digest(job, job->path)) {
		export_close(&r);
		return 1;
	}
	while (!err && (more = export_next(&r)) > 0) {
		in.root = job->output.json ? r.content.root : NULL;
		err = compare_content(&in, &r);
	}
	if (!err)
		err = more;
	if (err)
		(void)export_complain(&source, r.content.file.number, err);
	else if (!r.is_complete)
		(void)snprintf(job->reason, sizeof(job->reason), "incomplete");
	if (!err)
		err = similar_print(job);
	if (!err && !job->hits.count && !*job->reason)
		similar_complain_near(job, &in.near);
	export_close(&r);
	similar_hits_release(&in.near);
	return err ? 1 : 0;
}
