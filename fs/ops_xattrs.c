/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/ops.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>

#include "fs/cred.h"
#include "fs/notify.h"
#include "fs/similar.h"
#include "fs/metadata_change.h"
#include "fs/xattr_derived.h"

#define CAPABILITY "security.capability"
#define HIDDEN "trusted."

/*
 * The path of a descriptor leads to the very file behind it, a symbolic
 * link included, so the calls that follow links are right for every type.
 */

/* ---- security.capability ---- */

/* The kernel asks for it before every write. */
bool ops_has_no_caps(const struct inode *inode)
{
	return atomic_load(&inode->caps_none) ==
	       atomic_load(&inode->caps_epoch);
}

void ops_keeps_no_caps(struct inode *inode)
{
	atomic_store(&inode->caps_none, atomic_load(&inode->caps_epoch));
}

static void caps_changed(struct inode *inode, const char *name)
{
	if (strcmp(name, CAPABILITY) == 0)
		atomic_fetch_add(&inode->caps_epoch, 1);
}

/* ---- get ---- */

/* Returns the length or a negative errno. */
static ssize_t get_lower(struct fs *fs, struct inode *inode, const char *name,
			 char *value, size_t size)
{
	struct fd_path path;
	struct path_fd p;
	ssize_t len;
	int err = inode_path_fd(fs, inode, &p);

	if (err)
		return err;
	fd_path_make(p.fd, &path);
	len = getxattr(path.text, name, value, size);
	if (len < 0)
		len = -errno;
	path_fd_close(&p);
	return len;
}

ssize_t xattr_lower_size(struct fs *fs, struct inode *inode, const char *name)
{
	return get_lower(fs, inode, name, NULL, 0);
}

static ssize_t get_value(struct fs *fs, struct inode *inode, const char *name,
			 char *value, size_t size)
{
	bool is_caps = strcmp(name, CAPABILITY) == 0;
	unsigned epoch = atomic_load(&inode->caps_epoch);
	ssize_t len;

	if (is_caps && ops_has_no_caps(inode))
		return -ENODATA;
	len = get_lower(fs, inode, name, value, size);
	if (is_caps && len == -ENODATA)
		atomic_store(&inode->caps_none, epoch);
	return len;
}

static void reply_value(fuse_req_t req, const char *value, ssize_t len,
			size_t size)
{
	if (len < 0)
		reply_error(req, (int)len);
	else if (size == 0)
		fuse_reply_xattr(req, (size_t)len);
	else if ((size_t)len > size)
		reply_error(req, -ERANGE);
	else
		fuse_reply_buf(req, value, (size_t)len);
}

void ops_getxattr(fuse_req_t req, fuse_ino_t node, const char *name,
		  size_t size)
{
	struct fs *fs = fs_of(req);
	char small[256];
	char *value = small;
	ssize_t len;

	if (similar_is_node(node)) {
		similar_getxattr(req, node, name, size);
		return;
	}
	if (xattr_is_derived(name)) {
		xattr_derived_get(req, fs, inode_of(fs, node), name, size);
		return;
	}
	if (size > sizeof(small))
		value = malloc(size);
	len = value ? get_value(fs, inode_of(fs, node), name, value, size) :
		      -ENOMEM;
	reply_value(req, value, len, size);
	if (value != small)
		free(value);
}

/* ---- list ---- */

static int list_path(const char *path, char **names_out, size_t *len_out)
{
	for (;;) {
		ssize_t len = listxattr(path, NULL, 0);
		char *names;

		if (len < 0)
			return -errno;
		names = malloc((size_t)len + 1);
		if (!names)
			return -ENOMEM;
		len = len ? listxattr(path, names, (size_t)len) : 0;
		if (len >= 0) {
			*names_out = names;
			*len_out = (size_t)len;
			return 0;
		}
		free(names);
		if (errno != ERANGE) /* else it grew in between */
			return -errno;
	}
}

int xattr_lower_list(struct fs *fs, struct inode *inode, char **names_out,
		     size_t *len_out)
{
	struct fd_path path;
	struct path_fd p;
	int err = inode_path_fd(fs, inode, &p);

	if (err)
		return err;
	fd_path_make(p.fd, &path);
	err = list_path(path.text, names_out, len_out);
	path_fd_close(&p);
	return err;
}

void xattr_drop_hidden(fuse_req_t req, char *names, size_t *len)
{
	size_t kept = 0;

	if (fuse_req_ctx(req)->uid == 0)
		return;
	for (size_t i = 0; i < *len;) {
		size_t size = strlen(names + i) + 1;

		if (strncmp(names + i, HIDDEN, strlen(HIDDEN)) != 0) {
			memmove(names + kept, names + i, size);
			kept += size;
		}
		i += size;
	}
	*len = kept;
}

static void list_lower(fuse_req_t req, struct fs *fs, struct inode *inode,
		       size_t size)
{
	char *names = NULL;
	size_t len = 0;
	int err = xattr_lower_list(fs, inode, &names, &len);

	if (!err)
		xattr_drop_hidden(req, names, &len);
	reply_value(req, names, err ? err : (ssize_t)len, size);
	free(names);
}

void ops_listxattr(fuse_req_t req, fuse_ino_t node, size_t size)
{
	struct fs *fs = fs_of(req);
	struct inode *inode;

	if (similar_is_node(node)) {
		similar_listxattr(req, node, size);
		return;
	}
	inode = inode_of(fs, node);
	if (S_ISREG(inode->type) || inode == fs->root)
		xattr_derived_list(req, fs, inode, size);
	else
		list_lower(req, fs, inode, size);
}

/* ---- set and remove ---- */

/* A change of one attribute; value is NULL to remove it. */
struct change {
	const char *name;
	const char *value;
	size_t size;
	int flags;
};

static int change_path(const char *path, const struct change *c)
{
	int r = c->value ?
			setxattr(path, c->name, c->value, c->size, c->flags) :
			removexattr(path, c->name);

	return r == 0 ? 0 : -errno;
}

static int change_lower(fuse_req_t req, struct fs *fs, struct inode *inode,
			const struct change *c)
{
	struct fd_path path;
	struct cred saved;
	struct path_fd p;
	struct metadata_change touch;
	int err = inode_path_fd(fs, inode, &p);

	if (err)
		return err;
	metadata_change_begin(fs, inode, &touch);
	err = cred_assume(fs, req, &saved);
	if (!err) {
		fd_path_make(p.fd, &path);
		err = change_path(path.text, c);
		cred_restore(fs, &saved);
	}
	metadata_change_end(fs, &touch);
	path_fd_close(&p);
	caps_changed(inode, c->name);
	return err;
}

void ops_setxattr(fuse_req_t req, fuse_ino_t node, const char *name,
		  const char *value, size_t size, int flags)
{
	struct fs *fs = fs_of(req);
	struct change c = {
		.name = name,
		.value = value ? value : "",
		.size = size,
		.flags = flags,
	};

	if (similar_is_node(node))
		reply_error(req, -EROFS);
	else if (xattr_is_derived(name))
		xattr_derived_set(req, fs, inode_of(fs, node), name, value,
				  size, flags);
	else
		reply_error(req, change_lower(req, fs, inode_of(fs, node), &c));
}

void ops_removexattr(fuse_req_t req, fuse_ino_t node, const char *name)
{
	struct fs *fs = fs_of(req);
	struct change c = { .name = name };

	if (similar_is_node(node))
		reply_error(req, -EROFS);
	else if (xattr_is_derived(name))
		xattr_derived_remove(req, fs, inode_of(fs, node), name);
	else
		reply_error(req, change_lower(req, fs, inode_of(fs, node), &c));
}
