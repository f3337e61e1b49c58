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
 * Workers (queue.h) exist while there is work (crew.h).  Those of the background
 * are under SCHED_IDLE and the idle I/O class.  They and those of other kinds that
 * are at a job without requests wait at their gates while the host is busy, and
 * read without filling the page cache.  A worker holds one file at a time and less
 * than 4 MiB of memory.
 *
 * The life of a file:
 *
 *   1. A worker takes its job from the queue and opens the file by its key
 *      (source_find()).  A file that cannot be found is reported.
 *   2. The worker decides whether to read the file (begin_file()).  It does not
 *      if a rule excludes the file, or the catalog has digests of its identity;
 *      nor now if it is open for writing, or its timestamps are so young that
 *      another change might leave them as they are.
 *   3. Pages that are dirty through mappings are written out, and the file is
 *      read and digested in chunks, but for its holes.  Between chunks the worker
 *      checks whether to stop: because the file changed, because another worker
 *      is to hash it, or because of a pause.
 *   4. If the file is not open for writing and its identity is the same, the
 *      worker posts the result to the committer and ends the job with it.
 *      Otherwise the file is hashed again, after a delay that doubles.
 *
 * Nothing here is on disk: a file stays pending in the catalog until its result is
 * committed.
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
 * A request for the digests of a file that may have to be hashed first.  It is
 * parked in the queue while the file is pending.  The answer is then the worker's
 * result, if the file's identity is still the same; otherwise the digests are
 * looked up again.
 *
 * The caller fills the struct in, and keeps it until done is called.
 */
struct digests_wait {
	uid_t uid;
	/* DIGEST_BIT()s: digests in text form that are not in it may be missing
	 * in the answer. */
	uint32_t wanted;
	/* DIGEST_BIT() of a digest that is not stored and is computed now,
	 * without a deadline, QUEUE_TEXT for what is made of a picture, or 0.  The answer has no others then.  An sdhash
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
	bool closed;  /* the file was in state DIGESTS_CLOSED before */
	bool is_made; /* what was demanded, or that was tried */
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
