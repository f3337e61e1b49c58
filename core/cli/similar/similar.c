/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/similar/similar.h"
#include "core/base/text.h"
#include "core/cli/record.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- a file of the mount ---- */

static int show(void *arg, int score, const char *path)
{
	return similar_show(arg, &(struct similar_found){ .score = score,
							  .distinctive = -1,
							  .bytes = -1,
							  .path = path });
}

void similar_look_file(struct similar_job *job, const char *file)
{
	struct buf state = { 0 };

	if (!mount_get_attribute(file, STATE_ATTRIBUTE, &state) &&
	    strcmp(state.data, "fresh") != 0)
		(void)snprintf(job->reason, sizeof(job->reason), "%s",
			       state.data);
	buf_release(&state);
}

bool similar_look_pair(struct similar_job *job, const char *file,
		       const char *other)
{
	similar_look_file(job, file);
	if (!*job->reason)
		similar_look_file(job, other);
	return !*job->reason;
}

/* A file that was not hashed has a listing without entries, whatever is like
 * it. */
static void read_states(struct similar_job *job, const char *listing,
			const char *file)
{
	similar_look_state(job, listing);
	if (!*job->reason)
		similar_look_file(job, file);
}

static int similar_file(struct similar_job *job)
{
	static const char *const views[] = {
		[INDEX_ALIKE] = "",
		[INDEX_WITHIN] = "/.within",
		[INDEX_CONTAINS] = "/.contains",
		[INDEX_ALL] = "/.all",
		[INDEX_SHARES] = "/.shares",
	};
	char *listing = similar_format("%s/%s%s", job->listings, job->mount.rel,
				       views[job->relation]);
	char *file = similar_path(job, job->mount.rel);
	int err = listing && file ? 0 : -ENOMEM;

	if (!err) {
		similar_digests(file, &job->digests);
		err = similar_each(job, listing, show, job);
		read_states(job, listing, file);
	}
	free(listing);
	free(file);
	return err;
}

/* ---- printing ---- */

static int print_json(struct similar_job *job)
{
	char *path = job->of ? strdup(job->of) :
		     job->in ? strdup(job->path) :
			       similar_path(job, job->mount.rel);
	struct record r;

	record_begin(&r);
	record_path(&r, "path", path ? path : "");
	record_text(&r, "relation", index_relation_names[job->relation]);
	record_flag(&r, "cut", similar_is_cut(job));
	record_flag(&r, "complete", !*job->reason);
	if (*job->reason)
		record_text(&r, "reason", job->reason);
	record_value(&r, "similar", json_incref(job->array));
	r.failed |= !path;
	free(path);
	return record_print(&r);
}

static bool is_directory(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISDIR(st.st_mode);
}

static void complain_cut(const struct similar_job *job)
{
	if (!job->of && is_directory(job->path))
		cli_complain(job->path,
			     "other directories have content in common "
			     "with it, too; only the best are listed");
	else
		cli_complain(
			job->of ? job->of : job->path,
			"there are more than the mount's limit; see -o limit");
}

static void complain_incomplete(const struct similar_job *job)
{
	const char *path = job->of ? job->of : job->path;
	const char *state = job->reason;

	if (!strcmp(state, "busy"))
		cli_complain(path, "not known yet: a program has it open for "
				   "writing (busy)");
	else if (!strcmp(state, "pending"))
		cli_complain(path, "not known yet: it is not hashed (pending)");
	else if (!strncmp(state, "skipped:", 8))
		cli_complain(path,
			     "not known: it is not hashed because of the "
			     "mount's options (%s)",
			     state);
	else if (job->unnamed)
		cli_complain(path,
			     "%zu more are like it, whose paths are too long "
			     "for the links of .similar",
			     job->unnamed);
	else if (!strncmp(state, "error:", 6))
		cli_complain(path, "not known: it could not be read (%s)",
			     state);
	else if (job->unknown)
		cli_complain(path,
			     "%zu %s as different; "
			     "kin status --failed --skipped lists them",
			     job->unknown,
			     text_plural(job->unknown,
					 "file has no digests and counts",
					 "files have no digests and count"));
	else
		cli_complain(path, "the answer is not complete (%s)", state);
}

static int finish(struct similar_job *job)
{
	int code = EXIT_OK;

	if (job->json)
		code = print_json(job);
	if (similar_is_cut(job)) {
		complain_cut(job);
	} else if (*job->reason) {
		complain_incomplete(job);
		code = code ? code : EXIT_INCOMPLETE;
	}
	return code;
}

/* ---- the way there ---- */

static int find_listings(struct similar_job *job)
{
	int code = mount_find_or_complain(job->path, &job->mount);

	if (code)
		return code;
	job->listings = mount_listings_or_complain(job->mount.root);
	if (!job->listings)
		return EXIT_FAILED;
	job->array = json_array();
	if (job->array)
		return EXIT_OK;
	cli_complain_errno(NULL, -ENOMEM);
	return EXIT_FAILED;
}

static bool is_regular(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISREG(st.st_mode);
}

/* Whether what was asked for goes with what the paths are. */
static int check_kind(const struct similar_job *job)
{
	const char *wrong = NULL;

	if (is_directory(job->path) && job->relation != INDEX_ALIKE)
		wrong = "a directory; containment is that of files";
	else if (!is_directory(job->path) && !is_regular(job->path))
		wrong = "neither a file nor a directory";
	else if (job->why && is_directory(job->path))
		wrong = "a directory; --why is about two files";
	else if (job->other && !job->why && !is_directory(job->path))
		wrong = "not a directory; compare files with kin compare";
	if (!wrong)
		return EXIT_OK;
	cli_complain(job->path, "%s", wrong);
	return EXIT_FAILED;
}

static int run_in(struct similar_job *job)
{
	job->array = json_array();
	return similar_in(job) ? EXIT_FAILED : finish(job);
}

/* Without a mount: of the database alone. */
static int run_elsewhere(struct similar_job *job)
{
	job->array = json_array();
	return similar_only_elsewhere(job) ? EXIT_FAILED : finish(job);
}

static int job_run(struct similar_job *job)
{
	int err, code;

	if (job->in)
		return run_in(job);
	if (!job->path)
		return run_elsewhere(job);
	code = find_listings(job);

	if (!code && !job->of)
		code = check_kind(job);
	if (code)
		return code;
	if (job->of)
		err = similar_of(job);
	else if (is_directory(job->path))
		err = similar_directories(job);
	else if (job->why)
		err = similar_why(job);
	else if (job->relation == INDEX_ALL || job->relation == INDEX_SHARES)
		err = similar_all(job);
	else
		err = similar_file(job);
	if (!err && job->everywhere)
		err = similar_everywhere(job);
	if (!err)
		return finish(job);
	if (err < 0)
		cli_complain_errno(job->path, err);
	return EXIT_FAILED;
}

static int set_relation(struct similar_job *job, enum index_relation relation)
{
	if (job->relation != INDEX_ALIKE && job->relation != relation)
		return cli_usage_error(&command_similar, NULL);
	job->relation = relation;
	return EXIT_OK;
}

static int take_within(void *job, const char *argument)
{
	(void)argument;
	return set_relation(job, INDEX_WITHIN);
}

static int take_contains(void *job, const char *argument)
{
	(void)argument;
	return set_relation(job, INDEX_CONTAINS);
}

static int take_all(void *job, const char *argument)
{
	(void)argument;
	return set_relation(job, INDEX_ALL);
}

static int take_shares(void *job, const char *argument)
{
	(void)argument;
	return set_relation(job, INDEX_SHARES);
}

static int parse(struct similar_job *job, int argc, char **argv)
{
	int code = options_parse(&command_similar, job, argc, argv);

	if (code)
		return code;
	if (job->db && !job->everywhere)
		return cli_usage_error(&command_similar,
				       "--db is for --everywhere");
	if (job->everywhere &&
	    (job->why || job->in || argc - optind > 1 ||
	     (job->relation != INDEX_ALIKE && job->relation != INDEX_ALL)))
		return cli_usage_error(
			&command_similar,
			"--everywhere takes one file, --of, --all, "
			"--db and --json");
	if (job->of && job->db && argc == optind)
		return EXIT_OK;
	if (job->of && argc - optind != 1)
		return cli_usage_error(&command_similar, "in which mount?");
	if (argc - optind != 1 && argc - optind != 2)
		return cli_usage_error(&command_similar,
				       "which file or directory?");
	job->path = argv[optind];
	job->other = argv[optind + 1];
	if (job->why &&
	    (!job->other || job->of || job->json ||
	     (job->relation != INDEX_ALIKE && job->relation != INDEX_SHARES)))
		return cli_usage_error(&command_similar,
				       "--why takes two files and no other "
				       "option but --shares");
	if (job->in &&
	    (job->other || job->of || job->why || job->relation != INDEX_ALIKE))
		return cli_usage_error(&command_similar,
				       "--in takes one file, and --json");
	return EXIT_OK;
}

static int run(int argc, char **argv)
{
	struct similar_job job = { .relation = INDEX_ALIKE };
	int code = parse(&job, argc, argv);

	if (!code)
		code = job_run(&job);
	mount_release(&job.mount);
	digests_release(&job.digests);
	json_decref(job.array);
	free(job.listings);
	return code;
}

static const struct option_row options[] = {
	{ "within", 0, NULL, "larger files with most of it",
	  OPTION_TAKE(take_within) },
	{ "contains", 0, NULL, "smaller files that are in it",
	  OPTION_TAKE(take_contains) },
	{ "all", 0, NULL,
	  "also files with mere boilerplate in common, marked *",
	  OPTION_TAKE(take_all) },
	{ "shares", 0, NULL,
	  "files with a passage in common, and its size, about",
	  OPTION_TAKE(take_shares) },
	{ "of", 0, "FILE", "FILE need not be in the mount; - is standard input",
	  OPTION_TEXT(struct similar_job, of) },
	{ "in", 0, "EXPORT", "search in a file that kin export wrote",
	  OPTION_TEXT(struct similar_job, in) },
	{ "why", 0, NULL, "why the second file is listed or not for the first",
	  OPTION_FLAG(struct similar_job, why) },
	{ "everywhere", 0, NULL,
	  "also what other hosts have, by the mount's kin-share",
	  OPTION_FLAG(struct similar_job, everywhere) },
	{ "db", 0, "DB",
	  "the same by a database; with --of also without a mount",
	  OPTION_TEXT(struct similar_job, db) },
	{ "json", 0, NULL,
	  "one object: path, relation, cut, complete, reason, similar",
	  OPTION_FLAG(struct similar_job, json) },
	{ 0 },
};

const struct command command_similar = {
	.name = "similar",
	.synopsis = "similar [OPTION]... PATH\n"
		    "       kin similar [OPTION]... --of FILE [MOUNT]\n"
		    "       kin similar [--json] --in EXPORT FILE\n"
		    "       kin similar --why [--shares] FILE FILE\n"
		    "       kin similar [--json] DIRECTORY [DIRECTORY]",
	.summary = "List what resembles a file or directory of a kinfs mount",
	.help = "A file: what resembles it, best first: score (100: identical), measures, size,\n"
		"path.  A directory: those with much of the same content, and how many files are\n"
		"the same, similar, only here or there.  Two directories: which files differ.\n",
	.options = options,
	.notes = "Exit status: 0 ok; 1 failed; 2 usage; 3 FILE is being "
		 "written, or not hashed.\n",
	.run = run,
};
