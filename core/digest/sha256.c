/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <openssl/evp.h>

#include "core/digest/digest.h"

/* SHA-256, FIPS 180-4, and MD5, RFC 1321. */

struct evidence {
	EVP_MD_CTX *context; /* owned */
};

static int begin(struct evidence *e, const EVP_MD *function)
{
	if (!e->context)
		e->context = EVP_MD_CTX_new();
	return e->context && EVP_DigestInit_ex(e->context, function, NULL) ?
		       0 :
		       -ENOMEM;
}

static int begin_sha256(void *state, const struct digest_stream *stream)
{
	(void)stream;
	return begin(state, EVP_sha256());
}

static int begin_md5(void *state, const struct digest_stream *stream)
{
	(void)stream;
	return begin(state, EVP_md5());
}

static int update(void *state, const void *data, size_t len)
{
	struct evidence *e = state;

	return EVP_DigestUpdate(e->context, data, len) ? 0 : -ENOMEM;
}

static void release(void *state)
{
	struct evidence *e = state;

	EVP_MD_CTX_free(e->context);
}

static int final(void *state, struct buf *out)
{
	struct evidence *e = state;
	uint8_t hash[EVP_MAX_MD_SIZE];
	unsigned len;

	if (!EVP_DigestFinal_ex(e->context, hash, &len))
		return -ENOMEM;
	return buf_append(out, hash, len);
}

static const struct digest_part sha256_part = {
	.size = sizeof(struct evidence),
	.begin = begin_sha256,
	.update = update,
	.release = release,
};

static const struct digest_part md5_part = {
	.size = sizeof(struct evidence),
	.begin = begin_md5,
	.update = update,
	.release = release,
};

const struct digest_ops digest_sha256 = {
	.id = DIGEST_SHA256,
	.name = "sha256",
	.attribute = "user.sha256",
	.flags = DIGEST_IS_KEPT | DIGEST_IS_EXCHANGE,
	.listed = 6,
	.len = 32,
	.part = &sha256_part,
	.final = final,
	.compare = digest_compare_equal,
};

const struct digest_ops digest_md5 = {
	.id = DIGEST_MD5,
	.len = 16,
	.part = &md5_part,
	.final = final,
};
