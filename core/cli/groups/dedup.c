/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/array.h"
#include "core/cli/cli.h"
#include "core/cli/groups/dedup_job.h"
#include "core/cli/groups/groups_ask.h"
#include "core/cli/progress.h"

/* ---- options ---- */

static int take_how(void *arg, const char *text)
{
	struct dedup_job *job = arg;
	int i;

	for (i = 0; i <= DEDUP_REMOVE; i++)
		if (!strcmp(text, dedup_method_names[i])) {
			job->has_method = true;
			job->rules.method = (enum dedup_method)i;
			return EXIT_OK;
		}
	return cli_usage_error(&command_dedup,
			       "--how: '%s' is not hardlink, reflink or remove",
			       text);
}

static int take_keep(void *arg, const char *text)
{
	struct dedup_job *job = arg;
	const size_t count = job->rules.directory_count;
	const char **directories;
	char *path;

	if (keep_order_parse(text, &job->rules.keep))
		return EXIT_OK;
	path = realpath(text, NULL);
	directories = path ? array_with_room(job->directories, count,
					     sizeof(*directories)) :
			     NULL;
	if (!directories) {
		cli_complain_errno(text, path ? -ENOMEM : -errno);
		free(path);
		return EXIT_FAILED;
	}
	job->rules.directories = job->directories = directories;
	directories[job->rules.directory_count++] = path;
	return EXIT_OK;
}

static int parse_dedup(struct dedup_job *job, int argc, char **argv)
{
	int code = options_parse(&command_dedup, job, argc, argv);

	if (code)
		return code;
	if (job->undo && optind < argc)
		return cli_usage_error(&command_dedup,
				       "--undo takes a journal and "
				       "no groups");
	if (job->blocks && job->has_method &&
	    job->rules.method != DEDUP_REFLINK)
		return cli_usage_error(
			&command_dedup,
			"--blocks shares blocks: it goes with --how "
			"reflink alone");
	if (!job->undo && optind + 1 != argc)
		return cli_usage_error(
			&command_dedup,
			"a mount or one file of groups is needed: "
			"what kin groups --json printed, or -");
	if (job->blocks)
		job->rules.method = DEDUP_BLOCKS;
	return EXIT_OK;
}

/* ---- the plan ---- */

/* A negative errno, or the end. */
static int take_groups(struct dedup_job *job, struct groups *from)
{
	int event;

	while ((event = progress_groups_next(from, "searching for copies",
					     false)) > 0) {
		event = dedup_plan_add(&job->plan, &job->rules, from->root,
				       &from->group);
		if (event)
			break;
	}
	progress_clear();
	return event;
}

static int read_file(struct dedup_job *job, const char *path)
{
	struct groups from;
	FILE *file;
	int err = groups_file_open(path, &from, &file);

	if (!err)
		err = take_groups(job, &from);
	if (err == -EXDEV)
		cli_complain(job->plan.refused,
			     from.root ? "line %zu of %s: the path leads "
					 "outside of %s; nothing was changed" :
					 "line %zu of %s: not a plain path; "
					 "nothing was changed",
			     from.file.number, path, from.root);
	else if (err)
		(void)groups_file_failed(path, &from, err,
					 "nothing was changed");
	groups_file_close(&from, file);
	return err ? EXIT_FAILED : EXIT_OK;
}

static int read_mount(struct dedup_job *job, char **operands)
{
	struct groups_asking asking = { .wish = { .exact = !job->blocks,
						  .vcs = job->rules.internal },
					.best.threshold = job->threshold };
	struct groups from = { 0 };
	int code = groups_asking_operands(&asking, &command_dedup, operands),
	    err = 0;

	job->table.base = path_base_of(operands[0]);
	if (!code)
		code = groups_asking_begin(&asking, &from);
	if (!code)
		err = take_groups(job, &from);
	if (err)
		code = groups_asking_failed(&asking, err);
	else if (!code && from.totals.incomplete)
		/* Files that are not hashed yet are no error here. */
		cli_complain(from.root, "not all files are hashed: there may "
					"be more copies");
	groups_close(&from);
	groups_asking_release(&asking);
	return code;
}

/* A directory that protects nothing is a mistake: that of another mount, or the
 * tree below this one. */
static int check_directories(const struct dedup_job *job)
{
	const struct dedup_file *f,
		*end = job->plan.files + job->plan.file_count;
	size_t i, k;
	bool used;

	for (i = 0; i < job->rules.directory_count; i++) {
		used = !job->plan.file_count;
		for (f = job->plan.files; f < end && !used; f++)
			for (k = 0; k < f->path_count && !used; k++)
				used = dedup_is_below(f->paths[k],
						      job->directories[i]);
		if (used)
			continue;
		return cli_complain(
			job->directories[i],
			"--keep: no file of the groups is below this "
			"directory; nothing was changed");
	}
	return EXIT_OK;
}

static int make_plan(struct dedup_job *job, char **operands)
{
	struct stat st;
	int code;

	job->plan.skip = dedup_tell_skipped;
	job->plan.arg = job;
	job->rules.mount = &job->mount;
	code = strcmp(operands[0], "-") && !stat(operands[0], &st) &&
			       S_ISDIR(st.st_mode) ?
		       read_mount(job, operands) :
		       read_file(job, operands[0]);
	if (!code)
		code = check_directories(job);
	if (code || job->plan.file_count || !job->left)
		return code;
	return cli_complain(operands[0],
			    "none of the files can be used; were the groups "
			    "made of another mount?  Nothing was changed");
}

static void job_release(struct dedup_job *job)
{
	size_t i;

	dedup_plan_release(&job->plan);
	for (i = 0; i < job->rules.directory_count; i++)
		free((char *)job->directories[i]);
	free(job->directories);
	free((char *)job->table.base);
	free(job->journal);
	filter_release(&job->rules.filter);
	dedup_mount_release(&job->mount);
}

static int run_dedup(int argc, char **argv)
{
	struct dedup_job job = { 0 };
	struct rlimit files;
	int code = parse_dedup(&job, argc, argv);

	/* A step has the directories of all names of a file open. */
	if (!getrlimit(RLIMIT_NOFILE, &files)) {
		files.rlim_cur = files.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &files);
	}
	if (!code && job.undo)
		code = dedup_take_back(&job);
	else if (!code && !(code = make_plan(&job, argv + optind)))
		code = dedup_run_plan(&job);
	job_release(&job);
	return !code && job.left ? EXIT_FAILED : code;
}

static const struct option_row options[] = {
	{ "how", 0, "hardlink|reflink|remove",
	  "another name of the kept file (default), its blocks, or nothing",
	  OPTION_TAKE(take_how) },
	{ "blocks", 0, NULL,
	  "near-duplicates share their equal blocks (XFS, btrfs)",
	  OPTION_FLAG(struct dedup_job, blocks) },
	{ "keep", 0, "oldest|newest|shortest|DIR",
	  "which one stays (oldest); all below a DIR stay",
	  OPTION_TAKE(take_keep) },
	{ "vcs", 0, NULL, "also below .git and the like, and in caches",
	  OPTION_FLAG(struct dedup_job, rules.internal) },
	{ "threshold", 0, "N",
	  "with --blocks, least score with the head of a group",
	  OPTION_THRESHOLD(struct dedup_job, threshold) },
	FILTER_OPTIONS(struct dedup_job, rules.filter),
	{ "force-metadata", 0, NULL, "even if owner, mode or attributes differ",
	  OPTION_FLAG(struct dedup_job, rules.force_metadata) },
	{ "apply", 0, NULL, "do it; exit status 1 if something was left alone",
	  OPTION_FLAG(struct dedup_job, apply) },
	{ "journal", 0, "FILE",
	  "where to note what is done (in the state directory)",
	  OPTION_TEXT(struct dedup_job, wanted_journal) },
	{ "undo", 0, "JOURNAL", "take back what a journal says",
	  OPTION_TEXT(struct dedup_job, undo) },
	{ "json", 0, NULL, "an object a line",
	  OPTION_FLAG(struct dedup_job, table.output.json) },
	{ 0 },
};

const struct command command_dedup = {
	.name = "dedup",
	.synopsis = "dedup [OPTION]... GROUPS | --undo JOURNAL",
	.summary = "Turn exact copies into links, shared blocks or nothing",
	.help = "GROUPS is a mount, a file of kin groups --json, or -.  Without --apply the plan\n"
		"is printed.  With it each copy is compared byte by byte, and replaced at once.\n",
	.options = options,
	.run = run_dedup,
};
