/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FS_INODE_INODE_H
#define FS_INODE_INODE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>

#include "core/base/clock.h"
#include "core/catalog/catalog.h"

struct fs;
struct lock_owner;
struct reopen;

/*
 * The table of inodes: the files that the kernel knows, by (st_dev, st_ino).
 *
 * Life.  An inode lives as long as it has references.  Every lookup count of
 * the kernel is a reference, and a request that is answered later takes
 * another.  An inode is found and referenced in one step under the lock of its
 * shard of the table.  Dropping the last reference and removing the inode from
 * the table is also one step.  The nodeid is the address of the inode; its
 * lowest bit is clear.
 *
 * Descriptors.  An inode keeps the O_PATH descriptor that it was found with,
 * up to a bound (half of RLIMIT_NOFILE; the last quarter of that is for
 * directories).  While a file has an open descriptor, its inode number is not
 * reused.  Beyond the bound an inode has no descriptor, and its file is opened
 * for each operation: by its file handle if the daemon is root and the
 * filesystem has handles, else by its last known name.  If that leads to
 * another file, the error is -ESTALE.
 */

/* The state of a file at its previous open; cached pages are valid if it is the
 * same. */
struct open_seen {
	int64_t size;
	int64_t mtime_ns;
	int64_t ctime_ns;  /* 0: not known */
	int64_t filled_ns; /* directories: when the listing was read */
};

/* For how long the kernel may cache the attributes that it was sent. */
enum watched_kept {
	KEPT_NOT,
	KEPT_SHORT, /* -o timeout */
	KEPT_LONG,  /* CACHE_LONG_S */
};

/* An open file or directory: fi->fh. */
struct handle {
	LIST_ENTRY(handle) entry;  /* of the same inode; inode_lock() */
	struct inode *inode;       /* holds a reference */
	atomic_int fd;             /* -1: not opened yet, see handle_fd() */
	int flags;                 /* of open() */
	uid_t uid;                 /* who opened it */
	bool passes;               /* passes through, see backing.h */
	bool writes;               /* counted in inode->writers */
	atomic_bool flushed;       /* counted in fs->flushed */
	struct dir_stream *stream; /* directories only */
};

struct inode {
	struct inode *next; /* in its bucket; shard lock */
	dev_t dev;
	ino_t ino;
	_Atomic uint64_t refs;
	uint64_t generation;   /* unique in the mount */
	mode_t type;           /* S_IFMT bits */
	int fd;                /* O_PATH, or -1 */
	struct reopen *reopen; /* how to find it when fd is -1 */

	LIST_HEAD(handle_list, handle) handles; /* inode_lock() */
	atomic_uint writers;                    /* handles open for writing */
	struct open_seen seen;                  /* inode_lock() */

	/* fs/inode/backing.c; inode_lock() */
	int backing_id;      /* 0: none yet, negative: refused */
	unsigned passing;    /* handles that pass through */
	unsigned cached;     /* handles that do not */
	atomic_uint mappers; /* passing handles that may map for writing */

	/* When the attributes were last sent to the kernel; 0: never, or the
	 * kernel has dropped them since. */
	_Atomic int64_t notified_ns;
	/* Directories: the last name looked up was of a file that was not in
	 * the table.  A hint. */
	atomic_bool new_names;
	/* Directories: the number of names in the last listing, and the number
	 * of lookups since lookups_since_ns.  Hints. */
	atomic_uint listed;
	atomic_uint lookups;
	_Atomic int64_t lookups_since_ns;

	/* fs/loop/locks.c; changed with inode_lock() */
	_Atomic(struct lock_owner *) owners;

	/* Used by fs/inode/cache.c. */
	struct inode *watched_next; /* in its bucket */
	_Atomic uint64_t watch_id;  /* 0: not in that table */
	atomic_bool attr_sent;  /* attributes were sent to the kernel before */
	atomic_int kept;        /* enum watched_kept; reset by an event */
	atomic_bool names_kept; /* a name in it was cached for long */
	/* How many of listed are cached for long.  A hint. */
	atomic_uint listed_kept;

	/* Used by fs/ops/notify.c. */
	struct file_key key; /* valid if key_known */
	atomic_bool key_known;
	atomic_bool flushed;         /* since the last write request */
	_Atomic int64_t reported_ns; /* the last ctime reported to the engine */
};

/* Two changes within this time may have the same ctime. */
enum { CLOCK_GRAIN_NS = 20000000 };

/* ---- the table ---- */

/* Raises RLIMIT_NOFILE as far as allowed, and makes fs->inodes and fs->root.
 * Takes source_fd (O_PATH, directory) on success.  released() is called for
 * each inode before it is freed. */
int inodes_open(struct fs *fs, int source_fd,
		void (*released)(struct fs *fs, struct inode *inode));

/* Frees every inode, whatever its references. */
void inodes_free(struct fs *fs);

/* Where a file was found. */
struct found {
	int fd; /* O_PATH of the file; taken, also on failure */
	const struct stat *st;
	struct inode *parent;
	int parent_fd;    /* borrowed */
	const char *name; /* "": it has none */
	bool fresh;       /* the file has just been created and is open */
};

/* Finds or makes the inode of a found file; takes a reference. */
int inode_enter(struct fs *fs, const struct found *found,
		struct inode **inode_out);

/* Finds an inode; takes a reference.  NULL: it is not in the table. */
struct inode *inode_find(struct fs *fs, dev_t dev, ino_t ino);

/* notified_ns of the inode; INT64_MAX: its attributes are cached for long; -1:
 * it is not in the table.  A hint. */
int64_t inode_notified_ns(struct fs *fs, dev_t dev, ino_t ino);

static inline void inode_ref(struct inode *inode)
{
	atomic_fetch_add(&inode->refs, 1);
}

void inode_unref(struct fs *fs, struct inode *inode);
void inode_forget(struct fs *fs, struct inode *inode, uint64_t count);

/* The lock of the inode's shard; guards the fields marked inode_lock(). */
void inode_lock(struct fs *fs, struct inode *inode);
void inode_unlock(struct fs *fs, struct inode *inode);

#endif
