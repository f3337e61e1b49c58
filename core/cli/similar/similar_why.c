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
			      const json_t *known, int64_t shared, bool is_cut)
{
	const char *relation =
		json_string_value(json_object_get(known, "relation"));
	const bool passages =
		job->relation &&
		!strcmp(job->relation, similar_relation_names[SIMILAR_SHARES]);

	if (passages && shared < (int64_t)similar_share_min(job))
		return SHORT;
	if (!passages &&
	    similar_number(known, "score") < similar_threshold(job))
		return BELOW;
	if (!passages &&
	    !strcmp(relation, similar_relation_names[SIMILAR_BOILERPLATE]))
		return BOILERPLATE;
	return is_cut ? CUT : IGNORED;
}

/* row: of the pair, as far as it is known. */
static void print_text(const struct similar_job *job, const json_t *row,
		       enum why_not reason)
{
	const int64_t distinctive = similar_number(row, "distinctive"),
		      shared = similar_number(row, "shared");
	const char *relation =
		json_string_value(json_object_get(row, "relation"));
	char size[TEXT_SIZE_ROOM];

	printf("%slisted: %s; score %lld, threshold %d",
	       reason == LISTED ? "" : "not ",
	       reason == LISTED ? relation : texts[reason][1],
	       (long long)similar_number(row, "score"), similar_threshold(job));
	if (json_object_get(row, "by"))
		fputs(", by text", stdout);
	if (distinctive >= 0)
		printf(", distinctive %lld", (long long)distinctive);
	if (shared > 0)
		printf("; passages of about %s",
		       text_format_size((double)shared, TEXT_UNITS_BRIEF,
					size));
	else
		fputs("; no passage that can be told", stdout);
	printf(", share_min %s\n",
	       text_format_size((double)similar_share_min(job),
				TEXT_UNITS_BRIEF, size));
}

/* The rows of the file, or NULL.  listed: in a relation that is asked for; known:
 * whatever the score; sharing: whatever the passage. */
static int answer(const struct similar_job *job, json_t *listed, json_t *known,
		  json_t *sharing, const char *rel, bool is_cut)
{
	const enum why_not reason =
		listed ? LISTED :
			 reason_of(job, known,
				   similar_number(sharing, "shared"), is_cut);
	const json_t *hit = listed ? listed : known;
	json_t *row =
		hit ? json_copy((json_t *)hit) : json_pack("{s:i}", "score", 0);
	int err = json_object_update_new(
			  row, json_pack("{s:O*, s:i, s:I, s:s, s:O*}",
					 "distinctive",
					 json_object_get(known, "distinctive"),
					 "threshold", similar_threshold(job),
					 "share_min",
					 (json_int_t)similar_share_min(job),
					 "reason", texts[reason][0], "shared",
					 json_object_get(sharing, "shared"))) ?
			  -ENOMEM :
			  0;

	if (!listed)
		(void)json_object_del(row, "relation");
	if (!err && !job->output.json)
		print_text(job, row, reason);
	else if (!err && (json_set_path(row, "of", job->path) ||
			  json_set_path(row, "root", job->mount.root) ||
			  json_set_path(row, "path", rel)))
		err = -ENOMEM;
	else if (!err)
		return cli_print_json(row) ? 1 : 0;
	json_decref(row);
	return err;
}

int similar_why(struct similar_job *job)
{
	json_t *alike = json_object(), *sharing = json_object();
	enum index_relation relation;
	bool is_cut;
	char *rel = NULL;
	struct stat st;
	int at = 0,
	    err = mount_path_or_complain(job->other, job->mount.root, &rel);

	if (!err && (stat(job->other, &st) || !S_ISREG(st.st_mode)))
		err = cli_complain(job->other, "not a regular file");
	(void)cli_told_digests(job->path, DIGEST_DEFAULT, &job->digests);
	similar_look_file(job, job->path);
	if (!*job->reason)
		similar_look_file(job, job->other);
	while (!err && !*job->reason && similar_next(job, &at, &relation))
		err = similar_ask(job, relation,
				  similar_settings(job, job->best.threshold,
						   job->share_min, 0),
				  job->rows);
	is_cut = job->cut;
	if (!err && !*job->reason)
		err = similar_ask(job, INDEX_ALL,
				  json_pack("{s:i, s:i}", "threshold", 1,
					    "limit", LIMIT_OF_FILTERS),
				  alike);
	if (!err && !*job->reason)
		err = similar_ask(job, INDEX_SHARES,
				  json_pack("{s:i, s:i}", "share_min", 1,
					    "limit", LIMIT_OF_FILTERS),
				  sharing);
	if (!err && !*job->reason)
		err = answer(job, json_object_get(job->rows, rel),
			     json_object_get(alike, rel),
			     json_object_get(sharing, rel), rel, is_cut);
	job->cut = false;
	json_decref(alike);
	json_decref(sharing);
	free(rel);
	return err;
}
