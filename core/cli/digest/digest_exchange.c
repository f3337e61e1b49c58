/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <openssl/evp.h>
#include <string.h>

#include "core/base/hex.h"
#include "core/cli/digest/digest_job.h"

/* ---- hashes ---- */

/* The cryptographic hashes of a content, in hex. */
struct content_sums {
	uint64_t size;
	char md5[33], sha256[65];
};

struct summing {
	EVP_MD_CTX *md5, *sha256;
	uint64_t size;
};

static int take(void *arg, const void *data, size_t len)
{
	struct summing *s = arg;

	s->size += len;
	if (!EVP_DigestUpdate(s->md5, data, len) ||
	    !EVP_DigestUpdate(s->sha256, data, len))
		return -ENOMEM;
	return 0;
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
		     struct content_sums *out)
{
	int err;

	if (!s->md5 || !s->sha256 ||
	    !EVP_DigestInit_ex(s->md5, EVP_md5(), NULL) ||
	    !EVP_DigestInit_ex(s->sha256, EVP_sha256(), NULL))
		return -ENOMEM;
	err = reader_each(r, fd, take, s);
	if (!err &&
	    (!finish(s->md5, out->md5) || !finish(s->sha256, out->sha256)))
		err = -ENOMEM;
	out->size = s->size;
	return err;
}

/* Reads fd to its end. */
static int read_sums(struct reader *r, int fd, struct content_sums *out)
{
	struct summing s = { EVP_MD_CTX_new(), EVP_MD_CTX_new(), 0 };
	int err = sums_read(r, fd, &s, out);

	EVP_MD_CTX_free(s.md5);
	EVP_MD_CTX_free(s.sha256);
	return err;
}

/* ---- hashdeep 1.0 ---- */

/* The name is all that is behind the third comma. */
static int hashdeep_file(const struct digest_job *job, struct reader *r, int fd,
			 const char *path, struct buf *out)
{
	struct content_sums sums;
	int err;

	(void)job;
	if (strpbrk(path, "\n\r"))
		return -EILSEQ;
	err = read_sums(r, fd, &sums);
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
	.begin = "%%%% HASHDEEP-1.0\n"
		 "%%%% size,md5,sha256,filename\n"
		 "## Written by kin digest\n## \n",
	.file = hashdeep_file,
};
