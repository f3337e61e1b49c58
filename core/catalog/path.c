/* SPDX-License-Identifier: Apache-2.0 */
#include "core/catalog/catalog_impl.h"

#include <errno.h>
#include <string.h>

/* Longer than any path of the kernel; the names of a damaged catalog may form a
 * circle. */
#define DEPTH_MAX 4096

static int append_reversed(struct buf *b, struct catalog_name name)
{
	size_t i;
	int err;

	err = buf_reserve(b, name.len + 1);
	for (i = name.len; !err && i > 0; i--)
		err = buf_append(b, &name.bytes[i - 1], 1);
	return err;
}

static void reverse_bytes(char *bytes, size_t len)
{
	size_t i;
	char swap;

	for (i = 0; i < len / 2; i++) {
		swap = bytes[i];
		bytes[i] = bytes[len - 1 - i];
		bytes[len - 1 - i] = swap;
	}
}

/*
 * The path of a name in parent; built in reverse, from the name to the root.
 * -ENOENT: it does not lead to root.
 */
static int path_build(struct catalog_txn *txn, const struct file_key *root,
		      const struct file_key *parent, struct catalog_name name,
		      struct buf *out)
{
	struct file_key at = *parent;
	struct link up;
	int depth;
	int err;

	buf_clear(out);
	err = append_reversed(out, name);
	for (depth = 0; !err && !file_key_equal(&at, root); depth++) {
		if (depth == DEPTH_MAX)
			return -ENOENT;
		err = link_first(txn, &at, &up);
		if (!err)
			err = buf_append(out, "/", 1);
		if (!err)
			err = append_reversed(out, up.name);
		if (!err)
			at = up.parent;
	}
	if (!err)
		reverse_bytes(out->data, out->len);
	return err;
}

static int links_each(struct catalog_txn *txn, const struct file_key *root,
		      struct record_scan *s, struct buf *path,
		      int (*each)(void *arg, const char *path), void *arg)
{
	struct file_key key, parent;
	struct catalog_name name;
	int result;

	while ((result = record_scan_next(s)) == 1) {
		result = link_key_decode(&s->key, &key, &parent, &name);
		if (!result)
			result = path_build(txn, root, &parent, name, path);
		if (result == -ENOENT)
			continue;
		if (!result)
			result = each(arg, path->data);
		if (result)
			break;
	}
	return result;
}

int catalog_path_each(struct catalog_txn *txn, const struct file_key *root,
		      const struct file_key *key,
		      int (*each)(void *arg, const char *path), void *arg)
{
	uint8_t prefix[FILE_KEY_BYTES_MAX];
	struct buf path = { 0 };
	struct record_scan s;
	int result;

	if (file_key_equal(root, key))
		return each(arg, "");
	result = record_scan_open(txn, DB_LINKS, prefix,
				  file_key_store(key, prefix), &s);
	if (result)
		return result;
	result = links_each(txn, root, &s, &path, each, arg);
	record_scan_close(&s);
	buf_release(&path);
	return result;
}

/* ---- files without a path ---- */

static int stop_at_first(void *arg, const char *path)
{
	(void)arg;
	(void)path;
	return 1;
}

int catalog_has_path(struct catalog_txn *txn, const struct file_key *root,
		     const struct file_key *key)
{
	return catalog_path_each(txn, root, key, stop_at_first, NULL);
}
