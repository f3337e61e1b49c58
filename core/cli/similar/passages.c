/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/array.h"
#include "core/base/json.h"
#include "core/cli/cli.h"
#include "core/cli/similar/content.h"
#include "core/cli/table.h"
#include "core/client/question.h"

/*
 * kin passages: where the passages of a file come from.  The mount names the
 * files that may share one by their sketches; each of them is read.
 */

/* A passage shorter than this is a phrase. */
#define PASSAGES_LEAST 1024

/* A passage and the file that has it, too. */
struct found_passage {
	struct passage passage;
	json_t *row; /* owned */
};

struct passages_job {
	struct table table;
	uint64_t share_min, limit;
	struct mount mount;
	const char *path;
	char *rel; /* owned */
	struct content content;
	struct found_passage *sources;
	size_t count;
	bool cut, incomplete, unread;
};

static const struct column columns[] = {
	{ "lines", "LINES", COLUMN_WORD, COLUMN_SHOWN },
	{ "size", "SIZE", COLUMN_SIZE, COLUMN_SHOWN },
	{ "there", "THERE", COLUMN_WORD, COLUMN_SHOWN },
	{ "path", "PATH", COLUMN_PATH, COLUMN_SHOWN },
	{ 0 },
};

static int add_source(struct passages_job *job, const struct content *other,
		      const char *path, const struct passage *p)
{
	struct found_passage *all =
		array_with_room(job->sources, job->count, sizeof(*all));
	json_t *row = passage_json(&job->content, other, p);

	row = json_with_path(row, "path", path);
	row = json_with_path(row, "root", job->mount.root);
	if (!all) {
		json_decref(row);
		return -ENOMEM;
	}
	job->sources = all;
	all[job->count++] = (struct found_passage){ *p, row };
	return row ? 0 : -ENOMEM;
}

/* Adds the passages of a file below the root of the mount. */
static int compare(struct passages_job *job, const char *path)
{
	char *shown = path_shown(job->mount.root, path, false);
	struct passage *all = NULL;
	struct content other = { 0 };
	size_t count = 0, i;
	int err = shown ? content_compare(&job->content, shown, job->share_min,
					  &other, &all, &count) :
			  -ENOMEM;

	if (err && err != -ENOMEM) {
		(void)cli_complain_errno(shown, err);
		job->unread = true;
		err = 0;
	}
	for (i = 0; i < count && !err; i++)
		err = add_source(job, &other, path, &all[i]);
	free(all);
	free(shown);
	content_release(&other);
	return err;
}

/* Sketches estimate: files that may have a passage are read, too. */
static int find_sources(struct passages_job *job)
{
	const struct question question = {
		.path = job->rel,
		.rules = { .relation = INDEX_SHARES,
			   .share_min = (job->share_min + 1) / 2 },
		.limit = QUESTION_LIMIT_MAX,
		.ignore = true,
	};
	struct answer a;
	int err = question_ask(&a, &job->mount, &question);

	while (!err && (err = answer_next(&a)) > 0)
		err = compare(job, a.path);
	if (!err) {
		job->cut = a.cut;
		job->incomplete = !a.complete || a.state;
		if (job->incomplete)
			cli_complain(job->path, "not known yet (%s)",
				     a.state ? a.state : "hashing");
	}
	answer_close(&a);
	return err;
}

static int by_place(const void *a, const void *b)
{
	const struct passage *x = &((const struct found_passage *)a)->passage,
			     *y = &((const struct found_passage *)b)->passage;

	if (x->a != y->a)
		return x->a < y->a ? -1 : 1;
	if (x->a_end != y->a_end)
		return x->a_end > y->a_end ? -1 : 1;
	return 0;
}

static int print(struct passages_job *job)
{
	size_t i;
	int err = 0;

	if (job->count)
		qsort(job->sources, job->count, sizeof(*job->sources),
		      by_place);
	for (i = 0; i < job->count && !err; i++) {
		if (job->limit && i == job->limit) {
			job->cut = true;
			break;
		}
		err = table_row(&job->table, job->sources[i].row);
		job->sources[i].row = NULL;
	}
	if (err || !job->table.output.json)
		return err;
	return table_totals(json_pack("{s:I, s:b}", "passages",
				      (json_int_t)job->table.rows, "cut",
				      job->cut),
			    !job->incomplete && !job->unread, NULL);
}

static int run(const struct command *self, char **paths)
{
	struct passages_job *job = self->job;
	int code;

	job->path = *paths;
	job->table.relative = **paths != '/';
	if (!job->share_min)
		job->share_min = PASSAGES_LEAST;
	code = mount_path_or_complain(*paths, &job->mount, &job->rel);
	if (!code)
		code = mount_listings_or_complain(&job->mount);
	if (!code)
		code = content_read(*paths, &job->content);
	if (!code)
		code = find_sources(job);
	if (!code)
		code = print(job);
	if (!code && !job->count && !job->incomplete)
		cli_complain(job->path, "no other file has a passage of it");
	return code                           ? code :
	       job->incomplete || job->unread ? EXIT_INCOMPLETE :
						EXIT_OK;
}

static const struct option_row options[] = {
	{ "share-min", 0, "N", "least passage in bytes (default: 1k)",
	  OPTION_SIZE(struct passages_job, share_min) },
	{ "limit", 0, "N", "at most so many passages",
	  OPTION_NUMBER(struct passages_job, limit) },
	{ "json", 0, NULL, "an object a line, the last one with totals",
	  OPTION_FLAG(struct passages_job, table.output.json) },
	{ 0 },
};

const struct command command_passages = {
	.name = "passages",
	.synopsis = "passages [OPTION]... FILE",
	.summary = "List where the passages of a file come from",
	.help = "Each passage that another file of the mount has, too, in the order of FILE: its\n"
		"lines, and the lines there.  Of a document or an archive these are lines of its\n"
		"text; of what is no text @ and the numbers of the bytes.\n",
	.options = options,
	.notes = "Exit status: 0 ok; 1 failed; 2 usage; 3 not all files could "
		 "be looked at.\n",
	.operands = { 1, 1 },
	.lacking = "of which file?",
	.job = &(struct passages_job){ .table.columns = columns },
	.run = run,
};
