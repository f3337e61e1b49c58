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
	const char *rel;             /* of the other file, below the root */
	struct similar_hits listed;  /* in all relations that are asked for */
	struct similar_hits alike;   /* whatever the score */
	struct similar_hits sharing; /* whatever the passage */
	bool is_cut;                 /* listed */
};

static int ask(struct similar_job *job, struct why *w)
{
	struct similar_question q = { .threshold = job->best.threshold,
				      .share_min = job->share_min };
	int at = 0, err = 0;

	while (!err && similar_next(job, &at, &q.relation))
		err = similar_ask(job, &q, &w->listed);
	w->is_cut = job->cut;
	q = (struct similar_question){ .relation = INDEX_ALL,
				       .threshold = 1,
				       .limit = SIZE_MAX,
				       .all = true };
	if (!err)
		err = similar_ask(job, &q, &w->alike);
	q.relation = INDEX_SHARES;
	q.share_min = 1;
	return err ? err : similar_ask(job, &q, &w->sharing);
}

/* The first relation is told. */
static const struct similar_hit *find(const struct similar_hits *hits,
				      const char *rel)
{
	size_t i;

	for (i = 0; i < hits->count; i++)
		if (!strcmp(hits->all[i].path, rel))
			return &hits->all[i];
	return NULL;
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

/* The score of a pair that the mount does not bring together is 0. */
static enum why_not reason_of(const struct similar_job *job,
			      const struct similar_hit *known, int64_t shared,
			      bool is_cut)
{
	const bool passages =
		job->relation &&
		!strcmp(job->relation, similar_relation_names[SIMILAR_SHARES]);

	if (passages && shared < (int64_t)similar_share_min(job))
		return SHORT;
	if (!passages && (!known || known->score < similar_threshold(job)))
		return BELOW;
	if (!passages && known->relation == SIMILAR_BOILERPLATE)
		return BOILERPLATE;
	return is_cut ? CUT : IGNORED;
}

/* 1 after a message. */
static int answer(const struct similar_job *job, const struct why *w)
{
	const struct similar_hit *listed = find(&w->listed, w->rel),
				 *known = find(&w->alike, w->rel),
				 *sharing = find(&w->sharing, w->rel),
				 *hit = listed ? listed : known;
	const int64_t shared = sharing ? sharing->shared : -1;
	const enum why_not reason =
		listed ? LISTED : reason_of(job, known, shared, w->is_cut);
	const char *relation =
		listed ? similar_relation_names[listed->relation] : NULL;
	const int score = hit ? hit->score : 0;
	const int distinctive = known ? known->distinctive : -1;
	const bool by_text = hit && hit->by_text;
	char size[TEXT_SIZE_ROOM];
	json_t *line;

	if (job->output.json) {
		line = json_pack(
			"{s:i, s:i, s:I, s:s, s:s*, s:o*, s:s*, s:o*}", "score",
			score, "threshold", similar_threshold(job), "share_min",
			(json_int_t)similar_share_min(job), "reason",
			texts[reason][0], "relation", relation, "distinctive",
			distinctive < 0 ? NULL : json_integer(distinctive),
			"by", by_text ? "text" : NULL, "shared",
			shared < 0 ? NULL : json_integer(shared));
		(void)json_set_path(line, "of", job->path);
		(void)json_set_path(line, "root", job->mount.root);
		(void)json_set_path(line, "path", w->rel);
		return cli_print_json(line) ? 1 : 0;
	}
	printf("%slisted: %s; score %d, threshold %d", listed ? "" : "not ",
	       listed ? relation : texts[reason][1], score,
	       similar_threshold(job));
	if (by_text)
		fputs(", by text", stdout);
	if (distinctive >= 0)
		printf(", distinctive %d", distinctive);
	if (shared > 0)
		printf("; passages of about %s",
		       text_format_size((double)shared, TEXT_UNITS_BRIEF,
					size));
	else
		fputs("; no passage that can be told", stdout);
	printf(", share_min %s\n",
	       text_format_size((double)similar_share_min(job),
				TEXT_UNITS_BRIEF, size));
	return 0;
}

int similar_why(struct similar_job *job)
{
	struct why w = { 0 };
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
	similar_hits_release(&w.listed);
	similar_hits_release(&w.alike);
	similar_hits_release(&w.sharing);
	free(rel);
	return err;
}
