/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/cli/digest_job.h"
#include "core/cli/foreign.h"

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

/* ---- as getfattr -d ---- */

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

static int file_attributes(struct digest_job *job, int fd, const char *path)
{
	struct digests d;
	int err = reader_digest_fd(&job->reader, fd, &d);

	if (err)
		return err;
	err = print_attributes(&d, path);
	digests_release(&d);
	return err;
}

const struct digest_style style_attributes = { .file = file_attributes };

/* ---- as sha256sum ---- */

void print_sum(const char *value, const char *path)
{
	if (needs_escape(path, ESCAPE_SUM))
		putchar('\\');
	printf("%s  ", value);
	print_escaped(path, ESCAPE_SUM);
	putchar('\n');
}

static int file_sum(struct digest_job *job, int fd, const char *path)
{
	struct buf text = { 0 };
	struct digests d;
	int err = reader_digest_fd(&job->reader, fd, &d);

	if (err)
		return err;
	err = digest_format(&d, job->only->id, &text);
	if (!err)
		print_sum(text.data, path);
	buf_release(&text);
	digests_release(&d);
	return err;
}

const struct digest_style style_sums = { .file = file_sum };

/* ---- JSON ---- */

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

static int file_json(struct digest_job *job, int fd, const char *path)
{
	struct digests d;
	int err = reader_digest_fd(&job->reader, fd, &d);

	if (err)
		return err;
	err = print_json(job, &d, path);
	digests_release(&d);
	return err;
}

static void begin_json(struct digest_job *job)
{
	(void)job;
	putchar('[');
}

static void end_json(struct digest_job *job)
{
	(void)job;
	puts("]");
}

const struct digest_style style_json = { begin_json, file_json, end_json };

/* ---- as the original programs ---- */

static void begin_foreign(struct digest_job *job)
{
	if (job->foreign->header)
		puts(job->foreign->header);
}

static int file_foreign(struct digest_job *job, int fd, const char *path)
{
	struct buf line = { 0 };
	struct digests d;
	int err = reader_digest_fd(&job->reader, fd, &d);

	if (err)
		return err;
	err = foreign_format(job->foreign, &d, path, &line);
	if (!err)
		puts(line.data);
	buf_release(&line);
	digests_release(&d);
	return err;
}

const struct digest_style style_foreign = {
	.begin = begin_foreign,
	.file = file_foreign,
};
