/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/cli/digest/digest_job.h"

/* What the digests of most files take, at once. */
#define MOST_TEXT 8192

/* The digests that are to be told, in order of the attributes, as getfattr
 * prints them: the one behind last; NULL: from the first one, or no more. */
static const struct digest_ops *next_told(const struct digest_job *job,
					  const struct digests *d,
					  const struct digest_ops *last)
{
	const struct digest_ops *next = NULL, *ops;
	int id;

	for (id = 0; id < DIGEST_COUNT; id++) {
		ops = digest_table[id];
		if ((d->set & DIGEST_BIT(id)) &&
		    (!job->only || job->only == ops) &&
		    (!last || strcmp(ops->attribute, last->attribute) > 0) &&
		    (!next || strcmp(ops->attribute, next->attribute) < 0))
			next = ops;
	}
	return next;
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

static int format_attributes(const struct digest_job *job,
			     const struct digests *d, const char *path,
			     struct buf *out)
{
	const struct digest_ops *ops = NULL;
	int err = buf_reserve(out, MOST_TEXT);

	if (!err)
		err = buf_append_text(out, "# file: ");
	if (!err)
		err = cli_append_escaped(out, relative_name(path),
					 ESCAPE_GETFATTR);
	while (!err && (ops = next_told(job, d, ops))) {
		err = buf_append_format(out, "\n%s=\"", ops->attribute);
		if (!err)
			err = digest_format(d, ops->id, out);
		if (!err)
			err = buf_append_text(out, "\"");
	}
	return err ? err : buf_append_text(out, "\n\n");
}

const struct digest_style style_attributes = { .format = format_attributes };

/* ---- as sha256sum ---- */

int digest_append_sum(struct buf *out, const char *value, const char *path)
{
	int err = buf_append_format(out, "%s%s  ",
				    strpbrk(path, "\\\n\r") ? "\\" : "", value);

	if (!err)
		err = cli_append_escaped(out, path, ESCAPE_SUM);
	return err ? err : buf_append_text(out, "\n");
}

static int format_sum(const struct digest_job *job, const struct digests *d,
		      const char *path, struct buf *out)
{
	struct buf text = { 0 };
	int err = digest_format(d, job->only->id, &text);

	if (!err)
		err = digest_append_sum(out, text.data, path);
	buf_release(&text);
	return err;
}

const struct digest_style style_sums = { .format = format_sum };

/* ---- JSON ---- */

static int format_json(const struct digest_job *job, const struct digests *d,
		       const char *path, struct buf *out)
{
	json_t *all = json_object(), *object = json_object();
	const struct digest_ops *ops = NULL;
	struct buf text = { 0 };
	char *line = NULL;
	int err = json_set_path(object, "path", path);

	while (!err && (ops = next_told(job, d, ops))) {
		buf_clear(&text);
		err = digest_format(d, ops->id, &text);
		if (!err && json_object_set_new(all, ops->attribute,
						json_string(text.data)))
			err = -ENOMEM;
	}
	if (json_object_set_new(object, "size",
				json_integer((json_int_t)d->size)) ||
	    json_object_set_new(object, "digests", all))
		err = -ENOMEM;
	line = err ? NULL : json_dumps(object, cli_json_flags());
	if (!err)
		err = line ? buf_append_format(out, "%s\n", line) : -ENOMEM;
	free(line);
	json_decref(object);
	buf_release(&text);
	return err;
}

const struct digest_style style_json = { .format = format_json };

/* ---- as the original programs ---- */

const struct digest_style *foreign_by_line(const char *line)
{
	const struct digest_style *s = foreign_styles;

	while (s->name && strncmp(line, s->magic, strlen(s->magic)) != 0)
		s++;
	return s->name ? s : NULL;
}

int digest_append_name(struct buf *out, const char *path)
{
	char *absolute = strcmp(path, "-") ? cli_absolute_path(path) : NULL;
	int err;

	if (strcmp(path, "-") && !absolute)
		return -errno;
	err = buf_append_text(out, absolute ? absolute : "stdin");
	free(absolute);
	return err;
}

/* The line of an sdhash has the name already. */
static int format_sdhash(const struct digest_job *job, const struct digests *d,
			 const char *path, struct buf *out)
{
	int err = digest_format(d, DIGEST_SDHASH, out);

	(void)job;
	(void)path;
	return err ? err : buf_append_text(out, "\n");
}

/* A quotation mark in a name: ssdeep writes a backslash before it, SiSe writes it
 * as it is. */
static int format_foreign(const struct digest_job *job, const struct digests *d,
			  const char *path, struct buf *out)
{
	const enum digest_id id = job->style->id;
	struct buf name = { 0 };
	size_t i;
	int err = digest_format(d, id, out);

	if (!err)
		err = strpbrk(path, "\n\r") ? -EILSEQ :
					      digest_append_name(&name, path);
	if (!err)
		err = buf_append_text(out, ",\"");
	for (i = 0; i < name.len && !err; i++)
		err = buf_append_format(
			out, "%s%c",
			name.data[i] == '"' && id == DIGEST_SSDEEP ? "\\" : "",
			name.data[i]);
	buf_release(&name);
	return err ? err : buf_append_text(out, "\"\n");
}

const struct digest_style foreign_styles[] = {
	{ .name = "ssdeep",
	  .begin = "ssdeep,1.1--blocksize:hash:hash,filename\n",
	  .magic = "ssdeep,",
	  .id = DIGEST_SSDEEP,
	  .format = format_foreign },
	{ .name = "sise",
	  .begin = "SiSe-1.0--7:1--blocksize:hash,filename\n",
	  .magic = "SiSe",
	  .id = DIGEST_SISE,
	  .format = format_foreign },
	{ .name = "sdbf",
	  .magic = "sdbf",
	  .id = DIGEST_SDHASH,
	  .format = format_sdhash },
	{ .name = NULL },
};

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
static int format_csv(const struct digest_job *job, const struct digests *d,
		      const char *path, struct buf *out)
{
	struct buf text = { 0 };
	int id, err = buf_append_format(out, "%llu,",
					(unsigned long long)d->size);

	(void)job;
	for (id = 0; id < DIGEST_COUNT && !err; id++) {
		buf_clear(&text);
		if (d->set & DIGEST_BIT(id))
			err = digest_format(d, (enum digest_id)id, &text);
		if (!err && text.len)
			err = append_field(out, text.data);
		if (!err)
			err = buf_append_text(out, ",");
	}
	if (!err)
		err = append_field(out, path);
	buf_release(&text);
	return err ? err : buf_append_text(out, "\r\n");
}

/* The digests in the order of enum digest_id. */
const struct digest_style style_csv = {
	.name = "csv",
	.begin = "size,sise,simhash,rdc,sif,ssdeep,xxh128,sdhash,"
		 "tlsh,sha256,path\r\n",
	.format = format_csv,
};
