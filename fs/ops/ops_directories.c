/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/ops/ops.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "fs/inode/backing.h"
#include "fs/similar/similar.h"
#include "fs/inode/cache.h"
#include "fs/inode/descriptor.h"
#include "fs/ops/lookup.h"
#include "fs/inode/reopen.h"
#include "fs/ops/reply.h"

/*
 * Directory offsets are those of the filesystem below.  A reply has as many
 * entries as fit into the kernel's buffer.  The next request usually begins at
 * the offset of the last entry, so entries that were read ahead are kept.
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
	char entries[STREAM_BYTES] __attribute__((aligned(8)));
};

/* ---- the stream ---- */

static int stream_seek(struct handle *h, off_t off)
{
	struct dir_stream *s = h->stream;

	if (off != 0 && off == s->at)
		return 0;
	if (off == SIMILAR_OFFSET)
		off = 0;
	if (lseek(h->fd, off, SEEK_SET) < 0)
		return -errno;
	s->at = off;
	s->used = 0;
	s->filled = 0;
	return 0;
}

/* The present entry; *out is NULL at the end. */
static int stream_peek(struct handle *h, const struct dirent64 **out)
{
	struct dir_stream *s = h->stream;
	ssize_t len;

	*out = NULL;
	if (s->used == s->filled) {
		len = getdents64(h->fd, s->entries, sizeof(s->entries));
		if (len < 0)
			return -errno;
		s->used = 0;
		s->filled = (size_t)len;
	}
	if (s->used < s->filled)
		*out = (const void *)(s->entries + s->used);
	return 0;
}

static void stream_skip(struct dir_stream *s, const struct dirent64 *d)
{
	s->at = d->d_off;
	s->used += d->d_reclen;
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

/* An entry without a lookup: its number and type. */
static void entry_plain(const struct filling *f, const struct dirent64 *d,
			struct fuse_entry_param *e)
{
	const struct inode *dir = f->h->inode;
	ino_t ino = d->d_ino;

	if (dir == f->fs->root && strcmp(d->d_name, "..") == 0)
		ino = dir->ino; /* the parent of SOURCE is not shown */
	memset(e, 0, sizeof(*e));
	e->attr.st_ino = lookup_number(f->fs, dir->dev, ino);
	e->attr.st_mode = (mode_t)d->d_type << 12;
}

static size_t entry_size(const struct filling *f, const char *name)
{
	if (f->plus)
		return fuse_add_direntry_plus(f->req, NULL, 0, name, NULL, 0);
	return fuse_add_direntry(f->req, NULL, 0, name, NULL, 0);
}

static void entry_put(struct filling *f, const char *name,
		      const struct fuse_entry_param *e, off_t next)
{
	char *to = f->data + f->used;
	size_t room = f->size - f->used;

	if (f->plus)
		f->used +=
			fuse_add_direntry_plus(f->req, to, room, name, e, next);
	else
		f->used += fuse_add_direntry(f->req, to, room, name, &e->attr,
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
 * that is gone by now is added without attributes. */
static void put_entry(struct filling *f, const struct dirent64 *d)
{
	struct fuse_entry_param e;

	if (!is_dots(d->d_name))
		atomic_fetch_add(&f->h->inode->listed, 1);
	if (add_attributes(f, d, &e))
		f->counted[f->count++] = inode_of(f->fs, e.ino);
	else
		entry_plain(f, d, &e);
	entry_put(f, d->d_name, &e, d->d_off);
}

static bool entry_fits(const struct filling *f, const char *name)
{
	return entry_size(f, name) <= f->size - f->used;
}

/* Adds the entry of the virtual tree; false: it does not fit. */
static bool fill_similar(struct filling *f)
{
	const char *name = f->fs->options.similar_name;
	struct fuse_entry_param e;

	if (!entry_fits(f, name))
		return false;
	memset(&e, 0, sizeof(e));
	e.attr.st_ino = similar_root_number(f->fs);
	e.attr.st_mode = S_IFDIR;
	entry_put(f, name, &e, SIMILAR_OFFSET);
	return true;
}

static bool is_hidden(const struct filling *f, const char *name)
{
	return f->h->inode == f->fs->root &&
	       similar_claims(f->fs, FUSE_ROOT_ID, name);
}

static int fill_lower(struct filling *f)
{
	for (;;) {
		const struct dirent64 *d;
		int err = stream_peek(f->h, &d);

		if (err)
			return f->used ? 0 : err;
		if (!d)
			return 0;
		if (!is_hidden(f, d->d_name)) {
			if (!entry_fits(f, d->d_name))
				return 0;
			put_entry(f, d);
		}
		stream_skip(f->h->stream, d);
	}
}

static int fill_from(struct filling *f, off_t off)
{
	int err = stream_seek(f->h, off);

	if (err)
		return err;
	if (off == 0 && f->h->inode == f->fs->root &&
	    similar_in_listing(f->fs) && !fill_similar(f))
		return 0;
	return fill_lower(f);
}

/* ---- replying ---- */

/* The reply did not reach the kernel: drops the lookup counts. */
static void drop_counted(const struct filling *f)
{
	for (size_t i = 0; i < f->count; i++) {
		atomic_store(&f->counted[i]->attr_sent, false);
		inode_unref(f->fs, f->counted[i]);
	}
}

static int fill_locked(struct filling *f, off_t off)
{
	int err = handle_fd(f->fs, f->h);

	if (err < 0)
		return err;
	pthread_mutex_lock(&f->h->stream->lock);
	err = fill_from(f, off);
	pthread_mutex_unlock(&f->h->stream->lock);
	return err;
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
	int err = f.data && f.counted ? fill_locked(&f, off) : -ENOMEM;

	if (err)
		reply_error(req, err);
	else if (fuse_reply_buf(req, f.data, f.used) == -ENOENT)
		drop_counted(&f); /* interrupted */
	free(f.data);
	free(f.counted);
}

void ops_readdir(fuse_req_t req, fuse_ino_t node, size_t size, off_t off,
		 struct fuse_file_info *fi)
{
	(void)node;
	read_directory(req, size, off, fi, false);
}

void ops_readdirplus(fuse_req_t req, fuse_ino_t node, size_t size, off_t off,
		     struct fuse_file_info *fi)
{
	(void)node;
	read_directory(req, size, off, fi, true);
}

/* ---- the kernel's cache of listings ---- */

static void allow_cache(struct fs *fs, const struct handle *h,
			struct fuse_file_info *fi)
{
	struct stat st;

	if (fs->options.timeout_s <= 0 ||
	    fstat(h->fd >= 0 ? h->fd : h->inode->fd, &st) != 0)
		return;
	fi->cache_readdir = 1;
	fi->keep_cache = cache_keeps_listing(fs, h->inode, &st);
}

/* ---- opening and closing ---- */

/* Whether the directory is opened only when it is read: the kernel has checked
 * permissions, and often uses its cached listing. */
static bool opens_when_read(const struct fs *fs, const struct inode *inode)
{
	return fs->root_user && inode->fd >= 0;
}

static int open_now(struct fs *fs, struct inode *inode)
{
	struct path_fd p;
	int fd = inode_path_fd(fs, inode, &p);

	if (fd)
		return fd;
	fd = directory_reopen(p.fd);
	path_fd_close(&p);
	return fd;
}

static struct dir_stream *stream_new(void)
{
	struct dir_stream *s = malloc(sizeof(*s));

	if (!s)
		return NULL;
	pthread_mutex_init(&s->lock, NULL);
	s->at = 0;
	s->used = 0;
	s->filled = 0;
	return s;
}

static void stream_free(struct dir_stream *s)
{
	pthread_mutex_destroy(&s->lock);
	free(s);
}

static int handle_new(struct fs *fs, struct inode *inode,
		      struct handle **handle_out)
{
	struct handle *h = calloc(1, sizeof(*h));
	struct dir_stream *s = stream_new();
	int err = h && s ? 0 : -ENOMEM;
	int fd = -1;

	if (!err && !opens_when_read(fs, inode)) {
		fd = open_now(fs, inode);
		err = fd < 0 ? fd : 0;
	}
	if (err) {
		if (s)
			stream_free(s);
		free(h);
		return err;
	}
	h->fd = fd;
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
	stream_free(h->stream);
	free(h);
}

void ops_opendir(fuse_req_t req, fuse_ino_t node, struct fuse_file_info *fi)
{
	struct fs *fs = fs_of(req);
	struct handle *h;
	int err = handle_new(fs, inode_of(fs, node), &h);

	if (err) {
		reply_error(req, err);
		return;
	}
	allow_cache(fs, h, fi);
	fi->fh = (uint64_t)(uintptr_t)h;
	if (fuse_reply_open(req, fi) == -ENOENT)
		handle_close(fs, h); /* interrupted */
}

void ops_releasedir(fuse_req_t req, fuse_ino_t node, struct fuse_file_info *fi)
{
	(void)node;
	handle_close(fs_of(req), handle_of(fi));
	reply_error(req, 0);
}
