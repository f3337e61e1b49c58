/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/cli/everywhere/everywhere.h"
#include "core/cli/groups/groups.h"
#include "core/cli/similar/similar.h"

/* ---- a mount ---- */

const struct digests *similar_own_digests(struct similar_job *job)
{
	if (!job->digests.set && !job->of && !job->in)
		(void)mount_told_digests(&job->mount, job->mount.rel,
					 DIGEST_DEFAULT, &job->digests);
	return &job->digests;
}

void similar_question(struct similar_job *job, enum index_relation relation,
		      struct question *out)
{
	*out = (struct question){ .rules = job->rules,
				  .ignore = !job->of,
				  .with = job->other_rel };
	out->rules.relation = relation;
	if (job->of)
		out->digests = job->digests;
	else
		out->path = job->mount.rel;
}

/* Behind the last line. */
static void take_end(struct similar_job *job, const struct answer *a)
{
	if (a->state)
		(void)snprintf(job->reason, sizeof(job->reason), "%s",
			       a->state);
	else if (!a->complete)
		similar_set_incomplete(job);
	else if (a->cut)
		job->cut = true;
}

static int explain(const struct similar_job *job, int err)
{
	return err == -EINVAL ?
		       cli_complain(job->mount.root,
				    "its kinfs is too old to be asked this") :
		       err;
}

int similar_ask_one(struct similar_job *job, const struct question *question,
		    struct answer *out)
{
	int found = question_ask_one(out, &job->mount, question);

	if (found >= 0)
		take_end(job, out);
	answer_close(out);
	return explain(job, found);
}

/* Asks, and adds the hits to the list, or if best is not NULL keeps the nearest
 * there. */
static int ask(struct similar_job *job, const struct question *question,
	       struct similar_row *best)
{
	const enum index_relation relation = question->rules.relation;
	struct similar_row row = { .root = job->mount.root };
	struct answer a;
	int err = question_ask(&a, &job->mount, question);

	while (!err && (err = answer_next(&a)) > 0) {
		row.relation = similar_relation_of(relation, &a.verdict);
		row.verdict = a.verdict;
		row.path = a.path;
		a.path = NULL;
		err = best ? similar_keep_nearer(best, &row) :
			     similar_add(job, &row);
	}
	if (!err)
		take_end(job, &a);
	answer_close(&a);
	return explain(job, err);
}

/*
 * Files that are left out here must not take the room of those that are listed:
 * then the limit is applied here, too.
 */
static int ask_for_list(struct similar_job *job, enum index_relation relation)
{
	const struct filter *f = &job->filter;
	const bool all = f->include.count || f->exclude.count || f->min_size ||
			 job->within || job->best.limit > QUESTION_LIMIT_MAX ||
			 (relation == INDEX_ALL && job->best.limit);
	struct question question;

	similar_question(job, relation, &question);
	/* What seems to be half as long may be longer. */
	if (similar_verifies(job))
		question.rules.share_min = (job->share_min + 1) / 2;
	question.limit = all ? QUESTION_LIMIT_MAX : job->best.limit;
	return ask(job, &question, NULL);
}

int similar_find_near(struct similar_job *job)
{
	const bool was_cut = job->cut;
	struct question question;
	int err;

	similar_question(job, INDEX_ALL, &question);
	question.rules.threshold = 1;
	question.rules.share_min = 1;
	question.ignore = false;
	question.limit = QUESTION_LIMIT_MAX;
	err = ask(job, &question, &job->nearest);
	question.rules.relation = INDEX_SHARES;
	if (!err)
		err = ask(job, &question, &job->longest);
	job->cut = was_cut;
	return err;
}

int similar_find_directories(struct similar_job *job)
{
	struct question question;

	similar_question(job, INDEX_ALIKE, &question);
	question.kind = QUESTION_DIRECTORIES;
	return ask(job, &question, NULL);
}

/* ---- other hosts ---- */

static int add_copies(struct similar_job *job, const json_t *line)
{
	struct digests d = { 0 };
	struct similar_row row = { .size = 0 };
	const json_t *copy;
	const char *host;
	size_t i;
	int err = verdict_from_json(line, &row.verdict);

	if (!err)
		err = digests_from_json(json_object_get(line, "digests"), &d);
	d.size = (uint64_t)json_integer_value(json_object_get(line, "size"));
	row.relation = similar_relation_of(INDEX_ALIKE, &row.verdict);
	row.size = (int64_t)d.size;
	row.on_disk = -1;
	row.mtime_ns = INT64_MAX;
	if (!err)
		similar_set_measures(job, &d, &row);
	json_array_foreach(err ? NULL : json_object_get(line, "copies"), i,
			   copy) {
		host = json_string_value(json_object_get(copy, "host"));
		row.host = strdup(host ? host : "?");
		row.path = row.host ? everywhere_name(copy) : NULL;
		err = similar_add(job, &row);
		if (err)
			break;
	}
	digests_release(&d);
	return err == -EINVAL ? -EBADMSG : err;
}

static int ask_everywhere(struct similar_job *job)
{
	const struct digests *d = similar_own_digests(job);
	const struct question question = {
		.digests = *d,
		.rules = { .relation = INDEX_ALIKE,
			   .threshold = job->rules.threshold },
	};
	struct lines c;
	const char *doubt;
	json_t *line;
	int err;

	/* A file that is not hashed has no digests to ask with. */
	if (!(d->set & DIGEST_BIT(DIGEST_XXH128)))
		return 0;
	err = everywhere_ask(&c, &job->mount, question_make(&question));
	while (!err && (line = everywhere_next(&c)))
		err = add_copies(job, line);
	doubt = everywhere_doubt(&c);
	if (!err && doubt && !*job->reason)
		(void)snprintf(job->reason, sizeof(job->reason),
			       "elsewhere: %s", doubt);
	lines_close(&c);
	return err;
}

int similar_find(struct similar_job *job)
{
	const bool is_known = !job->of || job->digests.set;
	int relation, err = 0;

	for (relation = 0; relation < INDEX_RELATIONS && !err; relation++)
		if (is_known && similar_asks(job, relation))
			err = ask_for_list(job, relation);
	if (!err && job->everywhere)
		err = ask_everywhere(job);
	return err;
}

/* ---- an export ---- */

/* Adds each file of a content, or keeps the first one if best is not NULL. */
static int add_files(struct similar_job *job, const struct export_reader *r,
		     const struct similar_row *found, struct similar_row *best)
{
	const struct found_member *m = export_member(r);
	const struct found_file *f = m->files;
	struct similar_row row = *found;
	int err = 0;

	/* In text a root would say that something is there. */
	row.root = job->table.output.json ? r->content.root : NULL;
	row.size = (int64_t)m->size;
	row.on_disk = -1;
	if (!best)
		similar_set_measures(job, &r->digests, &row);
	for (; f < m->files + m->file_count && !err; f++) {
		row.mtime_ns = f->mtime_ns;
		row.path = strdup(f->names[0]);
		err = best ? similar_keep_nearer(best, &row) :
			     similar_add(job, &row);
	}
	return err;
}

static int compare_content(struct similar_job *job,
			   const struct export_reader *r)
{
	struct similar_row *const nearest[INDEX_RELATIONS] = {
		[INDEX_ALIKE] = &job->nearest,
		[INDEX_SHARES] = &job->longest,
	};
	struct judge_rules rules = job->rules;
	struct similar_row row = { .size = 0 };
	int relation, err = 0;

	for (relation = 0; relation < INDEX_RELATIONS && !err; relation++) {
		rules.relation = relation;
		/* Boilerplate is not told apart here. */
		if (relation == INDEX_ALL || !similar_asks(job, relation))
			continue;
		err = judge_digests(&job->digests, &r->digests, &rules,
				    &row.verdict);
		row.relation = similar_relation_of(relation, &row.verdict);
		if (!err && row.verdict.reason == VERDICT_LISTED)
			err = add_files(job, r, &row, NULL);
		else if (!err && nearest[relation] && row.verdict.bytes)
			err = add_files(job, r, &row, nearest[relation]);
	}
	return err == -ENODATA ? 0 : err;
}

int similar_find_in(struct similar_job *job)
{
	struct export_reader r;
	int err = 0;

	export_open(&r, job->in);
	if (r.mount.root || r.err == -ENODEV)
		r.err = -EISDIR;
	while (!err && export_next(&r))
		err = compare_content(job, &r);
	if (!err)
		err = export_complain(&r);
	if (!err && !r.is_complete)
		similar_set_incomplete(job);
	export_close(&r);
	return err;
}
