/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/similar/lookup.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "core/engine/engine.h"
#include "fs/inode/cred.h"
#include "fs/inode/descriptor.h"
#include "fs/fs.h"
#include "fs/inode/inode.h"
#include "fs/log.h"
#include "fs/ops/lookup.h"
#include "fs/ops/reply.h"
#include "fs/similar/listing.h"
#include "fs/similar/listing_query.h"
#include "fs/similar/node.h"
#include "fs/similar/similar.h"

void similar_lookup_root(fuse_req_t req, struct fs *fs)
{
	struct similar_node *n;
	int err;

	inode_ref(fs->root);
	err = node_get(fs, NULL, "", NODE_DIRECTORY, fs->root, NULL, &n);
	if (err)
		reply_error(req, err);
	else
		similar_reply_node(req, fs, n);
}

/* Finds the real file in a mirrored directory, if the caller may search
 * that. */
static int find_real(fuse_req_t req, struct fs *fs, struct similar_node *parent,
		     const char *name, struct inode **out, struct stat *st_out)
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
		err = lookup_find(fs, parent->real, path.fd, name, &e);
	path_fd_close(&path);
	if (err)
		return err;
	*out = inode_of(fs, e.ino);
	*st_out = e.attr;
	return 0;
}

static int lookup_real(fuse_req_t req, struct fs *fs,
		       struct similar_node *parent, const char *name,
		       struct similar_node **out, struct stat *st_out)
{
	struct inode *real;
	int err = find_real(req, fs, parent, name, &real, st_out);

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

/* Whether an item of a kept listing is still valid: the listed file and the
 * item's file have not changed on disk. */
static bool item_holds(fuse_req_t req, struct fs *fs,
		       const struct similar_node *listed,
		       const struct listing *l, const char *name)
{
	const struct listing_item *item = listing_find(l, name);
	struct cred saved;
	bool holds;

	if (item &&
	    (listed->kind == NODE_GROUPS || listed->kind == NODE_ELSEWHERE))
		return true;
	if (!item ||
	    (listed->kind != NODE_GROUP &&
	     node_ctime(fs, listed) != l->listed_ctime_ns) ||
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

static void lookup_link(fuse_req_t req, struct fs *fs,
			struct similar_node *parent, const char *name)
{
	struct listing *l = node_kept_listing(fs, parent, req);

	if (l && item_holds(req, fs, parent, l, name))
		similar_reply_item(req, fs, parent, l, name);
	else
		listing_query_item(req, parent, name);
	listing_unref(l);
}

/* The views of a file or a directory; they are found by name and not listed. */
static const struct {
	enum node_kind parent, view;
	const char *name;
} views[] = {
	{ NODE_FILE, NODE_WITHIN, SIMILAR_WITHIN },
	{ NODE_FILE, NODE_CONTAINS, SIMILAR_CONTAINS },
	{ NODE_FILE, NODE_ALL, SIMILAR_ALL },
	{ NODE_FILE, NODE_SHARES, SIMILAR_SHARES },
	{ NODE_FILE, NODE_ELSEWHERE, SIMILAR_ELSEWHERE },
	{ NODE_DIRECTORY, NODE_DIRECTORIES, SIMILAR_DIRECTORIES },
	{ NODE_DIRECTORY, NODE_GROUPS, SIMILAR_GROUPS },
};

/* The kind of view with that name, or NODE_QUERY; NODE_LINK: neither. */
static enum node_kind view_of(const struct similar_node *parent,
			      const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(views) / sizeof(views[0]); i++)
		if (parent->kind == views[i].parent &&
		    strcmp(name, views[i].name) == 0)
			return views[i].view;
	if (!parent->parent && strcmp(name, SIMILAR_QUERY) == 0)
		return NODE_QUERY;
	return NODE_LINK;
}

/* Warns once only, because users could fill the log otherwise. */
static void warn_of_real(struct fs *fs, const struct similar_node *parent,
			 const char *name)
{
	if (!atomic_exchange(&fs->similar->warned, true))
		log_warning(
			"an entry '%s' in '%s' is real: the view of similar "
			"files of that name is not available there",
			name, parent->parent ? parent->name : "/");
}

/*
 * A real entry of a directory with the name of a view takes precedence over the
 * view, if it is a directory or a regular file.  Below a file nothing is real.
 */
static int lookup_view(fuse_req_t req, struct fs *fs,
		       struct similar_node *parent, const char *name,
		       enum node_kind view, struct similar_node **out)
{
	struct stat st;

	if (parent->kind == NODE_DIRECTORY) {
		int err = lookup_real(req, fs, parent, name, out, &st);

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
	struct similar_node *parent = node_at(parent_id);
	enum node_kind view = view_of(parent, name);
	struct similar_node *n;
	struct stat st;
	int err = -ENOTDIR;

	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0) {
		err = -ESTALE;
	} else if (view == NODE_ELSEWHERE && !cred_owns_mount(fs, req)) {
		err = -ENOENT;
	} else if (view != NODE_LINK) {
		err = lookup_view(req, fs, parent, name, view, &n);
	} else if (node_has_listing(parent)) {
		lookup_link(req, fs, parent, name);
		return;
	} else if (parent->kind == NODE_DIRECTORY) {
		err = lookup_real(req, fs, parent, name, &n, &st);
		if (!err) {
			similar_reply_found(req, fs, n, &st);
			return;
		}
	}
	if (err)
		reply_error(req, err);
	else
		similar_reply_node(req, fs, n);
}
