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

/* Files between the one that is next in the output and the last that was taken. */
enum { SLOTS = 1024 };

/* A file that was taken. */
struct slot {
	char *path;  /* owned; NULL: no memory */
	bool follow; /* the user named it: "-" is standard input, and links are
		      * followed */
	bool done;
	int err;
	struct buf output;
};

/*
 * Threads each take the next file, under the lock, and digest it.  A thread that
 * is done prints the files that are next in the output, as far as they are done.
 */
struct digest_job {
	const struct digest_style *style;
	uint32_t digest_set;
	const struct digest_ops *only;     /* -a, or that of the style */
	const struct digest_style *format; /* --format */
	uint64_t threads;                  /* -j */
	bool json, si2, sif_classic, rdc_signatures;
	bool sdhash, tlsh, sha256; /* these, too */
	bool recursive;

	pthread_mutex_t lock;    /* of all below */
	pthread_cond_t has_room; /* there may be a free slot */
	char **paths;            /* the next operand */
	struct tree_walk *walk;  /* of the last one, if it is a directory */
	uint64_t taken, told;    /* files */
	struct slot slots[SLOTS];
	size_t printed;
	bool failed;
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

static int digest_file(const struct digest_job *job, struct reader *r,
		       struct slot *s)
{
	const struct digest_style *style = job->style;
	const bool is_stdin = s->follow && !strcmp(s->path, "-");
	/* The name of the content in its sdhash. */
	const char *name = is_stdin     ? "stdin" :
			   style->magic ? s->path :
					  basename(s->path);
	struct digests d = { 0 };
	int fd = STDIN_FILENO,
	    err = is_stdin ? 0 : reader_open(s->path, s->follow, &fd);

	if (err)
		return err;
	err = reader_digest_fd(r, fd, name, &d);
	d.set &= job->digest_set; /* XXH128 is made in any case */
	if (!err)
		err = style->format(&d, job->only, s->path, &s->output);
	if (!err)
		err = buf_append_text(&s->output, style->end);
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

/* ---- all files ---- */

/* Into a slot that is free.  Of a directory regular files alone.  False: there are
 * no more. */
static bool next_file(struct digest_job *job, struct slot *out)
{
	const struct tree_entry *entry;
	struct stat st;
	char *path;
	int err;

	for (;;) {
		while (job->walk && (entry = tree_walk_next(job->walk))) {
			if (entry->error)
				fail(job, entry->path, entry->error);
			if (!entry->is_file)
				continue;
			out->path = strdup(entry->path);
			return true;
		}
		err = job->walk ? tree_walk_end(job->walk, 0) : 0;
		if (err)
			fail(job, job->paths[-1], err);
		job->walk = NULL;
		path = *job->paths;
		if (!path)
			return false;
		job->paths++;
		if (!job->recursive || !strcmp(path, "-") || stat(path, &st) ||
		    !S_ISDIR(st.st_mode)) {
			out->path = strdup(path);
			out->follow = true;
			return true;
		}
		job->walk = tree_walk_begin(path, TREE_FOLLOW_TOP);
		if (!job->walk)
			fail(job, path, -ENOMEM);
	}
}

static void print_done(struct digest_job *job)
{
	struct slot *s;

	for (; (s = &job->slots[job->told % SLOTS])->done; job->told++) {
		if (!s->err) {
			print(&s->output);
			job->printed++;
		} else if (s->err != -ENODATA || !job->recursive) {
			fail(job, s->path, s->err);
		} /* of a tree, files too small for a digest are passed over */
		free(s->path);
		buf_release(&s->output);
		*s = (struct slot){ 0 };
		pthread_cond_broadcast(&job->has_room);
	}
}

static void *work(void *arg)
{
	struct digest_job *job = arg;
	struct reader reader;
	struct slot *s;
	const int err = reader_init(&reader, job->digest_set);

	pthread_mutex_lock(&job->lock);
	if (err)
		fail(job, NULL, err);
	while (!err) {
		while (job->taken - job->told == SLOTS)
			pthread_cond_wait(&job->has_room, &job->lock);
		s = &job->slots[job->taken % SLOTS];
		if (!next_file(job, s))
			break;
		job->taken++;
		pthread_mutex_unlock(&job->lock);
		s->err = s->path ? digest_file(job, &reader, s) : -ENOMEM;
		pthread_mutex_lock(&job->lock);
		s->done = true;
		print_done(job);
	}
	pthread_mutex_unlock(&job->lock);
	reader_release(&reader);
	return NULL;
}

/* ---- the command ---- */

static int take_attribute(void *arg, const char *name)
{
	struct digest_job *job = arg;

	job->only = digest_find(name);
	return job->only ? EXIT_OK :
			   options_complain_value(&command_digest, "digest",
						  name, digest_name);
}

static int take_format(void *arg, const char *name)
{
	struct digest_job *job = arg;

	for (job->format = digest_formats; job->format->name; job->format++)
		if (!strcmp(name, job->format->name))
			return EXIT_OK;
	return options_complain_value(&command_digest, "format", name,
				      digest_format_name);
}

static void set_style(struct digest_job *job)
{
	job->style = job->format         ? job->format :
		     job->json           ? &style_json :
		     job->rdc_signatures ? &style_alone :
		     job->only || job->si2 || job->sif_classic ?
					   &style_sums :
					   &style_attributes;
	if (job->format)
		job->only = job->format->only;
	else if (job->si2)
		job->only = &digest_si2;
	else if (job->sif_classic)
		job->only = &digest_sif_classic;
	else if (job->rdc_signatures)
		job->only = &digest_rdc_signatures;
	job->digest_set = job->style->set ? job->style->set :
			  job->only       ? DIGEST_BIT(job->only->id) :
					    DIGEST_DEFAULT;
	if (job->style->set || job->only)
		return;
	if (job->sdhash)
		job->digest_set |= DIGEST_BIT(DIGEST_SDHASH);
	if (job->tlsh)
		job->digest_set |= DIGEST_BIT(DIGEST_TLSH);
	if (job->sha256)
		job->digest_set |= DIGEST_BIT(DIGEST_SHA256);
}

static int check(struct digest_job *job, char **paths)
{
	int i, stdins = 0;

	set_style(job);
	for (i = 0; paths[i]; i++)
		stdins += !strcmp(paths[i], "-");
	if (stdins > 1)
		return cli_usage_error(&command_digest,
				       "standard input can be read once");
	if (job->threads > MAX_JOBS)
		return cli_usage_error(&command_digest,
				       "-j takes a number from 1 to %d",
				       MAX_JOBS);
	if (job->rdc_signatures && (paths[1] || isatty(STDOUT_FILENO)))
		return cli_usage_error(
			&command_digest,
			"--rdc-signatures writes those of one file, "
			"in binary, not to a terminal");
	if (!job->threads)
		job->threads = processors_usable();
	if (job->threads > MAX_JOBS)
		job->threads = MAX_JOBS;
	if (!job->recursive && job->threads > (uint64_t)i)
		job->threads = (uint64_t)i;
	return EXIT_OK;
}

static struct digest_job digest_job = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.has_room = PTHREAD_COND_INITIALIZER,
};

static void print_begin(const struct digest_style *style)
{
	size_t i;

	fputs(style->begin ? style->begin : "", stdout);
	if (!style->has_titles)
		return;
	fputs("size", stdout);
	for (i = 0; digest_name(i); i++)
		printf(",%s", digest_name(i));
	fputs(",path\r\n", stdout);
}

static int run(const struct command *self, char **paths)
{
	struct digest_job *job = self->job;
	pthread_t threads[MAX_JOBS];
	uint64_t started = 0;
	int code = check(job, paths);

	if (code)
		return code;
	print_begin(job->style);
	job->paths = paths;
	/* This thread is one of them; with fewer it takes longer. */
	while (started + 1 < job->threads &&
	       !pthread_create(&threads[started], NULL, work, job))
		started++;
	(void)work(job);
	while (started)
		pthread_join(threads[--started], NULL);
	if (job->json &&
	    table_totals(json_pack("{s:I}", "files", (json_int_t)job->printed),
			 !job->failed, NULL))
		job->failed = true;
	return job->failed ? EXIT_FAILED : EXIT_OK;
}

static const struct option_row options[] = {
	{ "attribute", 'a', "NAME",
	  "one digest, a line a file as sha256sum prints it",
	  OPTION_TAKE(take_attribute), .value = digest_name,
	  .excludes = "format rdc-signatures si2 sif-classic" },
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
	  "digests",
	  OPTION_TAKE(take_format), .value = digest_format_name,
	  .excludes = "json rdc-signatures si2 sif-classic" },
	{ "rdc-signatures", 0, NULL,
	  "the signature file of one file, [MS-RDC] 2.2, in binary",
	  OPTION_FLAG(struct digest_job, rdc_signatures),
	  .excludes = "json si2 sif-classic recursive" },
	{ "si2", 0, NULL, "the Similarity Index's own SimHash, a line a file",
	  OPTION_FLAG(struct digest_job, si2), .excludes = "json sif-classic" },
	{ "sif-classic", 0, NULL, "the fingerprints that sif itself would keep",
	  OPTION_FLAG(struct digest_job, sif_classic), .excludes = "json" },
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
