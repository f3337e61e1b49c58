/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_SEARCH_SEARCH_H
#define CORE_SEARCH_SEARCH_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/search/credentials.h"
#include "core/queue/event.h"
#include "core/queue/crew.h"
#include "core/queue/hash.h"
#include "core/queue/quota.h"
#include "core/catalog/catalog.h"
#include "core/digest/digest.h"
#include "core/index/grouping/grouping.h"
#include "core/index/index.h"
#include "core/queue/queue.h"
#include "core/scan/scan.h"
#include "core/ignore/ignore.h"
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
 *   search_file()         the near-duplicates of a file, or of the digests of a
 *                         file outside the tree
 *   search_directories()  the directories that resemble a directory
 *   search_browse()       the entries of a directory that have a
 *                         near-duplicate, or that have such a file below them
 *   search_groups()       groups of near-duplicates
 *   search_group_files()  the files of these
 *
 * A query is a function that returns the answer.  It is called by a job: a
 * thread of this module that may be made to wait.
 *
 * The life of a query
 *
 *   1. A thread of the host begins a job with search_start_job(), which takes one
 *      of SEARCH_JOBS_MAX places.  A user with too many jobs gets -EAGAIN
 *      (quota.h).  A thread runs the job, which calls the query.
 *   2. search_file() waits until the file's digests are ready (hash_wait()), for
 *      timeout_ms at most.
 *   3. The query includes every file that was closed before it began and that
 *      the caller can read: it has them hashed, and waits for SEARCH_CLOSED_MS
 *      at most.  If one is missing then, the answer is incomplete.  Then the
 *      query waits until the committer has tried to commit all events posted
 *      before, so that a file that was just hashed is found.
 *   4. The query waits until one of SEARCH_SLOTS is free for it.  Then it works
 *      with the caller's credentials and a read transaction.
 *   5. Where it has done SEARCH_TURN_WORK since it got the slot (a file that it
 *      examines counts as 1, and so do PATH_BYTES_PER_WORK of paths),
 *      query_yield() ends its turn: it gives the slot, the credentials and the
 *      transaction back, and waits behind the queries of other users until it
 *      gets a slot again.
 *   6. It returns the answer or a negative errno: -ECANCELED if the module stops
 *      meanwhile.
 *
 * Threads and fairness
 *
 * A job has a thread (crew.h), which takes 17 KB while it waits, and SEARCH_SLOTS
 * queries are worked on at a time.
 * Users take turns, so a user with one small directory waits neither for large
 * directories of other users nor for a thousand queries of one user.  One slot
 * is reserved for queries about files that have not had a turn yet; these are
 * most of the queries and take less than a millisecond.  All other queries of a
 * user get one slot at a time.
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
 * (queue_push()) and not listed.
 *
 * Visibility is checked once per query for each directory and each content, and
 * stored with the query.  A content is visible if one of its files is.  For a
 * caller that is not trusted, the index uses visible contents only, also to
 * count how common a value is.
 *
 * What must never happen
 *
 *   - A file that the caller cannot read influences anything that the caller
 *     can observe: hits, order, scores, cuts, errors.  So no limit counts
 *     invisible files, and no result of one caller is used for another.  (The
 *     matches and directories that outlive a query are for trusted callers
 *     only.)
 *   - A path is listed whose file was not verified on disk in this query, or
 *     whose directories were not verified in it or SEARCH_TRUST_MS before.
 *   - A thread keeps a caller's credentials after a turn.  A thread that cannot
 *     take its own back ends the process.
 *   - A query with a slot waits for hashing, for the committer or for another
 *     query.
 *
 * Locks
 *
 * searcher.lock guards the lists of jobs and the slots.  It is held for a few
 * instructions, never while the disk is touched or a callback runs.  A query
 * belongs to its thread, so its fields need no lock.
 */
enum {
	SEARCH_SLOTS = 4,
	SEARCH_LONG_MAX = SEARCH_SLOTS - 1, /* long queries at a time */
	SEARCH_JOBS_MAX = 1024,
	SEARCH_TURN_WORK = 1024,
};

/*
 * Until when a query waits for files that were closed before it, from the start of
 * its job.  A small file takes some milliseconds, 30 beside eight busy loops; a
 * large one, for which one query has waited, is waited for by no other.  An answer
 * is to come within a second whatever other users do: the second half of it is for
 * the turns behind the wait.
 */
enum { SEARCH_CLOSED_MS = 500 };

/* So many bytes of a path count as a file that is examined: paths may be as
 * long as users like, and are compared and opened as a whole. */
enum { PATH_BYTES_PER_WORK = 512 };

/*
 * A turn that lasts longer than SEARCH_SLOW_MS no longer counts among the
 * SEARCH_SLOTS: it waits for what is below, or has very much to do, and others
 * must not wait for it.  There are SEARCH_SLOTS_ALL at most, of which a user may
 * have as many as are left for all others.
 */
enum { SEARCH_SLOW_MS = 50, SEARCH_SLOTS_ALL = 16 };

/* Queries map pages of the catalog into this process.  The pages are unmapped
 * so long after the first query; they stay in the page cache.  (Unmapping after
 * every 64 queries made a walk through all listings longer by a seventh.) */
enum { SEARCH_TRIM_RSS_MS = 1000 };

/* How long directories count as verified.  Without it, a third of the time of a
 * walk through all listings went into this. */
enum { SEARCH_TRUST_MS = 50 };

/* ---- queries and answers ---- */

/* The user that an answer is for. */
struct search_caller {
	bool trusted; /* uid 0, or the host's own user: no check needed */
	struct credentials credentials;
};

struct search_hit {
	char *path; /* relative to SOURCE */
	struct verdict verdict;
	uint64_t disk; /* bytes that the file takes */
	struct file_key key;
	struct file_identity identity;
	uint64_t nlink; /* names that the file has, listed or not */
	bool link;      /* another name of the file of the hit before */
	bool ignored; /* of search_file_query.with: the user ignores the pair */
	/* Of search_group_files(): */
	uint32_t group, member;
	int64_t date; /* that the document has, in seconds; TEXT_NO_DATE */
	uint8_t xxh128[16];
	/* The digests of the content (digests_to_json()); a reference.  Only with
	 * rules.every and for the first file of a content, else NULL. */
	struct json_t *digests;
};

/*
 * Memory that answers take: hits, listings, texts and groups, from when they are
 * made until they are freed.  A user may hold as many bytes as all others leave
 * of SEARCH_HELD_MOST: half of them when alone.  More is refused with EMFILE.
 */
#define SEARCH_HELD_MOST ((size_t)256 << 20)

/* Bytes of one user; zeroed: none.  There is one account for the process, as
 * some are held for longer than the module is there. */
struct search_held {
	uid_t uid; /* set with the first bytes */
	size_t bytes;
};

/* Takes more bytes.  -EMFILE: more than the user may hold; -ENOMEM. */
int search_hold(struct search_held *held, uid_t uid, size_t bytes);
/* Gives bytes back; search_held_release(): all. */
void search_let_go(struct search_held *held, size_t bytes);
void search_held_release(struct search_held *held);

struct search_hits {
	struct search_hit *hits; /* best first */
	size_t count;
	struct search_held held; /* for them */
	bool cut; /* there were more near-duplicates than the limit */
	/* The state of the file's digests; hits are known only if it is
	 * DIGESTS_FRESH.  The digests themselves are not filled in. */
	struct file_digests file;
	/* Files of the scan were still to be hashed, or some that were closed
	 * before the query; if the caller is not trusted, files that it can
	 * read, or a scan was running. */
	bool incomplete;
};

void search_hits_release(struct search_hits *hits);

/* For qsort(): best first, then by path. */
int search_hit_order(const void *a, const void *b);

/* Paths of directories and files, relative to SOURCE ("" is SOURCE), or their
 * names. */
struct search_paths {
	char **paths;
	size_t count;
};

int search_paths_add(struct search_paths *p, const char *path, size_t len);
/* Whether the path is one of these or below one; true if there are none. */
bool search_paths_have(const struct search_paths *p, const char *path);
void search_paths_release(struct search_paths *p);

struct search_file_query {
	int fd; /* of the file, O_PATH will do */
	/* Instead of a file: of one that need not be below SOURCE; or NULL. */
	const struct digests *digests;
	bool ignore; /* leave out pairs that the user ignores */
	/* A path below SOURCE: only the file there, if the caller sees it,
	 * whatever the verdict is; with base it is one of the hits.  Or NULL. */
	const char *with;
	bool base; /* only the best base for a delta */
	/* threshold, share_min: 0: those of the mount. */
	struct judge_rules rules;
	size_t limit;        /* of hits; 0: that of the mount */
	unsigned timeout_ms; /* of waiting for the digests, and for the text */
	/* To give up waiting for these; or NULL. */
	const struct queue_ticket *ticket;
};

/* ---- the module ---- */

/* All pointers are borrowed. */
struct search_context {
	const struct source *source;
	struct catalog *catalog;
	struct index *index;
	struct hasher *hasher;
	struct scanner *scan;
	struct event_list *events;
	struct ignored *ignored;     /* pairs that are left out; or NULL */
	const atomic_bool *stopping; /* queries end soon with -ECANCELED */
	int threshold;               /* least score of a near-duplicate */
	uint64_t share_min;          /* of INDEX_SHARES */
	size_t limit;                /* of hits; identical files not counted */
	bool texts;    /* contents are alike by the texts of documents, too */
	bool pictures; /* and by what pictures show */
	bool no_wait;  /* queries do not wait for files that were closed */
};

struct search_job;
struct search_slot;

struct searcher {
	struct search_context context; /* constant */
	struct credentials own;        /* of the process; constant */
	size_t turn_work;     /* SEARCH_TURN_WORK; tests set it before start */
	int64_t trust_ms;     /* SEARCH_TRUST_MS; tests set it before start */
	pthread_mutex_t lock; /* everything below */
	unsigned slot_count;  /* SEARCH_SLOTS; tests change it */
	struct quota quota;   /* of all jobs */
	struct search_job *jobs;   /* without a thread, by turn */
	struct search_job *ready;  /* wait for a slot, by turn */
	struct search_slot *slots; /* SEARCH_SLOTS_ALL; owned */
	/* The job whose query takes much memory and has begun, or NULL. */
	struct search_job *grouping;
	int64_t trim_ms; /* when to unmap pages of the catalog, or 0 */
	struct match_cache *matches; /* has a lock of its own */
	bool stopped;
	pthread_cond_t work; /* of threads without a job */
	struct crew crew;
};

/* The context is copied. */
int search_init(struct searcher *s, const struct search_context *context);
/* The queue's timer starts the threads; see crew.h. */
void search_start(struct searcher *s, struct queue *queue);
/* Ends the threads, when all jobs have ended; their queries fail with
 * -ECANCELED.  The caller has set context.stopping. */
void search_stop(struct searcher *s);
void search_release(struct searcher *s);

/* Has a thread call run().  Any thread may call this; it does not block.  The
 * caller of the queries is borrowed until the last of them has returned.
 * -EAGAIN: the user has too many jobs; -ECANCELED: the module has stopped. */
int search_start_job(struct searcher *s, const struct search_caller *caller,
		     void (*run)(void *arg, struct search_job *job), void *arg);

/* ---- queries: to be called by a job ---- */

/* Opens what is at a path below SOURCE with the caller's credentials (O_PATH): a
 * descriptor, or a negative errno. */
int search_open(struct search_job *job, const char *path);

/* The files in a relation to a file. */
int search_file(struct search_job *job, const struct search_file_query *query,
		struct search_hits *out);

/* The directories that resemble the one behind fd.  The score is the estimated
 * percentage of the larger tree's content that the smaller one contains.
 * Directories above and below the one behind fd are left out.  with: as in a
 * query about a file. */
int search_directories(struct search_job *job, int fd, const char *with,
		       struct search_hits *out);

/* The names in the directory behind fd that .similar shows, in byte order: files
 * with at least one near-duplicate, and directories with such a file anywhere
 * below. */
int search_browse(struct search_job *job, int fd, struct search_paths *out);

/* ---- groups.c ---- */

/*
 * Groups of near-duplicates among the files that the caller may see.
 *
 * search_groups() finds the groups.  It collects the contents of all visible
 * files, with the number of visible files of each, and has them grouped
 * (core/index/grouping/grouping.h).  Other contents have no influence.  For a
 * trusted caller and the whole tree it reads only the catalog.  The result is
 * small, as it has no paths.
 *
 * search_group_files() makes files of groups, a bounded number at a time.  Each
 * file is checked at that moment, as every hit is.  So a group may have fewer
 * files than were counted, and its head may have none.
 *
 * Both take turns with other queries (search.h).  Only one search for groups of
 * near-duplicates is worked on at a time, because it takes much memory.
 */

struct file_groups_query {
	struct group_rules rules;   /* threshold 0: that of the mount */
	uint64_t min_size;          /* of a content, in bytes */
	struct search_paths within; /* only files below these; empty: all */
	bool internal; /* also by names for which path_is_internal() */
	/* Once true, the search ends soon with -ECANCELED. */
	const atomic_bool *cancelled;
	/* Reports progress, 0 to 1000, to a trusted caller; may be NULL. */
	void (*progress)(void *arg, unsigned thousandths);
	void *arg;
};

struct file_groups {
	struct group_set *set;
	struct search_held held; /* for it */
	struct search_paths within;
	bool internal;
	/* Files of the scan were still to be hashed, or have changed since. */
	atomic_bool incomplete;
	/* Files that could not be hashed and names that could not be looked
	 * at; 0 for callers that are not trusted. */
	uint64_t failed;
	uint64_t
		failed_texts; /* documents whose text could not be read; as above */
};

void file_groups_free(struct file_groups *groups);

/* Takes query->within.  The caller frees the groups.  To a trusted caller they are
 * incomplete when a file could not be read, as well. */
int search_groups(struct search_job *job, struct file_groups_query *query,
		  struct file_groups **out);

/* Most files in an answer, or hits before its last file. */
enum { GROUP_FILES_MAX = 512 };

struct search_group_range {
	uint32_t group, last; /* the first group, and the last */
	bool heads;           /* only the first file of each head */
	bool names; /* a hit for each name of a file, not the first alone */
	bool end;   /* set when there are no more files */
	/* Where to go on in the group; zero at first. */
	uint32_t member;      /* its index in the group */
	struct file_key copy; /* its file that was examined last */
};

/* The next files of the groups in order; sets group, member and copy to where to
 * go on.  The score of a hit is that with the head of its group. */
int search_group_files(struct search_job *job, struct file_groups *groups,
		       struct search_group_range *range,
		       struct search_hits *out);

/* ---- */

/* Whether files of the scan are still to be hashed, or some change all the
 * time.  Files that were closed a moment ago do not count, as a tree in use
 * would never be complete; nor does a later scan, of a tree that is known.
 * only_pending_out: all of them are on the catalog's pending list, as no first
 * scan is running. */
bool search_is_incomplete(const struct search_context *c,
			  bool *only_pending_out);

/* ---- checking earlier hits ---- */

/* Whether the path leads to that file or directory, with that identity (NULL:
 * any), and the calling thread can list all directories on the path and read what
 * is there. */
bool search_hit_holds(const struct source *source, const char *path,
		      const struct file_key *key,
		      const struct file_identity *identity);

#endif
