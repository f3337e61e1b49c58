/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <linux/limits.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/array.h"
#include "core/engine/engine.h"
#include "fs/fs.h"
#include "fs/inode/descriptor.h"
#include "fs/inode/inode.h"
#include "fs/ops/lookup.h"
#include "fs/ops/reply.h"
#include "fs/similar/listing.h"
#include "fs/similar/listing_query.h"
#include "fs/similar/lookup.h"
#include "fs/similar/node.h"
#include "fs/similar/query_file.h"
#include "fs/similar/similar.h"
#include "fs/ops/xattr_query.h"

#define STATE "user.kinfs.state"

void similar_forget(struct fs *fs, fuse_ino_t id, uint64_t count)
{
	node_unref(fs, node_at(id), count);
}

/* ---- reading ---- */

static void get_attributes(fuse_req_t req, fuse_ino_t id,
			   struct fuse_file_info *fi)
{
	struct fs *fs = fs_of(req);
	struct stat st;
	int err = node_stat(fs, node_at(id), &st);

	(void)fi;
	if (err)
		reply_error(req, err);
	else
		fuse_reply_attr(req, &st, node_timeout_s(fs, node_at(id)));
}

#if FUSE_VERSION >= 318
static void get_statx(fuse_req_t req, fuse_ino_t id, int flags, int mask,
		      struct fuse_file_info *fi)
{
	struct statx all;
	struct fs *fs = fs_of(req);
	struct stat st;
	int err = node_stat(fs, node_at(id), &st);

	(void)flags;
	(void)mask;
	(void)fi;
	if (err) {
		reply_error(req, err);
		return;
	}
	lookup_fill_statx(&st, &all);
	fuse_reply_statx(req, 0, &all, node_timeout_s(fs, node_at(id)));
}
#endif

static void read_link(fuse_req_t req, fuse_ino_t id)
{
	const struct similar_node *n = node_at(id);

	if (n->kind != NODE_LINK)
		reply_error(req, -EINVAL);
	else if (strlen(n->target) >= PATH_MAX)
		reply_error(req, -ENAMETOOLONG);
	else
		fuse_reply_readlink(req, n->target);
}

static void open_file(fuse_req_t req, fuse_ino_t id, struct fuse_file_info *fi)
{
	enum node_kind kind = node_at(id)->kind;

	if (kind == NODE_QUERY)
		query_open(req, fs_of(req), fi);
	else
		reply_error(req, kind == NODE_LINK ? -ELOOP : -EISDIR);
}

static void read_file(fuse_req_t req, fuse_ino_t id, size_t size, off_t off,
		      struct fuse_file_info *fi)
{
	(void)off;
	if (node_at(id)->kind == NODE_QUERY)
		query_read(req, size, fi);
	else
		reply_error(req, -EBADF);
}

static void write_file(fuse_req_t req, fuse_ino_t id, struct fuse_bufvec *in,
		       off_t off, struct fuse_file_info *fi)
{
	(void)off;
	if (node_at(id)->kind == NODE_QUERY)
		query_write(req, in, fi);
	else
		reply_error(req, -EBADF);
}

static void handle_ioctl(fuse_req_t req, fuse_ino_t id, unsigned command,
			 void *arg, struct fuse_file_info *fi, unsigned flags,
			 const void *in, size_t in_size, size_t out_size)
{
	(void)arg;
	(void)flags;
	(void)out_size;
	if (node_at(id)->kind != NODE_QUERY ||
	    !query_ioctl(req, command, in, in_size, fi))
		reply_error(req, -ENOTTY);
}

static void release_file(fuse_req_t req, fuse_ino_t id,
			 struct fuse_file_info *fi)
{
	if (node_at(id)->kind == NODE_QUERY)
		query_release(fs_of(req), fi);
	reply_error(req, 0);
}

static void open_directory(fuse_req_t req, fuse_ino_t id,
			   struct fuse_file_info *fi)
{
	struct similar_node *n = node_at(id);

	if (n->kind == NODE_LINK || n->kind == NODE_QUERY)
		reply_error(req, -ENOTDIR);
	else
		listing_query_opened(req, n, fi);
}

/*
 * readdirplus sends links with their nodes, which costs more than names only: a
 * node here and an inode in the kernel.  A program that walks the tree needs
 * names only.  The kernel uses readdirplus at the beginning of a directory, and
 * later only if the program has looked up some of the entries.  So the first
 * reply of a long listing has few links.
 */
enum { LONG_LISTING = 32, FIRST_LINKS = 8 };

struct fill {
	fuse_req_t req;
	struct fs *fs;
	struct similar_node *directory;
	bool plus;
	bool cached;      /* the kernel may cache links */
	struct stat real; /* of the listed file; valid if cached */
	char *data;
	size_t size, used;
	struct similar_node **links; /* nodes whose lookup was counted */
	size_t link_count;
};

/* Adds an entry; false: it does not fit. */
static bool fill_put(struct fill *f, const char *name,
		     const struct fuse_entry_param *e, off_t next)
{
	char *at = f->data + f->used;
	size_t room = f->size - f->used, need;

	need = f->plus ?
		       fuse_add_direntry_plus(f->req, at, room, name, e, next) :
		       fuse_add_direntry(f->req, at, room, name, &e->attr,
					 next);
	if (need > room)
		return false;
	f->used += need;
	return true;
}

/* Adds a name without a node (nodeid 0): no lookup is counted. */
static bool fill_name(struct fill *f, const char *name, uint64_t number,
		      mode_t type, off_t next)
{
	const struct fuse_entry_param e = {
		.attr = { .st_ino = number, .st_mode = type },
	};

	return fill_put(f, name, &e, next);
}

/* Adds a link with its node, so that the kernel need not look it up. */
static bool fill_link(struct fill *f, const struct listing_item *item,
		      off_t next)
{
	struct fuse_entry_param e = { .generation = 1 };
	struct similar_node *n, **links;

	/* NOLINTNEXTLINE(bugprone-sizeof-expression): pointers */
	links = array_with_room(f->links, f->link_count, sizeof(*f->links));
	if (!links)
		return false;
	f->links = links;
	inode_ref(f->directory->real);
	if (node_get(f->fs, f->directory, item->name, NODE_LINK,
		     f->directory->real, item->target, &n))
		return false;
	e.ino = node_id(n);
	e.attr_timeout = e.entry_timeout = node_timeout_s(f->fs, n);
	node_fill_stat(n, &f->real, &e.attr);
	if (fill_put(f, item->name, &e, next)) {
		f->links[f->link_count++] = n;
		return true;
	}
	node_unref(f->fs, n, 1);
	return false;
}

static bool fill_item(struct fill *f, const struct listing_item *item,
		      off_t next)
{
	if (item->target && f->cached)
		return fill_link(f, item, next);
	return fill_name(f, item->name,
			 node_number_below(f->directory->number, item->name),
			 item->target ? S_IFLNK : S_IFDIR, next);
}

/* Offset 0 is ".", 1 is "..", then come the items. */
static void fill_items(struct fill *f, const struct listing *l, off_t off)
{
	const struct similar_node *n = f->directory;
	uint64_t above = n->parent ? n->parent->number : n->number;
	size_t end = l->count;

	if (off == 0 && f->cached && l->count > LONG_LISTING)
		end = FIRST_LINKS;
	if (off == 0 && !fill_name(f, ".", n->number, S_IFDIR, ++off))
		return;
	if (off == 1 && !fill_name(f, "..", above, S_IFDIR, ++off))
		return;
	for (; off >= 2 && (size_t)off - 2 < end; off++)
		if (!fill_item(f, &l->items[off - 2], off + 1))
			return;
}

static void reply_items(fuse_req_t req, fuse_ino_t id, size_t size, off_t off,
			const struct fuse_file_info *fi, bool plus)
{
	struct fill f = {
		.req = req,
		.fs = fs_of(req),
		.directory = node_at(id),
		.plus = plus,
		.size = size,
	};

	f.cached = plus && node_timeout_s(f.fs, f.directory) > 0 &&
		   !inode_stat(f.fs, f.directory->real, &f.real);
	f.data = malloc(size);
	if (!f.data) {
		reply_error(req, -ENOMEM);
		return;
	}
	fill_items(&f, similar_opened(fi), off);
	if (fuse_reply_buf(req, f.data, f.used) == -ENOENT)
		while (f.link_count)
			node_unref(f.fs, f.links[--f.link_count], 1);
	free(f.links);
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

static void release_directory(fuse_req_t req, fuse_ino_t id,
			      struct fuse_file_info *fi)
{
	(void)id;
	similar_close(fs_of(req), fi);
	reply_error(req, 0);
}

/* Whether the state of a kept listing is still valid: it is final, and the
 * listed file has not changed. */
static bool state_holds(struct fs *fs, const struct similar_node *n,
			const struct listing *l)
{
	struct file_digests answer;
	bool fresh;

	if (l->answered && (n->kind == NODE_GROUPS || n->kind == NODE_GROUP))
		return true;
	if (!l->answered || node_ctime(fs, n) != l->listed_ctime_ns)
		return false;
	if (n->kind == NODE_DIRECTORIES)
		return true;
	if (xattr_ask(fs, n->real, 0, &answer))
		return false;
	fresh = answer.state == DIGESTS_FRESH;
	file_digests_release(&answer);
	return fresh;
}

static void get_xattr(fuse_req_t req, fuse_ino_t id, const char *name,
		      size_t size)
{
	struct fs *fs = fs_of(req);
	struct similar_node *n = node_at(id);
	struct listing *l;

	if (!node_has_listing(n) || strcmp(name, STATE) != 0) {
		reply_error(req, -ENODATA);
		return;
	}
	if (!xattr_may_read(req, fs, n->real)) {
		reply_error(req, -EACCES);
		return;
	}
	l = node_kept_listing(fs, n, req);
	if (l && state_holds(fs, n, l))
		similar_reply_state(req, l, size);
	else
		listing_query_state(req, n, size);
	listing_unref(l);
}

/* ---- the table ---- */

const struct fuse_lowlevel_ops similar_ops = {
	.lookup = similar_lookup,
	.getattr = get_attributes,
#if FUSE_VERSION >= 318
	.statx = get_statx,
#endif
	.readlink = read_link,
	.open = open_file,
	.read = read_file,
	.write_buf = write_file,
	.ioctl = handle_ioctl,
	.release = release_file,
	.opendir = open_directory,
	.readdir = read_directory,
	.readdirplus = read_directory_plus,
	.releasedir = release_directory,
	.getxattr = get_xattr,
};
