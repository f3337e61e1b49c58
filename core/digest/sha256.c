/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <openssl/evp.h>

#include "core/digest/digest.h"

/* SHA-256, FIPS 180-4. */

enum { BYTES = 32 };

struct evidence {
	EVP_MD_CTX *context; /* owned */
};

static int begin(void *state, const struct digest_stream *stream)
{
	struct evidence *e = state;

	(void)stream;
	if (!e->context)
		e->context = EVP_MD_CTX_new();
	return e->context && EVP_DigestInit_ex(e->context, EVP_sha256(), NULL) ?
		       0 :
		       -ENOMEM;
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

	if (!EVP_DigestFinal_ex(e->context, hash, NULL))
		return -ENOMEM;
	return buf_append(out, hash, BYTES);
}

static const struct digest_part part = {
	.size = sizeof(struct evidence),
	.begin = begin,
	.update = update,
	.release = release,
};

const struct digest_ops digest_sha256 = {
	.id = DIGEST_SHA256,
	.name = "sha256",
	.attribute = "user.sha256",
	.flags = DIGEST_IS_KEPT | DIGEST_IS_EXCHANGE,
	.listed = 6,
	.len = BYTES,
	.part = &part,
	.final = final,
	.compare = digest_compare_equal,
};
