/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_SEARCH_SEARCH_H
#define CORE_SEARCH_SEARCH_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/search/credentials.h"
#include "core/queue/share.h"
#include "core/catalog/catalog.h"
#include "core/digest/digest.h"
#include "core/index/index.h"
#include "core/queue/digests_wait.h"
#include "core/queue/queue.h"
#include "core/source/file_digests.h"
#include "core/source/source.h"

/*
 * Which files and directories resemble one, as far as the caller may know.
 *
 * The index (core/index) says which contents are alike.  It knows neither files
 * nor permissions.  This module turns contents into the paths of files, keeps
 * only what the caller could have found and read without kinfs, and decides
 * whose query is worked on next.
 *
 * Queries
 *
 *   search_file()         the near-duplicates of a file
 *   search_content()      the same of digests that need not be in the tree
 *   search_directories()  the directories that resemble a directory
 *   search_browse()       which entries of a directory have a near-duplicate, or
 *                         have such a file below them
 *   search_groups()       the files of the tree in groups (groups.h)
 *
 * The life of a query
 *
 *   1. A thread of the host makes the query, which copies the caller's
 *      credentials and takes one of SEARCH_QUERIES_MAX places.  A user that holds too
 *      many of them gets -EAGAIN (share.h).
 *   2. search_file() waits for the file's digests (context.wait_digests), at most
 *      timeout_ms, and gets them.  No thread waits.
 *   3. The query waits for the committer: everything posted before this moment
 *      is to be in the catalog, so that a file that was just hashed is found.
 *      A failed commit ends this wait, too.  No thread waits.
 *   4. The query waits for a thread in the list of ready queries.
 *      The file may have changed meanwhile: when the query begins, the identity
 *      of the file is compared with that of its digests, and only if they
 *      differ the digests are asked for once more.
 *   5. A thread works on it for one turn, with the caller's credentials and a
 *      read transaction of its own.  If the work is not finished when
 *      SEARCH_TURN_WORK files have been examined, the query goes back to the list,
 *      with what it has found, behind the queries of other users.
 *   6. The thread calls done, once, with the answer or a negative errno.  A
 *      query that is not finished when the module stops gets -ECANCELED.
 *
 * Threads and fairness
 *
 * There are SEARCH_THREADS threads.  Users take turns, so a user with one small
 * directory does not wait for the large directories of all others, nor for a
 * thousand queries of one user.  One thread is kept for queries about files
 * that have not had a turn yet, which are most of the queries and take less
 * than a millisecond.  A user has a single thread for all other queries.
 *
 * A turn is bounded in files examined, not in time: no bound may depend on
 * what the caller cannot see in a way that changes the answer.  A query that
 * goes on later gives the answer that it would have given in one piece, but for
 * what has changed on disk meanwhile.
 *
 * Permissions
 *
 * A caller learns of a path only if the caller may list (read and search) every
 * directory on it, and may read the file; of a directory, if the caller may
 * list it as well.  The kernel judges that: before a turn the thread takes the
 * caller's user, group and supplementary groups (credentials_enter()), and then
 * opens each path below SOURCE without following symbolic links.  A caller that
 * is trusted (root, the user of the mount) keeps the credentials of the
 * process, and what those can open is visible.
 *
 * A file is a hit only if its path leads to the file that the catalog means
 * (its key), in the state that was hashed (its identity).  What has changed
 * since is reported (context.file_changed) and not listed.
 *
 * Visibility is judged once per query for each directory and each content, and
 * remembered with the query (visibility.h).  A content is visible if one file
 * with it is.  For a caller that is not trusted, the index asks about each
 * content before it counts for anything, including how common a value is.
 *
 * What must never happen
 *
 *   - A file that the caller cannot read influences anything that the caller
 *     can observe: hits, their order, scores, whether a listing was cut, errors.
 *     So no limit counts invisible files, and nothing that was found out for
 *     one caller is used for another.  (What is remembered over queries, struct
 *     near, matches, sketches and open directories, is for trusted callers
 *     alone.)
 *   - A path is listed that was not opened and compared in this query.
 *   - A thread keeps a caller's credentials after a turn.  A thread that cannot
 *     take its own back ends the process.
 *   - A thread waits for hashing, for the committer or for another query.
 *   - done is called with a lock held, or twice.
 *
 * Locks
 *
 * searcher.lock guards the lists of queries and struct near.  It is held for a
 * few instructions, never while the disk is touched or a callback runs, except
 * that context.commit_position is called with it: the position that a query is
 * given and the moment it is put in the list must be one.  A query itself
 * belongs to the thread that took it off a list, so its fields need no lock.
 */
enum {
	SEARCH_THREADS = 4,
	SEARCH_LONG_MAX = SEARCH_THREADS - 1, /* worked on at a time */
	SEARCH_QUERIES_MAX = 1024,
	SEARCH_TURN_WORK = 1024,
	SEARCH_NEAR_SLOTS = 1 << 20,
};

/* Answers bring pages of the catalog into this process.  They are given back so
 * long after the first of them, to stay in the page cache.  (After every 64
 * answers made a walk through all listings longer by a seventh.) */
enum { SEARCH_TRIM_RSS_MS = 1000 };

/* ---- queries and answers ---- */

/* The user that an answer is for. */
struct search_caller {
	bool trusted; /* uid 0, or the host's own user: no check needed */
	struct credentials credentials;
};

/* The copy's credentials are released by the caller.  -ENOMEM. */
int search_caller_copy(const struct search_caller *from,
		       struct search_caller *out);

struct search_hit {
	char *path;            /* relative to SOURCE */
	int score;             /* 100: identical */
	int distinctive_score; /* the same of what is not boilerplate */
	uint64_t bytes;        /* in common, about; of INDEX_SHARES alone */
	struct file_key key;
	struct file_identity identity;
};

struct search_hits {
	struct search_hit *hits; /* best first */
	size_t count;
	bool cut; /* there were more near-duplicates than the limit */
	/* Why there are none when there may be some: the state of the digests
	 * of the file, without them.  DIGESTS_FRESH: they are known. */
	struct file_digests file;
	/* Not all of the tree was scanned and hashed at the time. */
	bool incomplete;
};

void search_hits_release(struct search_hits *hits);

struct search_entry {
	char *name;
	bool directory;
};

struct search_entries {
	struct search_entry *entries; /* byte order of the names */
	size_t count;
};

void search_entries_release(struct search_entries *entries);

struct search_file_query {
	int fd; /* of the file, O_PATH will do */
	enum index_relation relation;
	unsigned timeout_ms;
	/* To give up the wait for the file's digests; or NULL. */
	const struct queue_ticket *ticket;
};

/* Each gets the answer, and releases it. */
typedef void search_hits_fn(void *arg, int result, struct search_hits *hits);
typedef void search_entries_fn(void *arg, int result,
			       struct search_entries *entries);

/* ---- the module ---- */

/* All pointers are borrowed.  Every function is called without a lock of this
 * module but for commit_position. */
struct search_context {
	const struct source *source;
	struct catalog *catalog;
	struct index *index;
	struct index *texts;         /* or NULL: texts are not kept */
	const atomic_bool *stopping; /* queries end soon with -ECANCELED */
	int threshold;               /* least score of a near-duplicate */
	uint64_t share_min;          /* of INDEX_SHARES */
	size_t limit;                /* of hits; identical files not counted */
	/* What scores: DIGEST_COUNT is the sketch less what is common. */
	enum digest_id measure;
	void *ctx; /* of the functions below */

	/* The digests of a file right now, or why there are none; of the texts
	 * at least those that are wanted.  A negative errno when fd cannot be
	 * examined. */
	int (*get_digests)(void *ctx, int fd, uint32_t wanted,
			   struct file_digests *out);
	/* Whether the digests that were answered are those of the present
	 * content. */
	bool (*digests_hold)(void *ctx, int fd,
			     const struct file_digests *answer);
	/* Gets the digests when they are ready; nothing is called when it
	 * fails. */
	int (*wait_digests)(void *ctx, struct digests_wait *w);
	/* The numbers of the last event that was posted, and of the last one
	 * that the committer has attempted to commit. */
	void (*commit_position)(void *ctx, uint64_t *posted_out,
				uint64_t *attempted_out);
	/* A query waits for the committer. */
	void (*commit_hurry)(void *ctx);
	/* Whether files that a scan found are still to be hashed. */
	bool (*is_incomplete)(void *ctx);
	/* The file is not in the state that was hashed, but in this one. */
	void (*file_changed)(void *ctx, const struct file_key *key,
			     const struct file_identity *identity);
	/* The catalog contradicts itself (-EUCLEAN). */
	void (*damaged)(void *ctx);
	/* The pairs of contents that the user ignores: whether there are any
	 * now, asked before a turn with the credentials of the process; and
	 * whether this is one of them.  The first may be NULL: there are
	 * none. */
	bool (*ignores_any)(void *ctx);
	bool (*is_ignored)(void *ctx, const struct digests *a,
			   const struct digests *b);
};

/* What is remembered about a content: near is one it resembles, or 0 when
 * there is none among the contents with an id below upto. */
struct near {
	uint32_t content, near, upto;
};

struct search_query;

struct searcher {
	struct search_context context; /* constant */
	struct credentials own;        /* of the process; constant */
	size_t turn_work;     /* SEARCH_TURN_WORK; tests set it before start */
	size_t thread_count;  /* SEARCH_THREADS; tests set it before start */
	pthread_mutex_t lock; /* everything below */
	pthread_cond_t work;
	struct share share;         /* of all queries */
	struct search_query *first; /* ready to be worked on, by turn */
	struct search_query *held;  /* until the committer has come so far */
	size_t long_count;          /* threads with a long query, */
	uid_t long_users[SEARCH_LONG_MAX]; /* for these users */
	/* The query with takes_memory, a search for groups, that has begun. */
	struct search_query *grouping;
	int64_t trim_ms; /* when to give back what answers brought in, or 0 */
	bool stopped;
	struct near *near; /* SEARCH_NEAR_SLOTS, direct-mapped by content */
	struct match_cache *matches;   /* has a lock of its own */
	struct sketch_cache *sketches; /* the same */
	pthread_t threads[SEARCH_THREADS];
	size_t started;
};

/* The context is copied. */
int search_init(struct searcher *s, const struct search_context *context);
int search_start(struct searcher *s);
/* Answers what is held or ready with -ECANCELED and ends the threads.
 * context.stopping is set by then. */
void search_stop(struct searcher *s);
void search_release(struct searcher *s);

/* The committer has attempted all events up to this number. */
void search_committed(struct searcher *s, uint64_t number);

/* They may be called from any thread and do not block.  When one fails, nothing
 * is called.  What is borrowed is so during the call, but for the ticket. */
int search_file(struct searcher *s, const struct search_file_query *question,
		const struct search_caller *caller, search_hits_fn *done,
		void *arg);
int search_content(struct searcher *s, const struct digests *digests,
		   enum index_relation relation,
		   const struct search_caller *caller, search_hits_fn *done,
		   void *arg);
int search_directories(struct searcher *s, int fd,
		       const struct search_caller *caller, search_hits_fn *done,
		       void *arg);
int search_browse(struct searcher *s, int fd,
		  const struct search_caller *caller, search_entries_fn *done,
		  void *arg);

/* ---- hits that were kept ---- */

/* Whether a hit is still what it was: the path leads to that file in that
 * state, and the calling thread can list all directories on it and read it. */
bool search_hit_holds(const struct source *source, const char *path,
		      const struct file_key *key,
		      const struct file_identity *identity);

/* Whether the path still leads to that directory, and the calling thread can
 * list all directories on it. */
bool search_directory_holds(const struct source *source, const char *path,
			    const struct file_key *key);

#endif
