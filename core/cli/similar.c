/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/cli/cli.h"

struct similar_job {
	bool json;
	const char *path; /* as given */
	struct mount mount;
	char *file;    /* the file's path below the mount's root */
	char *listing; /* the directory that lists what resembles it */
	struct digests digests;
	json_t *array; /* of the hits, --json only */
	size_t printed;
};

struct hit {
	int score;
	char *path;
	uint64_t size;
	bool has_size;
	struct measures measures;
};

static char *format(const char *pattern, ...)
	__attribute__((format(printf, 1, 2)));

static char *format(const char *pattern, ...)
{
	va_list args;
	char *text;

	va_start(args, pattern);
	if (vasprintf(&text, pattern, args) < 0)
		text = NULL;
	va_end(args);
	return text;
}

/* The digests the mount has ready or makes; what is missing stays unset. */
static void attributes_read(const char *path, struct digests *out)
{
	struct buf text = { 0 };
	struct stat st;
	int id;

	for (id = 0; id < DIGEST_COUNT; id++)
		if (!attribute_get(path, digest_infos[id].attribute, &text))
			(void)digest_parse((enum digest_id)id, text.data,
					   text.len, out);
	if (!stat(path, &st))
		out->size = (uint64_t)st.st_size;
	buf_release(&text);
}

/* ---- one entry: "097_report.txt" -> "../../docs/report.txt" ---- */

static bool entry_score(const char *name, int *score_out)
{
	if (strspn(name, "0123456789") != 3 || name[3] != '_')
		return false;
	*score_out = (int)strtol(name, NULL, 10);
	return true;
}

/* The target's path below the root is what follows its "../"s. */
static char *entry_path(const struct similar_job *job, int dirfd,
			const char *name)
{
	char target[PATH_MAX + 1];
	const char *rel = target;
	ssize_t len = readlinkat(dirfd, name, target, sizeof(target) - 1);

	if (len < 0)
		return NULL;
	target[len] = '\0';
	while (!strncmp(rel, "../", 3))
		rel += 3;
	return format("%s/%s",
		      strcmp(job->mount.root, "/") != 0 ? job->mount.root : "",
		      rel);
}

static void hit_measure(const struct similar_job *job, struct hit *hit)
{
	struct digests d = { 0 };
	struct stat st;

	attributes_read(hit->path, &d);
	if (measures_take(&job->digests, &d, &hit->measures))
		memset(&hit->measures, -1, sizeof(hit->measures));
	hit->has_size = !stat(hit->path, &st);
	hit->size = d.size;
	digests_release(&d);
}

/* ---- printing ---- */

static void print_column(int value)
{
	if (value < 0)
		printf("%8s", "-");
	else
		printf("%8d", value);
}

static void hit_print(struct similar_job *job, const struct hit *hit)
{
	if (!job->printed++)
		printf("%5s%8s%8s%8s%8s%8s%14s  %s\n", "SCORE", "SISE",
		       "SIMHASH", "RDC", "SIF", "SSDEEP", "SIZE", "PATH");
	printf("%5d", hit->score);
	print_column(hit->measures.by_digest[DIGEST_SISE]);
	print_column(hit->measures.by_digest[DIGEST_SIMHASH]);
	print_column(hit->measures.by_digest[DIGEST_RDC]);
	print_column(hit->measures.by_digest[DIGEST_SIF]);
	print_column(hit->measures.by_digest[DIGEST_SSDEEP]);
	if (hit->has_size)
		printf("%14llu  ", (unsigned long long)hit->size);
	else
		printf("%14s  ", "-");
	print_escaped(hit->path, ESCAPE_TERMINAL);
	putchar('\n');
}

static int hit_add_json(struct similar_job *job, const struct hit *hit)
{
	json_t *object = json_object();
	json_t *size = hit->has_size ? json_integer((json_int_t)hit->size) :
				       json_null();
	int err = object ? 0 : -ENOMEM;

	if (!err &&
	    json_object_set_new(object, "score", json_integer(hit->score)))
		err = -ENOMEM;
	if (!err)
		err = measures_to_json(&hit->measures, object);
	if (!err && json_object_set(object, "size", size))
		err = -ENOMEM;
	if (!err)
		err = json_set_path(object, "path", hit->path);
	if (!err && json_array_append(job->array, object))
		err = -ENOMEM;
	json_decref(size);
	json_decref(object);
	return err;
}

/* ---- the listing ---- */

static int entry_show(struct similar_job *job, int dirfd, const char *name)
{
	struct hit hit = { 0 };
	int err = 0;

	if (!entry_score(name, &hit.score))
		return 0;
	hit.path = entry_path(job, dirfd, name);
	if (!hit.path)
		return 0;
	hit_measure(job, &hit);
	if (job->json)
		err = hit_add_json(job, &hit);
	else
		hit_print(job, &hit);
	free(hit.path);
	return err;
}

static int listing_show(struct similar_job *job)
{
	DIR *dir = opendir(job->listing);
	struct dirent *entry;
	int err = 0;

	if (!dir)
		return -errno;
	for (errno = 0; !err && (entry = readdir(dir)); errno = 0)
		err = entry_show(job, dirfd(dir), entry->d_name);
	if (!err)
		err = -errno;
	closedir(dir);
	return err;
}

/* A listing that left out near-duplicates says so in its state. */
static bool listing_is_cut(const struct similar_job *job)
{
	struct buf state = { 0 };
	bool cut;

	cut = !attribute_get(job->listing, STATE_ATTRIBUTE, &state) &&
	      !strncmp(state.data, "cut", 3);
	buf_release(&state);
	return cut;
}

static int print_json(struct similar_job *job)
{
	json_t *object = json_object();
	bool cut = listing_is_cut(job);
	int err = object ? 0 : -ENOMEM;

	if (!err)
		err = json_set_path(object, "path", job->file);
	if (!err && (json_object_set_new(object, "cut", json_boolean(cut)) ||
		     json_object_set(object, "similar", job->array)))
		err = -ENOMEM;
	if (!err)
		return json_print(object);
	json_decref(object);
	return EXIT_FAILED;
}

static int finish(struct similar_job *job)
{
	if (job->json)
		return print_json(job);
	if (listing_is_cut(job))
		complain(job->path, "there are more near-duplicates than the "
				    "mount's limit; see -o limit");
	return EXIT_OK;
}

/* ---- the way there ---- */

/* Where the listings are; NULL with a message when there are none. */
static char *similar_name(const struct similar_job *job)
{
	json_t *status = NULL;
	const char *name;
	char *copy = NULL;
	int err = status_get(job->mount.root, &status);

	if (err) {
		complain_errno(job->mount.root, err);
		return NULL;
	}
	name = json_string_value(json_object_get(status, "similar_name"));
	if (name && *name)
		copy = strdup(name);
	else
		complain(job->mount.root, "mounted without listings; "
					  "mount it with -o similar=hide");
	json_decref(status);
	return copy;
}

static bool is_regular(const struct similar_job *job)
{
	struct stat st;

	if (!stat(job->path, &st) && S_ISREG(st.st_mode))
		return true;
	complain(job->path, "not a regular file; only those resemble others");
	return false;
}

static int job_find(struct similar_job *job)
{
	char *name;
	int code = mount_find_or_complain(job->path, &job->mount);

	if (code)
		return code;
	if (!is_regular(job))
		return EXIT_FAILED;
	name = similar_name(job);
	if (!name)
		return EXIT_FAILED;
	job->file = format("%s/%s", job->mount.root, job->mount.rel);
	job->listing =
		format("%s/%s/%s", job->mount.root, name, job->mount.rel);
	job->array = json_array();
	free(name);
	return EXIT_OK;
}

static int job_run(struct similar_job *job)
{
	int err = 0, code = job_find(job);

	if (code)
		return code;
	if (!job->file || !job->listing || !job->array)
		err = -ENOMEM;
	if (!err) {
		attributes_read(job->file, &job->digests);
		err = listing_show(job);
	}
	if (!err)
		return finish(job);
	complain_errno(job->path, err);
	return EXIT_FAILED;
}

static int parse_options(struct similar_job *job, int argc, char **argv)
{
	static const struct option options[] = {
		{ "json", no_argument, NULL, 'j' },
		{ 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c != 'j')
			return usage_error(&command_similar, NULL);
		job->json = true;
	}
	if (argc - optind != 1)
		return usage_error(&command_similar, "which file?");
	job->path = argv[optind];
	return EXIT_OK;
}

static int run(int argc, char **argv)
{
	struct similar_job job = { 0 };
	int code = parse_options(&job, argc, argv);

	if (!code)
		code = job_run(&job);
	mount_release(&job.mount);
	digests_release(&job.digests);
	json_decref(job.array);
	free(job.file);
	free(job.listing);
	return code;
}

const struct command command_similar = {
	.name = "similar",
	.synopsis = "similar [--json] PATH",
	.summary = "List what resembles a file of a kinfs mount",
	.help = "The listing of .similar with full paths, best first: the "
		"score, each measure\n"
		"by itself (0 to 100, - when not available), the size and "
		"the path.\n\n"
		"      --json  one object: path, cut, similar\n\n"
		"A score of 100 means identical and nothing else does.  "
		"Listing waits until the\n"
		"file is digested.\n",
	.run = run,
};
