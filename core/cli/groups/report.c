/* SPDX-License-Identifier: Apache-2.0 */
#include "core/act/report/report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/json.h"
#include "core/cli/groups/groups.h"
#include "core/cli/progress.h"

struct report_job {
	struct groups_asking asking; /* first */
	const char *out;             /* as given; "-": standard output */
	struct report *report;
};

/* ---- options ---- */

static bool has_wishes(const struct groups_asking *a)
{
	const struct groups_wish *w = &a->wish;

	return w->exact || a->best.threshold || a->best.limit ||
	       w->filter.min_size || w->filter.include.count ||
	       w->filter.exclude.count || w->vcs || w->order ||
	       a->across.count || a->keep.count;
}

static int parse(struct report_job *job, int argc, char **argv)
{
	int code = options_parse(&command_report, job, argc, argv);

	if (code)
		return code;
	if (!job->out)
		return cli_usage_error(&command_report,
				       "-o FILE: where is it to be written?");
	if (job->asking.file && (optind < argc || has_wishes(&job->asking)))
		return cli_usage_error(
			&command_report,
			"--from has the groups already: it takes "
			"neither a mount nor other options");
	return job->asking.file ?
		       EXIT_OK :
		       groups_asking_operands(&job->asking, &command_report,
					      argv + optind);
}

enum { ASKED = 128 }; /* directories */

/* ---- pairs ---- */

/* A directory that went away meanwhile has no view. */
static int ask_directory(struct report *report, const struct mount *mount,
			 const char *path)
{
	json_t *rows = json_array(), *row;
	char reason[CLIENT_REASON], *other;
	size_t i;
	int err = client_list(mount, path, ".dirs", rows, reason);

	if (err == -ENOENT || err == -ENOTDIR || err == -EACCES)
		err = 0;
	json_array_foreach(rows, i, row)
	{
		other = json_get_path(row, "path");
		if (!err)
			err = other ? report_add_pair(
					      report,
					      (int)json_integer_value(
						      json_object_get(row,
								      "score")),
					      path, other) :
				      -ENOMEM;
		free(other);
	}
	json_decref(rows);
	return err;
}

static int ask_pairs(struct report *report, const struct mount *mount)
{
	const char *path;
	int i, err = 0;

	for (i = 1; i <= ASKED && !err; i++) {
		err = report_next_directory(report, &path);
		if (err <= 0)
			break;
		progress_show("comparing directories", (double)i / ASKED);
		err = ask_directory(report, mount, path);
	}
	return err;
}

/* ---- files without digests ---- */

static int ask_mount(struct report_job *job)
{
	const struct mount *mount = &job->asking.mount;
	struct state_walk s = { .failed = true, .skipped = true };
	int err = ask_pairs(job->report, mount), more = 0;

	progress_show("looking for files without digests", 1);
	if (!err)
		err = state_walk_begin(&s, mount, "");
	while (!err && (more = state_walk_next(&s)) > 0)
		err = report_add_unread(
			job->report, path_below(s.path, mount->root), s.state);
	state_walk_end(&s);
	progress_clear();
	err = err ? err : more;
	return err ? cli_complain_errno(mount->root, err) : EXIT_OK;
}

/* ---- groups ---- */

static int read_groups(struct report_job *job)
{
	struct groups_asking *a = &job->asking;
	struct groups *g = &a->groups;
	int code = groups_asking_begin(a), event = 0;

	while (!code && (event = progress_groups_next(g, "searching for groups",
						      false)) > 0) {
		if (a->best.limit && g->totals.groups > a->best.limit)
			continue;
		event = report_take(job->report, g);
		if (event)
			break;
	}
	progress_clear();
	if (event == -ENODEV)
		return cli_complain(
			a->file,
			"line %zu: its groups are of another mount than %s; "
			"no report was written",
			g->file.number, report_root(job->report));
	if (event)
		return groups_asking_failed(a, event, "no report was written");
	if (code || a->file)
		return code;
	if (g->totals.incomplete)
		cli_complain_incomplete(a->mount.root);
	return ask_mount(job);
}

/* ---- the page ---- */

static const char incomplete[] =
	"Not all files were hashed when the groups were made, or some changed "
	"meanwhile: there may be more near-duplicates. kin wait MOUNT waits "
	"until all are hashed, and says how many could not be.";

static int write_page(struct report_job *job)
{
	const struct groups_totals *t = &job->asking.groups.totals;
	const struct report_about about = {
		.root = job->asking.file ? report_root(job->report) :
					   job->asking.mount.root,
		.notice = t->incomplete ? incomplete : NULL,
		.threshold = t->threshold,
		.wish = job->asking.file ? NULL : &job->asking.wish,
		.made = time(NULL),
		.from_mount = !job->asking.file,
	};
	int err;

	if (strcmp(job->out, "-") != 0)
		return report_save(job->report, &about, job->out);
	err = report_write(job->report, &about, stdout);
	return !err && fflush(stdout) ? -errno : err;
}

static int make(struct report_job *job)
{
	int code = EXIT_OK,
	    err = strcmp(job->out, "-") ? report_check_place(job->out) : 0;

	if (!err && !(job->report = report_new()))
		err = -ENOMEM;
	if (!err)
		code = read_groups(job);
	if (!err && !code)
		err = write_page(job);
	if (err)
		cli_complain_errno(job->out, err);
	return err || code                          ? EXIT_FAILED :
	       job->asking.groups.totals.incomplete ? EXIT_INCOMPLETE :
						      EXIT_OK;
}

static int run(int argc, char **argv)
{
	struct report_job job = { .out = NULL };
	int code = parse(&job, argc, argv);

	if (!code)
		code = make(&job);
	report_free(job.report);
	groups_asking_release(&job.asking);
	return code;
}

static const struct option_row options[] = {
	{ "output", 'o', "FILE", "where to write it; - is standard output",
	  OPTION_TEXT(struct report_job, out) },
	{ "from", 0, "GROUPS",
	  "what kin groups --json printed, instead of a mount",
	  OPTION_TEXT(struct report_job, asking.file) },
	GROUPS_ASKING_OPTIONS,
	{ 0 },
};

const struct command command_report = {
	.name = "report",
	.synopsis = "report [OPTION]... MOUNT [PATH]... -o FILE\n"
		    "       kin report --from GROUPS -o FILE",
	.summary = "Write the near-duplicates of a mount as a page to look at",
	.help = "FILE is one HTML page for any browser, which needs no "
		"network: what could be\n"
		"saved, where, the groups, directories that are alike, files "
		"without digests.\n"
		"It takes the place of an older FILE when it is complete.\n",
	.options = options,
	.notes = "Exit status: 0 ok; 1 failed; 2 usage; 3 the report is not "
		 "complete, because not\n"
		 "all files are hashed.\n",
	.run = run,
};
