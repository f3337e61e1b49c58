/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FS_LOOP_LOOP_H
#define FS_LOOP_LOOP_H

#include <fuse_lowlevel.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

struct fs;
struct handle;
struct inode;

/*
 * The threads that answer requests.
 *
 * The kernel gives a request to the thread that has waited longest, so each
 * thread more makes the processor's caches colder: on one processor, creating a
 * file takes 8 % longer with ten threads than with two.  With several processors
 * a few more threads are better, so that one always waits for a request.  A
 * thread is stuck if it has worked on a request for a millisecond, because it
 * waits for a disk, a network, a lease or a lock below.  For each stuck thread
 * another one is started; surplus threads end when none has been stuck for ten
 * seconds.  (libfuse's loop starts a thread whenever none waits, and ends surplus
 * threads at once: on average half a thread for each new file.)  How many threads
 * one user may have stuck is bounded (callers.h).  A stuck request that its caller
 * gives up is interrupted, as the caller's own system call would be.
 */

/* Makes fs->loop. */
int loop_open(struct fs *fs);
/* Called when no thread uses it any more. */
void loop_free(struct fs *fs);

/* Answers requests until the filesystem is unmounted or a signal comes.  The
 * signals of fuse_set_signal_handlers() are blocked; while_waiting is the
 * signal mask with which the calling thread waits.  mounts: /proc/self/mountinfo,
 * or -1; the calling thread calls mounts_changed() when it changes.  0 or a
 * negative errno. */
int loop_run(struct fs *fs, const sigset_t *while_waiting, int mounts,
	     void (*mounts_changed)(struct fs *fs));

/* Answers one request.  The engine sees by fs->had_requests that the host is
 * busy. */
void loop_answer(struct fs *fs, struct fuse_buf *request);

/*
 * Waits, for timeout_ms at most, until every RELEASE that the kernel had queued
 * before the call is answered; false: some are not.  Any thread may call it,
 * also one that is answering a request other than RELEASE and READ.
 *
 * close() of a caller sends FLUSH, waits for its reply, queues RELEASE and
 * returns.  A request that is sent after that is behind the RELEASE in the
 * kernel's queue.  So when a thread gets that request, another thread has got
 * the RELEASE, or has answered it.  There are two exceptions.  RELEASE would
 * first wait in a second queue if max_background such requests were running;
 * that number is never reached.  And RELEASE is queued only after all
 * read-ahead of its handle has ended; so running READs are waited for first,
 * then the queue.  One that is stuck is waited for a tenth of a second.
 *
 * A thread may have got a request and not yet stored that.  It differs from a
 * thread that waits for a request only in its state: it does not sleep.
 */
bool loop_caught_up(struct fs *fs, int timeout_ms);
/* The thread's RELEASE need no longer be waited for, though it may last: closing
 * a file may wait for what is below. */
void loop_release_counted(void);

/*
 * Around a wait of a request that is known to last: another thread takes the
 * place of this one, and the wait does not count as one that is stuck.  The
 * waiter repeats a system call that ended with EINTR until loop_wait_is_over():
 * the caller of the request has given it up, or the session has ended.  Each user
 * has a quota of such waits.  A negative errno: there can be no other thread.
 */
int loop_wait_begin(struct fs *fs);
bool loop_wait_is_over(struct fs *fs, fuse_req_t req);
void loop_wait_end(struct fs *fs);

/* ---- locks.c: file locks; the operations are in ops.h ---- */

/* The owner closed one of its descriptors: drops its POSIX locks. */
void locks_owner_closed(struct fs *fs, struct inode *inode, uint64_t owner);

/* The handle is closed: removes the owners that used it last. */
void locks_handle_closed(struct fs *fs, const struct handle *h);

/* The inode is freed: removes all its owners. */
void locks_forget(struct inode *inode);

/* ---- protocol.c ---- */

/*
 * Features of the FUSE protocol that libfuse may be too old for.
 *
 * Passthrough (Linux 6.9) is supported from libfuse 3.17 on; that a writer has no
 * CAP_FSETID, which a host with HANDLE_KILLPRIV_V2 (Linux 5.12) has to know, from
 * 3.18.3 on; kernels are often newer than their libraries.  And libfuse 3.14
 * knows FUSE_CAP_PARALLEL_DIROPS and does not ask the kernel for it: then a
 * lookup or readdir that lasts keeps others out of the directory.  All need only
 * a few bits in messages that an older libfuse also reads and writes.  So these
 * bits are set and read between libfuse and the device, unless libfuse supports
 * all.
 */

/* After the mount, before the first request.  0 or a negative errno. */
int protocol_open(struct fuse_session *session);

/* Called by init(): requests the feature; false: the kernel does not support
 * it. */
bool protocol_want_passthrough(struct fuse_conn_info *conn);
void protocol_want_parallel(struct fuse_conn_info *conn);
bool protocol_want_killpriv(struct fuse_conn_info *conn);

/* Called by init(): whether the kernel supports protocol_expire_name() (Linux
 * 6.2). */
bool protocol_can_expire_names(const struct fuse_conn_info *conn);
/*
 * Has the kernel look up the name again when it is next used.  If the answer is
 * the inode that the kernel has, all stays as it is: what is mounted on the name
 * or below it, and a filesystem that is stacked above.  Every other message that
 * makes the kernel drop names (FUSE_NOTIFY_INVAL_ENTRY without that flag,
 * FUSE_NOTIFY_DELETE, FUSE_NOTIFY_INC_EPOCH) unmounts what is mounted there, so
 * none is ever sent.  Waits for the requests that hold the kernel's lock of the
 * directory, so no thread may call it that a request waits for.
 */
void protocol_expire_name(struct fuse_session *session, fuse_ino_t parent,
			  const char *name);

/* Sets the id of the backing file (FUSE_DEV_IOC_BACKING_OPEN) in this thread's
 * next reply to open() or create().  0: none. */
void protocol_show_backing(struct fuse_file_info *fi, int id);

/* For a write request: whether the kernel says that the writer has no
 * CAP_FSETID. */
bool protocol_kills_setid(const struct fuse_file_info *fi);

#endif
