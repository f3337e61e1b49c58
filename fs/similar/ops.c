/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/engine/engine.h"
#include "fs/fs.h"
#include "fs/inode/descriptor.h"
#include "fs/inode/cred.h"
#include "fs/inode/inode.h"
#include "fs/ops/ops.h"
#include "fs/ops/notify.h"
#include "fs/ops/reply.h"
#include "fs/similar/similar.h"
#include "fs/similar/similar_impl.h"
#include "fs/ops/xattr.h"

#define STATE "user.kinfs.state"

/* ---- views ---- */

static const struct similar_view directory_view = {
	.list = list_browsed,
	.flags = VIEW_MIRRORS,
};

static const struct similar_view file_view = {
	.list = list_relation,
	.relation = INDEX_ALIKE,
};

static const struct similar_view group_view = {
	.list = list_groups,
	.flags = VIEW_OF_GROUPS,
};

static const struct similar_view views[] = {
	{ SIMILAR_WITHIN, &file_view, list_relation, INDEX_WITHIN, 0, NULL },
	{ SIMILAR_CONTAINS, &file_view, list_relation, INDEX_CONTAINS, 0,
	  NULL },
	{ SIMILAR_ALL, &file_view, list_relation, INDEX_ALL, 0, NULL },
	{ SIMILAR_SHARES, &file_view, list_relation, INDEX_SHARES, 0, NULL },
	{ SIMILAR_ELSEWHERE, &file_view, list_elsewhere, INDEX_ALIKE,
	  VIEW_OF_OWNER | VIEW_UNCHECKED, NULL },
	{ SIMILAR_DIRECTORIES, &directory_view, list_directories, INDEX_ALIKE,
	  0, NULL },
	{ SIMILAR_GROUPS, &directory_view, list_groups, INDEX_ALIKE,
	  VIEW_OF_GROUPS | VIEW_UNCHECKED, &group_view },
	{ SIMILAR_QUERY, &directory_view, NULL, INDEX_ALIKE, VIEW_OF_TOP,
	  NULL },
};

/* NULL: there is no view of that name in parent. */
static const struct similar_view *find_view(const struct similar_node *parent,
					    const char *name)
{
	const struct similar_view *v = views,
				  *end = v + sizeof(views) / sizeof(*v);

	for (; v < end; v++)
		if (v->in == parent->view && strcmp(v->name, name) == 0 &&
		    !(v->flags & VIEW_OF_TOP && parent->parent))
			return v;
	return NULL;
}

/* Whether names below the node are looked up in a listing. */
static bool is_listed(const struct similar_node *n)
{
	return n->view && n->view->list && !(n->view->flags & VIEW_MIRRORS);
}

/* ---- lookup ---- */

void similar_lookup_root(fuse_req_t req, struct fs *fs)
{
	struct similar_node *n;
	int err = node_get(
		fs, NULL, "",
		&(struct node_key){ .view = &directory_view, .real = fs->root },
		&n);

	if (err)
		reply_error(req, err);
	else
		similar_reply_node(req, fs, n, NULL);
}

/* Finds the real directory or file in a mirrored directory, if the caller may
 * search that. */
static int lookup_real(fuse_req_t req, struct fs *fs,
		       struct similar_node *parent, const char *name,
		       struct similar_node **out, struct stat *st_out)
{
	int fd = inode_fd(fs, parent->real);
	struct node_key key = { 0 };
	int err = fd < 0 ? fd :
			   CRED_CALL(fs, req,
				     fstatat(fd, name, st_out,
					     AT_SYMLINK_NOFOLLOW));

	if (!err)
		err = lookup_find(fs, parent->real, fd, name, st_out,
				  &key.real);
	inode_fd_close(parent->real, fd);
	if (err)
		return err;
	notify_looked_up(fs, key.real, st_out);
	if (S_ISDIR(key.real->type) || S_ISREG(key.real->type)) {
		key.view =
			S_ISDIR(key.real->type) ? &directory_view : &file_view;
		err = node_get(fs, parent, name, &key, out);
	} else {
		err = -ENOENT;
	}
	inode_unref(fs, key.real);
	return err;
}

/*
 * A real entry of a directory with the name of a view takes precedence over the
 * view, if it is a directory or a regular file.  Below a file nothing is real.
 */
static int lookup_view(fuse_req_t req, struct fs *fs,
		       struct similar_node *parent,
		       const struct similar_view *view,
		       struct similar_node **out)
{
	struct stat st;
	int err = -ENOENT;

	if (view->flags & VIEW_OF_OWNER && !cred_owns_mount(fs, req))
		return -ENOENT;
	if (parent->view == &directory_view)
		err = lookup_real(req, fs, parent, view->name, out, &st);
	/* Once only, because users could fill the log otherwise. */
	if (!err && !atomic_exchange(&fs->similar->warned, true))
		log_warning(
			"an entry '%s' in '%s' is real: the view of similar "
			"files of that name is not available there",
			view->name, parent->parent ? parent->name : "/");
	if (err != -ENOENT)
		return err;
	return node_get(
		fs, parent, view->name,
		&(struct node_key){ .view = view, .real = parent->real }, out);
}

static void lookup(fuse_req_t req, fuse_ino_t parent_id, const char *name)
{
	struct fs *fs = fs_of(req);
	struct similar_node *parent = node_at(parent_id);
	const struct similar_view *view = find_view(parent, name);
	struct stat st, *known = NULL;
	struct similar_node *n;
	int err = -ENOTDIR;

	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0) {
		err = -ESTALE;
	} else if (view) {
		err = lookup_view(req, fs, parent, view, &n);
	} else if (is_listed(parent)) {
		listing_answer(req, parent,
			       &(struct listing_want){ .name = name });
		return;
	} else if (parent->view == &directory_view) {
		err = lookup_real(req, fs, parent, name, &n, &st);
		known = &st;
	}
	if (err)
		reply_error(req, err);
	else
		similar_reply_node(req, fs, n, known);
}

void similar_forget(struct fs *fs, fuse_ino_t id, uint64_t count)
{
	node_unref(fs, node_at(id), count);
}

/* ---- reading ---- */

int similar_stat(struct fs *fs, fuse_ino_t id, struct stat *out)
{
	const struct similar_node *n = node_at(id);
	struct stat real;
	int err = inode_stat(fs, n->real, &real);

	if (!err)
		node_fill_stat(n, &real, out);
	return err;
}

static void read_link(fuse_req_t req, fuse_ino_t id)
{
	const struct similar_node *n = node_at(id);

	if (!n->target)
		reply_error(req, -EINVAL);
	else if (strlen(n->target) >= PATH_MAX)
		reply_error(req, -ENAMETOOLONG);
	else
		fuse_reply_readlink(req, n->target);
}

static void open_file(fuse_req_t req, fuse_ino_t id, struct fuse_file_info *fi)
{
	const struct similar_view *view = node_at(id)->view;

	if (view && !view->list)
		query_open(req, fs_of(req), fi);
	else
		reply_error(req, view ? -EISDIR : -ELOOP);
}

static void open_directory(fuse_req_t req, fuse_ino_t id,
			   struct fuse_file_info *fi)
{
	struct similar_node *n = node_at(id);

	if (n->view && n->view->list)
		listing_answer(req, n, &(struct listing_want){ .fi = fi });
	else
		reply_error(req, -ENOTDIR);
}

struct fill {
	fuse_req_t req;
	bool plus;
	char *data;
	size_t size, used;
};

/* Adds a name without a node (nodeid 0): no lookup is counted.  False: it does
 * not fit. */
static bool fill_name(struct fill *f, const char *name, uint64_t number,
		      mode_t type, off_t next)
{
	const struct fuse_entry_param e = {
		.attr = { .st_ino = number, .st_mode = type },
	};
	char *at = f->data + f->used;
	size_t room = f->size - f->used, need;

	need = f->plus ?
		       fuse_add_direntry_plus(f->req, at, room, name, &e,
					      next) :
		       fuse_add_direntry(f->req, at, room, name, &e.attr, next);
	if (need > room)
		return false;
	f->used += need;
	return true;
}

/* Offset 0 is ".", 1 is "..", then come the items. */
static void reply_items(fuse_req_t req, fuse_ino_t id, size_t size, off_t off,
			const struct fuse_file_info *fi, bool plus)
{
	const struct similar_node *n = node_at(id);
	struct fill f = { .req = req, .plus = plus, .size = size };
	uint64_t above = n->parent ? n->parent->number : n->number;
	const struct listing *l = opened_of(fi)->listing;
	bool fits = true;

	f.data = malloc(size);
	if (!f.data) {
		reply_error(req, -ENOMEM);
		return;
	}
	if (off == 0)
		fits = fill_name(&f, ".", n->number, S_IFDIR, ++off);
	if (fits && off == 1)
		fits = fill_name(&f, "..", above, S_IFDIR, ++off);
	for (; fits && off >= 2 && (size_t)off - 2 < l->count; off++) {
		const struct listing_item *item = &l->items[off - 2];

		fits = fill_name(&f, item->name,
				 node_number_below(n->number, item->name),
				 item->target ? S_IFLNK : S_IFDIR, off + 1);
	}
	fuse_reply_buf(req, f.data, f.used);
	free(f.data);
}

static void read_directory(fuse_req_t req, fuse_ino_t id, size_t size,
			   off_t off, struct fuse_file_info *fi)
{
	reply_items(req, id, size, off, fi, false);
}

static void read_directory_plus(fuse_req_t req, fuse_ino_t id, size_t size,
				off_t off, struct fuse_file_info *fi)
{
	reply_items(req, id, size, off, fi, true);
}

static void release(fuse_req_t req, fuse_ino_t id, struct fuse_file_info *fi)
{
	(void)id;
	opened_close(fs_of(req), opened_of(fi));
	reply_error(req, 0);
}

static void get_xattr(fuse_req_t req, fuse_ino_t id, const char *name,
		      size_t size)
{
	struct similar_node *n = node_at(id);

	if (!is_listed(n) || strcmp(name, STATE) != 0)
		reply_error(req, -ENODATA);
	else if (!xattr_may_read(req, fs_of(req), n->real))
		reply_error(req, -EACCES);
	else
		listing_answer(req, n, &(struct listing_want){ .size = size });
}

/* ---- the table ---- */

const struct fuse_lowlevel_ops similar_ops = {
	.lookup = lookup,
	.readlink = read_link,
	.open = open_file,
	.read = query_read,
	.write_buf = query_write,
	.ioctl = query_ioctl,
	.release = release,
	.opendir = open_directory,
	.readdir = read_directory,
	.readdirplus = read_directory_plus,
	.releasedir = release,
	.getxattr = get_xattr,
};
