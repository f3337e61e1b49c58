/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_SEARCH_SEARCH_IMPL_H
#define CORE_SEARCH_SEARCH_IMPL_H

#include <errno.h>

#include "core/search/directory_cache.h"
#include "core/search/groups.h"
#include "core/search/match_cache.h"
#include "core/search/search.h"
#include "core/search/sketch_cache.h"
#include "core/search/visibility.h"

/*
 * A query and its results so far.
 *
 * A thread that works on the query calls the functions of its kind, with the
 * caller's credentials: begin() once, then turn() until it returns anything but
 * TURN_OVER.  A turn may end between any two files.  A function that is about
 * to examine a file returns TURN_OVER when work_left is 0; otherwise it
 * examines the file and counts the work.  The next turn calls the function
 * again, so the results before that point must be in state or visibility, or be
 * cheap to compute again.
 */
enum { TURN_OVER = -EINPROGRESS };

struct query_kind {
	bool tells_incomplete; /* its answer has incomplete of the hits */
	/* Called without a transaction. */
	int (*begin)(struct search_query *q);
	/* 0: the answer is complete in hits or entries. */
	int (*turn)(struct search_query *q);
	/* Called after TURN_OVER, without the caller's credentials; or NULL. */
	void (*turn_over)(struct search_query *q);
	/* Calls done; NULL: on_hits or on_entries is called instead. */
	void (*end)(struct search_query *q, int err);
	/* Frees state; also called after a failure, or without begin(). */
	void (*release)(struct search_query *q);
};

extern const struct query_kind query_file;        /* near.c */
extern const struct query_kind query_directories; /* directories.c */
extern const struct query_kind query_browse;      /* browse.c */

struct search_query {
	struct search_query *next;
	struct searcher *searcher;
	const struct search_context *context;
	const struct query_kind *kind;
	int fd; /* owned: the file or directory, O_PATH; -1 with digests */
	struct digests *digests; /* owned: of search_content(), else NULL */
	enum index_relation relation;
	int threshold; /* 0: that of the mount */
	/* One such query at a time is worked on (searcher.grouping). */
	bool takes_memory;
	struct search_caller caller;
	/* Only paths below these become hits; NULL: all do.  Borrowed. */
	const struct search_paths *within;
	/* One of these is set if the kind has no end(). */
	search_hits_fn *on_hits;
	search_entries_fn *on_entries;
	void *arg;

	uint64_t turn;       /* its place in the list, see share.h */
	uint64_t number;     /* of the event that the committer must reach */
	unsigned turns_done; /* turns that ended with TURN_OVER */

	struct digests_wait wait; /* of search_file() */
	struct search_hits hits;  /* so far */
	struct search_entries entries;
	void *state; /* of the kind */
	struct visibility visibility;
	/* Owned; NULL: the caller is trusted. */
	struct index_visibility *index_visibility;

	/* Valid during a turn. */
	struct catalog_txn *txn;
	struct directory_cache *directories; /* borrowed, of the thread */
	size_t work_left;
	/* No scan is running, so that what is missing is on the pending list.
	 * Files up to the key have been examined, and are not missing. */
	bool has_answer; /* but for that: turn() has returned 0 */
	bool only_pending;
	struct file_key pending;
	bool ignores; /* the user ignores some pairs of contents */
	int err;      /* of callbacks that cannot return it */

	/* The file that is searched for: its key and its content. */
	struct file_key self;
	uint32_t self_content; /* 0: not in the catalog */
};

struct search_thread {
	struct searcher *searcher;
	struct directory_cache directories;
	int64_t release_ms; /* when to close these, or 0 */
	/* Under the lock of the searcher. */
	pthread_cond_t work;
	struct search_thread *next; /* in the list of idle threads */
	bool is_taken;              /* has a thread */
	bool is_idle;
};

/* Wakes a thread that waits for a query, or has one started.  The caller holds the lock. */
void search_wake(struct searcher *s);

/* 0; TURN_OVER: the work of this turn is done; -ECANCELED: the engine ends. */
int query_may_go_on(const struct search_query *q);
/* Subtracts from work_left. */
void query_count_work(struct search_query *q, size_t work);

/* ---- query.c ---- */

/* fd: -1 for none. */
int query_new(struct searcher *s, const struct query_kind *kind, int fd,
	      const struct search_caller *caller, struct search_query **out);
void query_free(struct search_query *q);

/* Holds q until the committer has tried to commit all events posted so far.
 * Takes q. */
void query_hold(struct search_query *q);

/* Adds q to the list of ready queries.  The caller holds the lock. */
void query_make_ready(struct searcher *s, struct search_query *q);
/* Answers the query and frees it. */
void query_end(struct search_query *q, int err);

struct key_list {
	struct file_key *keys; /* owned */
	size_t count;
};

/* A callback for the catalog; arg is a struct key_list. */
int key_list_add(void *arg, const struct file_key *key);

/* ---- paths.c ---- */

/* Whether the caller may read the file.  The thread has its credentials. */
bool caller_can_read(const struct search_caller *caller, int fd);

/* Whether the caller may list every directory above the path. */
bool path_is_visible(struct search_query *q, const char *path);

/* Whether the caller may list the directory and every one above it. */
bool directory_is_visible(struct search_query *q, const struct file_key *key);

/* Whether the calling thread may list (read and search) that directory alone;
 * key_out may be NULL. */
bool directory_is_open(const struct source *source, const char *path,
		       struct file_key *key_out);

/* Looks at fd; false if it is not the regular file of that key. */
bool file_identify(const struct source *source, int fd,
		   const struct file_key *key, struct stat *out);

/* ---- hits.c ---- */

/* Whether the caller is trusted or the file could be a hit. */
bool file_is_visible(struct search_query *q, const struct file_key *key);

/* For a caller that is not trusted: sets incomplete of the hits by the files
 * that it can read. */
int hits_settle_incomplete(struct search_query *q);

/* Adds a hit for the file, by its first visible path.  1: added, 0: the file
 * is not visible or has changed. */
int hits_add_file(struct search_query *q, const struct file_key *key,
		  int score);

/* The same with a hit for each visible path, HIT_NAMES_MAX at most. */
enum { HIT_NAMES_MAX = 65536 };
int hits_add_names(struct search_query *q, const struct file_key *key,
		   int score);

/* 1: hits_add_file() would add the file, else 0. */
int hits_probe_file(struct search_query *q, const struct file_key *key);

/* Whether the caller is trusted, or the file could be a hit by that path. */
bool copy_is_visible(struct search_query *q, const struct file_key *key,
		     const char *path);

/* Whether the user ignores the pair of a content and these digests, or of a
 * content and q->self_content. */
bool pair_is_ignored(struct search_query *q, const struct digests *d,
		     uint32_t content);
bool self_pair_is_ignored(struct search_query *q, uint32_t content);

/* Calls each() for the files with a content, from the cursor on, until it does
 * not return 0, and returns that.  Counts each file as work. */
int copies_each(struct search_query *q, uint32_t content,
		struct copy_cursor *cursor,
		int (*each)(void *arg, const struct file_key *key), void *arg);

/* 1: a file with that content, other than q->self, could be a hit; else 0. */
int content_has_hit(struct search_query *q, uint32_t content);

/* Position in the files with a content, and hits added.  Zeroed at first. */
struct content_copies {
	struct copy_cursor cursor;
	size_t added;
};

/* Adds the files with that content other than q->self, at most limit; sets cut
 * when there is another one. */
int content_add_hits(struct search_query *q, uint32_t content, int score,
		     size_t limit, struct content_copies *copies, bool *cut);

/* Whether a file with that content is visible.  A callback for the index
 * (index_visibility.is_visible); arg is the query. */
bool content_is_visible(void *arg, uint32_t content);

/* ---- near_contents.c ---- */

/* DIGEST_BIT()s: the digests in text form that the mount's measure needs.
 * Sketches are read from the catalog instead. */
uint32_t near_texts(const struct search_query *q);

struct content_query {
	const struct digests *digests; /* NULL: those of q->self_content */
	enum index_relation relation;
	uint32_t first_content; /* contents with a smaller id are left out */
	bool any;               /* one match is enough */
};

/* How many matches are searched for.  More than the limit of hits, because some
 * may have no visible file. */
size_t matches_most(const struct search_query *q);

/* Finds the contents in the relation, best first, without identical ones; the
 * caller frees the array. */
int near_contents(struct search_query *q, const struct content_query *wanted,
		  struct index_match **out, size_t *count_out);

#endif
