/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/ops/ops.h"

#include <errno.h>
#include <linux/limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>

#include "fs/inode/cred.h"
#include "fs/ops/notify.h"
#include "fs/ops/xattr.h"
#include "fs/inode/descriptor.h"
#include "fs/ops/reply.h"
#include "fs/similar/similar.h"

#define HIDDEN "trusted."
#define USER "user."

/*
 * These operations use the path of a descriptor (fd_path()), which leads
 * to the file behind it, even to a symbolic link.  So the system calls that
 * follow links are right for every type of file.
 */

/* Returns the length or a negative errno.  With the credentials of the daemon:
 * permissions are needed for names "user." alone. */
static ssize_t get_lower(struct fs *fs, struct inode *inode, const char *name,
			 char *value, size_t size)
{
	int fd = inode_fd(fs, inode);
	ssize_t len;

	if (fd < 0)
		return fd;
	len = getxattr(fd_path(fd).text, name, value, size);
	if (len < 0)
		len = -errno;
	inode_fd_close(inode, fd);
	return len;
}

/* The same with those of the caller. */
static ssize_t get_as_caller(fuse_req_t req, struct inode *inode,
			     const char *name, char *value, size_t size)
{
	struct fs *fs = fs_of(req);
	int fd = inode_fd(fs, inode), err = fd;
	ssize_t len = 0;

	if (fd >= 0)
		err = CRED_CALL_ON(
			fs, req, fd,
			len = getxattr(fd_path(fd).text, name, value, size));
	inode_fd_close(inode, fd);
	return err < 0 ? err : len;
}

void ops_getxattr(fuse_req_t req, fuse_ino_t node, const char *name,
		  size_t size)
{
	struct fs *fs = fs_of(req);
	struct inode *inode = inode_of(fs, node);
	char small[256], *value = small;
	ssize_t len = -ENOMEM;

	if (similar_is_node(node)) {
		similar_ops.getxattr(req, node, name, size);
		return;
	}
	if (xattr_is_derived(name)) {
		xattr_derived_get(req, fs, inode, name, size);
		return;
	}
	if (size > sizeof(small))
		value = malloc(size);
	if (value && strncmp(name, USER, strlen(USER)) == 0)
		len = get_as_caller(req, inode, name, value, size);
	else if (value)
		len = get_lower(fs, inode, name, value, size);
	if (len < 0)
		reply_error(req, (int)len);
	else
		reply_xattr(req, value, (size_t)len, size);
	if (value != small)
		free(value);
}

/* ---- list ---- */

/* The caller frees the names. */
static int lower_list(struct fs *fs, struct inode *inode, char **names_out,
		      size_t *len_out)
{
	char *names = malloc(XATTR_LIST_MAX);
	int fd = inode_fd(fs, inode), err = fd < 0 ? fd : 0;
	ssize_t len = 0;

	if (!err && names) {
		len = listxattr(fd_path(fd).text, names, XATTR_LIST_MAX);
		err = len < 0 ? -errno : 0;
	}
	inode_fd_close(inode, fd);
	if (!names)
		err = -ENOMEM;
	if (err) {
		free(names);
		return err;
	}
	*names_out = names;
	*len_out = (size_t)len;
	return 0;
}

/* Adds the names that may be in the list when it is read: it becomes longer if
 * the digests are ready by then. */
static void list_expected(struct xattr_list *l, struct fs *fs,
			  struct inode *inode)
{
	struct file_digests answer;
	int id, err = 0;

	if (xattr_ask(fs, inode, DIGEST_ALL, &answer))
		return;
	if (answer.state == DIGESTS_FRESH)
		(void)xattr_list_digests(l, &answer.digests);
	else if (answer.state != DIGESTS_SKIPPED &&
		 answer.state != DIGESTS_FAILED)
		for (id = 0; id < DIGEST_COUNT && !err; id++) {
			const char *name = digest_table[id]->attribute;

			if (fs->options.kept_digests & DIGEST_BIT(id))
				err = buf_append(&l->names, name,
						 strlen(name) + 1);
		}
	file_digests_release(&answer);
}

/* Adds the real attributes that the caller may see.  Real ones with the name of a
 * derived one, which some tool has copied into SOURCE, are hidden. */
static int list_real(struct xattr_list *l, fuse_req_t req, bool has_derived,
		     const char *names, size_t len)
{
	bool is_root = fuse_req_ctx(req)->uid == 0;
	const char *name = names, *end = names + len;
	int err = 0;

	while (name < end && !err) {
		size_t one = strlen(name) + 1;

		if ((is_root || strncmp(name, HIDDEN, strlen(HIDDEN)) != 0) &&
		    !(has_derived && xattr_is_derived(name)))
			err = buf_append(&l->names, name, one);
		name += one;
	}
	return err;
}

/* The room that the real attributes leave for digests. */
static size_t room_beside(struct fs *fs, struct inode *inode,
			  const struct buf *names)
{
	size_t room = XATTR_ROOM, at = 0;

	if (fs->options.xattrs == XATTRS_ALL)
		return SIZE_MAX;
	while (at < names->len && room) {
		const char *name = (const char *)names->data + at;
		ssize_t len = get_lower(fs, inode, name, NULL, 0);
		size_t need = strlen(name) + (len > 0 ? (size_t)len : 0);

		room -= need < room ? need : room;
		at += strlen(name) + 1;
	}
	return room;
}

void ops_listxattr(fuse_req_t req, fuse_ino_t node, size_t size)
{
	struct fs *fs = fs_of(req);
	struct inode *inode = inode_of(fs, node);
	bool has_derived, more = false;
	struct xattr_list *list;
	char *lower = NULL;
	size_t len = 0;
	int err = -ENOMEM;

	if (similar_is_node(node)) {
		reply_xattr(req, "", 0, size);
		return;
	}
	has_derived = S_ISREG(inode->type) || inode == fs->root;
	list = calloc(1, sizeof(*list));
	if (list)
		err = lower_list(fs, inode, &lower, &len);
	if (!err) {
		list->size = size;
		err = list_real(list, req, has_derived, lower, len);
	}
	free(lower);
	if (err) {
		if (list)
			buf_release(&list->names);
		free(list);
		reply_error(req, err);
		return;
	}
	more = S_ISREG(inode->type) && fs->options.xattrs != XATTRS_HIDE &&
	       xattr_may_read(req, fs, inode);
	if (more)
		list->room = room_beside(fs, inode, &list->names);
	if (more && size) {
		xattr_query_list(req, fs, inode, list);
	} else {
		if (more)
			list_expected(list, fs, inode);
		xattr_list_reply(req, list);
	}
}

/* ---- set and remove ---- */

/* value NULL: the attribute is removed. */
static int change_lower(fuse_req_t req, struct inode *inode, const char *name,
			const char *value, size_t size, int flags)
{
	struct metadata_change change;
	struct fs *fs = fs_of(req);
	int fd = inode_fd(fs, inode), err;

	if (fd < 0)
		return fd;
	metadata_change_begin(fs, inode, &change);
	err = CRED_CALL_ON(
		fs, req, fd,
		value ? setxattr(fd_path(fd).text, name, value, size, flags) :
			removexattr(fd_path(fd).text, name));
	metadata_change_end(fs, &change);
	inode_fd_close(inode, fd);
	return err;
}

void ops_setxattr(fuse_req_t req, fuse_ino_t node, const char *name,
		  const char *value, size_t size, int flags)
{
	struct inode *inode = inode_of(fs_of(req), node);

	if (similar_refuses(req, node, -EROFS))
		return;
	if (!value)
		value = "";
	if (xattr_is_derived(name))
		xattr_derived_set(req, fs_of(req), inode, name, value, size);
	else
		reply_error(req,
			    change_lower(req, inode, name, value, size, flags));
}

void ops_removexattr(fuse_req_t req, fuse_ino_t node, const char *name)
{
	struct inode *inode = inode_of(fs_of(req), node);

	if (similar_refuses(req, node, -EROFS))
		return;
	if (xattr_is_derived(name))
		xattr_derived_set(req, fs_of(req), inode, name, NULL, 0);
	else
		reply_error(req, change_lower(req, inode, name, NULL, 0, 0));
}
