/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/similar/similar.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/text.h"
#include "core/index/judge.h"

/* Why two files are listed, or not, as having a passage in common. */

struct shared_pair {
	const char *path;   /* of the other file, as the mount names it */
	bool is_listed;     /* in .shares */
	json_int_t bytes;   /* by the mount; -1: it does not have the pair */
	double by_sketches; /* boilerplate included */
};

static int find_listed(void *arg, int score, const char *path)
{
	struct shared_pair *p = arg;

	(void)score;
	p->is_listed |= !strcmp(path, p->path);
	return 0;
}

static int find_bytes(void *arg, const struct similar_found *found)
{
	struct shared_pair *p = arg;

	if (!strcmp(found->path, p->path))
		p->bytes = found->bytes;
	return 0;
}

/* ---- by the sketches ---- */

static int compare(const struct similar_job *job, struct shared_pair *p)
{
	const struct judge_rules rules = { .relation = INDEX_SHARES };
	struct digests other = { 0 };
	struct verdict v;
	int err;

	similar_digests(p->path, &other);
	err = judge_digests(&job->digests, &other, &rules, &v);
	digests_release(&other);
	if (!err)
		p->by_sketches = (double)v.bytes;
	return err == -ENODATA ? 0 : err;
}

/* ---- the answer ---- */

static void explain(const struct similar_job *job, const struct shared_pair *p)
{
	double least = (double)mount_get_number(job->mount.root, "share_min",
						INDEX_SHARE_MIN);
	double bytes = p->bytes < 0 ? p->by_sketches : (double)p->bytes;
	char text[TEXT_SIZE_ROOM], least_text[TEXT_SIZE_ROOM];

	(void)text_format_size(bytes, TEXT_UNITS_BRIEF, text);
	(void)text_format_size(least, TEXT_UNITS_BRIEF, least_text);
	printf("%s: ", p->is_listed ? "listed" : "not listed");
	if (bytes > 0)
		printf("about %s in common", text);
	else
		printf("too little in common to tell");
	if (!p->is_listed && p->bytes >= 0)
		printf(similar_is_cut(job) ?
			       ", but more files than the mount's limit" :
			       ", but the pair is ignored, see kin ignore "
			       "--list");
	else if (!p->is_listed && bytes >= least)
		printf(", but mere boilerplate");
	printf("; share_min %s\n", least_text);
}

static int find_pair(struct similar_job *job, struct shared_pair *p)
{
	char *listing =
		similar_format("%s/%s/.shares", job->listings, job->mount.rel);
	struct similar_job query = *job;
	int err =
		listing ? similar_each(job, listing, find_listed, p) : -ENOMEM;

	if (!err)
		similar_look_state(job, listing);
	free(listing);
	/* Whether that answer is cut does not matter. */
	return err ? err : similar_ask(&query, find_bytes, p);
}

int similar_why_shares(struct similar_job *job, const char *file,
		       const char *other)
{
	struct shared_pair p = { .path = other, .bytes = -1 };
	int err;

	similar_digests(file, &job->digests);
	if (!similar_look_pair(job, file, other))
		return 0;
	err = find_pair(job, &p);
	if (!err && p.bytes < 0)
		err = compare(job, &p);
	if (!err)
		explain(job, &p);
	return err;
}
