/* SPDX-License-Identifier: Apache-2.0 */
#include "core/digest/md4.h"

#include <errno.h>
#include <pthread.h>

#include <openssl/evp.h>
#include <openssl/provider.h>

/*
 * A library context of our own, so that the program's other uses of OpenSSL
 * do not see the legacy algorithms.  Never freed: contexts made from it may
 * live until the process ends.
 */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static EVP_MD *algorithm;

static void load_algorithm(void)
{
	OSSL_LIB_CTX *library = OSSL_LIB_CTX_new();

	if (!library)
		return;
	if (OSSL_PROVIDER_load(library, "default") &&
	    OSSL_PROVIDER_load(library, "legacy"))
		algorithm = EVP_MD_fetch(library, "MD4", NULL);
	if (!algorithm)
		OSSL_LIB_CTX_free(library);
}

int md4_init(struct md4 *m)
{
	EVP_MD_CTX *ctx;

	(void)pthread_once(&once, load_algorithm);
	if (!algorithm)
		return -ENOTSUP;
	ctx = EVP_MD_CTX_new();
	if (!ctx)
		return -ENOMEM;
	m->ctx = ctx;
	return 0;
}

void md4_release(struct md4 *m)
{
	EVP_MD_CTX_free(m->ctx);
	m->ctx = NULL;
}

int md4_begin(struct md4 *m)
{
	return EVP_DigestInit_ex2(m->ctx, algorithm, NULL) == 1 ? 0 : -EIO;
}

int md4_update(struct md4 *m, const void *data, size_t len)
{
	return EVP_DigestUpdate(m->ctx, data, len) == 1 ? 0 : -EIO;
}

int md4_final(struct md4 *m, uint8_t out[16])
{
	return EVP_DigestFinal_ex(m->ctx, out, NULL) == 1 ? 0 : -EIO;
}
