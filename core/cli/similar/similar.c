/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/similar/similar.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/json.h"
#include "core/base/text.h"

/* ---- the columns of files ---- */

enum { SHARED = 4 }; /* the column that is shown with --relation shares */

static const struct column columns[] = {
	{ "score", "SCORE", COLUMN_NUMBER, COLUMN_SHOWN },
	{ "relation", "RELATION", COLUMN_WORD, COLUMN_SHOWN },
	{ "distinctive", "DISTINCTIVE", COLUMN_NUMBER, COLUMN_VERBOSE },
	{ "by", "BY", COLUMN_WORD, COLUMN_VERBOSE },
	{ "shared", "SHARED", COLUMN_SIZE, COLUMN_VERBOSE },
	{ "sise", "SISE", COLUMN_NUMBER, COLUMN_VERBOSE },
	{ "simhash", "SIMHASH", COLUMN_NUMBER, COLUMN_VERBOSE },
	{ "rdc", "RDC", COLUMN_NUMBER, COLUMN_VERBOSE },
	{ "sif", "SIF", COLUMN_NUMBER, COLUMN_VERBOSE },
	{ "ssdeep", "SSDEEP", COLUMN_NUMBER, COLUMN_VERBOSE },
	{ "size", "SIZE", COLUMN_SIZE, COLUMN_SHOWN },
	{ "on_disk", "ON DISK", COLUMN_SIZE, COLUMN_VERBOSE },
	{ "mtime", "DATE", COLUMN_DATE, COLUMN_SHOWN },
	{ "path", "PATH", COLUMN_PATH, COLUMN_SHOWN },
	{ 0 },
};

/* ---- the end of an operand ---- */

static bool is_a(const char *path, mode_t type)
{
	struct stat st;

	return !stat(path, &st) && (st.st_mode & S_IFMT) == type;
}

static bool is_directory(const char *path)
{
	return is_a(path, S_IFDIR);
}

static void complain_incomplete(const struct similar_job *job, const char *path)
{
	static const char *const texts[][2] = {
		{ "busy", "not known yet: a program has it open for writing" },
		{ "pending", "not known yet: it is not hashed" },
		{ "skipped:",
		  "not known: it is not hashed because of the mount's "
		  "options" },
		{ "error:", "not known: it could not be read" },
	};
	const char *text = "the answer is not complete";
	size_t i;

	if (job->unknown) {
		cli_complain(path,
			     "%zu %s as different; "
			     "kin status --failed --skipped lists them",
			     job->unknown,
			     text_plural(job->unknown,
					 "file has no digests and counts",
					 "files have no digests and count"));
		return;
	}
	for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (!strncmp(job->reason, texts[i][0], strlen(texts[i][0])))
			text = texts[i][1];
	cli_complain(path, "%s (%s)", text, job->reason);
}

/* Says what is missing, and forgets the operand. */
static int finish(struct similar_job *job)
{
	const char *path = job->of ? job->of : job->path;
	int code = EXIT_OK;

	if (*job->reason) {
		complain_incomplete(job, path);
		code = EXIT_INCOMPLETE;
	} else if (job->cut && !job->best.limit) {
		cli_complain(path, "%s",
			     !job->of && job->path && is_directory(job->path) ?
				     "other directories have content in common "
				     "with it, too; only the best are listed" :
				     "there are more than the mount's limit; "
				     "see --limit");
	}
	job->any_cut |= job->cut;
	if (*job->reason && !*job->doubt)
		memcpy(job->doubt, job->reason, sizeof(job->doubt));
	mount_release(&job->mount);
	digests_release(&job->digests);
	job->digests = (struct digests){ 0 };
	json_decref(job->rows);
	*job->reason = '\0';
	job->cut = false;
	job->unknown = 0;
	return code;
}

/* ---- one operand ---- */

/* Directories that resemble one: the mount tells scores and paths. */
static int list_directories(struct similar_job *job)
{
	json_t *found = json_array(), *row;
	size_t i;
	int err = client_list(&job->mount, job->mount.rel, ".dirs", found,
			      job->reason);

	job->cut = !strncmp(job->reason, "cut", 3);
	if (job->cut)
		*job->reason = '\0';
	json_array_foreach(found, i, row)
	{
		char *path = json_get_path(row, "path");

		if (!err && similar_number(row, "score") >= job->best.threshold)
			err = json_set_path(row, "root", job->mount.root) ?:
				      similar_add(job->rows, path, INDEX_ALIKE,
						  false, json_incref(row));
		free(path);
	}
	json_decref(found);
	return err ? err : similar_print(job);
}

/* Whether what was asked for goes with what the paths are. */
static int check_kind(const struct similar_job *job)
{
	const char *wrong = NULL;

	if (is_directory(job->path) && job->relation)
		wrong = "a directory; --relation is that of files";
	else if (!is_directory(job->path) && !is_a(job->path, S_IFREG))
		wrong = "neither a file nor a directory";
	else if (job->why && is_directory(job->path))
		wrong = "a directory; --why is about two files";
	else if (job->other && !job->why && !is_directory(job->path))
		wrong = "not a directory, but the other one is";
	if (!wrong)
		return EXIT_OK;
	return cli_complain(job->path, "%s", wrong);
}

static int ask(struct similar_job *job)
{
	int code;

	if (job->in)
		return similar_in(job);
	code = mount_find_or_complain(job->path, &job->mount);
	if (code || !mount_listings_or_complain(&job->mount) ||
	    (!job->of && check_kind(job)))
		return 1;
	if (job->of) {
		job->within = *job->mount.rel && is_directory(job->path) ?
				      job->mount.rel :
				      NULL;
		return similar_file(job);
	}
	if (is_directory(job->path) && !*job->mount.rel)
		return cli_complain(job->path,
				    "the whole mount, which nothing is beside; "
				    "kin groups lists what is alike in it");
	if (is_directory(job->path))
		return job->other ? similar_trees(job) : list_directories(job);
	return job->why ? similar_why(job) : similar_file(job);
}

static int run_operand(struct similar_job *job, const char *path,
		       const char *other)
{
	int err, code;

	job->path = path;
	job->other = other;
	job->rows = json_object();
	job->table.base = path_base_of(path);
	err = ask(job);
	if (err < 0)
		cli_complain_errno(path, err);
	if (err)
		*job->reason = '\0';
	code = finish(job);
	free((char *)job->table.base);
	job->table.base = NULL;
	return err ? EXIT_FAILED : code;
}

/* ---- the command ---- */

static int take_relation(void *arg, const char *name)
{
	struct similar_job *job = arg;
	int i;

	for (i = 0; i < SIMILAR_RELATIONS; i++)
		if (!strcmp(name, similar_relation_names[i])) {
			job->relation = similar_relation_names[i];
			return EXIT_OK;
		}
	return cli_usage_error(&command_similar,
			       "--relation: '%s' is not copy, version, "
			       "contains, within, shares or boilerplate",
			       name);
}

static bool is_of_others(const struct similar_job *job)
{
	return !job->relation ||
	       !strcmp(job->relation, similar_relation_names[SIMILAR_COPY]) ||
	       !strcmp(job->relation, similar_relation_names[SIMILAR_VERSION]);
}

static int check(const struct similar_job *job, int operands)
{
	const struct command *command = &command_similar;

	if (job->everywhere &&
	    (job->why || job->in || operands > 1 || !is_of_others(job)))
		return cli_usage_error(command,
				       "--everywhere takes one file, and finds "
				       "copies and versions");
	if (job->of && operands != 1)
		return cli_usage_error(command, "in which mount?");
	if (!operands)
		return cli_usage_error(command, "which file or directory?");
	if (job->why && (operands != 2 || job->of || job->in))
		return cli_usage_error(command, "--why takes two files");
	if (job->in && (operands != 1 || job->of))
		return cli_usage_error(command, "--in takes one file");
	return output_check(command, &job->output);
}

static int run_all(struct similar_job *job, char **paths)
{
	int code = EXIT_OK, each;

	if (job->why || (paths[1] && !paths[2] &&
			 (is_directory(paths[0]) || is_directory(paths[1]))))
		return run_operand(job, paths[0], paths[1]);
	job->several = paths[1];
	for (; *paths; paths++) {
		each = run_operand(job, *paths, NULL);
		if (each && code != EXIT_FAILED)
			code = each;
	}
	return code;
}

static int run(int argc, char **argv)
{
	struct similar_job job = { 0 };
	struct column own[sizeof(columns) / sizeof(columns[0])];
	int code = options_parse(&command_similar, &job, argc, argv), printed;

	memcpy(own, columns, sizeof(own));
	if (job.relation == similar_relation_names[SIMILAR_SHARES])
		own[SHARED].place = COLUMN_SHOWN;
	job.table.columns = own;
	job.table.output = job.output;
	if (!code)
		code = check(&job, argc - optind);
	if (!code) {
		code = run_all(&job, argv + optind);
		if (job.output.json && !job.why && code != EXIT_FAILED) {
			printed = table_totals(json_pack("{s:I, s:b}", "files",
							 (json_int_t)job.found,
							 "cut", job.any_cut),
					       !*job.doubt, job.doubt);
			code = printed ? printed : code;
		}
	}
	filter_release(&job.filter);
	return code;
}

static const struct option_row options[] = {
	{ "relation", 0, "copy|version|contains|within|shares|boilerplate",
	  "only these; FILE contains PATH, is within it, ...",
	  OPTION_TAKE(take_relation) },
	BEST_OPTIONS(struct similar_job, best),
	{ "share-min", 0, "N",
	  "least passage that is shared (default: the mount's)",
	  OPTION_SIZE(struct similar_job, share_min) },
	FILTER_OPTIONS(struct similar_job, filter),
	{ "of", 0, "FILE", "FILE need not be in the mount; - is standard input",
	  OPTION_TEXT(struct similar_job, of) },
	{ "in", 0, "EXPORT", "search in a file that kin export wrote",
	  OPTION_TEXT(struct similar_job, in) },
	{ "why", 0, NULL, "why the second file is listed or not for the first",
	  OPTION_FLAG(struct similar_job, why) },
	{ "everywhere", 0, NULL,
	  "also what other hosts have, by the mount's kin-share",
	  OPTION_FLAG(struct similar_job, everywhere) },
	OUTPUT_OPTIONS(struct similar_job, output),
	{ 0 },
};

const struct command command_similar = {
	.name = "similar",
	.synopsis =
		"similar [OPTION]... PATH... | --of FILE [MOUNT] | --in EXPORT FILE\n"
		"       kin similar --why [OPTION]... FILE FILE",
	.summary = "List what resembles a file or directory of a kinfs mount",
	.help = "A file: its copies and versions, what it is within, contains, has a passage of.\n"
		"A directory: the like.  Two directories: how their files differ.\n",
	.options = options,
	.notes = "Exit status: 0 ok; 1 failed; 2 usage; 3 FILE is being "
		 "written, or not hashed.\n",
	.run = run,
};
