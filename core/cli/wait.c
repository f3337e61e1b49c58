/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/base/text.h"
#include "core/cli/cli.h"
#include "core/cli/progress.h"
#include "core/cli/table.h"

#define POLL_FIRST_MS 20
#define POLL_MOST_MS 500
#define BEHIND_MS 500
#define SHOW_FROM (64 << 20) /* bytes that are being read */

struct wait_job {
	double timeout; /* seconds; negative: none */
	bool json;
	bool quiet;         /* but for a bar on the terminal */
	bool exact;         /* texts are not waited for */
	int shown;          /* percentage on the last line, -1: none */
	int64_t behind_end; /* ms, see is_behind(); 0: not yet */
	struct mount mount;
};

/* Into a log only when there is something new.  Before the first file was
 * found there is no percentage.  Which files are left is said as far as the
 * caller is told. */
static void show(struct wait_job *job, const struct progress *p)
{
	const bool on_terminal =
		job->quiet || (isatty(STDERR_FILENO) && isatty(STDOUT_FILENO));
	struct buf text = { 0 }, files = { 0 };

	if (p->counted && !p->files && !p->idle && !p->reading)
		return;
	if (p->idle)
		progress_clear();
	else
		progress_append_files(p, SHOW_FROM, &files);
	if (p->reading)
		(void)buf_append_text(&text, "reading the catalog");
	else if (p->counted && !p->idle && !p->left && !p->scanning && p->texts)
		(void)buf_append_format(
			&text, "the texts of %lld %s are left", p->texts,
			text_plural((uint64_t)p->texts, "document or archive",
				    "documents and archives"));
	else if (p->counted)
		(void)buf_append_format(
			&text, "%lld of %lld files%s%s%s", p->files - p->left,
			p->files, p->scanning ? ", scanning" : "",
			files.len ? ", " : "", files.len ? files.data : "");
	else if (p->scanning)
		(void)buf_append_text(&text, "scanning");
	if (job->json && p->percent != job->shown)
		(void)cli_print_json(
			JSON_NUMBERS({ "percent", p->percent },
				     { "files", p->counted ? p->files : -1 },
				     { "pending", p->counted ? p->left : -1 }));
	else if (!job->json && on_terminal && !p->idle)
		progress_show(text.data ? text.data : "", p->percent / 100.0);
	else if (!job->json && !job->quiet && p->percent != job->shown)
		printf("%d %%%s%s%s\n", p->percent, text.len ? " (" : "",
		       text.len ? text.data : "", text.len ? ")" : "");
	(void)fflush(stdout);
	job->shown = p->percent;
	buf_release(&text);
	buf_release(&files);
}

/* Everything was tried; what failed is not waited for. */
static int finish(const struct wait_job *job, const struct progress *p)
{
	const bool complete = !p->failed && !p->unread && !p->failed_texts &&
			      !p->unsteady && !p->texts;
	struct buf why = { 0 };

	if (job->quiet)
		return EXIT_OK;
	if (p->texts) {
		progress_append_texts(p, &why);
		cli_complain(job->mount.root, "%s", why.data);
		buf_clear(&why);
	}
	progress_append_failed(p, &why);
	if (why.len)
		cli_complain(job->mount.root, "%s", why.data);
	if (p->unsteady)
		cli_complain(job->mount.root,
			     "%lld %s all the time and %s not hashed",
			     p->unsteady,
			     text_plural(p->unsteady, "file changes",
					 "files change"),
			     text_plural(p->unsteady, "is", "are"));
	buf_release(&why);
	if (job->json &&
	    table_totals(p->counted ? JSON_NUMBERS({ "files", p->files },
						   { "failed", p->failed },
						   { "unread", p->unread },
						   { "unsteady", p->unsteady },
						   { "texts", p->texts },
						   { "failed_texts",
						     p->failed_texts }) :
				      json_object(),
			 complete, NULL))
		return EXIT_FAILED;
	return complete ? EXIT_OK : EXIT_INCOMPLETE;
}

/*
 * Whether changes behind the mount are still to be handled.  Where the filesystem
 * changes all the time, perhaps not below SOURCE, there are always some: they are
 * waited for BEHIND_MS at most.
 */
static bool is_behind(struct wait_job *job, const json_t *status)
{
	const json_t *watch = json_object_get(status, "watch");

	if (!job->timeout || !json_is_false(json_object_get(watch, "idle")))
		return false;
	if (!job->behind_end)
		job->behind_end = clock_now_ms() + BEHIND_MS;
	return clock_now_ms() < job->behind_end;
}

static bool is_hashed(const struct progress *p)
{
	return p->counted && !p->reading && !p->scanning && !p->left;
}

/* One look: -EAGAIN while there is something to wait for. */
static int look(struct wait_job *job)
{
	const char *root = job->mount.root, *point = job->mount.point;
	json_t *status = NULL;
	struct progress p;
	int err;

	/* The background does not pause while a caller asks for this.  An error
	 * changes nothing but the time that it takes. */
	(void)getxattr(point, WAIT_ATTRIBUTE, NULL, 0);
	err = mount_get_status(point, &status);
	if (err == -ENODATA || err == -ENOTSUP || err == -ENOENT)
		return cli_complain(root, "unmounted meanwhile");
	if (err)
		return err;
	progress_read(status, &p);
	if (p.percent < job->shown)
		p.percent = job->shown; /* more files were found */
	if (!p.error)
		show(job, &p);
	err = -EAGAIN;
	if (p.error)
		err = cli_complain(root, "the catalog cannot be written: %s",
				   p.error);
	else if (p.stalled)
		err = cli_complain(root, "hashing is paused %s", p.paused);
	else if ((p.idle || (job->exact && is_hashed(&p))) &&
		 !is_behind(job, status))
		err = finish(job, &p);
	json_decref(status);
	return err;
}

/* The path is resolved anew each time: an open descriptor would keep the
 * mount from being unmounted. */
static int wait_until_idle(struct wait_job *job)
{
	double ms = POLL_FIRST_MS, left,
	       end = (double)clock_now_ms() + 1000 * job->timeout;
	int err;

	while ((err = look(job)) == -EAGAIN) {
		left = job->timeout < 0 ? POLL_MOST_MS :
					  end - (double)clock_now_ms();
		if (left <= 0)
			return cli_complain(job->mount.root,
					    "still busy after %g s",
					    job->timeout);
		(void)poll(NULL, 0, (int)ceil(fmin(ms, left)));
		ms = fmin(2 * ms, POLL_MOST_MS);
	}
	return err;
}

int wait_hashed(const struct mount *mount, bool exact)
{
	struct wait_job job = {
		.timeout = -1,
		.quiet = true,
		.exact = exact,
		.shown = -1,
		.mount = *mount,
	};
	int err = wait_until_idle(&job);

	progress_clear();
	return err;
}

static int take_timeout(void *arg, const char *text)
{
	struct wait_job *job = arg;
	char *end;
	double value = strtod(text, &end);

	if (end == text || *end || !(value >= 0) || value > 1e9)
		return cli_usage_error(&command_wait, "not seconds: '%s'",
				       text);
	job->timeout = value;
	return EXIT_OK;
}

static int run(const struct command *self, char **paths)
{
	struct wait_job *job = self->job;
	int err = mount_find(*paths, &job->mount);

	return err ? err : wait_until_idle(job);
}

static const struct option_row options[] = {
	{ "timeout", 't', "SECONDS", "fail when it takes longer; 0 asks once",
	  OPTION_TAKE(take_timeout) },
	{ "json", 0, NULL,
	  "an object for every new percentage, the last one with totals",
	  OPTION_FLAG(struct wait_job, json) },
	{ 0 },
};

const struct command command_wait = {
	.name = "wait",
	.operands = { 1, 1 },
	.lacking = "which mount?",
	.synopsis = "wait [--timeout SECONDS] [--json] MOUNT",
	.summary = "Wait until a kinfs mount has digested everything",
	.help = "Shows a bar on a terminal, else a line for every new percentage.  MOUNT is the\n"
		"mount point or any path below it.  Fails when the mount goes away meanwhile, and\n"
		"when hashing is paused (kin pause) before everything is hashed.\n",
	.options = options,
	.notes =
		"Exit status: 0 everything is hashed; 1 failed; 2 usage; 3 some files could not\n"
		"be hashed or looked at (kin status --failed lists them) or change all the time,\n"
		"or the texts of documents could not be read.\n",
	.job = &(struct wait_job){ .timeout = -1, .shown = -1 },
	.run = run,
};
