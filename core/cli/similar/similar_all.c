/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/similar/similar.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/index/judge.h"

/*
 * Files that are alike to one of the mount, boilerplate included, or have a
 * passage in common with it, and the reason why a pair is listed or not.  The
 * numbers come from .similar/.query, which is asked with
 * the digests of the file.
 */

/* ---- --all and --shares ---- */

struct all_job {
	struct similar_job *job;
	struct stat self;
};

/* A file is not alike to itself. */
static int show_other(void *arg, const struct similar_found *found)
{
	struct all_job *all = arg;
	struct stat st;

	if (!stat(found->path, &st) && st.st_ino == all->self.st_ino &&
	    st.st_dev == all->self.st_dev)
		return 0;
	return similar_show(all->job, found);
}

static int ask_about(struct similar_job *job, const char *file)
{
	struct all_job all = { .job = job };

	if (stat(file, &all.self))
		return -errno;
	similar_digests(file, &job->digests);
	similar_look_file(job, file);
	if (*job->reason || !all.self.st_size)
		return 0;
	return similar_ask(job, show_other, &all);
}

int similar_all(struct similar_job *job)
{
	char *file = similar_path(job, job->mount.rel);
	int err = file ? ask_about(job, file) : -ENOMEM;

	free(file);
	return err;
}

/* ---- --why ---- */

struct listed_pair {
	const char *path; /* of the other file, as the mount names it */
	bool found;
	struct verdict verdict;
};

static int find_listed(void *arg, int score, const char *path)
{
	struct listed_pair *p = arg;

	if (!strcmp(path, p->path)) {
		p->found = true;
		p->verdict.score = score;
	}
	return 0;
}

static int find_any(void *arg, const struct similar_found *found)
{
	struct listed_pair *p = arg;

	if (!strcmp(found->path, p->path)) {
		p->found = true;
		p->verdict.score = found->score;
		p->verdict.distinctive = found->distinctive;
		p->verdict.reason = found->reason;
	}
	return 0;
}

/* Of two files that the mount does not bring together. */
static int compare(struct similar_job *job, int threshold,
		   struct listed_pair *p)
{
	const struct judge_rules rules = { .relation = INDEX_ALL,
					   .threshold = threshold };
	struct digests other = { 0 };
	int err;

	similar_digests(p->path, &other);
	err = judge_digests(&job->digests, &other, &rules, &p->verdict);
	digests_release(&other);
	return err == -ENODATA ? 0 : err;
}

static void explain(struct similar_job *job, int threshold,
		    const struct listed_pair *listed,
		    const struct listed_pair *any)
{
	const int score =
		listed->found ? listed->verdict.score : any->verdict.score;

	if (listed->found)
		printf("listed: score %d, threshold %d", score, threshold);
	else if (score < threshold)
		printf("not listed: score %d, threshold %d", score, threshold);
	else if (similar_is_cut(job))
		printf("not listed: score %d, but more files are alike than "
		       "the mount's limit",
		       score);
	else if (!any->found || any->verdict.reason == VERDICT_BOILERPLATE)
		printf("not listed: mere boilerplate, score %d", score);
	else
		printf("not listed: score %d, but the pair is ignored, see "
		       "kin ignore --list",
		       score);
	if (any->found)
		printf(", distinctive %d", any->verdict.distinctive);
	putchar('\n');
}

/* Whether that answer is cut does not matter. */
static int ask_all(struct similar_job *job, struct listed_pair *any)
{
	struct similar_job all = *job;

	all.relation = INDEX_ALL;
	return similar_ask(&all, find_any, any);
}

static int find_pair(struct similar_job *job, struct listed_pair *listed,
		     struct listed_pair *any)
{
	char *listing = similar_format("%s/%s", job->listings, job->mount.rel);
	int err = listing ? similar_each(job, listing, find_listed, listed) :
			    -ENOMEM;

	if (!err)
		similar_look_state(job, listing);
	free(listing);
	return err ? err : ask_all(job, any);
}

static int explain_pair(struct similar_job *job, const char *file,
			const char *other)
{
	struct listed_pair listed = { .path = other }, any = { .path = other };
	const int threshold =
		(int)mount_get_number(job->mount.root, "threshold", 0);
	int err;

	similar_digests(file, &job->digests);
	if (!similar_look_pair(job, file, other))
		return 0;
	err = find_pair(job, &listed, &any);
	if (!err && !any.found)
		err = compare(job, threshold, &any);
	if (!err)
		explain(job, threshold, &listed, &any);
	return err;
}

/* 1 after a message. */
static int find_other(struct similar_job *job, struct mount *out)
{
	struct stat st;

	if (mount_find_or_complain(job->other, out))
		return 1;
	if (!strcmp(out->root, job->mount.root) && !stat(job->other, &st) &&
	    S_ISREG(st.st_mode))
		return 0;
	cli_complain(job->other, "not a file of the mount %s", job->mount.root);
	return 1;
}

int similar_why(struct similar_job *job)
{
	struct mount mount = { 0 };
	char *file = NULL, *other = NULL;
	int err = find_other(job, &mount);

	if (!err) {
		file = similar_path(job, job->mount.rel);
		other = similar_path(job, mount.rel);
		err = -ENOMEM;
		if (file && other)
			err = job->relation == INDEX_SHARES ?
				      similar_why_shares(job, file, other) :
				      explain_pair(job, file, other);
	}
	mount_release(&mount);
	free(file);
	free(other);
	return err;
}
