/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include "core/base/text.h"
#include "core/cli/cli.h"
#include "core/cli/progress.h"
#include "core/cli/record.h"

#define POLL_FIRST_MS 20
#define POLL_MOST_MS 500
#define BAR_WIDTH 40
#define SHOW_FROM (64 << 20) /* bytes that are being read */
#define FILE_COST 32768      /* what a file takes beside its bytes, in bytes */

struct wait_job {
	double timeout; /* seconds; negative: none */
	bool terminal, json;
	int shown; /* percentage on the last line, -1: none */
	/* What was left when all files were known, and when that was. */
	double began, first_work;
	struct mount mount;
};

/* At least 0, whatever another user's mount says. */
static long long number(const json_t *status, const char *key)
{
	json_int_t value = json_integer_value(json_object_get(status, key));

	return value < 0 ? 0 : (long long)value;
}

static const char *pause_reason(const json_t *status)
{
	const char *why = json_string_value(json_object_get(status, "paused"));

	if (why && strcmp(why, "asked") == 0)
		return "by kin pause, until kin resume";
	return why;
}

void progress_read(const json_t *status, struct progress *out)
{
	const json_t *scan = json_object_get(status, "scan");
	const json_t *catalog = json_object_get(status, "catalog");

	out->idle = json_is_true(json_object_get(status, "idle"));
	out->scanning = json_is_true(json_object_get(scan, "running"));
	out->files = number(status, "files");
	out->left = number(status, "pending");
	out->failed = number(status, "failed");
	out->counted = json_object_get(status, "files") != NULL;
	out->unsteady = number(status, "unsteady");
	out->percent = number(status, "percent") < 100 ?
			       (int)number(status, "percent") :
			       100;
	out->error = json_string_value(json_object_get(catalog, "error"));
	out->reading =
		!out->error && json_is_false(json_object_get(catalog, "open"));
	out->paused = pause_reason(status);
	out->stalled = json_is_true(json_object_get(status, "stalled"));
}

static double now(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* The remaining time, from what was achieved since all files were known; at
 * first from the speed. */
static void estimate(struct wait_job *job, const struct progress *p,
		     struct progress_files *files)
{
	double work = files->left + FILE_COST * (double)p->left;
	double passed = now() - job->began;

	if (p->scanning)
		files->seconds = -1;
	if (p->scanning || work > job->first_work) {
		job->began = now();
		job->first_work = p->scanning ? 0 : work;
	} else if (passed >= 1 && work < job->first_work) {
		files->seconds = passed * work / (job->first_work - work);
	}
}

/* Of small files it says no more: there are too many. */
static void show_files(const struct progress_files *files)
{
	if (files->size < SHOW_FROM) {
		progress_print_left(files);
		return;
	}
	fputs(", ", stdout);
	progress_print_files(files);
}

/* Which files are left, as far as the caller is told. */
static void print_left(const struct progress *p,
		       const struct progress_files *files, const char *before,
		       const char *after)
{
	if (p->reading) {
		printf("%sreading the catalog%s", before, after);
	} else if (p->counted) {
		printf("%s%lld of %lld files%s", before, p->files - p->left,
		       p->files, p->scanning ? ", scanning" : "");
		show_files(files);
		fputs(after, stdout);
	} else if (p->scanning) {
		printf("%sscanning%s", before, after);
	}
}

static void show_bar(const struct progress *p,
		     const struct progress_files *files)
{
	int i, full = p->percent * BAR_WIDTH / 100;

	fputs("\r[", stdout);
	for (i = 0; i < BAR_WIDTH; i++)
		putchar(i < full ? '#' : ' ');
	printf("] %3d %%", p->percent);
	print_left(p, files, "  ", "\033[K");
	if (p->idle)
		putchar('\n');
	(void)fflush(stdout);
}

static void print_percent(const struct progress *p)
{
	struct record r;

	record_begin(&r);
	record_number(&r, "percent", p->percent);
	if (p->counted) {
		record_number(&r, "files", p->files);
		record_number(&r, "pending", p->left);
	}
	(void)record_print(&r);
	(void)fflush(stdout);
}

/* Into a log only when there is something new.  Before the first file was
 * found there is no percentage. */
static void show(struct wait_job *job, const struct progress *p,
		 const struct progress_files *files)
{
	if (p->counted && !p->files && !p->idle && !p->reading)
		return;
	if (job->json) {
		if (p->percent != job->shown)
			print_percent(p);
	} else if (job->terminal) {
		show_bar(p, files);
	} else if (p->percent != job->shown) {
		printf("%d %%", p->percent);
		print_left(p, files, " (", ")");
		putchar('\n');
		(void)fflush(stdout);
	}
	job->shown = p->percent;
}

static void end_bar(const struct wait_job *job)
{
	if (job->terminal && job->shown >= 0)
		putchar('\n');
}

/* What it means that the status can not be read any more. */
static int status_failed(const struct wait_job *job, int err)
{
	end_bar(job);
	switch (-err) {
	case ENODATA:
	case ENOTSUP:
	case ENOENT:
		cli_complain(job->mount.root, "unmounted meanwhile");
		break;
	default:
		cli_complain_errno(job->mount.root, err);
	}
	return EXIT_FAILED;
}

static int catalog_failed(const struct wait_job *job, const char *error)
{
	end_bar(job);
	cli_complain(job->mount.root, "the catalog cannot be written: %s",
		     error);
	return EXIT_FAILED;
}

static int say_paused(const struct wait_job *job, const char *why)
{
	end_bar(job);
	cli_complain(job->mount.root, "hashing is paused %s", why);
	return EXIT_FAILED;
}

static int print_totals(const struct progress *p)
{
	struct record r;

	record_totals(&r);
	if (p->counted) {
		record_number(&r, "files", p->files);
		record_number(&r, "failed", p->failed);
		record_number(&r, "unsteady", p->unsteady);
	}
	record_complete(&r, !p->failed && !p->unsteady, NULL);
	return record_print(&r);
}

/* Everything was tried; what failed is not waited for. */
static int finish(const struct wait_job *job, const struct progress *p)
{
	if (p->failed)
		cli_complain(job->mount.root,
			     "%lld %s could not be hashed: "
			     "kin status --failed",
			     p->failed,
			     text_plural((uint64_t)p->failed, "file", "files"));
	if (p->unsteady)
		cli_complain(job->mount.root,
			     "%lld %s all the time and %s not hashed",
			     p->unsteady,
			     text_plural((uint64_t)p->unsteady, "file changes",
					 "files change"),
			     text_plural((uint64_t)p->unsteady, "is", "are"));
	if (job->json && print_totals(p))
		return EXIT_FAILED;
	return p->failed || p->unsteady ? EXIT_INCOMPLETE : EXIT_OK;
}

/* One look.  done_out tells whether code_out is the end of it. */
static bool look(struct wait_job *job, int *code_out)
{
	struct progress_files files;
	struct progress p;
	json_t *status;
	bool done = true;
	int err;

	/* The background does not pause while a caller asks for this.  An error
	 * changes nothing but the time that it takes. */
	(void)getxattr(job->mount.root, WAIT_ATTRIBUTE, NULL, 0);
	err = mount_get_status(job->mount.root, &status);
	if (err) {
		*code_out = status_failed(job, err);
		return true;
	}
	progress_read(status, &p);
	progress_read_files(status, &files);
	estimate(job, &p, &files);
	if (p.percent < job->shown)
		p.percent = job->shown; /* more files were found */
	if (p.error) {
		*code_out = catalog_failed(job, p.error);
	} else {
		show(job, &p, &files);
		done = p.idle || p.stalled;
		if (done)
			*code_out = p.stalled ? say_paused(job, p.paused) :
						finish(job, &p);
	}
	json_decref(status);
	return done;
}

static void pause_ms(double ms)
{
	struct timespec t = { .tv_sec = (time_t)(ms / 1000),
			      .tv_nsec = (long)(fmod(ms, 1000) * 1e6) };

	(void)nanosleep(&t, NULL);
}

/* The path is resolved anew each time: an open descriptor would keep the
 * mount from being unmounted. */
static int wait_until_idle(struct wait_job *job)
{
	double ms = POLL_FIRST_MS, left, end = now() + job->timeout;
	int code;

	while (!look(job, &code)) {
		left = job->timeout < 0 ? POLL_MOST_MS : 1000 * (end - now());
		if (left <= 0) {
			end_bar(job);
			cli_complain(job->mount.root, "still busy after %g s",
				     job->timeout);
			return EXIT_FAILED;
		}
		pause_ms(fmin(ms, left));
		ms = fmin(2 * ms, POLL_MOST_MS);
	}
	return code;
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

static int parse(struct wait_job *job, int argc, char **argv)
{
	int code = options_parse(&command_wait, job, argc, argv);

	if (!code && argc - optind != 1)
		return cli_usage_error(&command_wait, "which mount?");
	return code;
}

static int run(int argc, char **argv)
{
	struct wait_job job = { .timeout = -1, .shown = -1 };
	int code = parse(&job, argc, argv);

	if (code)
		return code;
	job.terminal = !job.json && isatty(STDOUT_FILENO);
	code = mount_find_or_complain(argv[optind], &job.mount);
	if (!code)
		code = wait_until_idle(&job);
	mount_release(&job.mount);
	return code;
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
	.synopsis = "wait [--timeout SECONDS] [--json] MOUNT",
	.summary = "Wait until a kinfs mount has digested everything",
	.help = "Shows a bar on a terminal, else a line for every new percentage.  MOUNT is the\n"
		"mount point or any path below it.  Fails when the mount goes away meanwhile, and\n"
		"when hashing is paused (kin pause) before everything is hashed.\n",
	.options = options,
	.notes =
		"Exit status: 0 everything is hashed; 1 failed; 2 usage; 3 some files could not\n"
		"be hashed (kin status --failed lists them) or change all the time.\n",
	.run = run,
};
