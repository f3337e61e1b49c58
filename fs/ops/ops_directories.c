/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/ops/ops.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/search/search.h"
#include "fs/similar/similar.h"
#include "fs/inode/cache.h"
#include "fs/inode/cred.h"
#include "fs/inode/descriptor.h"
#include "fs/ops/reply.h"

/*
 * Directory offsets are those of the filesystem below.  A reply has as many
 * entries as fit into the kernel's buffer.  The next request usually begins at
 * the offset of the last entry, so entries that were read ahead are kept, as
 * long as the user may hold more memory (core/search/search.h).
 *
 * The entry of the virtual tree, if it is shown, comes first, with an offset
 * that no filesystem uses.
 */
#define STREAM_BYTES 32768
#define ENTRY_PLUS_BYTES 128 /* no entry with attributes is smaller */
#define SIMILAR_OFFSET ((off_t)0x7ffffffffffffffe)

struct dir_stream {
	pthread_mutex_t lock; /* everything here */
	off_t at;             /* offset of the entry at used */
	size_t used;
	size_t filled;
	char *entries; /* STREAM_BYTES; NULL: none are kept */
	struct search_held held;
};

static void stream_drop(struct dir_stream *s)
{
	free(s->entries);
	s->entries = NULL;
	search_held_release(&s->held);
}

/* Keeps entries that were not sent yet, if there are any. */
static void stream_end(struct dir_stream *s, uid_t uid)
{
	bool has_more = s->used < s->filled;

	if (has_more &&
	    (s->held.bytes || !search_hold(&s->held, uid, STREAM_BYTES)))
		return;
	stream_drop(s);
	if (has_more)
		s->at = -1; /* to be read once more */
	s->used = s->filled = 0;
}

/* ---- filling the kernel's buffer ---- */

struct filling {
	fuse_req_t req;
	struct fs *fs;
	struct handle *h;
	bool plus;
	char *data;
	size_t used;
	size_t size;
	/* For readdirplus. */
	int64_t since_ns; /* attributes sent after this are not repeated */
	struct inode **counted; /* inodes whose lookup was counted */
	size_t count;
};

static bool is_dots(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

static bool entry_fits(const struct filling *f, const char *name)
{
	size_t need =
		f->plus ?
			fuse_add_direntry_plus(f->req, NULL, 0, name, NULL, 0) :
			fuse_add_direntry(f->req, NULL, 0, name, NULL, 0);

	return need <= f->size - f->used;
}

static void entry_put(struct filling *f, const char *name,
		      const struct fuse_entry_param *e, off_t next)
{
	char *to = f->data + f->used;
	size_t room = f->size - f->used;

	f->used += f->plus ? fuse_add_direntry_plus(f->req, to, room, name, e,
						    next) :
			     fuse_add_direntry(f->req, to, room, name, &e->attr,
					       next);
}

/* Looks up the entry for readdirplus; false: its attributes were sent recently,
 * or it is gone.  Most programs stat the names that they have read, and some
 * before. */
static bool add_attributes(const struct filling *f, const struct dirent64 *d,
			   struct fuse_entry_param *out)
{
	struct inode *dir = f->h->inode;
	int64_t notified_ns;

	if (!f->plus || is_dots(d->d_name))
		return false;
	notified_ns = inode_notified_ns(f->fs, dir->dev, d->d_ino);
	if (notified_ns == INT64_MAX)
		atomic_fetch_add(&dir->listed_kept, 1);
	return notified_ns < f->since_ns &&
	       lookup_name(f->fs, dir, f->h->fd, d->d_name, notified_ns >= 0,
			   out) == 0;
}

/* Adds an entry, which fits; so a counted lookup is never undone.  An entry
 * without attributes has its number and type. */
static void put_entry(struct filling *f, const struct dirent64 *d)
{
	struct inode *dir = f->h->inode;
	struct fuse_entry_param e;
	ino_t ino = d->d_ino;

	if (!is_dots(d->d_name))
		atomic_fetch_add(&dir->listed, 1);
	if (add_attributes(f, d, &e)) {
		f->counted[f->count++] = inode_of(f->fs, e.ino);
	} else {
		if (dir == f->fs->root && strcmp(d->d_name, "..") == 0)
			ino = dir->ino; /* the parent of SOURCE is not shown */
		memset(&e, 0, sizeof(e));
		e.attr.st_ino = lookup_number(f->fs, dir->dev, ino);
		e.attr.st_mode = (mode_t)d->d_type << 12;
	}
	entry_put(f, d->d_name, &e, d->d_off);
}

/* The caller holds the lock of the stream. */
static int fill_from(struct filling *f, off_t off)
{
	bool is_root = f->h->inode == f->fs->root;
	struct dir_stream *s = f->h->stream;
	const struct dirent64 *d;
	ssize_t len;

	if (off == 0 || off != s->at) {
		off_t to = off == SIMILAR_OFFSET ? 0 : off;

		if (lseek(f->h->fd, to, SEEK_SET) < 0)
			return -errno;
		s->at = to;
		s->used = s->filled = 0;
	}
	if (off == 0 && is_root && similar_in_listing(f->fs)) {
		const char *name = f->fs->options.similar_name;
		const struct fuse_entry_param e = {
			.attr = { .st_ino = similar_root_number(f->fs),
				  .st_mode = S_IFDIR },
		};

		if (!entry_fits(f, name))
			return 0;
		entry_put(f, name, &e, SIMILAR_OFFSET);
	}
	for (;; s->at = d->d_off, s->used += d->d_reclen) {
		if (s->used == s->filled) {
			len = getdents64(f->h->fd, s->entries, STREAM_BYTES);
			if (len <= 0)
				return len < 0 && !f->used ? -errno : 0;
			s->used = 0;
			s->filled = (size_t)len;
		}
		d = (const void *)(s->entries + s->used);
		if (is_root && similar_claims(f->fs, FUSE_ROOT_ID, d->d_name))
			continue;
		if (!entry_fits(f, d->d_name))
			return 0;
		put_entry(f, d);
	}
}

static void read_directory(fuse_req_t req, size_t size, off_t off,
			   struct fuse_file_info *fi, bool plus)
{
	struct fs *fs = fs_of(req);
	struct filling f = {
		.req = req,
		.fs = fs,
		.h = handle_of(fi),
		.plus = plus,
		.data = malloc(size),
		.size = size,
		.since_ns = cache_recent_ns(fs),
		.counted = calloc(size / ENTRY_PLUS_BYTES + 1,
				  sizeof(struct inode *)),
	};
	int err = f.data && f.counted ? handle_fd(f.h) : -ENOMEM;

	if (err >= 0) {
		pthread_mutex_lock(&f.h->stream->lock);
		if (!f.h->stream->entries)
			f.h->stream->entries = malloc(STREAM_BYTES);
		err = f.h->stream->entries ? fill_from(&f, off) : -ENOMEM;
		stream_end(f.h->stream, f.h->uid);
		pthread_mutex_unlock(&f.h->stream->lock);
	}
	if (err)
		reply_error(req, err);
	else if (fuse_reply_buf(req, f.data, f.used) == -ENOENT)
		while (f.count) { /* interrupted: drops the lookup counts */
			struct inode *inode = f.counted[--f.count];

			atomic_store(&inode->attr_sent, false);
			inode_unref(fs, inode);
		}
	free(f.data);
	free(f.counted);
}

void ops_readdir(fuse_req_t req, fuse_ino_t node, size_t size, off_t off,
		 struct fuse_file_info *fi)
{
	if (similar_is_node(node))
		similar_ops.readdir(req, node, size, off, fi);
	else
		read_directory(req, size, off, fi, false);
}

void ops_readdirplus(fuse_req_t req, fuse_ino_t node, size_t size, off_t off,
		     struct fuse_file_info *fi)
{
	if (similar_is_node(node))
		similar_ops.readdirplus(req, node, size, off, fi);
	else
		read_directory(req, size, off, fi, true);
}

/* ---- opening and closing ---- */

/* With the caller's credentials, as the kernel has checked permissions that it
 * remembers. */
static int open_as_caller(fuse_req_t req, struct inode *inode)
{
	struct fs *fs = fs_of(req);
	int at = inode_fd(fs, inode), fd = -1, err = at;

	if (at >= 0) {
		err = cred_assume(fs, req);
		if (!err) {
			err = fd = directory_reopen(at);
			if (err < 0 && cred_raise(fs, req, err, at))
				err = fd = directory_reopen(at);
			cred_restore(fs, req);
		}
	}
	inode_fd_close(inode, at);
	return err < 0 ? err : fd;
}

static int handle_new(fuse_req_t req, struct inode *inode,
		      struct handle **handle_out)
{
	struct fs *fs = fs_of(req);
	struct handle *h = calloc(1, sizeof(*h));
	struct dir_stream *s = calloc(1, sizeof(*s));
	uid_t uid = fuse_req_ctx(req)->uid;
	int err = h && s ? share_take(uid) : -ENOMEM, fd = -1;

	/* For root the directory is opened only when it is read: the kernel
	 * often uses its cached listing. */
	if (!err && !(fs->root_user && inode->fd >= 0 && uid == 0)) {
		fd = open_as_caller(req, inode);
		err = fd < 0 ? fd : 0;
		if (err)
			share_give(uid);
	}
	if (err) {
		free(s);
		free(h);
		return err;
	}
	pthread_mutex_init(&s->lock, NULL);
	h->fd = fd;
	h->uid = uid;
	h->stream = s;
	handle_attach(fs, inode, h);
	*handle_out = h;
	return 0;
}

static void handle_close(struct fs *fs, struct handle *h)
{
	handle_detach(fs, h);
	if (h->fd >= 0)
		close(h->fd);
	stream_drop(h->stream);
	pthread_mutex_destroy(&h->stream->lock);
	free(h->stream);
	free(h);
}

void ops_opendir(fuse_req_t req, fuse_ino_t node, struct fuse_file_info *fi)
{
	struct fs *fs = fs_of(req);
	struct handle *h;
	struct stat st;
	int err;

	if (similar_is_node(node)) {
		similar_ops.opendir(req, node, fi);
		return;
	}
	err = handle_new(req, inode_of(fs, node), &h);
	if (err) {
		reply_error(req, err);
		return;
	}
	if (fs->options.timeout_s > 0 &&
	    fstat(h->fd >= 0 ? h->fd : h->inode->fd, &st) == 0) {
		fi->cache_readdir = 1;
		fi->keep_cache = cache_keeps_listing(fs, h->inode, &st);
	}
	fi->fh = (uint64_t)(uintptr_t)h;
	if (fuse_reply_open(req, fi) == -ENOENT)
		handle_close(fs, h); /* interrupted */
}

void ops_releasedir(fuse_req_t req, fuse_ino_t node, struct fuse_file_info *fi)
{
	if (similar_is_node(node)) {
		similar_ops.releasedir(req, node, fi);
		return;
	}
	handle_close(fs_of(req), handle_of(fi));
	reply_error(req, 0);
}
