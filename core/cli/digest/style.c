/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/digest/style.h"

#include <errno.h>
#include <inttypes.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/hex.h"
#include "core/base/json.h"
#include "core/digest/rdc/rdc.h"
#include "core/digest/reference/si2.h"
#include "core/digest/reference/sif_classic.h"

/* Bytes that the line of most files fits into. */
#define MOST_TEXT 8192

/* The digests that are to be told, in order of the attributes, as getfattr
 * prints them: the one behind last; NULL: from the first one, or no more. */
static const struct digest_ops *next_told(const struct digests *d,
					  const struct digest_ops *only,
					  const struct digest_ops *last)
{
	const struct digest_ops *next = NULL, *ops;
	int id;

	for (id = 0; id < DIGEST_COUNT; id++) {
		ops = digest_table[id];
		if ((d->set & DIGEST_BIT(id)) && (!only || only == ops) &&
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

static int format_attributes(const struct digests *d,
			     const struct digest_ops *only, const char *path,
			     struct buf *out)
{
	const struct digest_ops *ops = NULL;
	int err = buf_reserve(out, MOST_TEXT);

	if (!err)
		err = buf_append_text(out, "# file: ");
	if (!err)
		err = cli_append_escaped(out, relative_name(path),
					 ESCAPE_GETFATTR);
	while (!err && (ops = next_told(d, only, ops))) {
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

/* "value  path" as sha256sum prints it. */
static int append_sum(struct buf *out, const char *value, const char *path)
{
	int err = buf_append_format(out, "%s%s  ",
				    strpbrk(path, "\\\n\r") ? "\\" : "", value);

	if (!err)
		err = cli_append_escaped(out, path, ESCAPE_SUM);
	return err ? err : buf_append_text(out, "\n");
}

static int format_sum(const struct digests *d, const struct digest_ops *only,
		      const char *path, struct buf *out)
{
	struct buf text = { 0 };
	int err = digest_format(d, only->id, &text);

	if (!err)
		err = append_sum(out, text.data, path);
	buf_release(&text);
	return err;
}

const struct digest_style style_sums = { .format = format_sum };

/* ---- JSON ---- */

static int format_json(const struct digests *d, const struct digest_ops *only,
		       const char *path, struct buf *out)
{
	json_t *all = json_object(), *object = json_object();
	const struct digest_ops *ops = NULL;
	struct buf text = { 0 };
	char *line = NULL;
	int err = json_set_path(object, "path", path);

	while (!err && (ops = next_told(d, only, ops))) {
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

/* The absolute path of a file, or "stdin" for "-". */
static int append_name(struct buf *out, const char *path)
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
static int format_sdhash(const struct digests *d, const struct digest_ops *only,
			 const char *path, struct buf *out)
{
	int err = digest_format(d, only->id, out);

	(void)path;
	return err ? err : buf_append_text(out, "\n");
}

/* A quotation mark in a name: ssdeep writes a backslash before it, SiSe writes it
 * as it is. */
static int format_foreign(const struct digests *d,
			  const struct digest_ops *only, const char *path,
			  struct buf *out)
{
	struct buf name = { 0 };
	size_t i;
	int err = digest_format(d, only->id, out);

	if (!err)
		err = strpbrk(path, "\n\r") ? -EILSEQ :
					      append_name(&name, path);
	if (!err)
		err = buf_append_text(out, ",\"");
	for (i = 0; i < name.len && !err; i++)
		err = buf_append_format(
			out, "%s%c",
			name.data[i] == '"' && only->id == DIGEST_SSDEEP ?
				"\\" :
				"",
			name.data[i]);
	buf_release(&name);
	return err ? err : buf_append_text(out, "\"\n");
}

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
static int format_csv(const struct digests *d, const struct digest_ops *only,
		      const char *path, struct buf *out)
{
	struct buf text = { 0 };
	int id, err = buf_append_format(out, "%llu,",
					(unsigned long long)d->size);

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
	if (!err)
		err = append_field(out, path);
	buf_release(&text);
	return err ? err : buf_append_text(out, "\r\n");
}

/* ---- hashdeep 1.0 ---- */

static int append_hash(EVP_MD_CTX *context, struct buf *out)
{
	char text[2 * EVP_MAX_MD_SIZE + 1];
	uint8_t hash[EVP_MAX_MD_SIZE];
	unsigned len;

	if (!EVP_DigestFinal_ex(context, hash, &len))
		return -ENOMEM;
	hex_encode(hash, len, text);
	return buf_append_format(out, ",%s", text);
}

/* The name is all that is behind the third comma. */
static int content_hashdeep(struct reader *r, int fd, const char *path,
			    struct buf *out)
{
	EVP_MD_CTX *md5 = EVP_MD_CTX_new(), *sha256 = EVP_MD_CTX_new();
	uint64_t size = 0;
	ssize_t n = 0;
	int err = strpbrk(path, "\n\r") ? -EILSEQ : 0;

	if (!err &&
	    (!md5 || !sha256 || !EVP_DigestInit_ex(md5, EVP_md5(), NULL) ||
	     !EVP_DigestInit_ex(sha256, EVP_sha256(), NULL)))
		err = -ENOMEM;
	while (!err && (n = reader_next(r, fd, UINT64_MAX)) > 0) {
		size += (uint64_t)n;
		if (!EVP_DigestUpdate(md5, r->buffer, (size_t)n) ||
		    !EVP_DigestUpdate(sha256, r->buffer, (size_t)n))
			err = -ENOMEM;
	}
	if (!err)
		err = (int)n;
	if (!err)
		err = buf_append_format(out, "%" PRIu64, size);
	if (!err)
		err = append_hash(md5, out);
	if (!err)
		err = append_hash(sha256, out);
	if (!err)
		err = buf_append_text(out, ",");
	if (!err)
		err = append_name(out, path);
	EVP_MD_CTX_free(md5);
	EVP_MD_CTX_free(sha256);
	return err ? err : buf_append_text(out, "\n");
}

/* The digests of csv are in the order of enum digest_id. */
const struct digest_style digest_formats[] = {
	{ .name = "sise",
	  .begin = "SiSe-1.0--7:1--blocksize:hash,filename\n",
	  .magic = "SiSe",
	  .id = DIGEST_SISE,
	  .format = format_foreign },
	{ .name = "ssdeep",
	  .begin = "ssdeep,1.1--blocksize:hash:hash,filename\n",
	  .magic = "ssdeep,",
	  .id = DIGEST_SSDEEP,
	  .format = format_foreign },
	{ .name = "sdbf",
	  .magic = "sdbf",
	  .id = DIGEST_SDHASH,
	  .format = format_sdhash },
	{ .name = "csv",
	  .begin = "size,sise,simhash,rdc,sif,ssdeep,xxh128,sdhash,"
		   "tlsh,sha256,path\r\n",
	  .format = format_csv },
	{ .name = "hashdeep",
	  .begin = "%%%% HASHDEEP-1.0\n"
		   "%%%% size,md5,sha256,filename\n"
		   "## Written by kin digest\n## \n",
	  .content = content_hashdeep },
	{ .name = NULL },
};

const struct digest_style *foreign_by_line(const char *line)
{
	const struct digest_style *s = digest_formats;

	while (s->magic && strncmp(line, s->magic, strlen(s->magic)) != 0)
		s++;
	return s->magic ? s : NULL;
}

/* ---- the Similarity Index's SimHash ---- */

static int content_si2(struct reader *r, int fd, const char *path,
		       struct buf *out)
{
	struct si2 *si2 = calloc(1, sizeof(*si2));
	char value[17];
	ssize_t n = 0;
	int err = si2 ? si2_init(si2) : -ENOMEM;

	while (!err && (n = reader_next(r, fd, UINT64_MAX)) > 0)
		err = si2_update(si2, r->buffer, (size_t)n);
	if (!err)
		err = (int)n;
	if (!err) {
		(void)snprintf(value, sizeof(value), "%016" PRIx64,
			       si2_final(si2));
		err = append_sum(out, value, path);
	}
	if (si2)
		si2_release(si2);
	free(si2);
	return err;
}

const struct digest_style style_si2 = { .content = content_si2 };

/* ---- sif's own rule ---- */

/* "-" when there is no fingerprint. */
static int content_sif_classic(struct reader *r, int fd, const char *path,
			       struct buf *out)
{
	struct sif_classic sif;
	struct buf text = { 0 };
	const uint32_t *values;
	size_t i, count = 0;
	ssize_t n = 0;
	int err =
		sif_classic_init(&sif, SIF_CLASSIC_BASE, SIF_CLASSIC_ZERO_BITS);

	if (err)
		return err;
	while (!err && (n = reader_next(r, fd, UINT64_MAX)) > 0)
		err = sif_classic_update(&sif, r->buffer, (size_t)n);
	if (!err)
		err = (int)n;
	values = sif_classic_values(&sif, &count);
	for (i = 0; i < count && !err; i++)
		err = buf_append_format(&text, "%s%08" PRIx32, i ? "," : "",
					values[i]);
	if (!err)
		err = append_sum(out, count ? text.data : "-", path);
	buf_release(&text);
	sif_classic_release(&sif);
	return err;
}

const struct digest_style style_sif_classic = { .content =
							content_sif_classic };

/* ---- RDC's list of chunks ---- */

static int content_rdc_signatures(struct reader *r, int fd, const char *path,
				  struct buf *out)
{
	struct rdc *rdc = malloc(sizeof(*rdc));
	uint8_t traits[RDC_TRAITS];
	ssize_t n = 0;
	int err = rdc ? rdc_init(rdc, RDC_WINDOW, RDC_HORIZON) : -ENOMEM;

	(void)path;
	if (!err)
		err = rdc_signature_begin(out);
	if (!err) {
		rdc->records = out;
		rdc_begin(rdc);
	}
	while (!err && (n = reader_next(r, fd, UINT64_MAX)) > 0)
		rdc_update(rdc, r->buffer, (size_t)n);
	if (!err)
		err = (int)n;
	if (!err) {
		rdc_final(rdc, traits);
		err = rdc->err;
	}
	free(rdc);
	return err;
}

const struct digest_style style_rdc_signatures = {
	.content = content_rdc_signatures
};
