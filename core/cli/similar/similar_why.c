/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/similar/similar.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/text.h"
#include "core/base/utf8.h"
#include "core/cli/similar/content.h"
#include "core/index/licences.h"

/*
 * kin similar --why: the verdicts of a pair, one for each relation.  The mount
 * tells them; of files that are in none judge_digests() makes them here.
 */

/* A pair in one relation of the index. */
struct why {
	enum index_relation asked;
	struct verdict verdict;
	bool ignored;
};

/* What is said; the first ones are those of a verdict. */
enum { WHY_RELATION = VERDICT_REASONS, WHY_CUT, WHY_IGNORED, WHY_REASONS };

static const struct {
	const char *name, *words;
} reasons[WHY_REASONS] = {
	[VERDICT_LISTED] = { "listed", NULL },
	[VERDICT_BELOW] = { "below", "the score is below the threshold" },
	[VERDICT_UNCERTAIN] = { "uncertain",
				"too little of it is in the sketches to be "
				"sure of the score" },
	[VERDICT_BOILERPLATE] = { "boilerplate", "mere boilerplate" },
	[VERDICT_SHORT] = { "short", "the passages in common are too short" },
	[WHY_RELATION] = { "relation", "it is in another relation" },
	[WHY_CUT] = { "cut", "more files are alike than the mount's limit" },
	[WHY_IGNORED] = { "ignored",
			  "the pair is ignored, see kin ignore --list" },
};

/* ---- the verdicts ---- */

static bool is_empty(const char *path)
{
	struct stat st;

	return !stat(path, &st) && !st.st_size;
}

/* Of files that are in no mount, or empty: a mount says nothing of these.  d: gets
 * the digests of both. */
static int judge_here(struct similar_job *job, struct why *all,
		      struct digests d[2])
{
	const char *const paths[2] = { job->path, job->other };
	struct judge_rules rules = job->rules;
	struct reader reader;
	int side, i, err = reader_init(&reader, DIGEST_DEFAULT);

	for (side = 0; side < 2 && !err; side++) {
		err = reader_digest_named(&reader, paths[side], true, &d[side]);
		if (err)
			err = cli_complain_errno(paths[side], err);
	}
	for (i = 0; i < INDEX_RELATIONS && !err; i++) {
		rules.relation = all[i].asked;
		err = judge_digests(&d[0], &d[1], &rules, &all[i].verdict);
		err = err == -ENODATA ? 0 : err;
	}
	reader_release(&reader);
	return err;
}

/* Without a line the mount does not know the other file. */
static int ask_mount(struct similar_job *job, struct why *all)
{
	struct question question;
	struct answer a;
	int i, found = 1;

	for (i = 0; i < INDEX_RELATIONS && found > 0 && !*job->reason; i++) {
		similar_question(job, all[i].asked, &question);
		found = similar_ask_one(job, &question, &a);
		all[i].verdict = a.verdict;
		all[i].ignored = a.ignored;
	}
	if (!found && !*job->reason)
		similar_set_incomplete(job);
	return found < 0 ? found : 0;
}

/* Why a file has no answer, by its state. */
static void look_state(struct similar_job *job, const char *file,
		       const char *rel)
{
	struct buf state = { 0 };

	if (!mount_ask_attribute(&job->mount, rel, STATE_ATTRIBUTE, &state) &&
	    strcmp(state.data, "fresh") != 0) {
		(void)snprintf(job->reason, sizeof(job->reason), "%s",
			       state.data);
		job->name = file;
	}
	buf_release(&state);
}

/* ---- what they come to ---- */

/* What tells more comes first: of a part of which too little is known, that. */
static int rank_of(const struct why *w)
{
	static const int ranks[VERDICT_REASONS] = {
		[VERDICT_LISTED] = 3,
		[VERDICT_BOILERPLATE] = 2,
		[VERDICT_UNCERTAIN] = 1,
	};

	return ranks[w->verdict.reason];
}

/* The verdict that counts, in the order of the list.  all: one for each relation
 * of the index. */
static const struct why *find_best(const struct similar_job *job,
				   const struct why *all)
{
	const struct why *best = &all[INDEX_ALIKE];
	int relation;

	if (job->relation != SIMILAR_RELATIONS)
		return &all[similar_found_by[job->relation]];
	for (relation = 0; relation < INDEX_RELATIONS; relation++)
		if (relation != INDEX_ALL &&
		    rank_of(&all[relation]) > rank_of(best))
			best = &all[relation];
	return best;
}

/* Whether a list has the file: more may be alike than it has room for. */
static int is_in_list(struct similar_job *job, bool *out)
{
	char *other = job->other_rel;
	size_t i;
	int err;

	job->other_rel = NULL;
	err = job->mount.root ? similar_find(job) : 0;
	job->other_rel = other;
	*out = !job->mount.root;
	for (i = 0; i < job->row_count; i++)
		*out |= !strcmp(job->rows[i].path, other);
	return err;
}

static int find_reason(struct similar_job *job, const struct why *all,
		       const struct why *best, int *out)
{
	const enum similar_relation found =
		similar_relation_of(best->asked, &best->verdict);
	const bool any = job->relation == SIMILAR_RELATIONS;
	bool in_list;
	int err = 0;

	*out = best->verdict.reason;
	if (job->relation == SIMILAR_BOILERPLATE &&
	    best->verdict.reason == VERDICT_BOILERPLATE)
		*out = VERDICT_LISTED;
	if (*out == VERDICT_LISTED && !any && found != job->relation)
		*out = WHY_RELATION;
	else if (*out == VERDICT_LISTED && best->ignored)
		*out = WHY_IGNORED;
	else if (*out == VERDICT_BELOW && !any &&
		 job->relation != SIMILAR_SHARES &&
		 all[INDEX_ALIKE].verdict.reason == VERDICT_LISTED)
		*out = WHY_RELATION;
	if (*out != VERDICT_LISTED)
		return 0;
	err = is_in_list(job, &in_list);
	if (!err && !in_list)
		*out = WHY_CUT;
	return err;
}

/* ---- printing ---- */

/* Says of a text that was not read, or not all of it, what became of it. */
static void print_doubt(const struct similar_job *job, const char *path,
			const char *rel)
{
	struct buf text = { 0 };

	if (job->mount.root &&
	    !mount_ask_attribute(&job->mount, rel, TEXT_ATTRIBUTE, &text) &&
	    strcmp(text.data, "yes") != 0 && strcmp(text.data, "none") != 0) {
		fputs("; text of ", stdout);
		utf8_print_safe(stdout, path);
		printf(": %s", text.data);
	}
	buf_release(&text);
}

/* Says how much of a file is the text of licences, which makes no two files
 * alike. */
static void print_licence(const char *path, const struct digests *d)
{
	struct sketch sketch;
	const char *name;
	const int percent = digests_sketch(d, &sketch) ?
				    0 :
				    licence_percentage(&sketch, &name);

	if (!percent)
		return;
	fputs("; ", stdout);
	utf8_print_safe(stdout, path);
	printf(": %d %% is licence text (%s)", percent, name);
}

/* The passages of share_min and more, by reading both files, if it is these that
 * are asked about; NULL: it is not, or they cannot be read. */
static json_t *find_passages(const struct similar_job *job,
			     const struct similar_row *row)
{
	struct content a = { 0 }, b = { 0 };
	struct passage *all = NULL;
	size_t count = 0, i;
	json_t *list = NULL;

	if (row->relation != SIMILAR_SHARES && !job->share_min)
		return NULL;
	if (!content_read(job->path, &a) &&
	    !content_compare(&a, job->other, job->rules.share_min, &b, &all,
			     &count))
		list = json_array();
	for (i = 0; i < count; i++)
		(void)json_array_append_new(list,
					    passage_json(&a, &b, &all[i]));
	free(all);
	content_release(&a);
	content_release(&b);
	return list;
}

static void print_passages(const json_t *list)
{
	char size[TEXT_SIZE_ROOM];
	const json_t *row;
	size_t i;

	json_array_foreach(list, i, row)
		printf("  lines %s, there %s: %s\n", told_text(row, "lines"),
		       told_text(row, "there"),
		       size_text((uint64_t)told_number(row, "size"), size));
}

static int print_json(const struct similar_job *job,
		      const struct similar_row *row, int reason,
		      uint64_t passages)
{
	json_t *o = similar_row_json(job, row);

	if (o && json_object_update_new(
			 o, json_pack("{s:s, s:I, s:i, s:I, s:o*}", "reason",
				      reasons[reason].name, "shared",
				      (json_int_t)passages, "threshold",
				      job->rules.threshold, "share_min",
				      (json_int_t)job->rules.share_min,
				      "passages", find_passages(job, row))))
		return -ENOMEM;
	if (reason != VERDICT_LISTED)
		(void)json_object_del(o, "relation");
	return cli_print_json(o);
}

static void print_text(const struct similar_job *job,
		       const struct similar_row *row, int reason,
		       uint64_t passages, struct digests d[2])
{
	const uint32_t sif = DIGEST_BIT(DIGEST_SIF);
	const struct mount *m = &job->mount;
	static const char *const turns[PDQ_TURNS] = {
		[PDQ_AS_IS] = "",
		[PDQ_ROTATED_90] = ", turned by 90 degrees",
		[PDQ_ROTATED_180] = ", turned by 180 degrees",
		[PDQ_ROTATED_270] = ", turned by 270 degrees",
		[PDQ_MIRRORED_UP_DOWN] = ", upside down and mirrored",
		[PDQ_MIRRORED_LEFT_RIGHT] = ", mirrored",
		[PDQ_TRANSPOSED] = ", turned by 90 degrees and mirrored",
		[PDQ_TRANSPOSED_BACK] = ", turned by 270 degrees and mirrored",
	};
	const struct verdict *v = &row->verdict;
	const bool listed = reason == VERDICT_LISTED;
	char size[TEXT_SIZE_ROOM];

	printf("%slisted: %s; score %d, threshold %d", listed ? "" : "not ",
	       listed ? similar_relation_names[row->relation] :
			reasons[reason].words,
	       v->score, job->rules.threshold);
	if (v->by != SUBJECT_BYTES)
		printf(", by %s", subject_part_names[v->by]);
	if (v->by == SUBJECT_PICTURE)
		printf(": %u of %d bits differ%s", v->bits, PDQ_BITS,
		       turns[v->turn]);
	if (job->mount.root)
		printf(", distinctive %d", v->distinctive);
	if (passages)
		printf("; passages of about %s", size_text(passages, size));
	else
		fputs("; no passage that can be told", stdout);
	printf(", share_min %s", size_text(job->rules.share_min, size));
	if (m->root && !d[0].set)
		(void)mount_told_digests(m, m->rel, sif, &d[0]);
	if (m->root && !d[1].set)
		(void)mount_told_digests(m, job->other_rel, sif, &d[1]);
	print_licence(job->path, &d[0]);
	print_licence(job->other, &d[1]);
	print_doubt(job, job->path, m->rel);
	print_doubt(job, job->other, job->other_rel);
	putchar('\n');
}

static int explain(struct similar_job *job, struct digests d[2])
{
	struct why all[INDEX_RELATIONS] = { 0 };
	struct similar_row row = { .size = -1,
				   .on_disk = -1,
				   .mtime_ns = INT64_MAX };
	const struct why *best;
	uint64_t passages;
	json_t *list;
	int i, reason, err;

	for (i = 0; i < INDEX_RELATIONS; i++)
		all[i].asked = (enum index_relation)i;
	if (job->mount.root && !is_empty(job->path) && !is_empty(job->other))
		err = ask_mount(job, all);
	else
		err = judge_here(job, all, d);
	if (!err && *job->reason) {
		look_state(job, job->path, job->mount.rel);
		look_state(job, job->other, job->other_rel);
	}
	if (err || *job->reason)
		return err;
	best = find_best(job, all);
	err = find_reason(job, all, best, &reason);
	if (err || *job->reason)
		return err;
	row.relation = similar_relation_of(best->asked, &best->verdict);
	row.verdict = best->verdict;
	row.path = job->mount.root ? job->other_rel : (char *)job->other;
	row.root = job->mount.root;
	passages = all[INDEX_SHARES].verdict.bytes;
	if (job->table.output.json)
		return print_json(job, &row, reason, passages);
	print_text(job, &row, reason, passages, d);
	list = find_passages(job, &row);
	print_passages(list);
	json_decref(list);
	return 0;
}

int similar_why(struct similar_job *job)
{
	struct digests d[2] = { { 0 }, { 0 } };
	const int err = explain(job, d);

	digests_release(&d[0]);
	digests_release(&d[1]);
	return err;
}
