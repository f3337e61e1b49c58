/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/array.h"
#include "core/cli/groups/export_mount.h"
#include "core/cli/similar/similar.h"
#include "core/index/judge.h"

/*
 * kin similar --in: what of an export resembles a file.  The export is read
 * once, and each of its contents is compared with the file.
 */
enum { THRESHOLD = 60 };

struct in_match {
	int score;
	uint64_t size;
	char *path; /* owned */
	struct measures measures;
};

struct in_job {
	struct similar_job *job;
	struct in_match *all;
	size_t count;
};

static int add(struct in_job *in, const struct export_reader *r, int score)
{
	const struct found_member *m = export_member(r);
	struct in_match *all;
	size_t i;

	for (i = 0; i < m->file_count; i++) {
		all = array_with_room(in->all, in->count, sizeof(*all));
		if (!all)
			return -ENOMEM;
		in->all = all;
		all += in->count;
		*all = (struct in_match){ .score = score, .size = m->size };
		all->path = strdup(m->files[i].path);
		if (!all->path)
			return -ENOMEM;
		in->count++;
		if (measures_take(&in->job->digests, &r->digests,
				  &all->measures))
			memset(&all->measures, -1, sizeof(all->measures));
	}
	return 0;
}

static int compare_content(struct in_job *in, const struct export_reader *r)
{
	const struct judge_rules rules = { .relation = INDEX_ALIKE,
					   .threshold = THRESHOLD };
	struct verdict v;
	int err = judge_digests(&in->job->digests, &r->digests, &rules, &v);

	if (err)
		return err == -ENODATA ? 0 : err;
	return v.reason == VERDICT_LISTED ? add(in, r, v.score) : 0;
}

static int by_score(const void *a, const void *b)
{
	const struct in_match *x = a, *y = b;

	if (x->score != y->score)
		return y->score - x->score;
	return strcmp(x->path, y->path);
}

static int show_all(struct in_job *in)
{
	size_t i;
	int err = 0;

	if (in->count)
		qsort(in->all, in->count, sizeof(*in->all), by_score);
	for (i = 0; i < in->count && !err; i++)
		err = similar_show_measured(in->job, in->all[i].score,
					    in->all[i].path, in->all[i].size,
					    &in->all[i].measures);
	return err;
}

static void in_release(struct in_job *in)
{
	while (in->count)
		free(in->all[--in->count].path);
	free(in->all);
}

int similar_in(struct similar_job *job)
{
	struct in_job in = { .job = job };
	struct export_reader r;
	int more = 0, err = export_open_path(job->in, &r);

	if (!err && similar_digest(job, job->path)) {
		export_close(&r);
		return 1;
	}
	while (!err && (more = export_next(&r)) > 0)
		err = compare_content(&in, &r);
	if (!err)
		err = more;
	if (err)
		(void)export_complain(job->in, r.lines.number, err);
	else if (!r.is_complete)
		(void)snprintf(job->reason, sizeof(job->reason), "incomplete");
	export_close(&r);
	if (!err)
		err = show_all(&in);
	in_release(&in);
	return err ? 1 : 0;
}
