/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FS_LOOP_H
#define FS_LOOP_H

#include <signal.h>

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

/* Answers requests until the filesystem is unmounted or a signal ends it.  The
 * signals of fuse_set_signal_handlers() are blocked; while_waiting is the mask
 * with which they come.  0 or a negative errno. */
int loop_run(struct fs *fs, const sigset_t *while_waiting);

#endif
