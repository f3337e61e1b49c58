/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FS_FS_H
#define FS_FS_H

#include <fuse_lowlevel.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "core/search/credentials.h"
#include "fs/inode/inode.h"
#include "fs/options.h"

struct engine;
struct reopener;
struct loop;
struct similar;
struct watch;
struct watched;

/*
 * The mount: SOURCE shown through FUSE, with digests as extended attributes
 * and near-duplicates as the virtual tree (fs/similar/similar.h).
 *
 * loop/ receives requests from the kernel; ops/ answers them, and leaves those on
 * a node of the virtual tree to similar/; inode/ has the table of inodes that the
 * kernel knows, and opens their files; the files of this folder start, configure
 * and stop the mount.
 *
 * struct inode is a file of SOURCE that the kernel knows; struct handle is an
 * open file (inode.h).  Helpers return 0 or a negative errno; the operation
 * replies once.  A request that needs the engine is parked (struct park,
 * reply.h): the thread that has the answer replies, or the handler of an
 * interrupt does.  A request that waits for a file lock keeps its thread.
 *
 * Layers; each calls only those before it (lint: circles):
 *   log, reply, protocol, loop, cred, reopen
 *   inode; descriptor, backing, mapped; cache, names
 *   notify, xattr_query; lookup, metadata_change, xattr_derived,
 *   behind
 *   similar/; locks, ops_*; ops; serve; main
 *
 * Lock order, outermost first: names (reopen.c), the table of watched inodes
 * (cache.c), the lock of one shard of the inode table (inode_lock() takes it
 * too), the list of mounts below SOURCE (reopen.c).
 *
 * It must never happen that a lock is held while a reply is sent; that a
 * request or an inode is used after the reply, because it may be freed by then;
 * that a thread of the loop waits for hashing; or that a reply is ENOSYS,
 * because the kernel would never send a request of that kind again.
 *
 * struct fs is one mount.  Its fields are set before the first request and
 * constant from then on, unless their comments say otherwise.
 */
struct fs {
	struct options options;
	struct fuse_session *session;
	struct loop *loop;     /* fs/loop/loop.h */
	struct engine *engine; /* NULL before it is opened */
	/* core/extract/client.h; NULL: no texts are made */
	struct extract_client *texts;
	struct similar *similar; /* fs/similar; NULL with similar=off */
	struct mapped *mapped;   /* fs/inode/backing.h */
	/* core/watch and fs/inode/cache.h; NULL where changes behind the
	 * mount are not reported. */
	struct watch *watch;
	struct watched *watched;
	struct names *names; /* fs/inode/cache.h; NULL without watched */
	/* Below SOURCE; used by the thread of fs/ops/behind.c only. */
	struct mount_points {
		const char **paths; /* relative to SOURCE */
		size_t count;
	} points;

	/* Set in init(); cleared at the end, and when the kernel refuses it. */
	atomic_bool passthrough;
	/* enum metadata_change_times, of SOURCE's filesystem */
	atomic_int metadata_change_times;
	bool killpriv; /* the daemon clears setuid bits; set in init() */
	bool can_expire_names;  /* see protocol_expire_name() */
	bool root_user;         /* the daemon is root; see fs/inode/cred.h */
	struct credentials own; /* of the daemon */

	char *source; /* absolute, without symbolic links */
	char *mountpoint;
	char mounted_device[32]; /* MAJOR:MINOR; "": not known, or detached */
	dev_t device;            /* st_dev of SOURCE */
	struct inode *root;      /* SOURCE; nodeid FUSE_ROOT_ID */
	struct inode_table *inodes;
	struct reopener *reopener; /* fs/inode/descriptor.h */

	struct unmounter {
		pid_t pid; /* 0: there is none */
		int fd;    /* its standard input */
	} unmounter;       /* see sandbox_prepare() */

	atomic_bool
		had_requests; /* set by each request, cleared by the engine */
	atomic_uint flushed;  /* handles for writing that may be closed soon */
	atomic_bool ready;    /* init() was called */
	void (*report)(struct fs *fs); /* called by init(), may be NULL */
	int ready_pipe;
};

/* ---- check.c: before the mount; 0 or a negative errno after a message ---- */

/* Checks SOURCE and the mount point; opens SOURCE (O_PATH) and sets fs->source
 * and fs->mountpoint. */
int check_places(struct fs *fs, int *source_fd_out);

/* Checks the directory of the catalog, and makes it if it is missing.  The
 * caller frees *directory_out. */
int check_catalog(struct fs *fs, int source_fd, char **directory_out);

/* ---- serve.c ---- */

/* Mounts, and serves requests until the filesystem is unmounted or a signal
 * comes.  Returns the exit status of the program; not 0: after a message.  Takes
 * source_fd. */
int serve(struct fs *fs, int source_fd, const char *catalog_dir);

/* ---- sandbox.c ---- */

/*
 * Restricts the daemon before it serves.
 *
 * The daemon parses contents and requests of other users, so a bug in it must
 * give an attacker as little as possible.  The daemon keeps only capabilities
 * that filesystem operations need.  It cannot execute programs, gain
 * privileges, use the network, trace processes, mount, load modules or leave a
 * core dump.  Refused system calls fail with EPERM.
 *
 * An ordinary user needs the set-user-ID program fusermount3 to unmount, which
 * the daemon cannot execute any more.  So a shell is started before, the
 * unmounter.  It waits for a line, then it executes fusermount3.  If the daemon
 * dies, the shell ends without that.
 */

/* Starts the unmounter; called before the mount. */
void sandbox_prepare(struct fs *fs);

/* Enters the sandbox; called after the mount, before any thread is started.
 * Restrictions that the kernel refuses are logged and left out. */
void sandbox_enter(const struct fs *fs);

/* Ends the unmounter, after it has unmounted if unmount is true. */
void sandbox_end_unmounter(struct fs *fs, bool unmount);

/* Whether the filesystem is still mounted.  Called before libfuse closes its
 * descriptor. */
bool sandbox_is_attached(const struct fs *fs);

/* ---- log.c ---- */

/*
 * Messages: "kinfs: ..." on standard error, or in the system's log after
 * log_to_syslog().  log_line() is for errors, log_warning() for problems in
 * spite of which the mount goes on.  Thread-safe.
 */
void log_line(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_warning(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* priority: one of syslog(3). */
void log_line_v(int priority, const char *format, va_list args)
	__attribute__((format(printf, 2, 0)));

void log_to_syslog(void);

/* ---- requests ---- */

static inline struct fs *fs_of(fuse_req_t req)
{
	return fuse_req_userdata(req);
}

/* The inode of a nodeid that is not of the virtual tree. */
static inline struct inode *inode_of(const struct fs *fs, fuse_ino_t node)
{
	return node == FUSE_ROOT_ID ? fs->root : (struct inode *)node;
}

static inline fuse_ino_t node_of(const struct fs *fs, const struct inode *inode)
{
	return inode == fs->root ? FUSE_ROOT_ID : (fuse_ino_t)inode;
}

#endif
