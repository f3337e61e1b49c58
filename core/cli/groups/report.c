/* SPDX-License-Identifier: Apache-2.0 */
#include "core/report/report.h"

#include <assert.h>
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "core/cli/cli.h"
#include "core/cli/groups/groups_pipe.h"
#include "core/cli/groups/report_mount.h"

struct report_job {
	const char *out;  /* as given; "-": standard output */
	const char *from; /* --from, or NULL */
	/* For kin groups: its options, "--", and the operands. */
	const char **arguments;
	size_t argument_count;
	struct mount mount;
	struct report *report;
	struct report_list list;
};

/* ---- options ---- */

static int take_option(struct report_job *job, int c)
{
	static const char *const names[] = {
		['e'] = "--exact",  ['t'] = "--threshold", ['m'] = "--min-size",
		['a'] = "--across", ['k'] = "--keep",      ['v'] = "--vcs",
	};

	if (c == 'o') {
		job->out = optarg;
	} else if (c == 'f') {
		job->from = optarg;
	} else if (c == '?') {
		return cli_usage_error(&command_report, NULL);
	} else {
		job->arguments[job->argument_count++] = names[c];
		if (c != 'e' && c != 'v')
			job->arguments[job->argument_count++] = optarg;
	}
	return EXIT_OK;
}

static int check_options(const struct report_job *job, int operands)
{
	if (!job->out)
		return cli_usage_error(&command_report,
				       "-o FILE: where is it to be written?");
	if (job->from && (operands || job->argument_count))
		return cli_usage_error(
			&command_report,
			"--from has the groups already: it takes "
			"neither a mount nor other options");
	if (!job->from && !operands)
		return cli_usage_error(&command_report, "of which mount?");
	return EXIT_OK;
}

static int parse_options(struct report_job *job, int argc, char **argv)
{
	static const struct option options[] = {
		{ "output", required_argument, NULL, 'o' },
		{ "from", required_argument, NULL, 'f' },
		{ "exact", no_argument, NULL, 'e' },
		{ "threshold", required_argument, NULL, 't' },
		{ "min-size", required_argument, NULL, 'm' },
		{ "across", required_argument, NULL, 'a' },
		{ "keep", required_argument, NULL, 'k' },
		{ "vcs", no_argument, NULL, 'v' },
		{ 0 },
	};
	int c, code = EXIT_OK;

	job->arguments = calloc(2 * (size_t)argc + 2, sizeof(char *));
	if (!job->arguments) {
		cli_complain_errno(NULL, -ENOMEM);
		return EXIT_FAILED;
	}
	while (!code &&
	       (c = getopt_long(argc, argv, "o:", options, NULL)) != -1)
		code = take_option(job, c);
	if (!code)
		code = check_options(job, argc - optind);
	if (code || job->from)
		return code;
	job->arguments[job->argument_count++] = "--";
	for (c = optind; c < argc; c++)
		job->arguments[job->argument_count++] = argv[c];
	return mount_find_or_complain(argv[optind], &job->mount);
}

/* ---- groups ---- */

static int explain(const struct report_job *job, const char *name, int err)
{
	if (err == -EINVAL)
		cli_complain(
			name,
			"line %zu is not a group as kin groups --json prints "
			"it; no report was written",
			job->list.line);
	else if (err == -ENODEV)
		cli_complain(
			name,
			"line %zu: its groups are of another mount than %s; "
			"no report was written",
			job->list.line, job->list.root);
	else if (err)
		cli_complain_errno(name, err);
	return err ? EXIT_FAILED : EXIT_OK;
}

static int read_file(struct report_job *job)
{
	FILE *in = strcmp(job->from, "-") ? fopen(job->from, "re") : stdin;
	int err = in ? report_read(job->report, in, &job->list) : -errno;

	if (in && in != stdin)
		fclose(in);
	return explain(job, job->from, err);
}

/* That files are not hashed yet is said by kin groups and in the report. */
static int read_mount(struct report_job *job)
{
	pid_t child;
	FILE *in = groups_pipe_open(job->arguments, &child);
	int code, said;

	if (!in)
		return explain(job, job->mount.root, -errno);
	code = explain(job, job->mount.root,
		       report_read(job->report, in, &job->list));
	fclose(in);
	said = groups_pipe_wait(child);
	if (said == EXIT_INCOMPLETE)
		job->list.incomplete = true;
	else if (said && !code)
		code = said;
	return code ? code : report_ask_mount(job->report, &job->mount);
}

/* ---- the page ---- */

static const char incomplete[] =
	"Not all files were hashed when the groups were made, or some changed "
	"meanwhile: there may be more near-duplicates. kin wait MOUNT waits "
	"until all are hashed, and says how many could not be.";

static struct report_about about_page(const struct report_job *job)
{
	return (struct report_about){
		.root = job->mount.root ? job->mount.root : job->list.root,
		.notice = job->list.incomplete ? incomplete : NULL,
		.threshold = job->list.threshold,
		.made = time(NULL),
		.from_mount = !job->from,
	};
}

static int write_page(struct report_job *job)
{
	const struct report_about about = about_page(job);
	int err;

	if (strcmp(job->out, "-") != 0)
		return report_save(job->report, &about, job->out);
	err = report_write(job->report, &about, stdout);
	if (!err && fflush(stdout))
		err = -errno;
	return err;
}

static int make(struct report_job *job)
{
	int code, err = 0;

	assert(job->out);
	if (strcmp(job->out, "-") != 0)
		err = report_check_place(job->out);
	if (!err && !(job->report = report_new()))
		err = -ENOMEM;
	if (!err) {
		code = job->from ? read_file(job) : read_mount(job);
		if (code)
			return code;
		err = write_page(job);
	}
	if (err) {
		cli_complain_errno(job->out, err);
		return EXIT_FAILED;
	}
	return job->list.incomplete ? EXIT_INCOMPLETE : EXIT_OK;
}

static int run(int argc, char **argv)
{
	struct report_job job = { 0 };
	int code = parse_options(&job, argc, argv);

	if (!code)
		code = make(&job);
	report_free(job.report);
	mount_release(&job.mount);
	free((void *)job.arguments);
	free(job.list.root);
	return code;
}

const struct command command_report = {
	.name = "report",
	.synopsis = "report [OPTION]... MOUNT [PATH]... -o FILE\n"
		    "       kin report --from GROUPS -o FILE",
	.summary = "Write the near-duplicates of a mount as a page to look at",
	.help = "FILE is one HTML page for any browser, which needs no "
		"network: what could be\n"
		"saved, where, the groups, directories that are alike, files "
		"without digests.\n"
		"It takes the place of an older FILE when it is complete.\n\n"
		"  -o, --output FILE   where to write it; - is standard output\n"
		"      --from GROUPS   what kin groups --json printed, instead of "
		"a mount; - is\n"
		"                      standard input\n"
		"      --exact         only identical files\n"
		"      --threshold N   least score with the head, 1 to 100 "
		"(default: the mount's)\n"
		"      --min-size N    only files of N bytes or more (1k, 1M, "
		"...)\n"
		"      --across DIR    only groups with files below two of "
		"these; repeat it\n"
		"      --keep oldest|newest|shortest|DIR\n"
		"                      which exact copy stays (oldest); all below "
		"a DIR stay\n"
		"      --vcs           also files below .git and the like, and in "
		"caches\n\n"
		"With PATHs only files below these count.\n\n"
		"Exit status: 0 ok; 1 failed; 2 usage; 3 the report is not "
		"complete, because not\n"
		"all files are hashed.\n",
	.run = run,
};
