/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <limits.h>
#include <linux/limits.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "core/base/hex.h"
#include "core/base/xxh3.h"
#include "core/digest/digest.h"
#include "core/act/dedup/blocks_impl.h"
#include "core/act/dedup/dedup_impl.h"

enum { CHUNK = 1 << 20 };

/* ---- content ---- */

/* NULL without memory. */
static EVP_MD_CTX *sha256_new(void)
{
	EVP_MD_CTX *sha = EVP_MD_CTX_new();

	if (sha && EVP_DigestInit_ex(sha, EVP_sha256(), NULL))
		return sha;
	EVP_MD_CTX_free(sha);
	return NULL;
}

/* Frees it. */
static int sha256_end(EVP_MD_CTX *sha, char out[65])
{
	uint8_t digest[EVP_MAX_MD_SIZE];
	bool done = EVP_DigestFinal_ex(sha, digest, NULL) == 1;

	EVP_MD_CTX_free(sha);
	if (done)
		hex_encode(digest, 32, out);
	return done ? 0 : -ENOMEM;
}

/* XXH128 is what the groups have; SHA-256 is what another user cannot forge. */
int dedup_compare_content(struct dedup_pair *p, bool sha256)
{
	const int keep = dedup_side_view(&p->keep)->fd;
	const int replace = dedup_side_view(&p->replace)->fd;
	XXH3_state_t *xxh = XXH3_createState();
	EVP_MD_CTX *sha = sha256 ? sha256_new() : NULL;
	char *a = malloc(CHUNK), *b = malloc(CHUNK);
	XXH128_canonical_t digest;
	int64_t n = CHUNK, m;
	uint64_t at;
	int err = xxh && a && b && (sha || !sha256) ? 0 : -ENOMEM;

	if (!err)
		(void)XXH3_128bits_reset(xxh);
	for (at = 0; !err && n == CHUNK; at += CHUNK) {
		n = block_read(keep, a, CHUNK, at);
		m = block_read(replace, b, CHUNK, at);
		if (n < 0 || m < 0)
			err = (int)(n < 0 ? n : m);
		else if (dedup_pair_is_broken(p))
			err = -ETXTBSY;
		else if (n != m || memcmp(a, b, (size_t)n) != 0)
			err = -EILSEQ;
		else if (sha && !EVP_DigestUpdate(sha, a, (size_t)n))
			err = -ENOMEM;
		else
			(void)XXH3_128bits_update(xxh, a, (size_t)n);
	}
	if (!err) {
		XXH128_canonicalFromHash(&digest, XXH3_128bits_digest(xxh));
		hex_encode(digest.digest, sizeof(digest.digest), p->xxh128);
	}
	if (sha && !err)
		err = sha256_end(sha, p->sha256);
	else
		EVP_MD_CTX_free(sha);
	free(a);
	free(b);
	(void)XXH3_freeState(xxh);
	return err ? err : dedup_pair_check(p, false);
}

int dedup_copy(int from, int to, const char sha256[65])
{
	EVP_MD_CTX *sha = sha256_new();
	char *buffer = malloc(CHUNK), found[65];
	uint64_t at = 0;
	int64_t n = 1;
	int err = sha && buffer ? 0 : -ENOMEM;

	for (; !err && n; at += (uint64_t)n) {
		n = block_read(from, buffer, CHUNK, at);
		if (n < 0)
			err = (int)n;
		else if (!EVP_DigestUpdate(sha, buffer, (size_t)n))
			err = -ENOMEM;
		else
			err = block_write(to, buffer, (size_t)n, at);
	}
	free(buffer);
	if (err) {
		EVP_MD_CTX_free(sha);
		return err;
	}
	err = sha256_end(sha, found);
	return !err && strcmp(found, sha256) != 0 ? -ESTALE : err;
}

/* ---- metadata ---- */

/* Attributes that are worked out, not stored, do not count. */
static bool is_derived(const char *attribute)
{
	return !strncmp(attribute, "user.kinfs.", 11) || digest_find(attribute);
}

int dedup_read_attributes(int fd, json_t **out)
{
	char *list = malloc(XATTR_LIST_MAX),
	     *hex = malloc(2 * XATTR_SIZE_MAX + 1);
	uint8_t *value = malloc(XATTR_SIZE_MAX);
	json_t *attributes = json_object();
	const char *name;
	ssize_t len = 0, size;
	int err = list && hex && value && attributes ? 0 : -ENOMEM;

	if (!err)
		len = flistxattr(fd, list, XATTR_LIST_MAX);
	if (len < 0) {
		err = errno == ENOTSUP ? 0 : -errno;
		len = 0;
	}
	for (name = list; !err && name < list + len; name += strlen(name) + 1) {
		if (is_derived(name))
			continue;
		size = fgetxattr(fd, name, value, XATTR_SIZE_MAX);
		if (size < 0) { /* or it went meanwhile */
			err = errno == ENODATA ? 0 : -errno;
			continue;
		}
		hex_encode(value, (size_t)size, hex);
		if (json_object_set_new(attributes, name, json_string(hex)))
			err = -ENOMEM;
	}
	free(list);
	free(hex);
	free(value);
	if (err)
		json_decref(attributes);
	else
		*out = attributes;
	return err;
}

int dedup_write_attributes(int fd, const json_t *attributes)
{
	uint8_t *value = malloc(XATTR_SIZE_MAX);
	const char *name, *text;
	json_t *item;
	int err = value ? 0 : -ENOMEM;

	json_object_foreach((json_t *)attributes, name, item)
	{
		size_t len;

		text = json_string_value(item);
		len = text ? strlen(text) / 2 : 0;
		if (err || !text || len > XATTR_SIZE_MAX ||
		    hex_decode(text, 2 * len, value, len))
			err = err ? err : -EINVAL;
		else if (fsetxattr(fd, name, value, len, 0))
			err = -errno;
	}
	free(value);
	return err;
}

int dedup_compare_metadata(const struct dedup_pair *p,
			   const char **difference_out)
{
	const struct stat *a = &dedup_side_view(&p->keep)->st;
	const struct stat *b = &dedup_side_view(&p->replace)->st;
	json_t *of_keep = NULL, *of_replace = NULL;
	int err;

	*difference_out = NULL;
	if (a->st_uid != b->st_uid || a->st_gid != b->st_gid)
		*difference_out = "owners";
	else if (a->st_mode != b->st_mode)
		*difference_out = "modes";
	if (*difference_out)
		return 0;
	err = dedup_read_attributes(dedup_side_view(&p->keep)->fd, &of_keep);
	if (!err)
		err = dedup_read_attributes(dedup_side_view(&p->replace)->fd,
					    &of_replace);
	if (!err && !json_equal(of_keep, of_replace))
		*difference_out = "access lists or attributes";
	json_decref(of_keep);
	json_decref(of_replace);
	return err;
}

bool dedup_has_privileges(const struct dedup_side *s)
{
	enum { BITS = S_ISUID | S_ISGID };

	return dedup_side_view(s)->st.st_mode & BITS ||
	       fgetxattr(dedup_side_view(s)->fd, DEDUP_CAPABILITY, NULL, 0) > 0;
}
