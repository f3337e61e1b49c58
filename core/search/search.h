/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_SEARCH_SEARCH_H
#define CORE_SEARCH_SEARCH_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/search/credentials.h"
#include "core/queue/crew.h"
#include "core/queue/share.h"
#include "core/catalog/catalog.h"
#include "core/digest/digest.h"
#include "core/index/index.h"
#include "core/queue/digests_wait.h"
#include "core/queue/queue.h"
#include "core/source/file_digests.h"
#include "core/source/source.h"

/*
 * Finds the files and directories that resemble a given one and that the caller
 * may see.
 *
 * The index (core/index) finds contents that are alike; it knows neither files
 * nor permissions.  This module finds the paths of files with these contents,
 * keeps only those that the caller could find and read without kinfs, and
 * schedules queries fairly among users.
 *
 * Queries
 *
 *   search_file()         the near-duplicates of a file
 *   search_content()      the same for digests of a file outside the tree
 *   search_directories()  the directories that resemble a directory
 *   search_browse()       the entries of a directory that have a
 *                         near-duplicate, or that have such a file below them
 *   search_groups()       groups of near-duplicates (groups.h)
 *
 * The life of a query
 *
 *   1. A thread of the host makes the query, which copies the caller's
 *      credentials and takes one of SEARCH_QUERIES_MAX places.  A user with too
 *      many queries gets -EAGAIN (share.h).
 *   2. The query of search_file() is parked until the file's digests are ready
 *      (context.wait_digests), for timeout_ms at most.
 *   3. The query is held until the committer has tried to commit all events
 *      posted before, so that a file that was just hashed is found.
 *   4. The query is in the list of ready queries until a thread is free.  When
 *      the thread begins, it compares the identity of the file with that of its
 *      digests; if they differ, it looks the digests up again.
 *   5. The thread works on the query for one turn, with the caller's
 *      credentials and a read transaction.  When it has examined
 *      SEARCH_TURN_WORK files, the query goes back to the list with its results
 *      so far, behind the queries of other users.
 *   6. The thread calls done, once, with the answer or a negative errno.  A
 *      query that is not finished when the module stops gets -ECANCELED.
 *
 * Threads and fairness
 *
 * There are at most SEARCH_THREADS threads (crew.h).  Users take turns, so a user with one small
 * directory waits neither for large directories of other users nor for a
 * thousand queries of one user.  One thread is reserved for queries about files
 * that have not had a turn yet; these are most of the queries and take less
 * than a millisecond.  All other queries of a user get one thread at a time.
 *
 * The length of a turn does not change the answer: a query that takes several
 * turns gives the answer of one long turn, except for changes on disk
 * meanwhile.
 *
 * Permissions
 *
 * A file is visible if the caller may read it, and may list (read and search)
 * every directory on its path.  A directory is visible if the caller may list
 * it and every directory above it.  The kernel checks that: before a turn the
 * thread takes the caller's user, group and supplementary groups
 * (credentials_enter()), and it opens each path below SOURCE without following
 * symbolic links.  For a trusted caller (root, the user of the mount) the
 * thread keeps the credentials of the process.
 *
 * A file is a hit only if its path leads to the file of that key, with the
 * identity that was hashed.  A file that has changed is reported
 * (context.file_changed) and not listed.
 *
 * Visibility is checked once per query for each directory and each content, and
 * stored with the query (visibility.h).  A content is visible if one of its
 * files is.  For a caller that is not trusted, the index uses visible contents
 * only, also to count how common a value is.
 *
 * What must never happen
 *
 *   - A file that the caller cannot read influences anything that the caller
 *     can observe: hits, order, scores, cuts, errors.  So no limit counts
 *     invisible files, and no result of one caller is used for another.  (The
 *     caches that outlive a query, struct near, matches, sketches and open
 *     directories, are for trusted callers only.)
 *   - A path is listed whose file was not verified on disk in this query, or
 *     whose directories were not verified in it or SEARCH_TRUST_MS before.
 *   - A thread keeps a caller's credentials after a turn.  A thread that cannot
 *     take its own back ends the process.
 *   - A thread waits for hashing, for the committer or for another query.
 *   - done is called with a lock held, or twice.
 *
 * Locks
 *
 * searcher.lock guards the lists of queries and struct near.  It is held for a
 * few instructions, never while the disk is touched or a callback runs.  The
 * exception is context.commit_position: reading the position and adding the
 * query to the list of held queries must be atomic, or search_committed() could
 * miss the query.  A query belongs to the thread that took it off a list, so
 * its fields need no lock.
 */
enum {
	SEARCH_THREADS = 4,
	SEARCH_LONG_MAX = SEARCH_THREADS - 1, /* long queries at a time */
	SEARCH_QUERIES_MAX = 1024,
	SEARCH_TURN_WORK = 1024,
	SEARCH_NEAR_SLOTS = 1 << 20,
};

/* Queries map pages of the catalog into this process.  The pages are unmapped
 * so long after the first query; they stay in the page cache.  (Unmapping after
 * every 64 queries made a walk through all listings longer by a seventh.) */
enum { SEARCH_TRIM_RSS_MS = 1000 };

/* How long directories count as verified (directory_cache.h).  Without it, a
 * third of the time of a walk through all listings went into this. */
enum { SEARCH_TRUST_MS = 50 };

/* ---- queries and answers ---- */

/* The user that an answer is for. */
struct search_caller {
	bool trusted; /* uid 0, or the host's own user: no check needed */
	struct credentials credentials;
};

/* The caller releases the credentials of the copy.  -ENOMEM. */
int search_caller_copy(const struct search_caller *from,
		       struct search_caller *out);

struct search_hit {
	char *path; /* relative to SOURCE */
	struct verdict verdict;
	uint64_t disk; /* bytes that the file takes */
	struct file_key key;
	struct file_identity identity;
	/* Of search_group_files() with names: */
	uint64_t nlink; /* names that the file has, listed or not */
	bool link;      /* another name of the file of the hit before */
};

struct search_hits {
	struct search_hit *hits; /* best first */
	size_t count;
	bool cut; /* there were more near-duplicates than the limit */
	/* The state of the file's digests; hits are known only if it is
	 * DIGESTS_FRESH.  The digests themselves are not filled in. */
	struct file_digests file;
	/* Files of the scan were still to be hashed; if the caller is not
	 * trusted, files that it can read, or a scan was running. */
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
	int threshold; /* 0: that of the mount */
	unsigned timeout_ms;
	/* To give up waiting for the file's digests; or NULL.  Borrowed until
	 * done is called. */
	const struct queue_ticket *ticket;
};

/* The callback releases the answer. */
typedef void search_hits_fn(void *arg, int result, struct search_hits *hits);
typedef void search_entries_fn(void *arg, int result,
			       struct search_entries *entries);

/* ---- the module ---- */

/* All pointers are borrowed.  Every function except commit_position is called
 * without a lock of this module. */
struct search_context {
	const struct source *source;
	struct catalog *catalog;
	struct index *index;
	const atomic_bool *stopping; /* queries end soon with -ECANCELED */
	int threshold;               /* least score of a near-duplicate */
	uint64_t share_min;          /* of INDEX_SHARES */
	size_t limit;                /* of hits; identical files not counted */
	enum digest_id measure;      /* see struct engine_options */
	void *ctx;                   /* of the functions below */

	/* See engine_ask(), engine_digests_hold() and engine_wait(). */
	int (*get_digests)(void *ctx, int fd, uint32_t wanted,
			   struct file_digests *out);
	bool (*digests_hold)(void *ctx, int fd,
			     const struct file_digests *answer);
	int (*wait_digests)(void *ctx, struct digests_wait *w);
	/* The numbers of the last event that was posted, and of the last one
	 * whose commit has been tried. */
	void (*commit_position)(void *ctx, uint64_t *posted_out,
				uint64_t *attempted_out);
	/* A query waits for the committer. */
	void (*commit_hurry)(void *ctx);
	/* Whether files of the scan are still to be hashed, or change all the
	 * time; only_pending_out: all of them are on the catalog's pending list,
	 * as no first scan is running. */
	bool (*is_incomplete)(void *ctx, bool *only_pending_out);
	/* Whether a pending file is none of those. */
	bool (*is_recent)(void *ctx, const struct file_key *key);
	/* The catalog was found to be damaged; or NULL. */
	void (*catalog_damaged)(void *ctx);
	/* The file was found with another identity than its record's. */
	void (*file_changed)(void *ctx, const struct file_key *key,
			     const struct file_identity *identity);
	/* Whether the user ignores any pair of contents, and whether this one.
	 * The first is called before each turn with the credentials of the
	 * process; NULL: there are no such pairs. */
	bool (*ignores_any)(void *ctx);
	bool (*is_ignored)(void *ctx, const struct digests *a,
			   const struct digests *b);
};

/* A cached near-duplicate of a content.  near is its id; 0: no content with an
 * id below upto is a near-duplicate. */
struct near {
	uint32_t content, near, upto;
};

struct search_query;
struct search_thread;

struct searcher {
	struct search_context context; /* constant */
	struct credentials own;        /* of the process; constant */
	size_t turn_work;      /* SEARCH_TURN_WORK; tests set it before start */
	int64_t trust_ms;      /* SEARCH_TRUST_MS; tests set it before start */
	unsigned thread_count; /* SEARCH_THREADS; tests set it before start */
	pthread_mutex_t lock;  /* everything below */
	struct share share;    /* of all queries */
	struct search_query *first; /* ready queries, by turn */
	struct search_query *held;  /* queries that wait for the committer */
	size_t long_count;          /* long queries that threads work on */
	uid_t long_users[SEARCH_LONG_MAX]; /* their users */
	/* The query with takes_memory that has begun, or NULL. */
	struct search_query *grouping;
	int64_t trim_ms; /* when to unmap pages of the catalog, or 0 */
	bool stopped;
	struct near *near; /* SEARCH_NEAR_SLOTS, direct-mapped by content */
	struct match_cache *matches;   /* has a lock of its own */
	struct sketch_cache *sketches; /* has a lock of its own */
	struct crew crew;
	struct search_thread *threads; /* SEARCH_THREADS; owned */
	/* Threads that wait for a query.  The last one that began to wait is
	 * woken first: it has the warmest caches. */
	struct search_thread *idle;
};

/* The context is copied. */
int search_init(struct searcher *s, const struct search_context *context);
/* The queue's timer starts the threads; see crew.h. */
void search_start(struct searcher *s, struct queue *queue);
/* Ends the threads and answers all remaining queries with -ECANCELED.  The
 * caller has set context.stopping. */
void search_stop(struct searcher *s);
void search_release(struct searcher *s);

/* The committer has tried to commit all events up to this number. */
void search_committed(struct searcher *s, uint64_t number);

/* Any thread may call these functions; they do not block.  When one fails, done
 * is not called.  Arguments are borrowed during the call. */
int search_file(struct searcher *s, const struct search_file_query *query,
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

/* ---- checking earlier hits ---- */

/* Whether the path leads to that file, with that identity (NULL: any), and the
 * calling thread can list all directories on the path and read the file. */
bool search_hit_holds(const struct source *source, const char *path,
		      const struct file_key *key,
		      const struct file_identity *identity);

/* Whether the path still leads to that directory, and the calling thread can
 * list all directories on it. */
bool search_directory_holds(const struct source *source, const char *path,
			    const struct file_key *key);

#endif
