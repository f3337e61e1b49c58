/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_SEARCH_SEARCH_IMPL_H
#define CORE_SEARCH_SEARCH_IMPL_H

#include <errno.h>

#include "core/search/search.h"

/* Where directories were found: a file in them then costs no walk through the
 * catalog, and a trusted caller one fstatat().  Without it the second walk
 * through the listings of 4,000 files, of which each has 40 relatives in 250
 * directories, takes a third longer. */
enum { KNOWN_DIRECTORIES = 2048, KNOWN_BYTES = 1 << 20 };

struct known_directory {
	struct file_key key;
	char *path;          /* owned; NULL: the entry is free */
	uint64_t snapshot;   /* of the catalog that had the path */
	int64_t verified_ns; /* when the turn began that verified it */
	bool there;          /* the path leads to the directory */
};

/* The right to work, and what goes with it. */
struct search_slot {
	struct search_job *job; /* NULL: free */
	int64_t since_ms;       /* when the job got it */
	struct known_directory known[KNOWN_DIRECTORIES];
	size_t known_bytes; /* of their paths */
};

/* A thread of its host's; under the lock of the searcher. */
struct search_job {
	struct search_job *next; /* in a list by turn */
	struct searcher *searcher;
	const struct search_caller *caller;
	uid_t uid; /* of the caller, who may be gone */
	void (*run)(void *arg, struct search_job *job);
	void *arg;
	int64_t since_ms;      /* when it was asked for */
	uint64_t turn;         /* its place in the list, see share.h */
	unsigned turns;        /* so many have begun, or are waited for */
	bool is_short;         /* its first turn is not a long one */
	bool takes_memory;     /* one such query at a time is worked on */
	pthread_cond_t resume; /* slot is set, or nothing is awaited */
	struct search_slot *slot;
};

struct search_query {
	struct search_job *job;
	struct searcher *searcher;
	const struct search_context *context;
	const struct search_caller *caller;
	int fd; /* the file or directory, O_PATH; -1 with digests */
	const struct digests *digests; /* instead of fd, or NULL */
	struct judge_rules rules;
	size_t limit; /* of hits */
	bool ignore;  /* leave out pairs that the user ignores */
	/* Of waiting for digests and for a text. */
	int64_t deadline_ms;
	const struct queue_ticket *ticket;
	bool goes_on; /* with an earlier answer: it waits for no closed file */
	/* Requests that are parked, and whether a file that was closed before is
	 * missing; under the lock of the searcher. */
	size_t awaited;
	bool late;
	/* Only paths below these become hits; NULL: all do. */
	const struct search_paths *within;
	/* None for which path_is_internal(), unless the query is about what is
	 * itself there, or about all. */
	bool live;

	struct search_hits hits; /* the answer */

	/* Which contents the caller sees, by id (hits.c), and which directories
	 * it may list, of tsearch(3) (paths.c).  Owned. */
	uint8_t *contents;
	size_t content_count;
	void *directories;
	/* Owned; NULL: the caller is trusted. */
	struct index_visibility *index_visibility;

	struct catalog_txn *txn; /* NULL: none */
	bool has_credentials;    /* the thread has the caller's */
	int64_t turn_ns;         /* when the turn began */
	size_t work_left;        /* of the turn */
	bool ignores;            /* the user ignores some pairs of contents */
	/* A file that the caller sees was left out, as it has changed. */
	bool missed;
	/* No scan is running, so that what is missing is on the pending
	 * list. */
	bool only_pending;
	bool exact; /* texts decide nothing */
	int err;    /* of callbacks that cannot return it */

	/* The file that is searched for: its key and its content. */
	struct file_key self;
	uint32_t self_content; /* 0: not in the catalog */
};

/* ---- query.c ---- */

/* Makes a query.  fd: -1 for none. */
void query_init(struct search_query *q, struct search_job *job, int fd);

/* Waits for the committer and for a slot, and begins the first turn: from here
 * on the thread has the caller's credentials.  A transaction begins with
 * query_begin_read(). */
int query_begin(struct search_query *q);

/* Ends a query, whatever of it has begun; without an error *out gets the hits,
 * unless it is NULL.  Returns an error. */
int query_end(struct search_query *q, int err, struct search_hits *out);

/* ---- wait.c ---- */

/* Waits for the digests of the file, until q->deadline_ms.  Without a slot. */
int query_wait_digests(struct search_query *q);

/* Has all files hashed that were closed before the query began and that the
 * caller can read, and waits for them; sets late if some are missing.  Without a
 * slot. */
int query_wait_closed(struct search_query *q);

/* Waits, until q->deadline_ms, for the text of q->self_content.  With a slot,
 * which may be another one then, and the transaction, too. */
int query_wait_text(struct search_query *q);

/* ---- turns.c ---- */

/* Waits for a slot, and begins a turn.  Gives the slot of an earlier one back. */
int query_take_turn(struct search_query *q);
/* Ends the turn; gives the slot back only where the query ends or waits. */
void query_end_turn(struct search_query *q);
void query_give_slot(struct search_query *q);

/* Begins a transaction. */
int query_begin_read(struct search_query *q);
void query_end_read(struct search_query *q);

/*
 * To be called before a file is examined.  If the work of the turn is done,
 * waits until the query has another turn.  The transaction is another one then,
 * so no walk may be open.  If it fails, there is none: the caller returns the
 * error, -ECANCELED if the engine ends.
 */
int query_yield(struct search_query *q);
/* Subtracts from work_left. */
void query_count_work(struct search_query *q, size_t work);

/* ---- paths.c ---- */

/* A stack of files and directories. */
struct key_list {
	struct file_key *keys; /* owned */
	size_t count;
};

int key_list_add(struct key_list *list, const struct file_key *key);

/* The next file below the directories in the list that the caller may list: 1,
 * with its key and record; 0: there are no more.  Counts each as work, and may
 * wait as query_yield() does. */
int key_list_next_file(struct search_query *q, struct key_list *list,
		       struct file_key *key_out, struct file_record *out);

/* Whether the caller may read the file.  The thread has its credentials. */
bool caller_can_read(const struct search_caller *caller, int fd);

/* Whether the caller may list every directory above the path. */
bool path_is_visible(struct search_query *q, const char *path);

/* Whether the calling thread may list (read and search) that directory alone;
 * key_out may be NULL. */
bool directory_is_open(const struct source *source, const char *path,
		       struct file_key *key_out);

/* The only path of a directory in the catalog; the caller frees it.  -ENOENT. */
int directory_path(struct search_query *q, const struct file_key *key,
		   char **out);

/* The path of the directory in the catalog; valid until the next call.  verify,
 * for trusted callers only: it leads there, perhaps by a look up to
 * searcher.trust_ms before this turn.  -ENOENT. */
int directory_find(struct search_query *q, const struct file_key *key,
		   bool verify, const char **path_out);
void known_directories_release(struct search_slot *slot);

/* Looks at fd; false if it is not the regular file of that key. */
bool file_identify(const struct source *source, int fd,
		   const struct file_key *key, struct stat *out);

/* ---- hits.c ---- */

/* Appends the hit to those of the query; takes its path, also on failure.
 * -EMFILE: the user holds too much, see struct search_held. */
int hits_append(struct search_query *q, const struct search_hit *hit);

/* Adds a hit for each path by which the caller sees the file, names at most.
 * Returns their number; with names 0, whether there is one.  0: the file is not
 * visible or has changed. */
enum { HIT_NAMES_MAX = 65536 };
int hits_add_file(struct search_query *q, const struct file_key *key,
		  const struct verdict *verdict, size_t names);

/* 1: all names that the file has in the catalog are internal; else 0. */
int file_is_internal(struct search_query *q, const struct file_key *key);

/* Whether the caller is trusted or the file could be a hit. */
bool file_is_visible(struct search_query *q, const struct file_key *key);

/* Whether the caller is trusted, or the file could be a hit by that path. */
bool copy_is_visible(struct search_query *q, const struct file_key *key,
		     const char *path);

/* For a caller that is not trusted: sets incomplete of the hits by the files
 * that it can read. */
int hits_settle_incomplete(struct search_query *q);

/* Whether the user ignores the pair of a content and these digests, or of two
 * contents. */
bool pair_is_ignored(struct search_query *q, const struct digests *d,
		     uint32_t content);
bool contents_are_ignored(struct search_query *q, uint32_t a, uint32_t b);

/* The next file with a content after *at, which is zero at first: 1, *at is its
 * key; 0, there are no more.  Counts it as work, and may wait as query_yield()
 * does. */
int copy_next(struct search_query *q, uint32_t content, struct file_key *at);

/* 1: several files with that content are visible; else 0. */
int content_has_copies(struct search_query *q, uint32_t content);

/* Whether a file with that content is visible. */
bool content_is_visible(struct search_query *q, uint32_t content);

/* The same of the text of the content, whose sketch has that id: whether a file
 * of which it is told is visible. */
bool text_is_visible(struct search_query *q, uint32_t content, uint32_t sketch);

/* One of the two.  A callback for the index (index_visibility.is_visible); arg is
 * the query. */
bool sketch_is_visible(void *arg, uint32_t content, uint32_t sketch);

/* ---- near.c ---- */

/* The id of the sketch of the content's text; 0: it has none. */
int text_of_content(struct search_query *q, uint32_t content, uint32_t *out);

/* Reads a sketch for the index (index_store.sketch); arg is the query. */
int query_fetch_sketch(void *query, uint32_t content, struct sketch *out);

/* Finds the contents in the relation of the query to q->self_content, or if that
 * is 0 to own, best first, without identical ones; the caller frees the array.
 * any: one match is enough. */
int near_contents(struct search_query *q, const struct digests *own, bool any,
		  struct index_match **out, size_t *count_out);

/* ---- match_cache.c ---- */

/*
 * A cache of the matches of contents.  A program that walks the virtual tree
 * first asks which files of a directory have a near-duplicate, and then for the
 * listing of each of them; the second query needs the matches of the first.
 * Without the cache a walk through the listings of 10,000 header files takes 1.6
 * times as long, a second walk 2.6 times; of 4,000 files with 39 relatives each
 * 1.1 and 1.6 times.
 *
 * It is only for INDEX_ALIKE, and for callers that may see every content.
 * Matches are valid until the index changes.  Any thread may call these
 * functions.
 */
#define MATCH_CACHE_SLOTS 131072            /* contents; direct-mapped; 3 MiB */
#define MATCH_CACHE_MOST 512                /* matches of a content */
#define MATCH_CACHE_BYTES ((size_t)8 << 20) /* of all matches */

int match_cache_new(struct match_cache **out);
void match_cache_free(struct match_cache *c);

/* Copies the matches of a content, if they were found at that change count of
 * the index (index_change_count()).  The caller frees the copy. */
bool match_cache_get(struct match_cache *c, uint32_t content, uint64_t changes,
		     struct index_match **out, size_t *count_out);

/* Copies the matches into the cache, if there are at most MATCH_CACHE_MOST and
 * there is memory.  changes: index_change_count() from before the search. */
void match_cache_put(struct match_cache *c, uint32_t content, uint64_t changes,
		     const struct index_match *matches, size_t count);

#endif
