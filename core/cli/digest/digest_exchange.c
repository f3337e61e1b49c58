/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/digest/digest_exchange.h"

#include <errno.h>
#include <openssl/evp.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/hex.h"
#include "core/cli/digest/digest_job.h"
#include "core/digest/sdhash/sdhash.h"

/* ---- hashes ---- */

struct summing {
	EVP_MD_CTX *md5, *sha256;
	struct fingerprint *fp; /* NULL: hashes alone */
	uint64_t size;
};

static int take(void *arg, const void *data, size_t len)
{
	struct summing *s = arg;

	s->size += len;
	if (!EVP_DigestUpdate(s->md5, data, len) ||
	    !EVP_DigestUpdate(s->sha256, data, len))
		return -ENOMEM;
	return s->fp ? fingerprint_update(s->fp, data, len) : 0;
}

static bool finish(EVP_MD_CTX *context, char *out)
{
	uint8_t hash[EVP_MAX_MD_SIZE];
	unsigned len;

	if (!EVP_DigestFinal_ex(context, hash, &len))
		return false;
	hex_encode(hash, len, out);
	return true;
}

static int sums_read(struct reader *r, int fd, struct summing *s,
		     struct content_sums *out, struct digests *digests)
{
	int err = 0;

	if (!s->md5 || !s->sha256 ||
	    !EVP_DigestInit_ex(s->md5, EVP_md5(), NULL) ||
	    !EVP_DigestInit_ex(s->sha256, EVP_sha256(), NULL))
		return -ENOMEM;
	if (s->fp)
		err = fingerprint_begin(s->fp);
	if (!err)
		err = reader_each(r, fd, take, s);
	if (!err &&
	    (!finish(s->md5, out->md5) || !finish(s->sha256, out->sha256)))
		err = -ENOMEM;
	out->size = s->size;
	return err || !s->fp ? err : fingerprint_final(s->fp, digests);
}

/* Reads fd to its end, and lets the reader digest it too if digests is not
 * NULL. */
static int read_sums(struct reader *r, int fd, struct content_sums *out,
		     struct digests *digests)
{
	struct summing s = { EVP_MD_CTX_new(), EVP_MD_CTX_new(),
			     digests ? r->fp : NULL, 0 };
	int err = sums_read(r, fd, &s, out, digests);

	EVP_MD_CTX_free(s.md5);
	EVP_MD_CTX_free(s.sha256);
	return err;
}

/* ---- hashdeep 1.0 ---- */

static int hashdeep_begin(struct digest_job *job, struct buf *out)
{
	(void)job;
	return buf_append_text(out, "%%%% HASHDEEP-1.0\n"
				    "%%%% size,md5,sha256,filename\n"
				    "## Written by kin digest\n## \n");
}

/* The name is all that is behind the third comma. */
static int hashdeep_file(const struct digest_job *job, struct reader *r, int fd,
			 const char *path, struct buf *out)
{
	struct content_sums sums;
	int err;

	(void)job;
	if (strpbrk(path, "\n\r"))
		return -EILSEQ;
	err = read_sums(r, fd, &sums, NULL);
	if (!err)
		err = buf_append_format(out, "%llu,%s,%s,",
					(unsigned long long)sums.size, sums.md5,
					sums.sha256);
	if (!err)
		err = strcmp(path, "-") ? cli_append_absolute_path(out, path) :
					  buf_append_text(out, "stdin");
	return err ? err : buf_append_text(out, "\n");
}

const struct digest_style style_hashdeep = {
	.head = hashdeep_begin,
	.file = hashdeep_file,
};

/* ---- STIX 2.1 ---- */

static int stix_begin(struct digest_job *job, struct buf *out)
{
	(void)job;
	return stix_append_bundle(out);
}

/* The absolute path of the directory that a file is in. */
static int directory_of(const char *path, struct buf *out)
{
	int err = cli_append_absolute_path(out, path);
	char *slash = err ? NULL : strrchr(out->data, '/');

	if (slash) {
		if (slash == out->data)
			slash++;
		*slash = '\0';
		out->len = (size_t)(slash - out->data);
	}
	return err;
}

static int append_stix(const struct content_sums *sums, const struct digests *d,
		       const char *path, struct buf *out)
{
	struct buf ssdeep = { 0 }, directory = { 0 };
	char id[STIX_ID_BYTES];
	bool named = strcmp(path, "-") != 0;
	int err = digest_format(d, DIGEST_SSDEEP, &ssdeep);

	if (err == -ENODATA)
		err = 0;
	if (!err && named)
		err = directory_of(path, &directory);
	if (!err && named)
		err = stix_directory_id(directory.data, id);
	if (!err)
		err = stix_append_file(
			out, sums, ssdeep.len ? ssdeep.data : NULL,
			named ? cli_base_name(path) : NULL, named ? id : NULL);
	buf_release(&ssdeep);
	buf_release(&directory);
	return err;
}

static int stix_file(const struct digest_job *job, struct reader *r, int fd,
		     const char *path, struct buf *out)
{
	struct content_sums sums;
	struct digests d;
	int err = read_sums(r, fd, &sums, &d);

	(void)job;
	if (err)
		return err;
	err = append_stix(&sums, &d, path, out);
	digests_release(&d);
	return err;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(a, b);
}

/* The object of the file's directory, before the first file of it. */
static int stix_before(struct digest_job *job, const char *path,
		       struct buf *out)
{
	struct buf directory = { 0 };
	char *text, **found;
	int err;

	if (!strcmp(path, "-"))
		return 0;
	err = directory_of(path, &directory);
	text = err ? NULL : buf_take(&directory);
	buf_release(&directory);
	if (!text)
		return err;
	found = tsearch(text, &job->directories, by_text);
	if (!found || *found != text) {
		free(text);
		return found ? 0 : -ENOMEM;
	}
	err = stix_append_directory(out, text);
	return err ? err : buf_append_text(out, ",\n");
}

static void stix_release(struct digest_job *job)
{
	tdestroy(job->directories, free);
	job->directories = NULL;
}

const struct digest_style style_stix = {
	.head = stix_begin,
	.between = ",\n",
	.end = "\n]}\n",
	.file = stix_file,
	.before = stix_before,
	.release = stix_release,
};
