/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/array.h"
#include "core/base/text.h"
#include "core/cli/cli.h"
#include "core/cli/groups/dedup_job.h"

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

static int take_root(void *arg, const char *text)
{
	struct dedup_job *job = arg;

	free(job->root);
	job->root = realpath(text, NULL);
	if (job->root)
		return EXIT_OK;
	return cli_complain_errno(text, -errno);
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
	if (!job->undo && optind + 1 != argc && !(job->blocks && optind < argc))
		return cli_usage_error(
			&command_dedup,
			"a mount or one file of groups is needed: "
			"what kin groups --json printed, or -");
	if (job->blocks)
		job->rules.method = DEDUP_BLOCKS;
	job->rules.min_size = job->filter.min_size;
	return EXIT_OK;
}

/* ---- the plan ---- */

int dedup_plan_group(struct dedup_job *job, const struct dedup_set *sets,
		     size_t count)
{
	size_t i;
	int err = 0;

	if (job->blocks)
		return dedup_plan_add_alike(&job->plan, &job->rules, sets,
					    count);
	for (i = 0; i < count && !err; i++)
		if (sets[i].count > 1)
			err = dedup_plan_add(&job->plan, &job->rules, &sets[i]);
	return err;
}

/* Files that are named one by one are a group of contents. */
static int take_operands(struct dedup_job *job, char **operands, size_t count)
{
	const char **paths = calloc(count, sizeof(*paths));
	struct dedup_set *sets = calloc(count, sizeof(*sets));
	int err = paths && sets ? 0 : -ENOMEM;
	size_t i;

	for (i = 0; i < count && !err; i++) {
		/* The user's own word: links on the way to it are followed. */
		paths[i] = cli_absolute_path(operands[i]);
		sets[i] = (struct dedup_set){ .paths = &paths[i], .count = 1 };
		err = paths[i] ? 0 : -errno;
	}
	if (err)
		cli_complain_errno(i ? operands[i - 1] : NULL, err);
	else if ((err = dedup_plan_group(job, sets, count)))
		cli_complain_errno(NULL, err);
	for (i = 0; paths && i < count; i++)
		free((char *)paths[i]);
	free(paths);
	free(sets);
	return err ? EXIT_FAILED : EXIT_OK;
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

static int make_plan(struct dedup_job *job, char **operands, size_t count)
{
	int code;

	job->plan.skip = dedup_tell_skipped;
	job->plan.arg = job;
	code = count > 1 ? take_operands(job, operands, count) :
			   dedup_groups_read(job, operands[0]);
	if (!code)
		code = check_directories(job);
	if (code || job->plan.file_count || !job->left)
		return code;
	return cli_complain(
		count > 1 ? NULL : operands[0],
		"none of the files can be used; were the groups made of "
		"another mount?  (see --root)  Nothing was changed");
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
	free(job->root);
	filter_release(&job->filter);
	dedup_mount_release(&job->mount);
}

static int run_plan(struct dedup_job *job, char **operands, size_t count)
{
	int code;

	job->rules.mount = &job->mount;
	code = make_plan(job, operands, count);
	if (code)
		return code;
	code = dedup_run_plan(job);
	return !code && job->left ? EXIT_FAILED : code;
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
	if (!code)
		code = job.undo ? dedup_take_back(&job) :
				  run_plan(&job, argv + optind,
					   (size_t)(argc - optind));
	job_release(&job);
	return code;
}

static const struct option_row options[] = {
	{ "how", 0, "hardlink|reflink|remove",
	  "another name of the kept file (default), its blocks, or nothing",
	  OPTION_TAKE(take_how) },
	{ "blocks", 0, NULL,
	  "near-duplicates share their equal blocks (XFS, btrfs)",
	  OPTION_FLAG(struct dedup_job, blocks) },
	{ "root", 0, "DIR",
	  "only groups of this mount, or with paths relative to it",
	  OPTION_TAKE(take_root) },
	{ "keep", 0, "oldest|newest|shortest|DIR",
	  "which one stays (oldest); all below a DIR stay",
	  OPTION_TAKE(take_keep) },
	{ "vcs", 0, NULL, "also below .git and the like, and in caches",
	  OPTION_FLAG(struct dedup_job, vcs) },
	{ "threshold", 0, "N",
	  "with --blocks, least score with the head of a group",
	  OPTION_THRESHOLD(struct dedup_job, threshold) },
	FILTER_OPTIONS(struct dedup_job, filter),
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
	.synopsis =
		"dedup [OPTION]... GROUPS\n"
		"       kin dedup --blocks [OPTION]... FILE FILE... | --undo JOURNAL",
	.summary = "Turn exact copies into links, shared blocks or nothing",
	.help = "GROUPS is a mount, a file of kin groups --json, or -.  Without --apply the plan\n"
		"is printed.  With it each copy is compared byte by byte, and replaced at once.\n",
	.options = options,
	.run = run_dedup,
};
