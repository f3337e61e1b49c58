/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/array.h"
#include "core/base/text.h"
#include "core/cli/cli.h"
#include "core/cli/everywhere/everywhere.h"
#include "core/cli/groups/groups_print.h"
#include "core/cli/progress.h"
#include "core/groups/groups.h"

/* Owned strings. */
struct name_list {
	const char **names;
	size_t count;
};

struct groups_job {
	struct groups_wish wish;
	struct groups_printer printer;
	struct groups_reader reader;
	/* As given, then relative to the root of the mount. */
	struct name_list within, across, keep;
	struct mount mount; /* of the first operand */
	bool everywhere;    /* of all hosts; */
	const char *db;     /* by this database */
};

static void name_list_release(struct name_list *l)
{
	while (l->count)
		free((char *)l->names[--l->count]);
	free(l->names);
}

/* Takes name; NULL means that there was no memory. */
static int name_list_add(struct name_list *l, char *name)
{
	const char **names =
		name ? array_with_room(l->names, l->count, sizeof(*names)) :
		       NULL;

	if (!names) {
		free(name);
		cli_complain_errno(NULL, -ENOMEM);
		return EXIT_FAILED;
	}
	l->names = names;
	names[l->count++] = name;
	return EXIT_OK;
}

/* ---- options ---- */

static int take_format(struct groups_job *job, enum groups_format format)
{
	if (job->printer.format != GROUPS_TEXT && job->printer.format != format)
		return cli_usage_error(&command_groups,
				       "--json and -0 exclude one another");
	job->printer.format = format;
	return EXIT_OK;
}

static int take_option(struct groups_job *job, int c)
{
	switch (c) {
	case 'e':
		job->wish.exact = true;
		return EXIT_OK;
	case 't':
		return cli_parse_threshold(&command_groups, optarg,
					   &job->wish.threshold);
	case 'm':
		if (!text_parse_size(optarg, &job->wish.min_size))
			return EXIT_OK;
		return cli_usage_error(&command_groups,
				       "--min-size: '%s' is not a size",
				       optarg);
	case 'a':
		return name_list_add(&job->across, strdup(optarg));
	case 'k':
		if (keep_order_parse(optarg, &job->wish.order))
			return EXIT_OK;
		return name_list_add(&job->keep, strdup(optarg));
	case 'v':
		job->wish.vcs = true;
		return EXIT_OK;
	case 'j':
		return take_format(job, GROUPS_JSON);
	case 'E':
		job->everywhere = true;
		return EXIT_OK;
	case 'd':
		job->db = optarg;
		return EXIT_OK;
	case '0':
		return take_format(job, GROUPS_NUL);
	default:
		return cli_usage_error(&command_groups, NULL);
	}
}

/* Other hosts' files are known by their contents alone. */
static int check_everywhere(const struct groups_job *job)
{
	enum groups_format format = job->printer.format;

	if (!job->everywhere)
		return cli_usage_error(&command_groups,
				       "--db is for --everywhere");
	if (job->within.count + (job->db != NULL) != 1)
		return cli_usage_error(
			&command_groups,
			"--everywhere: by which mount, or --db?");
	if (job->across.count || job->keep.count || job->wish.threshold ||
	    (format != GROUPS_TEXT && format != GROUPS_JSON))
		return cli_usage_error(&command_groups,
				       "--everywhere lists identical files; it "
				       "takes --min-size, --json and --db");
	return EXIT_OK;
}

static int parse_options(struct groups_job *job, int argc, char **argv)
{
	static const struct option options[] = {
		{ "exact", no_argument, NULL, 'e' },
		{ "threshold", required_argument, NULL, 't' },
		{ "min-size", required_argument, NULL, 'm' },
		{ "across", required_argument, NULL, 'a' },
		{ "keep", required_argument, NULL, 'k' },
		{ "vcs", no_argument, NULL, 'v' },
		{ "json", no_argument, NULL, 'j' },
		{ "null", no_argument, NULL, '0' },
		{ "everywhere", no_argument, NULL, 'E' },
		{ "db", required_argument, NULL, 'd' },
		{ 0 },
	};
	int c, code = EXIT_OK;

	while (!code && (c = getopt_long(argc, argv, "0", options, NULL)) != -1)
		code = take_option(job, c);
	for (; !code && optind < argc; optind++)
		code = name_list_add(&job->within, strdup(argv[optind]));
	if (!code && (job->everywhere || job->db))
		return check_everywhere(job);
	if (!code && !job->within.count)
		return cli_usage_error(&command_groups, "of which mount?");
	if (!code && job->across.count == 1)
		return cli_usage_error(
			&command_groups,
			"--across needs two directories or more");
	return code;
}

/* ---- paths ---- */

/* Replaces a name by its path relative to the root of the mount. */
static int find_path(const struct groups_job *job, const char **name)
{
	struct mount mount;
	int code = mount_find_or_complain(*name, &mount);

	if (code)
		return code;
	if (strcmp(mount.root, job->mount.root) != 0) {
		cli_complain(*name, "not in the mount %s", job->mount.root);
		code = EXIT_FAILED;
	} else {
		free((char *)*name);
		*name = mount.rel;
		mount.rel = NULL;
	}
	mount_release(&mount);
	return code;
}

static int find_paths(const struct groups_job *job, struct name_list *l)
{
	size_t i;
	int code = EXIT_OK;

	for (i = 0; i < l->count && !code; i++)
		code = find_path(job, &l->names[i]);
	return code;
}

/* "MOUNT" by itself is all of it; with paths behind it only these count. */
static void drop_root(struct name_list *l)
{
	if (*l->names[0])
		return;
	free((char *)l->names[0]);
	l->count--;
	memmove(l->names, l->names + 1, l->count * sizeof(*l->names));
}

/* The mount of the first operand; there is one. */
static int find_mount(struct groups_job *job)
{
	assert(job->within.names);
	return mount_find_or_complain(job->within.names[0], &job->mount);
}

static int find_all_paths(struct groups_job *job)
{
	int code = find_mount(job);

	if (!code)
		code = find_paths(job, &job->within);
	if (!code)
		code = find_paths(job, &job->across);
	if (!code)
		code = find_paths(job, &job->keep);
	if (code)
		return code;
	drop_root(&job->within);
	job->wish.within = job->within.names;
	job->wish.within_count = job->within.count;
	job->wish.across = job->across.names;
	job->wish.across_count = job->across.count;
	job->wish.keep = job->keep.names;
	job->wish.keep_count = job->keep.count;
	job->printer.root = job->mount.root;
	return EXIT_OK;
}

/* ---- progress ---- */

static void show_progress(void *arg, bool found, double share)
{
	const struct groups_job *job = arg;

	/* With groups on the same terminal, these show how far it is. */
	if (!found || !job->printer.terminal)
		progress_show(found ? "listing groups" : "searching for groups",
			      share);
}

static int show_group(void *arg, const struct found_group *group)
{
	struct groups_job *job = arg;

	if (job->printer.terminal)
		progress_clear();
	return groups_print(&job->printer, group, job->reader.totals.threshold);
}

static void flush(void *arg)
{
	(void)arg;
	(void)fflush(stdout);
}

/* ---- all of it ---- */

static int read_answer(struct groups_job *job, const char *listings)
{
	int err = groups_find(listings, &job->reader);

	progress_clear();
	if (!err)
		err = groups_print_totals(&job->printer, &job->reader.totals);
	return err;
}

static int groups_run(struct groups_job *job)
{
	char *listings = mount_listings_or_complain(job->mount.root);
	int err;

	if (!listings)
		return EXIT_FAILED;
	err = read_answer(job, listings);
	free(listings);
	if (err == -EINVAL)
		cli_complain(job->mount.root,
			     "its kinfs is too old to search for groups");
	else if (err)
		cli_complain_errno(job->mount.root, err);
	if (err)
		return EXIT_FAILED;
	if (!job->reader.totals.incomplete)
		return EXIT_OK;
	cli_complain_incomplete(job->mount.root);
	return EXIT_INCOMPLETE;
}

static int run_everywhere(struct groups_job *job)
{
	int code = job->db ? EXIT_OK : find_mount(job);

	return code ? code :
		      everywhere_groups(&job->mount, job->db,
					job->wish.min_size,
					job->printer.format == GROUPS_JSON);
}

static int run(int argc, char **argv)
{
	struct groups_job job = { 0 };
	int code = parse_options(&job, argc, argv);

	if (!code)
		code = job.everywhere ? run_everywhere(&job) :
					find_all_paths(&job);
	if (!code && !job.everywhere) {
		job.printer.terminal = job.printer.format == GROUPS_TEXT &&
				       isatty(STDOUT_FILENO);
		job.reader = (struct groups_reader){
			.wish = &job.wish,
			.progress = show_progress,
			.group = show_group,
			.idle = flush,
			.arg = &job,
		};
		code = groups_run(&job);
	}
	name_list_release(&job.within);
	name_list_release(&job.across);
	name_list_release(&job.keep);
	mount_release(&job.mount);
	return code;
}

const struct command command_groups = {
	.name = "groups",
	.synopsis =
		"groups [OPTION]... MOUNT [PATH]...\n"
		"       kin groups --everywhere [--min-size N] [--json] {MOUNT | --db DB}",
	.summary = "List the near-duplicates of a mount in groups",
	.help = "Each group has a head, which comes first; the score of each other member is that\n"
		"with the head; = marks one more copy of the file above.  Groups come in\n"
		"descending order of the space that could be saved.  kin dedup reads --json.\n"
		"\n"
		"      --exact        only identical files\n"
		"      --threshold N  least score with the head, 1 to 100 (default: the mount's)\n"
		"      --min-size N   only files of N bytes or more (1k, 1M, ...)\n"
		"      --across DIR   only groups with files below two of these; repeat it\n"
		"      --keep oldest|newest|shortest|DIR\n"
		"                     which exact copy stays (oldest); all below a DIR stay\n"
		"      --vcs          also files below .git and the like, and in caches\n"
		"      --json         an object a line, the last one with totals\n"
		"  -0, --null         only the paths of exact copies that could go, each ended by\n"
		"                     a zero byte: all but those to be kept\n"
		"      --everywhere   identical files on several hosts, by the mount's kin-share\n"
		"      --db DB        the same by a database\n"
		"\n"
		"Exit status: 0 ok; 1 failed; 2 usage; 3 the groups are not complete.\n",
	.run = run,
};
