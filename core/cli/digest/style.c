/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/digest/style.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/utf8.h"

/* The digests of d in order of the attributes, as getfattr prints them: the one
 * behind last; NULL: from the first one, or no more. */
static const struct digest_ops *next_told(const struct digests *d,
					  const struct digest_ops *last)
{
	const struct digest_ops *next = NULL, *ops;
	int id;

	for (id = 0; id < DIGEST_COUNT; id++) {
		ops = digest_table[id];
		if ((d->set & DIGEST_BIT(id)) &&
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

/* Bytes that are not safe, backslashes and line breaks as \ooo, which setfattr
 * undoes. */
static int append_getfattr_name(struct buf *out, const char *text)
{
	size_t len;
	int err = 0;

	for (; *text && !err; text += len ? len : 1) {
		len = strchr("\\\n\r", *text) ? 0 : utf8_safe_length(text);
		err = len ? buf_append(out, text, len) :
			    buf_append_format(out, "\\%03o",
					      (unsigned char)*text);
	}
	return err;
}

static int format_attributes(const struct digests *d,
			     const struct digest_ops *only, const char *path,
			     struct buf *out)
{
	const struct digest_ops *ops = NULL;
	int err = buf_append_text(out, "# file: ");

	(void)only;
	if (!err)
		err = append_getfattr_name(out, relative_name(path));
	while (!err && (ops = next_told(d, ops))) {
		err = buf_append_format(out, "\n%s=\"", ops->attribute);
		if (!err)
			err = digest_format(d, ops->id, out);
		if (!err)
			err = buf_append_text(out, "\"");
	}
	return err;
}

const struct digest_style style_attributes = { .end = "\n\n",
					       .format = format_attributes };

/* ---- as sha256sum ---- */

/* Backslash, newline and return as \\, \n and \r; all else as it is. */
static int append_sum_name(struct buf *out, const char *text)
{
	int err = 0;

	for (; *text && !err; text++)
		err = buf_append_format(out, "%s%c",
					strchr("\\\n\r", *text) ? "\\" : "",
					*text == '\n' ? 'n' :
					*text == '\r' ? 'r' :
							*text);
	return err;
}

static int format_sum(const struct digests *d, const struct digest_ops *only,
		      const char *path, struct buf *out)
{
	int err = buf_append_text(out, strpbrk(path, "\\\n\r") ? "\\" : "");

	if (!err)
		err = digest_format(d, only->id, out);
	if (!err)
		err = buf_append_text(out, "  ");
	return err ? err : append_sum_name(out, path);
}

const struct digest_style style_sums = { .end = "\n", .format = format_sum };

/* ---- JSON ---- */

static int format_json(const struct digests *d, const struct digest_ops *only,
		       const char *path, struct buf *out)
{
	json_t *all = json_object();
	json_t *object = json_with_path(json_object(), "path", path);
	const struct digest_ops *ops = NULL;
	struct buf text = { 0 };
	int err = 0;

	(void)only;
	while (!err && (ops = next_told(d, ops))) {
		buf_clear(&text);
		err = digest_format(d, ops->id, &text);
		if (!err && json_object_set_new(all, ops->attribute,
						json_string(text.data)))
			err = -ENOMEM;
	}
	if (json_object_update_new(object, json_pack("{s:I, s:o}", "size",
						     (json_int_t)d->size,
						     "digests", all)))
		err = -ENOMEM;
	buf_release(&text);
	if (!err)
		return json_append(out, object, 0);
	json_decref(object);
	return err;
}

const struct digest_style style_json = { .end = "\n", .format = format_json };

/* ---- as the original programs ---- */

/* Text between quotation marks, each one in it behind that escape. */
static int append_quoted(struct buf *out, const char *text, const char *escape)
{
	int err = buf_append_text(out, "\"");

	for (; *text && !err; text++)
		err = buf_append_format(out, "%s%c", *text == '"' ? escape : "",
					*text);
	return err ? err : buf_append_text(out, "\"");
}

/* Its directory without symbolic links, and the name as it is, because a link
 * keeps its name.  Owned; NULL: errno says why. */
static char *absolute_path(const char *path)
{
	const char *name = basename(path);
	char *directory = strndup(path, (size_t)(name - path)), *out = NULL;
	char *real =
		directory ? realpath(*directory ? directory : ".", NULL) : NULL;

	if (real &&
	    asprintf(&out, "%s/%s", strcmp(real, "/") ? real : "", name) < 0)
		out = NULL;
	free(real);
	free(directory);
	return out;
}

/* The absolute path of a file, owned, or "stdin" for "-".  -EILSEQ: a line has no
 * place for it. */
static int full_name(const char *path, char **out)
{
	if (strpbrk(path, "\n\r"))
		return -EILSEQ;
	*out = strcmp(path, "-") ? absolute_path(path) : strdup("stdin");
	return *out ? 0 : -errno;
}

/* A quotation mark in a name: ssdeep writes a backslash before it, SiSe writes it
 * as it is. */
static int format_foreign(const struct digests *d,
			  const struct digest_ops *only, const char *path,
			  struct buf *out)
{
	const char *escape = only == &digest_ssdeep ? "\\" : "";
	char *name = NULL;
	int err = full_name(path, &name);

	if (!err)
		err = digest_format(d, only->id, out);
	if (!err)
		err = buf_append_text(out, ",");
	if (!err)
		err = append_quoted(out, name, escape);
	free(name);
	return err;
}

/* The digest says all. */
static int format_alone(const struct digests *d, const struct digest_ops *only,
			const char *path, struct buf *out)
{
	(void)path;
	return digest_format(d, only->id, out);
}

const struct digest_style style_alone = { .end = "", .format = format_alone };

/* The name is all that is behind the third comma. */
static int format_hashdeep(const struct digests *d,
			   const struct digest_ops *only, const char *path,
			   struct buf *out)
{
	char *name = NULL;
	int err = full_name(path, &name);

	(void)only;
	if (!err)
		err = buf_append_format(out, "%" PRIu64 ",", d->size);
	if (!err)
		err = digest_format(d, DIGEST_MD5, out);
	if (!err)
		err = buf_append_text(out, ",");
	if (!err)
		err = digest_format(d, DIGEST_SHA256, out);
	if (!err)
		err = buf_append_format(out, ",%s", name);
	free(name);
	return err;
}

/* ---- CSV, RFC 4180 ---- */

static int append_field(struct buf *out, const char *text)
{
	return strpbrk(text, ",\"\r\n") ? append_quoted(out, text, "\"") :
					  buf_append_text(out, text);
}

/* A digest that the content does not have is an empty field. */
static int format_csv(const struct digests *d, const struct digest_ops *only,
		      const char *path, struct buf *out)
{
	struct buf text = { 0 };
	int id, err = buf_append_format(out, "%" PRIu64 ",", d->size);

	(void)only;
	for (id = 0; id < DIGEST_COUNT && !err; id++) {
		buf_clear(&text);
		if (d->set & DIGEST_BIT(id))
			err = digest_format(d, (enum digest_id)id, &text);
		if (!err && text.len)
			err = append_field(out, text.data);
		if (!err)
			err = buf_append_text(out, ",");
	}
	buf_release(&text);
	return err ? err : append_field(out, path);
}

const struct digest_style digest_formats[] = {
	{ .name = "sise",
	  .begin = "SiSe-1.0--7:1--blocksize:hash,filename\n",
	  .end = "\n",
	  .magic = "SiSe",
	  .only = &digest_sise,
	  .format = format_foreign },
	{ .name = "ssdeep",
	  .begin = "ssdeep,1.1--blocksize:hash:hash,filename\n",
	  .end = "\n",
	  .magic = "ssdeep,",
	  .only = &digest_ssdeep,
	  .format = format_foreign },
	/* The line of an sdhash has the name already. */
	{ .name = "sdbf",
	  .end = "\n",
	  .magic = "sdbf",
	  .only = &digest_sdhash,
	  .format = format_alone },
	{ .name = "csv",
	  .has_titles = true,
	  .end = "\r\n",
	  .format = format_csv },
	{ .name = "hashdeep",
	  .begin = "%%%% HASHDEEP-1.0\n"
		   "%%%% size,md5,sha256,filename\n"
		   "## Written by kin digest\n## \n",
	  .end = "\n",
	  .set = DIGEST_BIT(DIGEST_MD5) | DIGEST_BIT(DIGEST_SHA256),
	  .format = format_hashdeep },
	{ .name = NULL },
};

const char *digest_name(size_t i)
{
	return i < DIGEST_COUNT ? digest_table[i]->name : NULL;
}

const char *digest_format_name(size_t i)
{
	return digest_formats[i].name;
}
