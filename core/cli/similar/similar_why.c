/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/similar/similar.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/text.h"
#include "core/cli/record.h"
#include "core/index/judge.h"

/*
 * Why a file is listed for another one or not.  The mount is asked as for the
 * list, and then for all that have anything in common, so that what it says of
 * the pair is what it decides by.
 */

struct why {
	const char *rel; /* of the other file, below the root */
	bool is_listed, is_cut;
	struct similar_hit listed; /* without its path */
	/* Whatever its score. */
	bool is_known;
	struct similar_hit known;
	int64_t shared; /* the longest passage; -1: not told */
	int threshold;
	uint64_t share_min;
};

static bool is_pair(const struct why *w, const struct similar_hit *hit)
{
	return !strcmp(hit->path, w->rel);
}

/* The first relation is told. */
static int find_listed(void *arg, const struct similar_hit *hit)
{
	struct why *w = arg;

	if (!is_pair(w, hit) || w->is_listed)
		return 0;
	w->is_listed = true;
	w->listed = *hit;
	return 0;
}

static int find_known(void *arg, const struct similar_hit *hit)
{
	struct why *w = arg;

	if (is_pair(w, hit) && hit->shared >= 0) {
		w->shared = hit->shared;
	} else if (is_pair(w, hit)) {
		w->is_known = true;
		w->known = *hit;
	}
	return 0;
}

/* Of two files that the mount does not bring together. */
static int compare(const struct similar_job *job, const char *other,
		   struct why *w)
{
	struct judge_rules rules = { .relation = INDEX_ALL, .threshold = 1 };
	struct digests d = { 0 };
	struct verdict v;
	int err;

	similar_digests(other, &d);
	err = judge_digests(&job->digests, &d, &rules, &v);
	if (!err)
		w->known.score = v.score;
	rules.relation = INDEX_SHARES;
	if (!err && w->shared < 0)
		err = judge_digests(&job->digests, &d, &rules, &v);
	if (!err && w->shared < 0)
		w->shared = (int64_t)v.bytes;
	digests_release(&d);
	return err == -ENODATA ? 0 : err;
}

static int ask(struct similar_job *job, struct why *w)
{
	struct similar_question q = { .threshold = job->best.threshold,
				      .share_min = job->share_min };
	int at = 0, err = 0;

	while (!err && similar_next(job, &at, &q.relation))
		err = similar_ask(job, &q, find_listed, w);
	w->is_cut = job->cut;
	q = (struct similar_question){ .relation = INDEX_ALL,
				       .threshold = 1,
				       .limit = SIZE_MAX,
				       .all = true };
	if (!err)
		err = similar_ask(job, &q, find_known, w);
	q.relation = INDEX_SHARES;
	q.share_min = 1;
	return err ? err : similar_ask(job, &q, find_known, w);
}

/* ---- the answer ---- */

/* "short", "below", "boilerplate", "cut", "ignored"; NULL: it is listed. */
static const char *reason_of(const struct similar_job *job, const struct why *w)
{
	const bool passages =
		job->relation &&
		!strcmp(job->relation, similar_relation_names[SIMILAR_SHARES]);
	const bool is_far = w->known.score < w->threshold;

	if (w->is_listed)
		return NULL;
	if (passages && w->shared < (int64_t)w->share_min)
		return "short";
	if (!passages && is_far)
		return "below";
	if (!passages &&
	    (!w->is_known || w->known.relation == SIMILAR_BOILERPLATE))
		return "boilerplate";
	return w->is_cut ? "cut" : "ignored";
}

static bool is_by_text(const struct why *w)
{
	return w->is_listed ? w->listed.by_text : w->known.by_text;
}

static int print_json(const struct similar_job *job, const struct why *w)
{
	const char *reason = reason_of(job, w);
	struct record r;

	record_begin(&r);
	record_path(&r, "of", job->path);
	record_number(&r, "score",
		      w->is_listed ? w->listed.score : w->known.score);
	if (w->is_listed)
		record_text(&r, "relation",
			    similar_relation_names[w->listed.relation]);
	if (w->known.distinctive >= 0 && w->is_known)
		record_number(&r, "distinctive", w->known.distinctive);
	if (is_by_text(w))
		record_text(&r, "by", "text");
	if (w->shared >= 0)
		record_number(&r, "shared", w->shared);
	record_number(&r, "threshold", w->threshold);
	record_number(&r, "share_min", (int64_t)w->share_min);
	record_text(&r, "reason", reason ? reason : "listed");
	record_path(&r, "root", job->mount.root);
	record_path(&r, "path", w->rel);
	return record_print(&r);
}

static void print_text(const struct similar_job *job, const struct why *w)
{
	static const char *const texts[][2] = {
		{ "short", "the passages in common are too short" },
		{ "below", "the score is below the threshold" },
		{ "boilerplate", "mere boilerplate" },
		{ "cut", "more files are alike than the mount's limit" },
		{ "ignored", "the pair is ignored, see kin ignore --list" },
	};
	const char *reason = reason_of(job, w);
	char size[TEXT_SIZE_ROOM];
	size_t i;

	if (w->is_listed)
		printf("listed: %s",
		       similar_relation_names[w->listed.relation]);
	for (i = 0; reason && i < sizeof(texts) / sizeof(texts[0]); i++)
		if (!strcmp(reason, texts[i][0]))
			printf("not listed: %s", texts[i][1]);
	printf("; score %d, threshold %d",
	       w->is_listed ? w->listed.score : w->known.score, w->threshold);
	if (is_by_text(w))
		fputs(", by text", stdout);
	if (w->is_known && w->known.distinctive >= 0)
		printf(", distinctive %d", w->known.distinctive);
	if (w->shared > 0)
		printf("; passages of about %s",
		       text_format_size((double)w->shared, TEXT_UNITS_BRIEF,
					size));
	else
		fputs("; no passage that can be told", stdout);
	printf(", share_min %s\n",
	       text_format_size((double)w->share_min, TEXT_UNITS_BRIEF, size));
}

static int explain(struct similar_job *job, const char *file, const char *other,
		   struct why *w)
{
	const char *root = job->mount.root;
	int err;

	w->threshold = job->best.threshold;
	if (!w->threshold)
		w->threshold = (int)mount_get_number(root, "threshold", 60);
	w->share_min = job->share_min;
	if (!w->share_min)
		w->share_min = (uint64_t)mount_get_number(root, "share_min",
							  INDEX_SHARE_MIN);
	similar_digests(file, &job->digests);
	similar_look_file(job, file);
	if (!*job->reason)
		similar_look_file(job, other);
	if (*job->reason)
		return 0;
	err = ask(job, w);
	if (!err && (!w->is_known || w->shared < 0))
		err = compare(job, other, w);
	if (err)
		return err;
	if (job->output.json)
		return print_json(job, w) ? 1 : 0;
	print_text(job, w);
	return 0;
}

/* 1 after a message. */
static int find_other(const struct similar_job *job, struct mount *out)
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
	struct why w = { .shared = -1 };
	char *file = NULL, *other = NULL;
	int err = find_other(job, &mount);

	if (!err) {
		w.rel = mount.rel;
		file = path_shown(job->mount.root, job->mount.rel, NULL);
		other = path_shown(job->mount.root, mount.rel, NULL);
		err = file && other ? explain(job, file, other, &w) : -ENOMEM;
	}
	job->cut = false;
	mount_release(&mount);
	free(file);
	free(other);
	return err;
}
