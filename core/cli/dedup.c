/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/base/array.h"
#include "core/base/err.h"
#include "core/base/text.h"
#include "core/catalog/catalog.h"
#include "core/cli/cli.h"
#include "core/cli/dedup_groups.h"
#include "core/dedup/dedup.h"

struct dedup_job {
	struct dedup_rules rules;
	struct dedup_options options;
	const char **directories; /* of --keep; owned, and the strings */
	const char *undo;         /* a journal */
	char *journal;            /* owned */
	bool apply, json;
	struct dedup_plan plan;
	char *mount_root, *mount_source; /* of the last real path; owned */
	size_t done, left;
	uint64_t bytes; /* set free by what was done */
};

/* ---- options ---- */

static int parse_how(struct dedup_job *job, const char *text)
{
	int i;

	for (i = 0; i < DEDUP_METHODS; i++)
		if (!strcmp(text, dedup_method_names[i])) {
			job->rules.method = (enum dedup_method)i;
			return EXIT_OK;
		}
	return usage_error(&command_dedup,
			   "--how: '%s' is not hardlink, reflink or remove",
			   text);
}

static int add_directory(struct dedup_job *job, const char *text)
{
	size_t count = job->rules.directory_count;
	const char **directories =
		array_with_room(job->directories, count, sizeof(*directories));
	char *path = directories ? realpath(text, NULL) : NULL;

	if (directories)
		job->directories = directories;
	if (!path) {
		complain_errno(text, directories ? -errno : -ENOMEM);
		return EXIT_FAILED;
	}
	directories[count] = path;
	job->rules.directories = directories;
	job->rules.directory_count++;
	return EXIT_OK;
}

static int parse_keep(struct dedup_job *job, const char *text)
{
	static const char *const names[] = {
		[DEDUP_KEEP_OLDEST] = "oldest",
		[DEDUP_KEEP_NEWEST] = "newest",
		[DEDUP_KEEP_SHORTEST] = "shortest",
	};
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(text, names[i])) {
			job->rules.keep = (enum dedup_keep)i;
			return EXIT_OK;
		}
	return add_directory(job, text);
}

static int parse_option(struct dedup_job *job, int c)
{
	switch (c) {
	case 'H':
		return parse_how(job, optarg);
	case 'k':
		return parse_keep(job, optarg);
	case 'm':
		if (!text_parse_size(optarg, &job->rules.min_size))
			return EXIT_OK;
		return usage_error(&command_dedup,
				   "--min-size: '%s' is not a number of bytes, "
				   "or of k, M, G, T",
				   optarg);
	case 'f':
		job->options.force_metadata = true;
		return EXIT_OK;
	case 'a':
		job->apply = true;
		return EXIT_OK;
	case 'J':
		free(job->journal);
		job->journal = strdup(optarg);
		return EXIT_OK;
	case 'u':
		job->undo = optarg;
		return EXIT_OK;
	case 'j':
		job->json = true;
		return EXIT_OK;
	default:
		return usage_error(&command_dedup, NULL);
	}
}

static int parse_dedup(struct dedup_job *job, int argc, char **argv)
{
	static const struct option options[] = {
		{ "how", required_argument, NULL, 'H' },
		{ "keep", required_argument, NULL, 'k' },
		{ "min-size", required_argument, NULL, 'm' },
		{ "force-metadata", no_argument, NULL, 'f' },
		{ "apply", no_argument, NULL, 'a' },
		{ "journal", required_argument, NULL, 'J' },
		{ "undo", required_argument, NULL, 'u' },
		{ "json", no_argument, NULL, 'j' },
		{ 0 },
	};
	int c, code = EXIT_OK;

	while (!code && (c = getopt_long(argc, argv, "", options, NULL)) != -1)
		code = parse_option(job, c);
	if (code)
		return code;
	if (job->undo && optind < argc)
		return usage_error(&command_dedup, "--undo takes a journal and "
						   "no groups");
	if (!job->undo && optind + 1 != argc)
		return usage_error(&command_dedup,
				   "one file of groups is needed: what kin "
				   "groups --json printed, or -");
	return EXIT_OK;
}

/* ---- what is derived, and where files are below a mount ---- */

static bool is_derived(const char *attribute)
{
	return !strncmp(attribute, "user.kinfs.", 11) || digest_find(attribute);
}

/* Remembers the mount of the path before. */
static int find_source(struct dedup_job *job, const char *path)
{
	struct mount mount = { 0 };
	json_t *status = NULL;
	const char *source;
	int err = mount_find(path, &mount);

	if (!err)
		err = status_get(mount.root, &status);
	source = json_string_value(json_object_get(status, "source"));
	if (!err && source) {
		free(job->mount_root);
		free(job->mount_source);
		job->mount_root = strdup(mount.root);
		job->mount_source = strdup(source);
	}
	json_decref(status);
	mount_release(&mount);
	return err;
}

/* The kernel shares extents of the files themselves, not of those that FUSE
 * shows. */
static char *real_path(void *arg, const char *path)
{
	struct dedup_job *job = arg;
	char *real = NULL;
	size_t len = job->mount_root ? strlen(job->mount_root) : 0;

	if (!len || strncmp(path, job->mount_root, len) || path[len] != '/') {
		if (find_source(job, path) || !job->mount_root ||
		    !job->mount_source)
			return strdup(path);
		len = strlen(job->mount_root);
	}
	if (asprintf(&real, "%s%s", job->mount_source, path + len) < 0)
		return NULL;
	return real;
}

/* ---- the plan ---- */

static int plan_take(void *arg, const char *const *paths, size_t count)
{
	struct dedup_job *job = arg;

	return dedup_plan_add(&job->plan, &job->rules, paths, count);
}

static void plan_skip(void *arg, const char *path, const char *reason)
{
	struct dedup_job *job = arg;

	complain(path, "left alone: %s", reason);
	job->left++;
}

static int print_step_json(const struct dedup_job *job,
			   const struct dedup_step *step, bool done,
			   const char *reason)
{
	json_t *o = json_pack("{s:s, s:b, s:I}", "method",
			      dedup_method_names[job->rules.method], "done",
			      done, "bytes", (json_int_t)step->bytes);

	if (!o ||
	    json_set_path(o, "path", job->plan.files[step->replace].path) ||
	    json_set_path(o, "keep", job->plan.files[step->keep].path) ||
	    (reason && json_object_set_new(o, "reason", json_string(reason)))) {
		json_decref(o);
		complain_errno(NULL, -ENOMEM);
		return EXIT_FAILED;
	}
	return json_print(o);
}

static int print_step(const struct dedup_job *job,
		      const struct dedup_step *step)
{
	char size[TEXT_SIZE_ROOM];

	if (job->json)
		return print_step_json(job, step, false, NULL);
	printf("%-8s %10s  ", dedup_method_names[job->rules.method],
	       text_format_size((double)step->bytes, TEXT_UNITS_FULL, size));
	print_escaped(job->plan.files[step->replace].path, ESCAPE_TERMINAL);
	fputs("\n    keep             ", stdout);
	print_escaped(job->plan.files[step->keep].path, ESCAPE_TERMINAL);
	putchar('\n');
	return EXIT_OK;
}

static int print_plan(const struct dedup_job *job)
{
	char size[TEXT_SIZE_ROOM];
	size_t i;
	int code = EXIT_OK;

	for (i = 0; i < job->plan.step_count && !code; i++)
		code = print_step(job, &job->plan.steps[i]);
	if (!code && !job->json)
		printf("%zu files would be replaced, which frees %s.  "
		       "Nothing was changed; --apply does it.\n",
		       job->plan.step_count,
		       text_format_size((double)job->plan.bytes,
					TEXT_UNITS_FULL, size));
	return code;
}

/* ---- doing it ---- */

/* DIRECTORY/dedup/DATE-PID.journal */
static char *default_journal(void)
{
	struct buf path = { 0 };
	char date[32];
	struct tm tm;
	time_t now = time(NULL);
	int err = catalog_state_directory(&path);

	if (!err)
		err = buf_append_text(&path, "/dedup");
	if (!err)
		err = catalog_make_directories(path.data);
	if (!err && localtime_r(&now, &tm) &&
	    strftime(date, sizeof(date), "%Y-%m-%d-%H%M%S", &tm))
		err = buf_append_format(&path, "/%s-%d.journal", date,
					(int)getpid());
	if (err) {
		complain(path.data,
			 "no place for the journal: %s; name one "
			 "with --journal",
			 err_text(err));
		buf_release(&path);
	}
	return buf_take(&path);
}

static int apply_step(struct dedup_job *job, const struct dedup_step *step,
		      struct dedup_journal *j, bool *stop_out)
{
	struct dedup_result r = { 0 };
	bool done;

	dedup_apply(&job->plan, step, &job->options, j, &r);
	done = r.outcome == DEDUP_DONE;
	*stop_out = r.outcome == DEDUP_STOP;
	job->done += done;
	job->left += !done;
	job->bytes += done ? step->bytes : 0;
	if (job->json)
		return print_step_json(job, step, done, done ? NULL : r.reason);
	if (!done)
		complain(job->plan.files[step->replace].path, "left alone: %s",
			 r.reason);
	return EXIT_OK;
}

static int apply_plan(struct dedup_job *job)
{
	struct dedup_journal *j = NULL;
	char size[TEXT_SIZE_ROOM];
	bool stopped = false;
	size_t i;
	int err, code = EXIT_OK;

	if (!job->journal)
		job->journal = default_journal();
	if (!job->journal)
		return EXIT_FAILED;
	err = dedup_journal_create(job->journal, &j);
	if (err) {
		complain(job->journal,
			 "the journal cannot be written: %s; nothing was "
			 "changed",
			 err_text(err));
		return EXIT_FAILED;
	}
	for (i = 0; i < job->plan.step_count && !code && !stopped; i++)
		code = apply_step(job, &job->plan.steps[i], j, &stopped);
	dedup_journal_free(j);
	if (!job->json) {
		printf("%zu files replaced, %s freed, %zu left alone.\n"
		       "kin dedup --undo ",
		       job->done,
		       text_format_size((double)job->bytes, TEXT_UNITS_FULL,
					size),
		       job->left);
		print_escaped(job->journal, ESCAPE_TERMINAL);
		puts("   takes it back");
	}
	return code;
}

static void tell_undo(void *arg, const char *path, const char *reason)
{
	(void)arg;
	complain(path, "not restored: %s", reason);
}

static int undo(const struct dedup_job *job)
{
	struct dedup_undo_counts counts;
	int err = dedup_undo(job->undo, tell_undo, NULL, &counts);

	if (err == -EINVAL) {
		complain(job->undo, "is not a journal of kin dedup; nothing "
				    "was changed");
		return EXIT_FAILED;
	}
	if (err) {
		complain_errno(job->undo, err);
		return EXIT_FAILED;
	}
	if (job->json)
		return json_print(json_pack("{s:I, s:I, s:I}", "restored",
					    (json_int_t)counts.restored,
					    "failed", (json_int_t)counts.failed,
					    "nothing_to_do",
					    (json_int_t)counts.nothing));
	printf("%zu files restored, %zu not, %zu needed nothing\n",
	       counts.restored, counts.failed, counts.nothing);
	return counts.failed ? EXIT_FAILED : EXIT_OK;
}

static void job_release(struct dedup_job *job)
{
	size_t i;

	dedup_plan_release(&job->plan);
	for (i = 0; i < job->rules.directory_count; i++)
		free((char *)job->directories[i]);
	free(job->directories);
	free(job->journal);
	free(job->mount_root);
	free(job->mount_source);
}

static int run_dedup(int argc, char **argv)
{
	struct dedup_job job = { 0 };
	int code = parse_dedup(&job, argc, argv);

	if (!code && job.undo) {
		code = undo(&job);
	} else if (!code) {
		job.options.method = job.rules.method;
		job.options.is_derived = is_derived;
		job.options.real_path = real_path;
		job.options.arg = &job;
		job.plan.skip = plan_skip;
		job.plan.arg = &job;
		code = dedup_groups_read(argv[optind], plan_take, &job);
		if (!code)
			code = job.apply ? apply_plan(&job) : print_plan(&job);
		if (!code && job.left)
			code = EXIT_FAILED;
	}
	job_release(&job);
	return code;
}

const struct command command_dedup = {
	.name = "dedup",
	.synopsis = "dedup [OPTION]... GROUPS | dedup --undo JOURNAL",
	.summary = "Turn exact copies into links, shared blocks or nothing",
	.help = "GROUPS is a file of what kin groups --json printed, or - for "
		"standard input.  Only\n"
		"the exact copies in it are used.  Without --apply the plan is "
		"printed and nothing is\n"
		"changed.  With it each copy is compared byte by byte, must be "
		"as it was and open for\n"
		"writing to nobody, and is replaced in one atomic step.\n\n"
		"      --how hardlink   another name of the kept file (default)\n"
		"      --how reflink    a file of its own that shares the blocks "
		"(XFS, btrfs)\n"
		"      --how remove     nothing\n"
		"      --keep oldest|newest|shortest\n"
		"                       which one stays (default: oldest)\n"
		"      --keep DIR       files below DIR stay, whatever else; may "
		"be repeated\n"
		"      --min-size N     only files of N bytes or more (1k, 1M, "
		"...)\n"
		"      --force-metadata hard links even if owner, mode or "
		"attributes differ\n"
		"      --apply          do it\n"
		"      --journal FILE   where to note what is done (default: "
		"below the state\n"
		"                       directory)\n"
		"      --undo JOURNAL   take back what a journal says\n"
		"      --json           an object a line\n\n"
		"Exit status 1 if something was left alone.\n",
	.run = run_dedup,
};
