/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/err.h"
#include "core/base/processors.h"
#include "core/base/utf8.h"
#include "core/cli/digest/digest_job.h"
#include "core/cli/digest/digest_pool.h"
#include "core/cli/record.h"
#include "core/cli/digest/foreign.h"

#define MAX_JOBS 1024

static void job_fail(struct digest_job *job, const char *path, int err)
{
	if (err == -EILSEQ)
		cli_complain(path,
			     "its name has no place in this format; rename "
			     "it, or use standard input");
	else if (err == -EISDIR)
		cli_complain(path, "%s; -r looks into directories",
			     err_text(err));
	else
		cli_complain_errno(path, err);
	job->failed = true;
}

/* Programs get the bytes as they are; a terminal gets them line by line, where
 * a name has no power over it. */
static void print(const struct buf *text)
{
	char *line = text->data, *end;

	if (!text->len || !isatty(STDOUT_FILENO)) {
		(void)fwrite(text->data, 1, text->len, stdout);
		return;
	}
	for (; (end = strchr(line, '\n')); line = end + 1) {
		*end = '\0';
		if (end > line && end[-1] == '\r')
			end[-1] = '\0';
		utf8_print_safe(stdout, line);
		putchar('\n');
	}
	utf8_print_safe(stdout, line);
}

static void job_print(void *arg, const char *path, int err,
		      const struct buf *output)
{
	struct digest_job *job = arg;

	/* In a crowd, what is too small for a digest is passed over. */
	if (err == -ENODATA && job->recursive)
		return;
	if (err) {
		job_fail(job, path, err);
		return;
	}
	if (job->printed && job->style->between)
		fputs(job->style->between, stdout);
	print(output);
	job->printed++;
}

static int digest_open(const struct digest_job *job, struct reader *r,
		       const char *path, bool follow, struct buf *out)
{
	int fd, err = reader_open(path, follow, &fd);

	if (err)
		return err;
	err = job->style->file(job, r, fd, path, out);
	close(fd);
	return err;
}

static void digest_here(struct digest_job *job, const char *path, bool is_stdin,
			bool follow)
{
	struct buf out = { 0 };
	int err;

	if (is_stdin)
		err = job->style->file(job, &job->reader, STDIN_FILENO, path,
				       &out);
	else
		err = digest_open(job, &job->reader, path, follow, &out);
	job_print(job, path, err, &out);
	buf_release(&out);
}

/* is_argument: "-" is standard input, links are followed. */
static void digest_file(struct digest_job *job, const char *path,
			bool is_argument)
{
	bool is_stdin = is_argument && !strcmp(path, "-");
	int err;

	if (!job->pool || is_stdin) {
		pool_drain(job->pool);
		digest_here(job, path, is_stdin, is_argument);
		return;
	}
	err = pool_push(job->pool, path, is_argument);
	if (err)
		job_fail(job, path, err);
}

/* ---- directories ---- */

static int by_name(const FTSENT **a, const FTSENT **b)
{
	return strcmp((*a)->fts_name, (*b)->fts_name);
}

static int walk_entry(void *arg, FTS *fts, FTSENT *entry)
{
	struct digest_job *job = arg;

	(void)fts;
	switch (entry->fts_info) {
	case FTS_F:
		digest_file(job, entry->fts_path, false);
		break;
	case FTS_DNR:
	case FTS_ERR:
	case FTS_NS:
		job_fail(job, entry->fts_path, -entry->fts_errno);
		break;
	default: /* directories come by themselves; the rest has no content */
		break;
	}
	return 0;
}

static void walk(struct digest_job *job, char *path)
{
	int err = cli_walk(path, FTS_COMFOLLOW, by_name, walk_entry, job);

	if (err)
		job_fail(job, path, err);
}

static void digest_argument(struct digest_job *job, char *path)
{
	struct stat st;

	if (job->recursive && strcmp(path, "-") && !stat(path, &st) &&
	    S_ISDIR(st.st_mode))
		walk(job, path);
	else
		digest_file(job, path, true);
}

/* ---- options ---- */

static void name_list(struct buf *out)
{
	int i;

	for (i = 0; i < DIGEST_COUNT; i++)
		(void)buf_append_format(out, "%s%s", i ? ", " : "",
					digest_table[i]->name);
}

static int unknown_digest(const char *name)
{
	struct buf names = { 0 };
	int code;

	name_list(&names);
	code = cli_usage_error(&command_digest, "no digest '%s'; there are %s",
			       name, names.data);
	buf_release(&names);
	return code;
}

/* What is printed is said once. */
static int set_style(struct digest_job *job, const struct digest_style *style)
{
	/* -a and --json go together. */
	bool both = (job->style == &style_sums && style == &style_json) ||
		    (job->style == &style_json && style == &style_sums);

	if (job->style && job->style != style && !both)
		return cli_usage_error(
			&command_digest,
			"more than one kind of output asked for");
	job->style = both ? &style_json : style;
	return EXIT_OK;
}

static int take_attribute(void *arg, const char *name)
{
	struct digest_job *job = arg;

	job->only = digest_find(name);
	return job->only ? set_style(job, &style_sums) : unknown_digest(name);
}

static int take_format(void *arg, const char *name)
{
	struct digest_job *job = arg;

	if (!strcmp(name, "csv"))
		return set_style(job, &style_csv);
	if (!strcmp(name, "hashdeep"))
		return set_style(job, &style_hashdeep);
	job->foreign = foreign_find(name);
	if (!job->foreign)
		return cli_usage_error(
			&command_digest,
			"no format '%s'; there are sise, ssdeep, "
			"sdbf, csv, hashdeep",
			name);
	return set_style(job, &style_foreign);
}

static int take_jobs(void *arg, const char *text)
{
	struct digest_job *job = arg;
	char *end;
	unsigned long count;

	errno = 0;
	count = strtoul(text, &end, 10);
	if (errno || end == text || *end || *text == '-' || !count ||
	    count > MAX_JOBS)
		return cli_usage_error(&command_digest,
				       "-j takes a number from 1 to %d",
				       MAX_JOBS);
	job->threads = (unsigned)count;
	return EXIT_OK;
}

static int take_json(void *job, const char *argument)
{
	(void)argument;
	return set_style(job, &style_json);
}

static int take_si2(void *job, const char *argument)
{
	(void)argument;
	return set_style(job, &style_si2);
}

static int take_sif_classic(void *job, const char *argument)
{
	(void)argument;
	return set_style(job, &style_sif_classic);
}

static int take_signatures(void *job, const char *argument)
{
	(void)argument;
	return set_style(job, &style_rdc_signatures);
}

static int parse(struct digest_job *job, int argc, char **argv)
{
	int code = options_parse(&command_digest, job, argc, argv);

	if (code)
		return code;
	job->more = (job->sdhash ? DIGEST_BIT(DIGEST_SDHASH) : 0) |
		    (job->tlsh ? DIGEST_BIT(DIGEST_TLSH) : 0) |
		    (job->sha256 ? DIGEST_BIT(DIGEST_SHA256) : 0);
	if (optind == argc)
		return cli_usage_error(&command_digest, "which file?");
	if (job->style == &style_rdc_signatures &&
	    (job->recursive || argc - optind > 1 || isatty(STDOUT_FILENO)))
		return cli_usage_error(
			&command_digest,
			"--rdc-signatures writes those of one file, "
			"in binary, not to a terminal");
	if (!job->style)
		job->style = &style_attributes;
	return EXIT_OK;
}

static uint32_t wanted_digests(const struct digest_job *job)
{
	if (job->only)
		return DIGEST_BIT(job->only->id);
	if (job->foreign)
		return DIGEST_BIT(job->foreign->id);
	if (job->style == &style_hashdeep)
		return DIGEST_BIT(DIGEST_SSDEEP);
	return DIGEST_DEFAULT | job->more;
}

/* ---- threads ---- */

struct digest_thread {
	const struct digest_job *job;
	struct reader reader;
};

static int thread_digest(void *arg, const char *path, bool follow,
			 struct buf *out)
{
	struct digest_thread *t = arg;

	return digest_open(t->job, &t->reader, path, follow, out);
}

static void threads_free(void **threads, size_t count)
{
	struct digest_thread *t;

	while (count-- > 0) {
		t = threads[count];
		reader_release(&t->reader);
		free(t);
	}
	free(threads);
}

/* As many as there can be; complains when there is none. */
static void **threads_new(const struct digest_job *job, size_t *count_out)
{
	void **threads = calloc(job->threads, sizeof(*threads));
	struct digest_thread *t;
	size_t count = 0;

	while (threads && count < job->threads) {
		t = calloc(1, sizeof(*t));
		if (!t || reader_init(&t->reader, job->digest_set)) {
			free(t);
			break;
		}
		t->job = job;
		threads[count++] = t;
	}
	*count_out = count;
	return threads;
}

static void print_totals(struct digest_job *job)
{
	struct record r;

	record_totals(&r);
	record_number(&r, "files", (int64_t)job->printed);
	record_complete(&r, !job->failed, NULL);
	if (record_print(&r))
		job->failed = true;
}

static void arguments_digest(struct digest_job *job, int argc, char **argv)
{
	int i;

	fputs(job->style->begin ? job->style->begin : "", stdout);
	fputs(job->foreign ? job->foreign->header : "", stdout);
	for (i = 0; i < argc; i++)
		digest_argument(job, argv[i]);
	pool_drain(job->pool);
	if (job->style == &style_json)
		print_totals(job);
}

static int job_run_threads(struct digest_job *job, int argc, char **argv)
{
	struct pool_work work = {
		.run = thread_digest,
		.take = job_print,
		.arg = job,
	};
	void **threads = threads_new(job, &work.thread_count);
	int err;

	work.threads = threads;
	err = work.thread_count ? pool_new(&work, &job->pool) : -ENOMEM;
	if (!err) {
		arguments_digest(job, argc, argv);
		pool_free(job->pool);
	} else {
		cli_complain_errno(NULL, err);
	}
	threads_free(threads, work.thread_count);
	return err ? EXIT_FAILED : EXIT_OK;
}

static int job_run(struct digest_job *job, int argc, char **argv)
{
	int code;

	job->digest_set = wanted_digests(job);
	code = reader_init(&job->reader, job->digest_set);
	if (code)
		return code;
	if (!job->threads)
		job->threads = processors_usable();
	if (job->threads > 1 && (job->recursive || argc > 1))
		code = job_run_threads(job, argc, argv);
	else
		arguments_digest(job, argc, argv);
	reader_release(&job->reader);
	return code ? code : job->failed ? EXIT_FAILED : EXIT_OK;
}

static int run(int argc, char **argv)
{
	struct digest_job job = { 0 };
	int code = parse(&job, argc, argv);

	return code ? code : job_run(&job, argc - optind, argv + optind);
}

static const struct option_row options[] = {
	{ "attribute", 'a', "NAME",
	  "one digest, a line a file as sha256sum prints it: "
	  "sise|simhash|rdc|sif|ssdeep|xxh128|sdhash|tlsh|sha256",
	  OPTION_TAKE(take_attribute) },
	{ "recursive", 'r', NULL,
	  "look into directories, in order of names; links in them are not "
	  "followed",
	  OPTION_FLAG(struct digest_job, recursive) },
	{ "jobs", 'j', "N", "threads; without it one a processor",
	  OPTION_TAKE(take_jobs) },
	{ "sdhash", 0, NULL, "the sdhash too, which is large: 3 % of the file",
	  OPTION_FLAG(struct digest_job, sdhash) },
	{ "tlsh", 0, NULL, "TLSH too, for exchange with other programs",
	  OPTION_FLAG(struct digest_job, tlsh) },
	{ "sha256", 0, NULL, "SHA-256 too",
	  OPTION_FLAG(struct digest_job, sha256) },
	{ "format", 0, "NAME",
	  "a file of digests as other programs write it; csv is a table of all "
	  "digests: sise|ssdeep|sdbf|hashdeep|csv",
	  OPTION_TAKE(take_format) },
	{ "rdc-signatures", 0, NULL,
	  "the signature file of one file, [MS-RDC] 2.2, in binary",
	  OPTION_TAKE(take_signatures) },
	{ "si2", 0, NULL, "the Similarity Index's own SimHash, a line a file",
	  OPTION_TAKE(take_si2) },
	{ "sif-classic", 0, NULL, "the fingerprints that sif itself would keep",
	  OPTION_TAKE(take_sif_classic) },
	{ "json", 0, NULL, "an object a line, the last one with totals",
	  OPTION_TAKE(take_json) },
	{ 0 },
};

const struct command command_digest = {
	.name = "digest",
	.synopsis = "digest [OPTION]... FILE...|-",
	.summary = "Print the digests of files, without a mount",
	.help = "Prints what getfattr -d prints; - is standard input.\n",
	.options = options,
	.run = run,
};
