/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <limits.h>
#include <linux/limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "core/base/hex.h"
#include "core/digest/fingerprint.h"
#include "core/act/dedup/dedup_impl.h"

/* ---- content ---- */

int64_t dedup_read(int fd, void *buffer, size_t len, uint64_t at)
{
	size_t done = 0;
	ssize_t n = 1;

	while (done < len && n) {
		n = pread(fd, (char *)buffer + done, len - done,
			  (off_t)(at + done));
		if (n < 0 && errno != EINTR)
			return -errno;
		done += n > 0 ? (size_t)n : 0;
	}
	return (int64_t)done;
}

int dedup_write(int fd, const void *buffer, size_t len, uint64_t at)
{
	size_t done = 0;
	ssize_t n;

	while (done < len) {
		n = pwrite(fd, (const char *)buffer + done, len - done,
			   (off_t)(at + done));
		if (n < 0 && errno != EINTR)
			return -errno;
		done += n > 0 ? (size_t)n : 0;
	}
	return 0;
}

int dedup_hash_begin(bool sha256, struct fingerprint **out)
{
	int err = fingerprint_new(sha256 ? DIGEST_BIT(DIGEST_SHA256) : 0, out);

	return err ? err : fingerprint_begin(*out);
}

int dedup_hash_end(struct fingerprint *fp, char xxh128[33], char sha256[65])
{
	struct digest_value sha;
	struct digests d;
	int err = fingerprint_final(fp, &d);

	if (err)
		return err;
	sha = digest_value_of(&d, DIGEST_SHA256);
	hex_encode(d.xxh128, sizeof(d.xxh128), xxh128);
	hex_encode(sha.bytes, sha.len, sha256);
	digests_release(&d);
	return 0;
}

int dedup_copy(int from, int to, const char sha256[65])
{
	enum { CHUNK = 1 << 20 };
	struct fingerprint *fp = NULL;
	char *buffer = malloc(CHUNK), xxh128[33], found[65];
	uint64_t at = 0;
	int64_t n = 1;
	int err = buffer ? dedup_hash_begin(true, &fp) : -ENOMEM;

	for (; !err && n; at += (uint64_t)n) {
		n = dedup_read(from, buffer, CHUNK, at);
		err = n < 0 ? (int)n :
			      fingerprint_update(fp, buffer, (size_t)n);
		if (!err)
			err = dedup_write(to, buffer, (size_t)n, at);
	}
	if (!err)
		err = dedup_hash_end(fp, xxh128, found);
	free(buffer);
	fingerprint_free(fp);
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
