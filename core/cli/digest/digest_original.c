/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/hex.h"
#include "core/cli/digest/digest_job.h"
#include "core/cli/digest/foreign.h"
#include "core/digest/rdc/rdc.h"
#include "core/digest/reference/rdc_signature.h"
#include "core/digest/reference/si2.h"
#include "core/digest/reference/sif_classic.h"

/* What is worked out of a content by functions that are no digests. */

/* ---- hashdeep 1.0 ---- */

struct sums {
	EVP_MD_CTX *md5, *sha256;
	uint64_t size;
};

static int take_sums(void *arg, const void *data, size_t len)
{
	struct sums *s = arg;

	s->size += len;
	return EVP_DigestUpdate(s->md5, data, len) &&
			       EVP_DigestUpdate(s->sha256, data, len) ?
		       0 :
		       -ENOMEM;
}

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
	struct sums s = { EVP_MD_CTX_new(), EVP_MD_CTX_new(), 0 };
	int err = strpbrk(path, "\n\r") ? -EILSEQ : 0;

	if (!err && (!s.md5 || !s.sha256 ||
		     !EVP_DigestInit_ex(s.md5, EVP_md5(), NULL) ||
		     !EVP_DigestInit_ex(s.sha256, EVP_sha256(), NULL)))
		err = -ENOMEM;
	if (!err)
		err = reader_each(r, fd, take_sums, &s);
	if (!err)
		err = buf_append_format(out, "%" PRIu64, s.size);
	if (!err)
		err = append_hash(s.md5, out);
	if (!err)
		err = append_hash(s.sha256, out);
	if (!err)
		err = buf_append_text(out, ",");
	if (!err)
		err = foreign_append_name(path, out);
	EVP_MD_CTX_free(s.md5);
	EVP_MD_CTX_free(s.sha256);
	return err ? err : buf_append_text(out, "\n");
}

const struct digest_style style_hashdeep = {
	.begin = "%%%% HASHDEEP-1.0\n"
		 "%%%% size,md5,sha256,filename\n"
		 "## Written by kin digest\n## \n",
	.content = content_hashdeep,
};

/* ---- the Similarity Index's SimHash ---- */

static int take_si2(void *arg, const void *data, size_t len)
{
	return si2_update(arg, data, len);
}

static int content_si2(struct reader *r, int fd, const char *path,
		       struct buf *out)
{
	struct si2 *si2 = calloc(1, sizeof(*si2));
	char value[17];
	int err = si2 ? si2_init(si2) : -ENOMEM;

	if (!err)
		err = reader_each(r, fd, take_si2, si2);
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

static int take_classic(void *arg, const void *data, size_t len)
{
	return sif_classic_update(arg, data, len);
}

/* "-" when there is no fingerprint. */
static int content_sif_classic(struct reader *r, int fd, const char *path,
			       struct buf *out)
{
	struct sif_classic sif;
	struct buf text = { 0 };
	const uint32_t *values;
	size_t i, count = 0;
	int err =
		sif_classic_init(&sif, SIF_CLASSIC_BASE, SIF_CLASSIC_ZERO_BITS);

	if (err)
		return err;
	err = reader_each(r, fd, take_classic, &sif);
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

static int take_rdc(void *arg, const void *data, size_t len)
{
	rdc_update(arg, data, len);
	return 0;
}

static int content_rdc_signatures(struct reader *r, int fd, const char *path,
				  struct buf *out)
{
	struct rdc *rdc = malloc(sizeof(*rdc));
	struct rdc_signature_writer writer;
	uint8_t traits[RDC_TRAITS];
	int err = rdc ? rdc_init(rdc, RDC_WINDOW, RDC_HORIZON) : -ENOMEM;

	(void)path;
	if (!err) {
		rdc_signature_begin(&writer, rdc_signature_append, out);
		rdc->on_chunk = rdc_signature_add;
		rdc->arg = &writer;
		rdc_begin(rdc);
		err = reader_each(r, fd, take_rdc, rdc);
	}
	if (!err) {
		rdc_final(rdc, traits);
		err = writer.err;
	}
	free(rdc);
	return err;
}

const struct digest_style style_rdc_signatures = {
	.content = content_rdc_signatures
};
