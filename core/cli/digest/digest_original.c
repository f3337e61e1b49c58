/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/hex.h"
#include "core/cli/digest/digest_job.h"
#include "core/digest/rdc/rdc.h"
#include "core/digest/reference/si2.h"
#include "core/digest/reference/sif_classic.h"

/* What is worked out of a content by functions that are no digests. */

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
		err = digest_append_name(out, path);
	EVP_MD_CTX_free(md5);
	EVP_MD_CTX_free(sha256);
	return err ? err : buf_append_text(out, "\n");
}

const struct digest_style style_hashdeep = {
	.name = "hashdeep",
	.begin = "%%%% HASHDEEP-1.0\n"
		 "%%%% size,md5,sha256,filename\n"
		 "## Written by kin digest\n## \n",
	.content = content_hashdeep,
};

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
		err = digest_append_sum(out, value, path);
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
		err = digest_append_sum(out, count ? text.data : "-", path);
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
