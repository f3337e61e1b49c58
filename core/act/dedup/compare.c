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
#include "core/act/dedup/dedup_impl.h"

enum { CHUNK = 1 << 20 };

/* ---- content ---- */

static ssize_t read_full(int fd, char *buffer, size_t len, off_t offset)
{
	size_t done = 0;
	ssize_t n = 1;

	while (done < len && n) {
		n = pread(fd, buffer + done, len - done, offset + (off_t)done);
		if (n < 0 && errno != EINTR)
			return -errno;
		done += n > 0 ? (size_t)n : 0;
	}
	return (ssize_t)done;
}

/* XXH128 is what the groups have; SHA-256 is what another user cannot forge. */
struct hashes {
	XXH3_state_t *xxh; /* owned */
	EVP_MD_CTX *sha;   /* owned; NULL: not wanted */
};

static int hashes_init(struct hashes *h, bool sha256)
{
	h->xxh = XXH3_createState();
	h->sha = sha256 ? EVP_MD_CTX_new() : NULL;
	if (!h->xxh || (sha256 && !h->sha) ||
	    (h->sha && !EVP_DigestInit_ex(h->sha, EVP_sha256(), NULL)))
		return -ENOMEM;
	(void)XXH3_128bits_reset(h->xxh);
	return 0;
}

static int hashes_add(struct hashes *h, const char *data, size_t len)
{
	(void)XXH3_128bits_update(h->xxh, data, len);
	return !h->sha || EVP_DigestUpdate(h->sha, data, len) ? 0 : -ENOMEM;
}

static int hashes_end(struct hashes *h, char xxh128[33], char sha256[65])
{
	XXH128_canonical_t digest;
	uint8_t sha[EVP_MAX_MD_SIZE];

	XXH128_canonicalFromHash(&digest, XXH3_128bits_digest(h->xxh));
	hex_encode(digest.digest, sizeof(digest.digest), xxh128);
	*sha256 = '\0';
	if (!h->sha)
		return 0;
	if (!EVP_DigestFinal_ex(h->sha, sha, NULL))
		return -ENOMEM;
	hex_encode(sha, 32, sha256);
	return 0;
}

static void hashes_release(struct hashes *h)
{
	(void)XXH3_freeState(h->xxh);
	EVP_MD_CTX_free(h->sha);
}

/* 1 at the end of both files. */
static int compare_chunk(const struct dedup_pair *p, struct hashes *h, char *a,
			 char *b, off_t offset)
{
	ssize_t n = read_full(dedup_side_fd(&p->keep), a, CHUNK, offset);
	ssize_t m = read_full(dedup_side_fd(&p->replace), b, CHUNK, offset);
	int err;

	if (n < 0 || m < 0)
		return (int)(n < 0 ? n : m);
	if (n != m || memcmp(a, b, (size_t)n) != 0)
		return -EILSEQ;
	err = hashes_add(h, a, (size_t)n);
	return err ? err : n < CHUNK;
}

int dedup_compare_content(struct dedup_pair *p, bool sha256)
{
	struct hashes h = { 0 };
	char *a = malloc(CHUNK), *b = malloc(CHUNK);
	int end = hashes_init(&h, sha256);
	off_t offset;

	if (!a || !b)
		end = -ENOMEM;
	for (offset = 0; !end; offset += CHUNK)
		end = dedup_pair_is_broken(p) ?
			      -ETXTBSY :
			      compare_chunk(p, &h, a, b, offset);
	if (end > 0)
		end = hashes_end(&h, p->xxh128, p->sha256);
	free(a);
	free(b);
	hashes_release(&h);
	return end < 0 ? end : dedup_pair_check(p, false);
}

static int write_full(int fd, const char *buffer, size_t len, off_t offset)
{
	size_t done = 0;
	ssize_t n;

	while (done < len) {
		n = pwrite(fd, buffer + done, len - done, offset + (off_t)done);
		if (n < 0 && errno != EINTR)
			return -errno;
		done += n > 0 ? (size_t)n : 0;
	}
	return 0;
}

int dedup_copy(int from, int to, const char sha256[65])
{
	struct hashes h = { 0 };
	char *buffer = malloc(CHUNK), xxh128[33], found[65];
	int err = buffer ? hashes_init(&h, true) : -ENOMEM;
	off_t offset = 0;
	ssize_t n = 1;

	while (!err && n) {
		n = read_full(from, buffer, CHUNK, offset);
		err = n < 0 ? (int)n : hashes_add(&h, buffer, (size_t)n);
		if (!err)
			err = write_full(to, buffer, (size_t)n, offset);
		offset += n;
	}
	if (!err)
		err = hashes_end(&h, xxh128, found);
	if (!err && strcmp(found, sha256) != 0)
		err = -ESTALE;
	free(buffer);
	hashes_release(&h);
	return err;
}

/* ---- metadata ---- */

static int list_attributes(int fd, char **out, size_t *len_out)
{
	char *list = NULL, *larger;
	ssize_t len;

	for (;;) {
		len = flistxattr(fd, NULL, 0);
		if (len < 0)
			break;
		larger = realloc(list, (size_t)len + 1);
		if (!larger) {
			free(list);
			return -ENOMEM;
		}
		list = larger;
		len = flistxattr(fd, list, (size_t)len);
		if (len >= 0 || errno != ERANGE)
			break;
	}
	if (len < 0 && errno != ENOTSUP) {
		free(list);
		return -errno;
	}
	*out = list;
	*len_out = len < 0 ? 0 : (size_t)len;
	return 0;
}

static int add_attribute(int fd, const char *name, json_t *to)
{
	char *value = malloc(XATTR_SIZE_MAX);
	char *text = malloc(2 * XATTR_SIZE_MAX + 1);
	ssize_t len = -1;
	int err = value && text ? 0 : -ENOMEM;

	if (!err) {
		len = fgetxattr(fd, name, value, XATTR_SIZE_MAX);
		err = len < 0 ? -errno : 0;
	}
	if (!err) {
		hex_encode((const uint8_t *)value, (size_t)len, text);
		err = json_object_set_new(to, name, json_string(text)) ?
			      -ENOMEM :
			      0;
	}
	free(value);
	free(text);
	return err == -ENODATA ? 0 : err; /* it went meanwhile */
}

int dedup_read_attributes(int fd, bool (*is_derived)(const char *attribute),
			  json_t **out)
{
	json_t *attributes = json_object();
	char *list = NULL;
	const char *name;
	size_t len = 0;
	int err = attributes ? list_attributes(fd, &list, &len) : -ENOMEM;

	for (name = list; !err && name < list + len; name += strlen(name) + 1)
		if (!is_derived || !is_derived(name))
			err = add_attribute(fd, name, attributes);
	free(list);
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
			   bool (*is_derived)(const char *attribute),
			   const char **difference_out)
{
	const struct stat *a = dedup_side_stat(&p->keep);
	const struct stat *b = dedup_side_stat(&p->replace);
	json_t *of_keep = NULL, *of_replace = NULL;
	int err;

	*difference_out = NULL;
	if (a->st_uid != b->st_uid || a->st_gid != b->st_gid)
		*difference_out = "owners";
	else if (a->st_mode != b->st_mode)
		*difference_out = "modes";
	if (*difference_out)
		return 0;
	err = dedup_read_attributes(dedup_side_fd(&p->keep), is_derived,
				    &of_keep);
	if (!err)
		err = dedup_read_attributes(dedup_side_fd(&p->replace),
					    is_derived, &of_replace);
	if (!err && !json_equal(of_keep, of_replace))
		*difference_out = "access lists or attributes";
	json_decref(of_keep);
	json_decref(of_replace);
	return err;
}

bool dedup_has_privileges(const struct dedup_side *s)
{
	enum { BITS = S_ISUID | S_ISGID };

	return dedup_side_stat(s)->st_mode & BITS ||
	       fgetxattr(dedup_side_fd(s), DEDUP_CAPABILITY, NULL, 0) > 0;
}
