/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_QUEUE_HASH_H
#define CORE_QUEUE_HASH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/logger.h"
#include "core/catalog/catalog.h"
#include "core/queue/listener.h"
#include "core/queue/queue.h"
#include "core/queue/throttle.h"
#include "core/source/file_digests.h"
#include "core/source/source.h"

/*
 * Hashes the files of SOURCE that the queue has jobs for.
 *
 * Threads.  There are five kinds of workers (queue.h), which exist while there
 * is work (crew.h).  Workers of the background, under SCHED_IDLE and the idle I/O
 * class, wait at their gates while the host is busy, read without filling the
 * page cache, and feed the queue from the catalog's pending list.  While no
 * request waits for its job, a worker at a large file waits at its gate and
 * reads in that way, too, and the idle worker for texts waits before each text.  A
 * worker holds one file at a time and less than 4 MiB of memory.
 *
 * The life of a file:
 *
 *   1. A worker takes its job from the queue and opens it by its key, for
 *      reading if it is the file of its record, else O_PATH (source_find()).  A
 *      file that cannot be found is reported.
 *   2. The worker decides whether to read the file (ends_early()).  It is not read
 *      if a rule excludes it, or if the catalog has digests of its identity.
 *      It is read later if it is open for writing, if a metadata change of it
 *      is still to be committed, or if its timestamps are so young that another
 *      change might leave them as they are.
 *   3. The job of a large file is handed over to a worker for those.  The path
 *      of a file that may have no name in the catalog is reported.
 *   4. The file is opened for reading, pages that are dirty through mappings
 *      are written out, and the file is read and digested in chunks.
 *      Between chunks the worker checks whether to stop: because the file
 *      changed, because a request waits for it, or because of a pause, which the
 *      worker at a large file sits out.  Holes are not read.
 *   5. The worker checks again that the file is not open for writing and that
 *      its identity is the same.  Then it posts the result to the committer,
 *      and the parked requests of the job are answered (queue_done()).
 *      Otherwise the file is hashed again, after a delay that doubles.
 *
 * Crashes.  Nothing here is on disk.  A file stays pending in the catalog until
 * its result is committed.
 *
 * A worker never writes to SOURCE or the catalog, never reads special files,
 * and never posts digests of a file that may have changed while it was read.
 */

/* The pass over the files whose text is still to be made or told; see texts.c. */
enum { TEXT_OWNERS = 16 };

struct text_place {
	uint32_t content;
	struct file_key key;
};

struct hash_texts {
	/* A pass has ended; and catalog_untold_added() when the last one of them
	 * began.  If no file was added since, those that are left are files that
	 * cannot be read now, which no user is to wait for. */
	atomic_bool passed;
	atomic_uint_least64_t settled;
	atomic_bool is_broken; /* kin-extract could not be started */
	/* The rest is the idle worker's: there is one at a time. */
	struct text_owner {
		uid_t uid;
		struct text_place at; /* the pass has come here */
		uint32_t made;        /* content of the last text */
	} owners[TEXT_OWNERS];
	size_t owner_count, turn;
	struct text_place looked; /* owners of files up to here are known */
	uint32_t unreadable;      /* see make_unreadable() */
	bool passes;              /* a pass has begun, ... */
	uint64_t begun;           /* ... at this catalog_untold_added() */
};

struct hasher {
	struct engine_parts context; /* constant */
	struct hash_texts texts;
	/* Of the worker that feeds the queue: the last file of the pending list
	 * that was pushed, if there is one in this pass. */
	struct file_key fed;
	bool feeds;
	atomic_ullong files; /* hashed since the start */
	atomic_ullong bytes; /* of these files */
};

/* The context is copied; what it points to is borrowed.  Workers are started
 * from queue_start() on. */
void hash_init(struct hasher *h, const struct engine_parts *context);
/* Waits until the workers have ended.  The caller has set context.stopping and
 * stopped the queue. */
void hash_stop(struct hasher *h);

/* Whether the file behind fd is in that state. */
bool hash_has_identity(int fd, const struct file_identity *identity);
/* Opens the regular file with that key for reading.  -EAGAIN: it is not in that
 * state, or is being written.  The caller closes out->fd. */
int hash_open_same(const struct engine_parts *c, const struct file_key *key,
		   const struct file_identity *identity,
		   struct source_found *out);

/* ---- texts of documents ---- */

/* A commit may have added contents whose text is pending. */
void hash_want_texts(struct hasher *h);
/* Whether texts are still to be made, or to be made or told, but for those of files
 * that could not be read in the last pass. */
bool hash_has_texts_to_make(struct hasher *h);
bool hash_has_texts_to_tell(struct hasher *h);
/* Does and ends a job for a text, with the worker's client. */
void hash_make_text(struct hasher *h, struct extract_client *client,
		    struct job *job);

/* ---- digests of files; see the functions of the engine ---- */

/*
 * A request for the digests of a file that may have to be hashed first.
 *
 * The engine looks the digests up when the request is made.  If the file is
 * pending, the request is parked in the queue until a worker has hashed the
 * file.  Then the engine compares the identity of the worker's result with the
 * present one.  If they are equal the result is the answer; otherwise the
 * digests are looked up again.
 *
 * The caller fills the struct in, and keeps it until done is called.
 */
struct digests_wait {
	uid_t uid;
	/* DIGEST_BIT()s: digests in text form that are not in it may be missing
	 * in the answer. */
	uint32_t wanted;
	/* DIGEST_BIT() of a digest that is not stored and is computed now,
	 * without a deadline, or 0.  The answer has no others then.  An sdhash
	 * has "stdin" in place of a file name. */
	uint32_t demanded;
	int64_t deadline_ms; /* CLOCK_MONOTONIC; in the past: do not wait */
	const struct queue_ticket *ticket; /* borrowed until done; or NULL */
	/* open() returns a descriptor of the file (O_PATH will do) or a
	 * negative errno; close() ends its use.  The thread that makes the
	 * request and the one that answers it call them in pairs.  No
	 * descriptor is open while the request is parked. */
	int (*open)(void *arg);
	void (*close)(void *arg);
	/*
	 * Called exactly once, by any thread, with no lock held, perhaps before
	 * engine_wait() returns.  err is 0 and answer is released by done(); or
	 * err is negative and answer NULL: -EINTR (given up), -EAGAIN (too many
	 * parked), -ECANCELED (the engine ends), -E2BIG (what was demanded is
	 * longer than an attribute may be), or an error of looking the
	 * file up.  After the deadline the answer has the file's state by then.
	 */
	void (*done)(void *arg, int err, struct file_digests *answer);
	void *arg;

	/* The engine's; the caller sets them to zero. */
	void *answerer;
	unsigned times_parked;
	bool closed; /* the file was in state DIGESTS_CLOSED before */
	struct file_identity fresh; /* what was demanded is to be of it */
	struct parked_request parked;
};

int hash_ask(struct hasher *h, int fd, uint32_t wanted,
	     struct file_digests *answer_out);
bool hash_answer_holds(struct hasher *h, int fd,
		       const struct file_digests *answer);
int hash_wait(struct hasher *h, struct digests_wait *w);

/* The content of the file has changed, or may have: the file is hashed, or put
 * on the catalog's pending list if the queue is full. */
void hash_file_closed(struct hasher *h, const struct file_key *key,
		      const struct file_identity *identity);
/* Puts the file on the pending list. */
void hash_file_pending(struct hasher *h, const struct file_key *key,
		       const struct file_identity *identity);

#endif
