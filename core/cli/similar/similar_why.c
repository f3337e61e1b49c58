/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/similar/similar.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/text.h"

/*
 * Why a file is listed for another one or not.  The mount is asked as for the
 * list, and then for all that have anything in common, so that what it says of
 * the pair is what it decides by.
 */

struct why {
	const char *rel; /* of the other file, below the root */
	bool is_listed, is_cut;
	struct similar_hit listed; /* without its path */
	/* Whatever its score; 0: the mount does not bring them together. */
	bool is_known;
	struct similar_hit known;
	int64_t shared; /* the longest passage; -1: not told */
	int threshold;
	uint64_t share_min;
};

/* The first relation is told. */
static int find_listed(void *arg, const struct similar_hit *hit)
{
	struct why *w = arg;

	if (!strcmp(hit->path, w->rel) && !w->is_listed) {
		w->is_listed = true;
		w->listed = *hit;
	}
	return 0;
}

static int find_known(void *arg, const struct similar_hit *hit)
{
	struct why *w = arg;

	if (strcmp(hit->path, w->rel) != 0)
		return 0;
	if (hit->shared >= 0) {
		w->shared = hit->shared;
	} else {
		w->is_known = true;
		w->known = *hit;
	}
	return 0;
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

enum why_not { LISTED, SHORT, BELOW, BOILERPLATE, CUT, IGNORED };

static const char *const texts[][2] = {
	[LISTED] = { "listed", "" },
	[SHORT] = { "short", "the passages in common are too short" },
	[BELOW] = { "below", "the score is below the threshold" },
	[BOILERPLATE] = { "boilerplate", "mere boilerplate" },
	[CUT] = { "cut", "more files are alike than the mount's limit" },
	[IGNORED] = { "ignored", "the pair is ignored, see kin ignore --list" },
};

static enum why_not reason_of(const struct similar_job *job,
			      const struct why *w)
{
	const bool passages =
		job->relation &&
		!strcmp(job->relation, similar_relation_names[SIMILAR_SHARES]);

	if (w->is_listed)
		return LISTED;
	if (passages)
		return w->shared < (int64_t)w->share_min ? SHORT :
		       w->is_cut                         ? CUT :
							   IGNORED;
	if (w->known.score < w->threshold)
		return BELOW;
	if (w->known.relation == SIMILAR_BOILERPLATE)
		return BOILERPLATE;
	return w->is_cut ? CUT : IGNORED;
}

/* 1 after a message. */
static int answer(const struct similar_job *job, const struct why *w)
{
	const enum why_not reason = reason_of(job, w);
	const char *relation = similar_relation_names[w->listed.relation];
	const int score = w->is_listed ? w->listed.score : w->known.score;
	const int distinctive = w->is_known ? w->known.distinctive : -1;
	const bool by_text =
		w->is_listed ? w->listed.by_text : w->known.by_text;
	char size[TEXT_SIZE_ROOM];
	json_t *line;

	if (job->output.json) {
		line = json_pack(
			"{s:i, s:i, s:I, s:s, s:s*, s:o*, s:s*, s:o*}", "score",
			score, "threshold", w->threshold, "share_min",
			(json_int_t)w->share_min, "reason", texts[reason][0],
			"relation", w->is_listed ? relation : NULL,
			"distinctive",
			distinctive < 0 ? NULL : json_integer(distinctive),
			"by", by_text ? "text" : NULL, "shared",
			w->shared < 0 ? NULL : json_integer(w->shared));
		(void)json_set_path(line, "of", job->path);
		(void)json_set_path(line, "root", job->mount.root);
		(void)json_set_path(line, "path", w->rel);
		return cli_print_json(line) ? 1 : 0;
	}
	printf("%slisted: %s; score %d, threshold %d",
	       w->is_listed ? "" : "not ",
	       w->is_listed ? relation : texts[reason][1], score, w->threshold);
	if (by_text)
		fputs(", by text", stdout);
	if (distinctive >= 0)
		printf(", distinctive %d", distinctive);
	if (w->shared > 0)
		printf("; passages of about %s",
		       text_format_size((double)w->shared, TEXT_UNITS_BRIEF,
					size));
	else
		fputs("; no passage that can be told", stdout);
	printf(", share_min %s\n",
	       text_format_size((double)w->share_min, TEXT_UNITS_BRIEF, size));
	return 0;
}

int similar_why(struct similar_job *job)
{
	struct why w = { .shared = -1,
			 .threshold = similar_threshold(job),
			 .share_min = similar_share_min(job) };
	char *rel = NULL;
	struct stat st;
	int err = mount_path_or_complain(job->other, job->mount.root, &rel);

	if (!err && (stat(job->other, &st) || !S_ISREG(st.st_mode)))
		err = cli_complain(job->other, "not a regular file");
	w.rel = rel;
	(void)cli_told_digests(job->path, DIGEST_DEFAULT, &job->digests);
	similar_look_file(job, job->path);
	if (!*job->reason)
		similar_look_file(job, job->other);
	if (!err && !*job->reason && !(err = ask(job, &w)))
		err = answer(job, &w);
	job->cut = false;
	free(rel);
	return err;
}
