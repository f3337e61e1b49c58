/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/ops/ops.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>

#include "fs/inode/cred.h"
#include "fs/ops/notify.h"
#include "fs/ops/metadata_change.h"
#include "fs/ops/xattr_derived.h"
#include "fs/inode/descriptor.h"
#include "fs/inode/reopen.h"
#include "fs/ops/reply.h"
#include "fs/ops/xattr_query.h"

#define CAPABILITY "security.capability"
#define HIDDEN "trusted."

/*
 * These operations use the path of a descriptor (fd_path_make()), which leads
 * to the file behind it, even to a symbolic link.  So the system calls that
 * follow links are right for every type of file.
 */

/* ---- security.capability ---- */

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

static ssize_t get_value(struct fs *fs, struct inode *inode, const char *name,
			 char *value, size_t size)
{
	bool is_caps = strcmp(name, CAPABILITY) == 0;
	unsigned epoch = atomic_load(&inode->caps_epoch);
	ssize_t len;

	if (is_caps && inode_has_no_caps(inode))
		return -ENODATA;
	len = get_lower(fs, inode, name, value, size);
	if (is_caps && len == -ENODATA)
		atomic_store(&inode->caps_none, epoch);
	return len;
}

void ops_getxattr(fuse_req_t req, fuse_ino_t node, const char *name,
		  size_t size)
{
	struct fs *fs = fs_of(req);
	char small[256];
	char *value = small;
	ssize_t len;

	if (xattr_is_derived(name)) {
		xattr_derived_get(req, fs, inode_of(fs, node), name, size);
		return;
	}
	if (size > sizeof(small))
		value = malloc(size);
	len = value ? get_value(fs, inode_of(fs, node), name, value, size) :
		      -ENOMEM;
	if (len < 0)
		reply_error(req, (int)len);
	else
		reply_xattr(req, value, (size_t)len, size);
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
		if (errno != ERANGE) /* ERANGE: the list has grown meanwhile */
			return -errno;
	}
}

static int lower_list(struct fs *fs, struct inode *inode, char **names_out,
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

static void drop_hidden(fuse_req_t req, char *names, size_t *len)
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
	int err = lower_list(fs, inode, &names, &len);

	if (!err)
		drop_hidden(req, names, &len);
	if (err)
		reply_error(req, err);
	else
		reply_xattr(req, names, len, size);
	free(names);
}

/* Adds the names of all digests in the set. */
static int list_possible(struct xattr_list *l, uint32_t set)
{
	int id, err = 0;

	for (id = 0; id < DIGEST_COUNT && !err; id++) {
		const char *name = digest_table[id]->attribute;

		if (set & DIGEST_BIT(id))
			err = buf_append(&l->names, name, strlen(name) + 1);
	}
	return err;
}

/* Adds the names that may be in the list when it is read: it becomes longer if
 * the digests are ready by then. */
static void list_expected(struct xattr_list *l, struct fs *fs,
			  struct inode *inode)
{
	struct file_digests answer;

	if (xattr_ask(fs, inode, DIGEST_ALL, &answer))
		return;
	if (answer.state == DIGESTS_FRESH)
		(void)xattr_list_digests(l, &answer.digests);
	else if (answer.state != DIGESTS_SKIPPED &&
		 answer.state != DIGESTS_FAILED)
		(void)list_possible(l, fs->options.kept_digests);
	file_digests_release(&answer);
}

/* Adds the real attributes.  Real ones with the name of a derived one, which
 * some tool has copied into SOURCE, are hidden. */
static int list_real(struct xattr_list *l, const char *names, size_t len)
{
	const char *name = names, *end = names + len;
	int err = 0;

	while (name < end && !err) {
		size_t one = strlen(name) + 1;

		if (!xattr_is_derived(name))
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

static int list_new(fuse_req_t req, struct fs *fs, struct inode *inode,
		    size_t size, struct xattr_list **list_out)
{
	struct xattr_list *l = calloc(1, sizeof(*l));
	char *lower = NULL;
	size_t len = 0;
	int err = l ? lower_list(fs, inode, &lower, &len) : -ENOMEM;

	if (!err) {
		l->size = size;
		drop_hidden(req, lower, &len);
		err = list_real(l, lower, len);
		free(lower);
	}
	if (err && l) {
		buf_release(&l->names);
		free(l);
	} else {
		*list_out = l;
	}
	return err;
}

static void list_all(fuse_req_t req, struct fs *fs, struct inode *inode,
		     size_t size)
{
	struct xattr_list *list;
	int err = list_new(req, fs, inode, size, &list);
	bool more = !err && S_ISREG(inode->type) &&
		    fs->options.xattrs != XATTRS_HIDE &&
		    xattr_may_read(req, fs, inode);

	if (err) {
		reply_error(req, err);
		return;
	}
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

void ops_listxattr(fuse_req_t req, fuse_ino_t node, size_t size)
{
	struct fs *fs = fs_of(req);
	struct inode *inode = inode_of(fs, node);

	if (S_ISREG(inode->type) || inode == fs->root)
		list_all(req, fs, inode, size);
	else
		list_lower(req, fs, inode, size);
}

/* ---- set and remove ---- */

/* A change of an attribute.  value NULL: it is removed. */
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
	struct metadata_change change;
	int err = inode_path_fd(fs, inode, &p);

	if (err)
		return err;
	metadata_change_begin(fs, inode, &change);
	err = cred_assume(fs, req, &saved);
	if (!err) {
		fd_path_make(p.fd, &path);
		err = change_path(path.text, c);
		cred_restore(fs, &saved);
	}
	metadata_change_end(fs, &change);
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

	if (xattr_is_derived(name))
		xattr_derived_set(req, fs, inode_of(fs, node), name, value,
				  size, flags);
	else
		reply_error(req, change_lower(req, fs, inode_of(fs, node), &c));
}

void ops_removexattr(fuse_req_t req, fuse_ino_t node, const char *name)
{
	struct fs *fs = fs_of(req);
	struct change c = { .name = name };

	if (xattr_is_derived(name))
		xattr_derived_remove(req, fs, inode_of(fs, node), name);
	else
		reply_error(req, change_lower(req, fs, inode_of(fs, node), &c));
}
