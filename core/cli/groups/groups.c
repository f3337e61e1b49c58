/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <unistd.h>

#include "core/cli/cli.h"
#include "core/cli/everywhere/everywhere.h"
#include "core/cli/groups/groups_ask.h"
#include "core/cli/groups/groups_print.h"
#include "core/cli/progress.h"

struct groups_job {
	struct groups_asking asking; /* first */
	struct groups_printer printer;
	struct output output;
	bool everywhere; /* of all hosts */
};

/* Other hosts' files are known by their contents alone. */
static int check_everywhere(const struct groups_job *job, int operands)
{
	const struct groups_asking *a = &job->asking;

	if (operands != 1)
		return cli_usage_error(&command_groups,
				       "--everywhere: by which mount?");
	if (a->across.count || a->keep.count || a->best.threshold ||
	    job->output.nul)
		return cli_usage_error(&command_groups,
				       "--everywhere lists identical files; it "
				       "takes --min-size and --json");
	return EXIT_OK;
}

static int parse(struct groups_job *job, int argc, char **argv)
{
	int code = options_parse(&command_groups, job, argc, argv);

	if (!code)
		code = output_check(&command_groups, &job->output);
	groups_printer_init(&job->printer, &job->output,
			    job->asking.keep.count);
	if (!code && job->everywhere)
		return check_everywhere(job, argc - optind);
	return code ? code :
		      groups_asking_operands(&job->asking, &command_groups,
					     argv + optind);
}

static int list(struct groups_job *job)
{
	struct groups *g = &job->asking.groups;
	struct groups_printer *p = &job->printer;
	const uint64_t limit = job->asking.best.limit;
	int code = groups_asking_begin(&job->asking), event = 0;

	if (code)
		return code;
	p->root = job->asking.mount.root;
	/* Groups on a terminal show themselves how far it is. */
	p->terminal =
		!job->output.json && !job->output.nul && isatty(STDOUT_FILENO);
	while ((event = progress_groups_next(g, "searching for groups",
					     p->terminal)) > 0) {
		if (limit && p->printed == limit)
			continue;
		event = groups_print(p, &g->group, g->totals.threshold);
		if (event)
			break;
		(void)fflush(stdout);
	}
	if (!event)
		event = groups_print_totals(p, &g->totals);
	if (event)
		return groups_asking_failed(&job->asking, event, "");
	if (!g->totals.incomplete)
		return EXIT_OK;
	return cli_complain_incomplete(job->asking.mount.root);
}

static int run_everywhere(struct groups_job *job, const char *path)
{
	struct mount *mount = &job->asking.mount;
	int code = mount_find_or_complain(path, mount);

	return code ? code :
		      everywhere_groups(mount, job->asking.wish.filter.min_size,
					&job->output);
}

static int run(int argc, char **argv)
{
	struct groups_job job = { 0 };
	char *base = NULL;
	int code = parse(&job, argc, argv);

	if (!code && optind < argc)
		job.printer.table.base = base = path_base_of(argv[optind]);
	if (!code)
		code = job.everywhere ? run_everywhere(&job, argv[optind]) :
					list(&job);
	free(base);
	groups_asking_release(&job.asking);
	return code;
}

static const struct option_row options[] = {
	GROUPS_ASKING_OPTIONS,
	{ "json", 0, NULL, "an object a line, the last one with totals",
	  OPTION_FLAG(struct groups_job, output.json) },
	{ "null", '0', NULL,
	  "the paths of exact copies that could go, each ended by NUL",
	  OPTION_FLAG(struct groups_job, output.nul) },
	{ "verbose", 'v', NULL, "also bytes on disk, XXH128, what is kept",
	  OPTION_FLAG(struct groups_job, output.verbose) },
	{ "everywhere", 0, NULL,
	  "identical files on several hosts, by the mount's kin-share",
	  OPTION_FLAG(struct groups_job, everywhere) },
	{ 0 },
};

const struct command command_groups = {
	.name = "groups",
	.synopsis =
		"groups [OPTION]... MOUNT [PATH]...\n"
		"       kin groups --everywhere [--min-size N] [--json] MOUNT",
	.summary = "List the near-duplicates of a mount in groups",
	.help = "Each group has a head, of score 100; the scores of the others are those with the\n"
		"head; = marks one more copy of the file above.  Members come from new to old,\n"
		"groups by the space that could be saved.  kin dedup reads --json.\n",
	.options = options,
	.notes =
		"Exit status: 0 ok; 1 failed; 2 usage; 3 the groups are not complete.\n",
	.run = run,
};
