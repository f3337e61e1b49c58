/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/cli/digest/digest_job.h"
#include "core/cli/record.h"
#include "core/cli/digest/foreign.h"

/* What the digests of most files take, at once. */
#define MOST_TEXT 8192

/* Attribute names in order, as getfattr prints them. */
static int by_attribute(const void *a, const void *b)
{
	const struct digest_ops *x = digest_table[*(const int *)a];
	const struct digest_ops *y = digest_table[*(const int *)b];

	return strcmp(x->attribute, y->attribute);
}

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int ids[DIGEST_COUNT];

static void sort_ids(void)
{
	int i;

	for (i = 0; i < DIGEST_COUNT; i++)
		ids[i] = i;
	qsort(ids, DIGEST_COUNT, sizeof(ids[0]), by_attribute);
}

/* DIGEST_COUNT of them. */
static const int *sorted_ids(void)
{
	(void)pthread_once(&once, sort_ids);
	return ids;
}

static bool is_wanted(const struct digest_job *job, const struct digests *d,
		      int id)
{
	return (d->set & DIGEST_BIT(id)) &&
	       (!job->only || (int)job->only->id == id);
}

/* What the content is called in its sdhash. */
static const char *name_of(const char *path)
{
	return strcmp(path, "-") ? cli_base_name(path) : "stdin";
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

static int append_attributes(const struct digests *d, const char *path,
			     struct buf *out)
{
	const int *sorted = sorted_ids();
	int i, err;

	err = buf_reserve(out, MOST_TEXT);
	if (!err)
		err = buf_append_text(out, "# file: ");
	if (!err)
		err = cli_append_escaped(out, relative_name(path),
					 ESCAPE_GETFATTR);
	for (i = 0; i < DIGEST_COUNT && !err; i++) {
		if (!(d->set & DIGEST_BIT(sorted[i])))
			continue;
		err = buf_append_text(out, i ? "\"\n" : "\n");
		if (!err)
			err = buf_append_text(
				out, digest_table[sorted[i]]->attribute);
		if (!err)
			err = buf_append_text(out, "=\"");
		if (!err)
			err = digest_format(d, sorted[i], out);
	}
	return err ? err : buf_append_text(out, "\"\n\n");
}

static int file_attributes(const struct digest_job *job, struct reader *r,
			   int fd, const char *path, struct buf *out)
{
	struct digests d;
	int err = reader_digest_fd(r, fd, name_of(path), &d);

	(void)job;
	if (err)
		return err;
	err = append_attributes(&d, path, out);
	digests_release(&d);
	return err;
}

const struct digest_style style_attributes = { .file = file_attributes };

/* ---- as sha256sum ---- */

int digest_append_sum(struct buf *out, const char *value, const char *path)
{
	int err = buf_append_text(out, strpbrk(path, "\\\n\r") ? "\\" : "");

	if (!err)
		err = buf_append_text(out, value);
	if (!err)
		err = buf_append_text(out, "  ");
	if (!err)
		err = cli_append_escaped(out, path, ESCAPE_SUM);
	return err ? err : buf_append_text(out, "\n");
}

static int file_sum(const struct digest_job *job, struct reader *r, int fd,
		    const char *path, struct buf *out)
{
	struct buf text = { 0 };
	struct digests d;
	int err = reader_digest_fd(r, fd, name_of(path), &d);

	if (err)
		return err;
	err = digest_format(&d, job->only->id, &text);
	if (!err)
		err = digest_append_sum(out, text.data, path);
	buf_release(&text);
	digests_release(&d);
	return err;
}

const struct digest_style style_sums = { .file = file_sum };

/* ---- JSON ---- */

static int record_digests(const struct digest_job *job, const struct digests *d,
			  struct record *r)
{
	struct buf text = { 0 };
	const int *sorted = sorted_ids();
	int i, err = 0;

	record_object(r, "digests");
	for (i = 0; i < DIGEST_COUNT && !err; i++) {
		if (!is_wanted(job, d, sorted[i]))
			continue;
		buf_clear(&text);
		err = digest_format(d, sorted[i], &text);
		if (!err)
			record_text(r, digest_table[sorted[i]]->attribute,
				    text.data);
	}
	record_close(r);
	buf_release(&text);
	return err;
}

static int append_json(const struct digest_job *job, const struct digests *d,
		       const char *path, struct buf *out)
{
	struct record r;
	json_t *object;
	char *text;
	int err;

	record_begin(&r);
	record_path(&r, "path", path);
	record_number(&r, "size", (int64_t)d->size);
	err = record_digests(job, d, &r);
	object = record_end(&r);
	text = object ? json_dumps(object, cli_json_flags()) : NULL;
	if (!err)
		err = text ? buf_append_format(out, "%s\n", text) : -ENOMEM;
	free(text);
	json_decref(object);
	return err;
}

static int file_json(const struct digest_job *job, struct reader *r, int fd,
		     const char *path, struct buf *out)
{
	struct digests d;
	int err = reader_digest_fd(r, fd, name_of(path), &d);

	if (err)
		return err;
	err = append_json(job, &d, path, out);
	digests_release(&d);
	return err;
}

const struct digest_style style_json = { .file = file_json };

/* ---- as the original programs ---- */

static int file_foreign(const struct digest_job *job, struct reader *r, int fd,
			const char *path, struct buf *out)
{
	struct digests d;
	int err =
		reader_digest_fd(r, fd, strcmp(path, "-") ? path : "stdin", &d);

	if (err)
		return err;
	err = foreign_format(job->foreign, &d, path, out);
	digests_release(&d);
	return err;
}

const struct digest_style style_foreign = { .file = file_foreign };

/* ---- CSV, RFC 4180 ---- */

static int append_field(struct buf *out, const char *text)
{
	int err;

	if (!strpbrk(text, ",\"\r\n"))
		return buf_append_text(out, text);
	err = buf_append_text(out, "\"");
	for (; *text && !err; text++) {
		if (*text == '"')
			err = buf_append_text(out, "\"");
		if (!err)
			err = buf_append(out, text, 1);
	}
	return err ? err : buf_append_text(out, "\"");
}

/* A digest that the content does not have is an empty field. */
static int append_csv(const struct digests *d, const char *path,
		      struct buf *out)
{
	struct buf text = { 0 };
	int id, err = buf_append_format(out, "%llu",
					(unsigned long long)d->size);

	for (id = 0; id < DIGEST_COUNT && !err; id++) {
		err = buf_append_text(out, ",");
		if (err || !(d->set & DIGEST_BIT(id)))
			continue;
		buf_clear(&text);
		err = digest_format(d, (enum digest_id)id, &text);
		if (!err)
			err = append_field(out, text.data);
	}
	if (!err)
		err = buf_append_text(out, ",");
	if (!err)
		err = append_field(out, path);
	buf_release(&text);
	return err ? err : buf_append_text(out, "\r\n");
}

static int file_csv(const struct digest_job *job, struct reader *r, int fd,
		    const char *path, struct buf *out)
{
	struct digests d;
	int err = reader_digest_fd(r, fd, name_of(path), &d);

	(void)job;
	if (err)
		return err;
	err = append_csv(&d, path, out);
	digests_release(&d);
	return err;
}

/* The digests in the order of enum digest_id. */
const struct digest_style style_csv = {
	.begin = "size,sise,simhash,rdc,sif,ssdeep,xxh128,sdhash,"
		 "tlsh,sha256,path\r\n",
	.file = file_csv,
};
