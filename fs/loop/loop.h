/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FS_LOOP_LOOP_H
#define FS_LOOP_LOOP_H

#include <signal.h>
#include <stdbool.h>

struct fs;

/*
 * The threads that answer requests.
 *
 * The kernel gives a request to the thread that has waited longest, so each
 * further thread that waits makes the processor's caches colder: on one
 * processor it takes 8 % longer to create a file with ten of them than with
 * two.  With several processors a few more are better, so that one waits while
 * the others are about to.  Besides these there are as many as are stuck: as
 * have worked for a millisecond on one request, because they wait for a disk, a
 * network or a lock below.  For each of them another one is started, up to
 * max_threads; it ends when nothing was stuck for ten seconds.
 *
 * libfuse's own loop starts a thread whenever none waits, which on a busy
 * processor is all the time, and one that is too many ends at once: half a
 * thread was made and ended for each new file.  It serves -o clone_fd only,
 * for which libfuse has no other way.
 */

/* Makes fs->loop; loop_free() when no thread is left that may ask it. */
int loop_open(struct fs *fs);
void loop_free(struct fs *fs);

/* Answers requests until the filesystem is unmounted or a signal ends it.  The
 * signals of fuse_set_signal_handlers() are blocked; while_waiting is the mask
 * with which they come.  0 or a negative errno. */
int loop_run(struct fs *fs, const sigset_t *while_waiting);

/*
 * Whether every RELEASE that the kernel had queued before the call is answered;
 * waits for that, at most timeout_ms.  Any thread may call it, also one that is
 * answering a request, unless that is a RELEASE or a READ.
 *
 * close() of the caller sends FLUSH and waits for the answer, then queues
 * RELEASE and returns.  So a request that was sent after close() had returned
 * stands behind RELEASE in the kernel's queue, and the thread that has got it
 * knows that RELEASE is with some thread, or answered.  There are two ways
 * round the queue, and both are closed: RELEASE waits in a second queue while
 * max_background requests of its kind are under way, which is more than there
 * can be; and it is not queued before all reading ahead through its handle has
 * ended, so READ is waited for, too, and then the queue.
 *
 * A thread that has got a request from the kernel and has not yet come to say
 * so cannot be told from one that waits for a request, except by this: the
 * latter sleeps.
 *
 * With -o clone_fd the threads are libfuse's: then it waits timeout_ms, and
 * that must do.
 */
bool loop_caught_up(struct fs *fs, int timeout_ms);

#endif
