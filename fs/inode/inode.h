/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FS_INODE_INODE_H
#define FS_INODE_INODE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>

#include "core/base/clock.h"
#include "core/catalog/catalog.h"

struct fs;
struct lock_owner;
struct reopen;

/*
 * The files that the kernel knows, keyed by (st_dev, st_ino).
 *
 * Life.  An inode lives as long as it has references.  Every lookup count of
 * the kernel is one reference, every request that outlives its operation takes
 * another.  Finding an inode and taking a reference is one step under the lock
 * of its shard of the table, so is dropping the last reference and leaving the
 * table.  The nodeid is the address of the inode; its lowest bit is clear.
 *
 * Descriptors.  An inode keeps the O_PATH descriptor it was found with while
 * fewer than a bound are kept (half of RLIMIT_NOFILE; the last quarter of that
 * is for directories).  The number of a file with a descriptor cannot be used
 * again for another one.  Beyond the bound an inode has none, and is opened
 * for each operation: through its file handle where the daemon is root and
 * the filesystem has handles, else by the name it was last seen under.
 * Either way the result must be the same file, or the answer is -ESTALE.
 */

/* What a previous open saw; decides whether cached pages are still good. */
struct open_seen {
	int64_t size;
	int64_t mtime_ns;
	int64_t ctime_ns;  /* 0: nothing */
	int64_t filled_ns; /* directories: when the listing was asked for */
};

/* For how long the kernel was told the attributes of an inode. */
enum watched_kept {
	KEPT_NOT,
	KEPT_SHORT, /* -o timeout */
	KEPT_LONG,  /* WATCHED_TIMEOUT_S */
};

/* An open file or directory: fi->fh. */
struct handle {
	struct handle *next; /* of the same inode; inode_lock() */
	struct handle **link;
	struct inode *inode;       /* holds a reference */
	atomic_int fd;             /* -1: see handle_fd() */
	int flags;                 /* as opened */
	bool passes;               /* see backing.h */
	bool writes;               /* counted in inode->writers */
	struct dir_stream *stream; /* directories only */
};

struct inode {
	struct inode *next; /* in its bucket; shard lock */
	dev_t dev;
	ino_t ino;
	_Atomic uint64_t refs;
	uint64_t generation;   /* never twice in one mount */
	mode_t type;           /* S_IFMT bits */
	int fd;                /* O_PATH, or -1 */
	struct reopen *reopen; /* how to find it when fd is -1 */

	struct handle *handles; /* inode_lock() */
	atomic_uint writers;    /* handles open for writing */
	struct open_seen seen;  /* inode_lock() */

	/* fs/inode/backing.c; inode_lock() */
	int backing_id;      /* 0: none yet, negative: refused */
	unsigned passing;    /* handles that pass through */
	unsigned cached;     /* and that do not */
	atomic_uint mappers; /* passing handles that may map for writing */

	/* security.capability is known to be missing while these are equal;
	 * epoch moves when a new ctime is seen or the attribute is set. */
	atomic_uint caps_epoch;
	atomic_uint caps_none;
	_Atomic int64_t ctime_ns;

	/* The kernel was told its attributes then, and did nothing since that
	 * makes it ask again; 0. */
	_Atomic int64_t notified_ns;
	/* Directories: the last name looked up in it was of a file that was
	 * not known.  A hint. */
	atomic_bool new_names;
	/* Directories: how many names the last listing had, and how many were
	 * looked up one by one since looked_ns.  Hints. */
	atomic_uint listed;
	atomic_uint looked;
	_Atomic int64_t looked_ns;

	_Atomic(struct lock_owner *) owners; /* ops_locks.c */

	/* Of fs/inode/watched.c. */
	struct inode *watched_next; /* in its bucket there */
	_Atomic uint64_t watch_id;  /* 0: it is not in that table */
	atomic_bool told; /* the kernel was told its attributes once */
	atomic_int kept;  /* enum watched_kept: and since the last event */
	atomic_uint names_epoch; /* of a name in it that is kept for long */
	/* How many of those that are listed are kept for long.  A hint. */
	atomic_uint listed_kept;

	/* Of fs/ops/notify.c. */
	struct file_key key; /* valid once key_known */
	atomic_bool key_known;
	atomic_bool flushed;        /* since the last write that was seen */
	_Atomic int64_t noticed_ns; /* the ctime it saw last */
};

/* Within this time of a change another one may leave the same ctime. */
enum { CLOCK_GRAIN_NS = 20000000 };

/* ---- the table ---- */

/* Raises RLIMIT_NOFILE as far as allowed and makes fs->inodes and fs->root.
 * source_fd (O_PATH, directory) is taken on success.  released is called with
 * each inode before it is freed. */
int inodes_open(struct fs *fs, int source_fd,
		void (*released)(struct fs *fs, struct inode *inode));

/* Frees every inode, whatever the kernel still counts. */
void inodes_free(struct fs *fs);

/* Where a file was found. */
struct found {
	int fd; /* O_PATH of the file; taken, also on failure */
	const struct stat *st;
	struct inode *parent;
	int parent_fd;    /* borrowed */
	const char *name; /* "" when it has none */
	bool fresh;       /* a file that was made just now and is open */
};

/* The inode of a found file, with one more reference. */
int inode_enter(struct fs *fs, const struct found *found,
		struct inode **inode_out);

/* The inode of a file that is in the table with a descriptor of its own, so
 * that its number is beyond doubt, with one more reference; else NULL. */
struct inode *inode_find_held(struct fs *fs, dev_t dev, ino_t ino);

/* In the table at all; with one more reference, or NULL. */
struct inode *inode_find(struct fs *fs, dev_t dev, ino_t ino);

/* Its notified_ns, INT64_MAX when its attributes are kept for long, or -1 when
 * it is not in the table: a hint. */
int64_t inode_notified_ns(struct fs *fs, dev_t dev, ino_t ino);

static inline void inode_ref(struct inode *inode)
{
	atomic_fetch_add(&inode->refs, 1);
}

void inode_unref(struct fs *fs, struct inode *inode);
void inode_forget(struct fs *fs, struct inode *inode, uint64_t count);

/* Guards what says inode_lock() above.  Innermost but for the mounts. */
void inode_lock(struct fs *fs, struct inode *inode);
void inode_unlock(struct fs *fs, struct inode *inode);

/* ---- security.capability ---- */

/* The kernel asks for it before every write.  Whether it is known to be
 * missing; and that what moved the ctime since it was is known, too, and did
 * not set it. */
static inline bool inode_has_no_caps(const struct inode *inode)
{
	return atomic_load(&inode->caps_none) ==
	       atomic_load(&inode->caps_epoch);
}

static inline void inode_expect_caps(struct inode *inode)
{
	atomic_fetch_add(&inode->caps_epoch, 1);
}

static inline void inode_keep_no_caps(struct inode *inode)
{
	atomic_store(&inode->caps_none, atomic_load(&inode->caps_epoch));
}

/* For descriptor.c. */
struct reopener *inodes_reopener(struct fs *fs);

#endif
