/* SPDX-License-Identifier: Apache-2.0 */
#include "core/act/report/report.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/json.h"
#include "core/base/replace.h"
#include "core/cli/groups/groups.h"
#include "core/cli/progress.h"
#include "core/client/question.h"

struct report_job {
	struct groups_asking asking; /* first */
	const char *out;             /* as given; "-": standard output */
	int directory;               /* that it is in, */
	char *name;                  /* by this; beyond symbolic links */
	struct report report;
};

/* ---- the file ---- */

/* Errors that are known before are told before the mount is asked. */
static int find_place(struct report_job *job)
{
	char *path = realpath(job->out, NULL), *slash;
	struct stat st;

	if (!path)
		path = errno == ENOENT ? strdup(job->out) : NULL;
	if (!path)
		return -errno;
	slash = strrchr(path, '/');
	job->name = strdup(slash ? slash + 1 : path);
	if (slash)
		slash[1] = '\0';
	job->directory =
		open(slash ? path : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	free(path);
	if (!job->name)
		return -ENOMEM;
	if (job->directory < 0 ||
	    faccessat(job->directory, ".", W_OK | X_OK, 0))
		return -errno;
	if (!stat(job->out, &st) && !S_ISREG(st.st_mode))
		return S_ISDIR(st.st_mode) ? -EISDIR : -ENOTSUP;
	return 0;
}

/* The rights of the old file, or those that the umask leaves.  Nobody else can
 * guess the name beside. */
static int save(const struct report_job *job, const struct buf *page)
{
	const mode_t mask = umask(0);
	unsigned long long number;
	struct stat st;
	char beside[40];

	(void)umask(mask);
	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		return -EAGAIN;
	(void)snprintf(beside, sizeof(beside), ".kin-report.%llx", number);
	return file_replace(job->directory, job->name, beside, page,
			    fstatat(job->directory, job->name, &st, 0) ?
				    0666 & ~mask :
				    st.st_mode & 0777);
}

enum { ASKED = 128 }; /* directories */

/* ---- pairs ---- */

/* A directory that went away meanwhile is like none. */
static int ask_directory(struct report *report, const struct mount *mount,
			 const char *path)
{
	const struct question question = { .kind = QUESTION_DIRECTORIES,
					   .path = path };
	struct answer a;
	int err = question_ask(&a, mount, &question);

	while (!err && (err = answer_next(&a)) > 0)
		err = report_add_pair(report, a.verdict.score, path, a.path);
	answer_close(&a);
	return err == -ENOENT || err == -ENOTDIR || err == -EACCES ? 0 : err;
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

static int ask_unread(struct report *report, const struct mount *mount)
{
	struct state_walk s = { .failed = true, .skipped = true };
	int err = 0;

	progress_show("looking for files without digests", 1);
	state_walk_begin(&s, mount, "");
	while (!err && state_walk_next(&s))
		err = report_add_unread(
			report, path_below(s.path, mount->point), s.state);
	err = tree_walk_end(s.tree, err);
	progress_clear();
	return err;
}

/* ---- groups ---- */

static int read_groups(struct report_job *job)
{
	struct groups_asking *a = &job->asking;
	struct groups *g = &a->groups;
	int code = groups_asking_begin(a), event = 0;

	while (!code && (event = progress_groups_next(g, "searching for groups",
						      false)) > 0)
		if (!a->best.limit || g->totals.groups <= a->best.limit)
			code = report_add_group(&job->report, &g->group);
	code = groups_asking_explain(a, code ? code : event);
	if (!code && g->totals.incomplete)
		cli_complain_incomplete(a->mount.root, g->totals.failed,
					g->totals.failed_texts);
	return code;
}

/* ---- the page ---- */

static int write_page(struct report_job *job)
{
	struct buf page = { 0 };
	int err = report_page(&job->report, &job->asking.groups, &page);

	if (!err && job->name)
		err = save(job, &page);
	else if (!err && (fwrite(page.data, 1, page.len, stdout) != page.len ||
			  fflush(stdout)))
		err = -errno;
	buf_release(&page);
	return err;
}

static int run(const struct command *self, char **paths)
{
	struct report_job *job = self->job;
	const struct mount *mount = &job->asking.mount;
	int err;

	if (!job->out)
		return cli_usage_error(self,
				       "-o FILE: where is it to be written?");
	report_init(&job->report);
	err = *paths && strcmp(job->out, "-") ? find_place(job) : 0;
	if (err)
		return cli_complain_errno(job->out, err);
	err = groups_asking_operands(&job->asking, self, paths);
	if (!err)
		err = read_groups(job);
	if (!err)
		err = ask_pairs(&job->report, mount);
	if (!err)
		err = ask_unread(&job->report, mount);
	if (err)
		return err;
	err = write_page(job);
	if (err)
		return cli_complain_errno(job->out, err);
	return job->asking.groups.totals.incomplete ? EXIT_INCOMPLETE : EXIT_OK;
}

static const struct option_row options[] = {
	{ "output", 'o', "FILE", "where to write it; - is standard output",
	  OPTION_TEXT(struct report_job, out) },
	GROUPS_ASKING_OPTIONS,
	{ 0 },
};

const struct command command_report = {
	.name = "report",
	.synopsis = "report [OPTION]... MOUNT [PATH]... -o FILE",
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
	.job = &(struct report_job){ .out = NULL },
	.run = run,
};
