/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/err.h"
#include "core/base/thread.h"
#include "core/base/utf8.h"
#include "core/cli/digest/style.h"
#include "core/cli/table.h"

enum { MAX_JOBS = 1024 };

struct digest_job {
	const struct digest_style *style;
	uint32_t digest_set;
	const struct digest_ops *only;     /* -a, or that of the style */
	const struct digest_style *format; /* --format */
	uint64_t threads;                  /* -j */
	bool json, si2, sif_classic, rdc_signatures;
	bool sdhash, tlsh, sha256; /* these, too */
	bool recursive, failed;
	size_t printed; /* files */
};

/* ---- a file ---- */

static void fail(struct digest_job *job, const char *path, int err)
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

/* follow: the path was named by the user, so "-" is standard input and links are
 * followed. */
static int digest_file(const struct digest_job *job, struct reader *r,
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
	err = reader_digest_fd(r, fd, name, &d);
	d.set &= job->digest_set; /* XXH128 is made in any case */
	if (!err)
		err = style->format(&d, job->only, path, out);
	if (!err)
		err = buf_append_text(out, style->end);
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

static void tell(struct digest_job *job, const char *path, int err,
		 const struct buf *output)
{
	/* In a crowd, what is too small for a digest is passed over. */
	if (err == -ENODATA && job->recursive)
		return;
	if (err) {
		fail(job, path, err);
		return;
	}
	print(output);
	job->printed++;
}

/* ---- all files ---- */

/*
 * All files, by threads that each take the next one, under the lock, and digest
 * it.  Whoever is done with the file that is next in the output prints it, and
 * what was done before it was.
 */

/* Files between the one that is next in the output and the last that was taken. */
enum { SLOTS = 1024 };

struct slot {
	char *path; /* owned; NULL: no memory */
	bool follow, done;
	int err;
	struct buf output;
};

struct files {
	struct digest_job *job;
	pthread_mutex_t lock;   /* everything below */
	pthread_cond_t printed; /* there may be a free slot */
	char **paths;           /* the next operand */
	FTS *fts;               /* of the last one, if it is a directory */
	uint64_t taken, told;
	struct slot slots[SLOTS];
};

/* Directories come by themselves; the rest has no content.  NULL: the end. */
static FTSENT *next_entry(struct files *f)
{
	FTSENT *entry;
	int err;

	while (f->fts) {
		entry = cli_walk_next(f->fts);
		if (entry && entry->fts_info == FTS_F)
			return entry;
		if (entry && cli_walk_failed(entry))
			fail(f->job, entry->fts_path, -entry->fts_errno);
		if (entry)
			continue;
		err = cli_walk_end(f->fts);
		if (err)
			fail(f->job, f->paths[-1], err);
		f->fts = NULL;
	}
	return NULL;
}

/* False: there are no more. */
static bool next_file(struct files *f, struct slot *out)
{
	FTSENT *entry;
	struct stat st;
	char *path;

	while (!(entry = next_entry(f)) && (path = *f->paths)) {
		f->paths++;
		if (!f->job->recursive || !strcmp(path, "-") ||
		    stat(path, &st) || !S_ISDIR(st.st_mode)) {
			*out = (struct slot){ strdup(path), .follow = true };
			return true;
		}
		f->fts = cli_walk_begin(path, FTS_COMFOLLOW);
		if (!f->fts)
			fail(f->job, path, -errno);
	}
	if (entry)
		*out = (struct slot){ .path = strdup(entry->fts_path) };
	return entry;
}

static void print_done(struct files *f)
{
	struct slot *s;

	while ((s = &f->slots[f->told % SLOTS])->done) {
		tell(f->job, s->path, s->err, &s->output);
		free(s->path);
		buf_release(&s->output);
		*s = (struct slot){ 0 };
		f->told++;
		pthread_cond_broadcast(&f->printed);
	}
}

static void *work(void *arg)
{
	struct files *f = arg;
	struct reader reader;
	struct slot *s;
	const bool ready = !reader_init(&reader, f->job->digest_set);

	pthread_mutex_lock(&f->lock);
	for (;;) {
		while (f->taken - f->told == SLOTS)
			pthread_cond_wait(&f->printed, &f->lock);
		s = &f->slots[f->taken % SLOTS];
		if (!next_file(f, s))
			break;
		f->taken++;
		pthread_mutex_unlock(&f->lock);
		s->err = ready && s->path ?
				 digest_file(f->job, &reader, s->path,
					     s->follow, &s->output) :
				 -ENOMEM;
		pthread_mutex_lock(&f->lock);
		s->done = true;
		print_done(f);
	}
	pthread_mutex_unlock(&f->lock);
	reader_release(&reader);
	return NULL;
}

static int digest_all(struct digest_job *job, char **paths)
{
	struct files *f = calloc(1, sizeof(*f));
	pthread_t *threads = calloc(job->threads, sizeof(*threads));
	uint64_t started = 0;
	int err = f && threads ? 0 : -ENOMEM;

	if (!err) {
		f->job = job;
		f->paths = paths;
		pthread_mutex_init(&f->lock, NULL);
		pthread_cond_init(&f->printed, NULL);
		/* This thread is one of them; with fewer it takes longer. */
		while (started + 1 < job->threads &&
		       !pthread_create(&threads[started], NULL, work, f))
			started++;
		(void)work(f);
		while (started)
			pthread_join(threads[--started], NULL);
		pthread_cond_destroy(&f->printed);
		pthread_mutex_destroy(&f->lock);
	}
	free(threads);
	free(f);
	return err;
}

static int job_run(struct digest_job *job, char **paths)
{
	const uint64_t count = (uint64_t)operand_count(paths);
	int err;

	if (!job->threads)
		job->threads = processors_usable();
	if (!job->recursive && job->threads > count)
		job->threads = count;
	fputs(job->style->begin ? job->style->begin : "", stdout);
	err = digest_all(job, paths);
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

static int take_format(void *arg, const char *name)
{
	struct digest_job *job = arg;

	for (job->format = digest_formats; job->format->name; job->format++)
		if (!strcmp(name, job->format->name))
			return EXIT_OK;
	return cli_usage_error(&command_digest,
			       "no format '%s'; there are sise, ssdeep, sdbf, "
			       "csv, hashdeep",
			       name);
}

/* What is printed is said once; but -a and --json go together. */
static int set_style(struct digest_job *job)
{
	const struct {
		bool asked;
		const struct digest_style *style;
	} all[] = {
		{ job->only && !job->json, &style_sums },
		{ job->json, &style_json },
		{ job->format, job->format },
		{ job->si2, &style_si2 },
		{ job->sif_classic, &style_sif_classic },
		{ job->rdc_signatures, &style_rdc_signatures },
	};
	size_t i;

	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		if (all[i].asked && job->style)
			return cli_usage_error(
				&command_digest,
				"more than one kind of output asked for");
		if (all[i].asked)
			job->style = all[i].style;
	}
	if (!job->style)
		job->style = &style_attributes;
	if (job->style->only)
		job->only = job->style->only;
	job->digest_set =
		job->style->set ? job->style->set :
		job->only       ? DIGEST_BIT(job->only->id) :
				  DIGEST_DEFAULT |
				    job->sdhash * DIGEST_BIT(DIGEST_SDHASH) |
				    job->tlsh * DIGEST_BIT(DIGEST_TLSH) |
				    job->sha256 * DIGEST_BIT(DIGEST_SHA256);
	return EXIT_OK;
}

static int check(struct digest_job *job, char **paths)
{
	int code = set_style(job), i, stdins = 0;

	if (code)
		return code;
	for (i = 0; paths[i]; i++)
		stdins += !strcmp(paths[i], "-");
	if (stdins > 1)
		return cli_usage_error(&command_digest,
				       "standard input can be read once");
	if (job->threads > MAX_JOBS)
		return cli_usage_error(&command_digest,
				       "-j takes a number from 1 to %d",
				       MAX_JOBS);
	if (job->rdc_signatures &&
	    (job->recursive || paths[1] || isatty(STDOUT_FILENO)))
		return cli_usage_error(
			&command_digest,
			"--rdc-signatures writes those of one file, "
			"in binary, not to a terminal");
	return EXIT_OK;
}

static struct digest_job digest_job;

static int run(const struct command *self, char **paths)
{
	int code = check(self->job, paths);

	return code ? code : job_run(self->job, paths);
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
	  OPTION_TAKE(take_format) },
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
	.operands = { 1, INT_MAX },
	.lacking = "which file?",
	.job = &digest_job,
	.run = run,
};
