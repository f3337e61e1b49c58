/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/similar.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/engine/engine.h"
#include "fs/cred.h"
#include "fs/listing.h"
#include "fs/log.h"
#include "fs/node.h"
#include "fs/ops.h"
#include "fs/query.h"
#include "fs/similar_ask.h"
#include "fs/xattr_derived.h"
#include "fs/xattr_query.h"

#define STATE "user.kinfs.state"

/* ---- lookup ---- */

bool similar_claims(struct fs *fs, const char *name)
{
	return fs->similar && strcmp(name, fs->options.similar_name) == 0;
}

bool similar_in_listing(struct fs *fs)
{
	return fs->similar && fs->options.similar == SIMILAR_SHOW;
}

uint64_t similar_root_number(struct fs *fs)
{
	return fs->similar->root_number;
}

void similar_lookup_root(fuse_req_t req, struct fs *fs)
{
	struct node *n;
	int err;

	inode_ref(fs->root);
	err = node_get(fs, NULL, "", NODE_DIRECTORY, fs->root, NULL, &n);
	if (err)
		reply_error(req, err);
	else
		similar_reply_node(req, fs, n);
}

/* The real file below a mirrored directory, as the caller may reach it. */
static int find_real(fuse_req_t req, struct fs *fs, struct node *parent,
		     const char *name, struct inode **out)
{
	struct fuse_entry_param e;
	struct path_fd path;
	struct cred saved;
	int err = inode_path_fd(fs, parent->real, &path);

	if (err)
		return err;
	err = cred_assume(fs, req, &saved);
	if (!err) {
		struct stat st;

		err = fstatat(path.fd, name, &st, AT_SYMLINK_NOFOLLOW) ?
			      -errno :
			      0;
		cred_restore(fs, &saved);
	}
	if (!err)
		err = ops_lookup(fs, parent->real, path.fd, name, 0, &e);
	path_fd_close(&path);
	if (!err)
		*out = inode_of(fs, e.ino);
	return err;
}

static int lookup_real(fuse_req_t req, struct fs *fs, struct node *parent,
		       const char *name, struct node **out)
{
	struct inode *real;
	int err = find_real(req, fs, parent, name, &real);

	if (err)
		return err;
	if (!S_ISDIR(real->type) && !S_ISREG(real->type)) {
		inode_unref(fs, real);
		return -ENOENT;
	}
	return node_get(fs, parent, name,
			S_ISDIR(real->type) ? NODE_DIRECTORY : NODE_FILE, real,
			NULL, out);
}

/* A kept listing spares the inquiry, not the look at the disk: the listed file
 * and the one in question are as they were. */
static bool item_holds(fuse_req_t req, struct fs *fs, const struct node *listed,
		       const struct listing *l, const char *name)
{
	const struct item *item = listing_find(l, name);
	struct cred saved;
	bool holds;

	if (!item || node_ctime(fs, listed) != l->listed_ctime_ns ||
	    cred_assume(fs, req, &saved))
		return false;
	if (listed->kind == NODE_DIRECTORIES)
		holds = engine_directory_holds(fs->engine, item->path,
					       &item->key);
	else
		holds = engine_hit_holds(fs->engine, item->path, &item->key,
					 &item->identity);
	cred_restore(fs, &saved);
	return holds;
}

static void lookup_link(fuse_req_t req, struct fs *fs, struct node *parent,
			const char *name)
{
	struct listing *l = node_kept_listing(fs, parent, req);

	if (l && item_holds(req, fs, parent, l, name))
		similar_reply_item(req, fs, parent, l, name);
	else
		similar_ask_item(req, parent, name);
	listing_unref(l);
}

/* What is found below a node by name alone: another view of the same file or
 * directory, or the file for questions; else NODE_LINK. */
static enum node_kind view_of(const struct node *parent, const char *name)
{
	if (parent->kind == NODE_FILE && strcmp(name, WITHIN_NAME) == 0)
		return NODE_WITHIN;
	if (parent->kind == NODE_FILE && strcmp(name, CONTAINS_NAME) == 0)
		return NODE_CONTAINS;
	if (parent->kind == NODE_DIRECTORY &&
	    strcmp(name, DIRECTORIES_NAME) == 0)
		return NODE_DIRECTORIES;
	if (!parent->parent && strcmp(name, QUERY_NAME) == 0)
		return NODE_QUERY;
	return NODE_LINK;
}

/* Once is enough: users could fill the log. */
static void warn_of_real(struct fs *fs, const struct node *parent,
			 const char *name)
{
	if (!atomic_exchange(&fs->similar->warned, true))
		log_line("an entry '%s' in '%s' is real: the view of similar "
			 "files of that name is not to be had there",
			 name, parent->parent ? parent->name : "/");
}

/*
 * A view of a directory does not hide a real entry of its name, as far as the
 * tree mirrors that.  Below a file nothing is real.
 */
static int lookup_view(fuse_req_t req, struct fs *fs, struct node *parent,
		       const char *name, enum node_kind view, struct node **out)
{
	if (parent->kind == NODE_DIRECTORY) {
		int err = lookup_real(req, fs, parent, name, out);

		if (!err)
			warn_of_real(fs, parent, name);
		if (err != -ENOENT)
			return err;
	}
	inode_ref(parent->real);
	return node_get(fs, parent, name, view, parent->real, NULL, out);
}

void similar_lookup(fuse_req_t req, fuse_ino_t parent_id, const char *name)
{
	struct fs *fs = fs_of(req);
	struct node *parent = node_at(parent_id), *n;
	enum node_kind view = view_of(parent, name);
	int err = -ENOTDIR;

	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0) {
		err = -ESTALE;
	} else if (view != NODE_LINK) {
		err = lookup_view(req, fs, parent, name, view, &n);
	} else if (node_lists_links(parent)) {
		lookup_link(req, fs, parent, name);
		return;
	} else if (parent->kind == NODE_DIRECTORY) {
		err = lookup_real(req, fs, parent, name, &n);
	}
	if (err)
		reply_error(req, err);
	else
		similar_reply_node(req, fs, n);
}

void similar_forget(struct fs *fs, fuse_ino_t id, uint64_t count)
{
	node_unref(fs, node_at(id), count);
}

/* ---- the other operations ---- */

int similar_stat(struct fs *fs, fuse_ino_t id, struct stat *out)
{
	return node_stat(fs, node_at(id), out);
}

void similar_readlink(fuse_req_t req, fuse_ino_t id)
{
	const struct node *n = node_at(id);

	if (n->kind != NODE_LINK)
		reply_error(req, -EINVAL);
	else if (strlen(n->target) >= PATH_MAX)
		reply_error(req, -ENAMETOOLONG);
	else
		fuse_reply_readlink(req, n->target);
}

void similar_open_file(fuse_req_t req, fuse_ino_t id, struct fuse_file_info *fi)
{
	enum node_kind kind = node_at(id)->kind;

	if (kind == NODE_QUERY)
		query_open(req, fs_of(req), fi);
	else
		reply_error(req, kind == NODE_LINK ? -ELOOP : -EISDIR);
}

void similar_read(fuse_req_t req, fuse_ino_t id, size_t size,
		  struct fuse_file_info *fi)
{
	if (node_at(id)->kind == NODE_QUERY)
		query_read(req, size, fi);
	else
		reply_error(req, -EBADF);
}

void similar_write(fuse_req_t req, fuse_ino_t id, struct fuse_bufvec *in,
		   struct fuse_file_info *fi)
{
	if (node_at(id)->kind == NODE_QUERY)
		query_write(req, in, fi);
	else
		reply_error(req, -EBADF);
}

void similar_ioctl(fuse_req_t req, fuse_ino_t id, unsigned command,
		   const void *in, size_t in_size, struct fuse_file_info *fi)
{
	if (node_at(id)->kind != NODE_QUERY ||
	    !query_ioctl(req, command, in, in_size, fi))
		reply_error(req, -ENOTTY);
}

void similar_release(fuse_req_t req, fuse_ino_t id, struct fuse_file_info *fi)
{
	if (node_at(id)->kind == NODE_QUERY)
		query_release(fs_of(req), fi);
	reply_error(req, 0);
}

void similar_opendir(fuse_req_t req, fuse_ino_t id, struct fuse_file_info *fi)
{
	struct node *n = node_at(id);

	if (n->kind == NODE_LINK || n->kind == NODE_QUERY)
		reply_error(req, -ENOTDIR);
	else
		similar_ask_opened(req, n, fi);
}

struct fill {
	fuse_req_t req;
	bool plus;
	char *data;
	size_t size, used;
};

/* False when it does not fit. */
static bool fill_add(struct fill *f, const char *name, const struct stat *st,
		     off_t next)
{
	char *at = f->data + f->used;
	size_t room = f->size - f->used, need;
	struct fuse_entry_param e = { .attr = *st };

	/* Node 0: no lookup is counted, the kernel asks when it wants one. */
	need = f->plus ? fuse_add_direntry_plus(f->req, at, room, name, &e,
						next) :
			 fuse_add_direntry(f->req, at, room, name, st, next);
	if (need > room)
		return false;
	f->used += need;
	return true;
}

/* Offsets: 0 is ".", 1 is "..", the items follow. */
static void fill_items(struct fill *f, const struct node *n,
		       const struct listing *l, off_t off)
{
	struct stat st = { .st_ino = n->number, .st_mode = S_IFDIR };

	if (off == 0 && !fill_add(f, ".", &st, ++off))
		return;
	if (n->parent)
		st.st_ino = n->parent->number;
	if (off == 1 && !fill_add(f, "..", &st, ++off))
		return;
	for (; off >= 2 && (size_t)off - 2 < l->count; off++) {
		const struct item *item = &l->items[off - 2];

		st.st_ino = node_number_below(n->number, item->name);
		st.st_mode = item->target ? S_IFLNK : S_IFDIR;
		if (!fill_add(f, item->name, &st, off + 1))
			return;
	}
}

static void reply_items(fuse_req_t req, fuse_ino_t id, size_t size, off_t off,
			const struct fuse_file_info *fi, bool plus)
{
	struct fill f = { .req = req, .plus = plus, .size = size };

	f.data = malloc(size);
	if (!f.data) {
		reply_error(req, -ENOMEM);
		return;
	}
	fill_items(&f, node_at(id), similar_opened(fi), off);
	fuse_reply_buf(req, f.data, f.used);
	free(f.data);
}

void similar_readdir(fuse_req_t req, fuse_ino_t id, size_t size, off_t off,
		     struct fuse_file_info *fi)
{
	reply_items(req, id, size, off, fi, false);
}

void similar_readdirplus(fuse_req_t req, fuse_ino_t id, size_t size, off_t off,
			 struct fuse_file_info *fi)
{
	reply_items(req, id, size, off, fi, true);
}

void similar_releasedir(fuse_req_t req, fuse_ino_t id,
			struct fuse_file_info *fi)
{
	(void)id;
	similar_close(fs_of(req), fi);
	reply_error(req, 0);
}

/* Whether the state of a kept listing is still right: no reason that may have
 * gone by now, and none that came. */
static bool state_holds(struct fs *fs, const struct node *n,
			const struct listing *l)
{
	struct engine_answer answer;
	bool fresh;

	if (!l->answered || node_ctime(fs, n) != l->listed_ctime_ns)
		return false;
	if (n->kind == NODE_DIRECTORIES)
		return true;
	if (xattr_ask(fs, n->real, &answer))
		return false;
	fresh = answer.state == ENGINE_FRESH;
	engine_answer_release(&answer);
	return fresh;
}

void similar_getxattr(fuse_req_t req, fuse_ino_t id, const char *name,
		      size_t size)
{
	struct fs *fs = fs_of(req);
	struct node *n = node_at(id);
	struct listing *l;

	if (!node_lists_links(n) || strcmp(name, STATE) != 0) {
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
		similar_ask_state(req, n, size);
	listing_unref(l);
}

void similar_listxattr(fuse_req_t req, fuse_ino_t id, size_t size)
{
	(void)id;
	xattr_reply(req, "", 0, size);
}

/* ---- life ---- */

int similar_open(struct fs *fs)
{
	struct similar *s;
	int err;

	if (fs->options.similar == SIMILAR_OFF)
		return 0;
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	err = -pthread_mutex_init(&s->lock, NULL);
	if (err) {
		free(s);
		return err;
	}
	s->queries.most = QUERIES_MAX;
	s->root_number = node_number_below(1, fs->options.similar_name);
	fs->similar = s;
	return 0;
}

void similar_free(struct fs *fs)
{
	struct similar *s = fs->similar;

	if (!s)
		return;
	opened_close_all(fs);
	node_free_all(fs);
	pthread_mutex_destroy(&s->lock);
	free(s);
	fs->similar = NULL;
}
