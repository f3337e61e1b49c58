/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <limits.h>
#include <linux/limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "core/base/hex.h"
#include "core/base/xxh3.h"
#include "core/dedup/dedup_impl.h"

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

static void hash_to_text(const XXH3_state_t *state, char out[33])
{
	XXH128_canonical_t digest;

	XXH128_canonicalFromHash(&digest, XXH3_128bits_digest(state));
	hex_encode(digest.digest, sizeof(digest.digest), out);
}

/* 1 at the end of both files. */
static int compare_chunk(const struct dedup_pair *p, XXH3_state_t *state,
			 char *a, char *b, off_t offset)
{
	ssize_t n = read_full(dedup_side_fd(&p->keep), a, CHUNK, offset);
	ssize_t m = read_full(dedup_side_fd(&p->replace), b, CHUNK, offset);

	if (n < 0 || m < 0)
		return (int)(n < 0 ? n : m);
	if (n != m || memcmp(a, b, (size_t)n) != 0)
		return -EILSEQ;
	(void)XXH3_128bits_update(state, a, (size_t)n);
	return n < CHUNK;
}

int dedup_compare_content(struct dedup_pair *p)
{
	XXH3_state_t *state = XXH3_createState();
	char *a = malloc(CHUNK), *b = malloc(CHUNK);
	int end = state && a && b ? 0 : -ENOMEM;
	off_t offset;

	if (!end)
		(void)XXH3_128bits_reset(state);
	for (offset = 0; !end; offset += CHUNK)
		end = dedup_pair_is_broken(p) ?
			      -ETXTBSY :
			      compare_chunk(p, state, a, b, offset);
	if (end > 0)
		hash_to_text(state, p->xxh128);
	free(a);
	free(b);
	(void)XXH3_freeState(state);
	return end < 0 ? end : dedup_pair_check(p, false);
}

int dedup_hash(int fd, char out[33])
{
	XXH3_state_t *state = XXH3_createState();
	char *buffer = malloc(CHUNK);
	int err = state && buffer ? 0 : -ENOMEM;
	off_t offset = 0;
	ssize_t n = 1;

	if (!err)
		(void)XXH3_128bits_reset(state);
	while (!err && n) {
		n = read_full(fd, buffer, CHUNK, offset);
		err = n < 0 ? (int)n : 0;
		offset += n;
		if (n > 0)
			(void)XXH3_128bits_update(state, buffer, (size_t)n);
	}
	if (!err)
		hash_to_text(state, out);
	free(buffer);
	(void)XXH3_freeState(state);
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

static bool has_privileges(const struct dedup_side *s)
{
	enum { BITS = S_ISUID | S_ISGID };

	return dedup_side_stat(s)->st_mode & BITS ||
	       fgetxattr(dedup_side_fd(s), "security.capability", NULL, 0) > 0;
}

bool dedup_has_privileges(const struct dedup_pair *p)
{
	return has_privileges(&p->keep) || has_privileges(&p->replace);
}
