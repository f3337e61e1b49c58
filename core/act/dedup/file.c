/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/base/hex.h"
#include "core/base/text.h"
#include "core/digest/fingerprint.h"
#include "core/source/file.h"
#include "core/act/dedup/dedup_impl.h"

/*
 * Reaching files without trusting directories.  Another user may put a symbolic
 * link where a directory was, so no component of a path may be a link, and ".."
 * is none: the path that was planned is the path that is changed.
 */

bool dedup_is_plain_path(const char *path)
{
	return *path == '/' && text_is_plain_path(path + 1);
}

int dedup_open(const char *path, int flags)
{
	int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC), fd;

	if (root < 0)
		return -errno;
	fd = file_open_beneath(root, path + 1, flags);
	close(root);
	return fd;
}

int dedup_open_parent(const char *path, const char **name_out)
{
	const char *slash = strrchr(path, '/');
	char *directory;
	int fd;

	/* With "." behind it, so that the directory itself is no link. */
	if (asprintf(&directory, "%.*s/.", (int)(slash - path), path) < 0)
		return -ENOMEM;
	fd = dedup_open(directory, O_PATH | O_DIRECTORY);
	free(directory);
	*name_out = slash + 1;
	return fd;
}

/* ---- all names of a file ---- */

struct dedup_spot *dedup_spots_open(const char *const *paths, size_t count,
				    const char *temporary)
{
	struct dedup_spot *spots = calloc(count, sizeof(*spots));
	size_t i;

	for (i = 0; spots && i < count; i++) {
		spots[i].directory =
			dedup_open_parent(paths[i], &spots[i].name);
		/* Several names in one directory. */
		(void)snprintf(spots[i].beside, sizeof(spots[i].beside),
			       i ? "%.200s-%zu" : "%.200s", temporary, i);
	}
	return spots;
}

void dedup_spots_close(struct dedup_spot *spots, size_t count)
{
	size_t i;

	for (i = 0; spots && i < count; i++)
		if (spots[i].directory >= 0)
			close(spots[i].directory);
	free(spots);
}

struct stat dedup_look(int directory, const char *name)
{
	struct stat st;

	if (directory < 0 || fstatat(directory, name, &st, AT_SYMLINK_NOFOLLOW))
		return (struct stat){ 0 };
	return st;
}

int dedup_swap(int directory, const char *from, const char *to, unsigned how,
	       ino_t want_to, ino_t want_from)
{
	if (renameat2(directory, from, directory, to, how))
		return -errno;
	if (dedup_look(directory, to).st_ino == want_to &&
	    (!want_from || dedup_look(directory, from).st_ino == want_from))
		return 0;
	(void)renameat2(directory, to, directory, from, how);
	return -ESTALE;
}

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

bool dedup_is_broken(const struct dedup_view *v, size_t count)
{
	while (count--)
		if (v[count].leased && !lease_holds(v[count].fd))
			return true;
	return false;
}

int dedup_pass(const struct dedup_view *views, size_t count, int other,
	       bool copy, struct dedup_hashes *io)
{
	enum { PIECE = 1 << 20 };
	const uint32_t set = io->wants_sha256 ? DIGEST_BIT(DIGEST_SHA256) : 0;
	char *a = malloc(2 * PIECE), *b = a + PIECE;
	struct fingerprint *fp = NULL;
	struct digest_value sha;
	struct digests d;
	uint64_t at;
	int64_t n = PIECE, m;
	int err = a ? fingerprint_new(set, &fp) : -ENOMEM;

	if (!err)
		err = fingerprint_begin(fp);
	for (at = 0; !err && n == PIECE; at += PIECE) {
		n = dedup_read(views->fd, a, PIECE, at);
		errno = ENOSPC;
		if (n > 0 && copy &&
		    pwrite(other, a, (size_t)n, (off_t)at) != n)
			err = -errno;
		m = err ? err : dedup_read(other, b, PIECE, at);
		if (n < 0 || m < 0)
			err = (int)(n < 0 ? n : m);
		else if (dedup_is_broken(views, count))
			err = -ETXTBSY;
		else if (n != m || memcmp(a, b, (size_t)n) != 0)
			err = -EILSEQ;
		else
			err = fingerprint_update(fp, a, (size_t)n);
	}
	if (!err)
		err = fingerprint_final(fp, &d);
	if (!err) {
		sha = digest_value_of(&d, DIGEST_SHA256);
		hex_encode(d.xxh128, sizeof(d.xxh128), io->xxh128);
		hex_encode(sha.bytes, sha.len, io->sha256);
		digests_release(&d);
	}
	free(a);
	fingerprint_free(fp);
	return err;
}

/* ---- metadata ---- */

/* Attributes that are worked out, not stored, do not count. */
static bool is_derived(const char *attribute)
{
	return !strncmp(attribute, "user.kinfs.", 11) || digest_find(attribute);
}

int dedup_read_attributes(int fd, json_t **out)
{
	char list[XATTR_LIST_MAX], hex[2 * XATTR_SIZE_MAX + 1];
	uint8_t value[XATTR_SIZE_MAX];
	json_t *attributes = json_object();
	ssize_t len = flistxattr(fd, list, sizeof(list)), size;
	const char *name;
	int err = len < 0 && errno != ENOTSUP ? -errno : 0;

	for (name = list; !err && name < list + len; name += strlen(name) + 1) {
		if (is_derived(name))
			continue;
		size = fgetxattr(fd, name, value, sizeof(value));
		if (size < 0) { /* or it went meanwhile */
			err = errno == ENODATA ? 0 : -errno;
			continue;
		}
		hex_encode(value, (size_t)size, hex);
		if (json_object_set_new(attributes, name, json_string(hex)))
			err = -ENOMEM;
	}
	if (!err && attributes)
		*out = attributes;
	else
		json_decref(attributes);
	return attributes ? err : -ENOMEM;
}

int dedup_write_attributes(int fd, json_t *attributes)
{
	uint8_t value[XATTR_SIZE_MAX];
	const char *name, *text;
	json_t *item;
	size_t len;

	json_object_foreach(attributes, name, item) {
		text = json_string_value(item);
		len = text ? strlen(text) / 2 : SIZE_MAX;
		if (len > sizeof(value) ||
		    hex_decode(text, 2 * len, value, len))
			return -EINVAL;
		if (fsetxattr(fd, name, value, len, 0))
			return -errno;
	}
	return 0;
}
