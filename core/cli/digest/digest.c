/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/err.h"
#include "core/base/thread.h"
#include "core/base/utf8.h"
#include "core/cli/digest/digest_job.h"
#include "core/cli/table.h"

enum { MAX_JOBS = 1024 };

/* ---- a file ---- */

void digest_fail(struct digest_job *job, const char *path, int err)
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

int digest_file(const struct digest_job *job, struct reader *r,
		const char *path, bool follow, struct buf *out)
{
	const struct digest_style *style = job->style;
	const bool is_stdin = follow && !strcmp(path, "-");
	/* The name of the content in its sdhash. */
	const char *name = is_stdin     ? "stdin" :
			   style->magic ? path :
					  cli_base_name(path);
	struct digests d = { 0 };
	int fd = STDIN_FILENO,
	    err = is_stdin ? 0 : reader_open(path, follow, &fd);

	if (err)
		return err;
	if (style->content)
		err = style->content(r, fd, path, out);
	else
		err = reader_digest_fd(r, fd, name, &d);
	if (!err && style->format)
		err = style->format(job, &d, path, out);
	digests_release(&d);
	if (!is_stdin)
		close(fd);
	return err;
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

void digest_tell(struct digest_job *job, const char *path, int err,
		 const struct buf *output)
{
	/* In a crowd, what is too small for a digest is passed over. */
	if (err == -ENODATA && job->recursive)
		return;
	if (err) {
		digest_fail(job, path, err);
		return;
	}
	print(output);
	job->printed++;
}

/* ---- all files ---- */

static int job_run(struct digest_job *job, int argc, char **argv)
{
	int err;

	if (!job->threads)
		job->threads = processors_usable();
	if (!job->recursive && job->threads > (uint64_t)argc)
		job->threads = (uint64_t)argc;
	fputs(job->style->begin ? job->style->begin : "", stdout);
	err = digest_all(job, argv);
	if (err)
		return cli_complain_errno(NULL, err);
	if (job->style == &style_json &&
	    table_totals(json_pack("{s:I}", "files", (json_int_t)job->printed),
			 !job->failed, NULL))
		job->failed = true;
	return job->failed ? EXIT_FAILED : EXIT_OK;
}

/* ---- the command ---- */

static int take_attribute(void *arg, const char *name)
{
	struct digest_job *job = arg;
	struct buf names = { 0 };
	int i, code = EXIT_OK;

	job->only = digest_find(name);
	for (i = 0; i < DIGEST_COUNT && !job->only; i++)
		(void)buf_append_format(&names, "%s%s", i ? ", " : "",
					digest_table[i]->name);
	if (!job->only)
		code = cli_usage_error(&command_digest,
				       "no digest '%s'; there are %s", name,
				       names.data);
	buf_release(&names);
	return code;
}

static const struct digest_style *find_format(const char *name)
{
	const struct digest_style *s = foreign_styles;

	if (!strcmp(name, style_csv.name))
		return &style_csv;
	if (!strcmp(name, style_hashdeep.name))
		return &style_hashdeep;
	while (s->name && strcmp(name, s->name) != 0)
		s++;
	return s->name ? s : NULL;
}

/* What is printed is said once; but -a and --json go together. */
static int set_style(struct digest_job *job)
{
	const struct digest_style *format =
		job->format ? find_format(job->format) : NULL;
	const struct {
		bool asked;
		const struct digest_style *style;
	} all[] = {
		{ job->only && !job->json, &style_sums },
		{ job->json, &style_json },
		{ job->format, format },
		{ job->si2, &style_si2 },
		{ job->sif_classic, &style_sif_classic },
		{ job->rdc_signatures, &style_rdc_signatures },
	};
	size_t i;

	if (job->format && !format)
		return cli_usage_error(&command_digest,
				       "no format '%s'; there are sise, "
				       "ssdeep, sdbf, csv, hashdeep",
				       job->format);
	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		if (!all[i].asked)
			continue;
		if (job->style || (job->only && all[i].style->content))
			return cli_usage_error(
				&command_digest,
				"more than one kind of output asked for");
		job->style = all[i].style;
	}
	if (!job->style)
		job->style = &style_attributes;
	return EXIT_OK;
}

static int parse(struct digest_job *job, int argc, char **argv)
{
	int code = options_parse(&command_digest, job, argc, argv), i,
	    stdins = 0;

	if (!code)
		code = set_style(job);
	if (code)
		return code;
	if (optind == argc)
		return cli_usage_error(&command_digest, "which file?");
	for (i = optind; i < argc; i++)
		stdins += !strcmp(argv[i], "-");
	if (stdins > 1)
		return cli_usage_error(&command_digest,
				       "standard input can be read once");
	if (job->threads > MAX_JOBS)
		return cli_usage_error(&command_digest,
				       "-j takes a number from 1 to %d",
				       MAX_JOBS);
	if (job->rdc_signatures &&
	    (job->recursive || argc - optind > 1 || isatty(STDOUT_FILENO)))
		return cli_usage_error(
			&command_digest,
			"--rdc-signatures writes those of one file, "
			"in binary, not to a terminal");
	if (job->only)
		job->digest_set = DIGEST_BIT(job->only->id);
	else if (job->style->magic)
		job->digest_set = DIGEST_BIT(job->style->id);
	else
		job->digest_set =
			DIGEST_DEFAULT |
			(job->sdhash ? DIGEST_BIT(DIGEST_SDHASH) : 0) |
			(job->tlsh ? DIGEST_BIT(DIGEST_TLSH) : 0) |
			(job->sha256 ? DIGEST_BIT(DIGEST_SHA256) : 0);
	return EXIT_OK;
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
	  OPTION_NUMBER(struct digest_job, threads) },
	{ "sdhash", 0, NULL, "the sdhash too, which is large: 3 % of the file",
	  OPTION_FLAG(struct digest_job, sdhash) },
	{ "tlsh", 0, NULL, "TLSH too, for exchange with other programs",
	  OPTION_FLAG(struct digest_job, tlsh) },
	{ "sha256", 0, NULL, "SHA-256 too",
	  OPTION_FLAG(struct digest_job, sha256) },
	{ "format", 0, "NAME",
	  "a file of digests as other programs write it; csv is a table of all "
	  "digests: sise|ssdeep|sdbf|hashdeep|csv",
	  OPTION_TEXT(struct digest_job, format) },
	{ "rdc-signatures", 0, NULL,
	  "the signature file of one file, [MS-RDC] 2.2, in binary",
	  OPTION_FLAG(struct digest_job, rdc_signatures) },
	{ "si2", 0, NULL, "the Similarity Index's own SimHash, a line a file",
	  OPTION_FLAG(struct digest_job, si2) },
	{ "sif-classic", 0, NULL, "the fingerprints that sif itself would keep",
	  OPTION_FLAG(struct digest_job, sif_classic) },
	{ "json", 0, NULL, "an object a line, the last one with totals",
	  OPTION_FLAG(struct digest_job, json) },
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
