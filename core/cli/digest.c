/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fts.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/cli/cli.h"

struct digest_job {
	struct reader reader;
	const struct digest_info *only; /* -a */
	bool recursive, json;
	bool failed;
	size_t printed;
};

/* Attribute names in order, as getfattr prints them. */
static int by_attribute(const void *a, const void *b)
{
	const struct digest_info *x = &digest_infos[*(const int *)a];
	const struct digest_info *y = &digest_infos[*(const int *)b];

	return strcmp(x->attribute, y->attribute);
}

static void sorted_ids(int ids_out[DIGEST_COUNT])
{
	int i;

	for (i = 0; i < DIGEST_COUNT; i++)
		ids_out[i] = i;
	qsort(ids_out, DIGEST_COUNT, sizeof(ids_out[0]), by_attribute);
}

static bool is_wanted(const struct digest_job *job, const struct digests *d,
		      int id)
{
	return (d->set & DIGEST_BIT(id)) &&
	       (!job->only || (int)job->only->id == id);
}

/* getfattr leaves out what would make the name absolute, and "./". */
static const char *relative_name(const char *path)
{
	if (*path == '/')
		path += strspn(path, "/");
	else if (path[0] == '.' && path[1] == '/')
		path += 1 + strspn(path + 1, "/");
	return *path ? path : ".";
}

static int print_attributes(const struct digests *d, const char *path)
{
	struct buf text = { 0 };
	int ids[DIGEST_COUNT], i, err = 0;

	sorted_ids(ids);
	fputs("# file: ", stdout);
	print_escaped(relative_name(path), ESCAPE_GETFATTR);
	putchar('\n');
	for (i = 0; i < DIGEST_COUNT && !err; i++) {
		if (!(d->set & DIGEST_BIT(ids[i])))
			continue;
		buf_clear(&text);
		err = digest_format(d, ids[i], &text);
		if (!err)
			printf("%s=\"%s\"\n", digest_infos[ids[i]].attribute,
			       text.data);
	}
	putchar('\n');
	buf_release(&text);
	return err;
}

static int print_sum(const struct digests *d, enum digest_id id,
		     const char *path)
{
	struct buf text = { 0 };
	int err = digest_format(d, id, &text);

	if (!err) {
		if (needs_escape(path, ESCAPE_SUM))
			putchar('\\');
		printf("%s  ", text.data);
		print_escaped(path, ESCAPE_SUM);
		putchar('\n');
	}
	buf_release(&text);
	return err;
}

static int attributes_to_json(const struct digest_job *job,
			      const struct digests *d, json_t *object)
{
	struct buf text = { 0 };
	int ids[DIGEST_COUNT], i, err = 0;

	sorted_ids(ids);
	for (i = 0; i < DIGEST_COUNT && !err; i++) {
		if (!is_wanted(job, d, ids[i]))
			continue;
		buf_clear(&text);
		err = digest_format(d, ids[i], &text);
		if (!err &&
		    json_object_set_new(object, digest_infos[ids[i]].attribute,
					json_string(text.data)))
			err = -ENOMEM;
	}
	buf_release(&text);
	return err;
}

static int print_json(struct digest_job *job, const struct digests *d,
		      const char *path)
{
	json_t *object = json_object(), *digests = json_object();
	int err = object && digests ? 0 : -ENOMEM;

	if (!err)
		err = json_set_path(object, "path", path);
	if (!err)
		err = attributes_to_json(job, d, digests);
	if (!err && (json_object_set_new(object, "size",
					 json_integer((json_int_t)d->size)) ||
		     json_object_set(object, "digests", digests)))
		err = -ENOMEM;
	if (!err) {
		fputs(job->printed++ ? ",\n" : "", stdout);
		(void)json_dumpf(object, stdout, 0);
	}
	json_decref(digests);
	json_decref(object);
	return err;
}

static void job_fail(struct digest_job *job, const char *path, int err)
{
	complain_errno(path, err);
	job->failed = true;
}

static void job_print(struct digest_job *job, const char *path,
		      const struct digests *d)
{
	int err;

	if (job->json)
		err = print_json(job, d, path);
	else if (job->only)
		err = print_sum(d, job->only->id, path);
	else
		err = print_attributes(d, path);
	if (err)
		job_fail(job, path, err);
}

static void digest_file(struct digest_job *job, const char *path,
			bool is_argument)
{
	struct digests d = { 0 };
	int err;

	if (is_argument && !strcmp(path, "-"))
		err = reader_digest_fd(&job->reader, STDIN_FILENO, &d);
	else
		err = reader_digest_path(&job->reader, path, is_argument, &d);
	if (err) {
		job_fail(job, path, err);
		return;
	}
	job_print(job, path, &d);
	digests_release(&d);
}

static int by_name(const FTSENT **a, const FTSENT **b)
{
	return strcmp((*a)->fts_name, (*b)->fts_name);
}

static void walk_entry(struct digest_job *job, const FTSENT *entry)
{
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
}

static void walk(struct digest_job *job, char *path)
{
	char *paths[] = { path, NULL };
	const FTSENT *entry;
	FTS *fts = fts_open(paths, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR,
			    by_name);

	if (!fts) {
		job_fail(job, path, -errno);
		return;
	}
	for (errno = 0; (entry = fts_read(fts)); errno = 0)
		walk_entry(job, entry);
	if (errno)
		job_fail(job, path, -errno);
	(void)fts_close(fts);
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

static void name_list(struct buf *out)
{
	int i;

	for (i = 0; i < DIGEST_COUNT; i++)
		(void)buf_append_format(out, "%s%s", i ? ", " : "",
					digest_infos[i].name);
}

static int unknown_digest(const char *name)
{
	struct buf names = { 0 };
	int code;

	name_list(&names);
	code = usage_error(&command_digest, "no digest '%s'; there are %s",
			   name, names.data);
	buf_release(&names);
	return code;
}

static int parse_options(struct digest_job *job, int argc, char **argv)
{
	static const struct option options[] = {
		{ "attribute", required_argument, NULL, 'a' },
		{ "recursive", no_argument, NULL, 'r' },
		{ "json", no_argument, NULL, 'j' },
		{ 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "a:r", options, NULL)) != -1) {
		if (c == 'r')
			job->recursive = true;
		else if (c == 'j')
			job->json = true;
		else if (c != 'a')
			return usage_error(&command_digest, NULL);
		else if (!(job->only = digest_find(optarg)))
			return unknown_digest(optarg);
	}
	if (optind == argc)
		return usage_error(&command_digest, "which file?");
	return EXIT_OK;
}

static int run(int argc, char **argv)
{
	struct digest_job job = { 0 };
	int i, code = parse_options(&job, argc, argv);

	if (code)
		return code;
	code = reader_init(&job.reader,
			   job.only ? DIGEST_BIT(job.only->id) : DIGEST_ALL);
	if (code)
		return code;
	fputs(job.json ? "[" : "", stdout);
	for (i = optind; i < argc; i++)
		digest_argument(&job, argv[i]);
	fputs(job.json ? "]\n" : "", stdout);
	reader_release(&job.reader);
	return job.failed ? EXIT_FAILED : EXIT_OK;
}

const struct command command_digest = {
	.name = "digest",
	.synopsis = "digest [-r] [-a NAME] [--json] FILE...|-",
	.summary = "Print the digests of files, without a mount",
	.help = "Prints what getfattr -d prints; - is standard input.\n\n"
		"  -a, --attribute NAME  one digest (sise or user.sise, ...), "
		"a line a file\n"
		"                        as sha256sum prints it\n"
		"  -r, --recursive       look into directories, in order of "
		"names; links in\n"
		"                        them are not followed\n"
		"      --json            an array of objects\n",
	.run = run,
};
