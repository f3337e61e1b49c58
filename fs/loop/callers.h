/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FS_LOOP_CALLERS_H
#define FS_LOOP_CALLERS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>

struct fuse_in_header;

/*
 * What each user may have of the threads: a request that is stuck (loop.h)
 * occupies one for as long as it likes, and which requests are of that kind
 * nobody knows before.
 *
 * A user may have as many stuck requests as STUCK_MOST leaves for all others: 128
 * when alone, 64 beside such a user, and so on; and always one.  A further
 * request of a user with so many is held back, and answered when one that was
 * stuck has been.  So the requests of other users find a thread whatever one
 * user does.
 *
 * The process that waits for a held request may have a lock of the kernel, that
 * of a directory which all use.  So such a request is held for HELD_MS, and
 * fails with EAGAIN then; or at once if HELD_REQUESTS or HELD_BYTES of that user
 * are held already.  A file must be closed, so what does that is held for as long
 * as it takes: no lock is held meanwhile, and it takes less than the open file.
 *
 * Of a thousand users with a stuck request each there would be a thousand
 * threads: beyond STUCK_ALL only root gets one.
 *
 * The owner has a lock for all of this, except that limited and stuck of all may be
 * read without it.
 */
enum {
	STUCK_MOST = 256,
	STUCK_ALL = 512,
	HELD_MS = 100,
	HELD_REQUESTS = 1024,
	HELD_BYTES = 16 << 20,
};

/* The caller of requests that no process waits for, of the kernel itself. */
#define CALLER_NONE ((uid_t)-1)

/* A copy of a request as the kernel sent it. */
struct held_request {
	STAILQ_ENTRY(held_request) next;
	uint64_t unique;
	bool is_awaited; /* see request_is_awaited() */
	int64_t since_ms;
	size_t len;
	char bytes[];
};

struct caller {
	struct caller *next;
	uid_t uid;
	unsigned stuck;
	STAILQ_HEAD(, held_request) held;
	size_t held_count, held_bytes;
};

struct callers {
	struct caller *first; /* those with stuck or held requests */
	atomic_uint stuck;    /* changed with the lock */
	atomic_bool limited;  /* some caller's requests are to be held */
};

/* The user whose request it is: whose file is closed or written back, where no
 * process waits for the answer. */
uid_t request_uid(const struct fuse_in_header *header);

/* Whether a process waits for the answer, and can be told that the request has
 * failed. */
bool request_is_awaited(const struct fuse_in_header *header);

/* A request of the user is stuck; NULL: no memory to count it. */
struct caller *callers_add_stuck(struct callers *all, uid_t uid);
void callers_end_stuck(struct callers *all, struct caller *caller);

/* Whether a request of the user has to be held. */
bool callers_must_hold(const struct callers *all, uid_t uid);
/* Copies the request.  -EAGAIN: too much is held, and the request is awaited;
 * -ENOMEM. */
int callers_hold(struct callers *all, uid_t uid,
		 const struct fuse_in_header *request, size_t len,
		 bool is_awaited);

/* Takes the first held request that may be answered now; the caller of the
 * function frees it.  NULL: there is none. */
struct held_request *callers_next(struct callers *all);
/* Takes a held request that has waited too long, or NULL. */
struct held_request *callers_expired(struct callers *all);
/* Takes the held request with that number, or NULL. */
struct held_request *callers_take(struct callers *all, uint64_t unique);

/* Drops what is held. */
void callers_release(struct callers *all);

#endif
