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
 * A query, and what it has found out so far.  Private to core/search.
 *
 * The functions of a kind are called by the thread that has the query, with
 * the caller's credentials: begin once, then turn until it returns something
 * else than TURN_OVER.  A turn may end between any two files: a function that
 * examines a file counts it (work_left), and returns TURN_OVER, without having
 * examined it, when there is no work left.  The next turn calls it again.  So
 * what precedes it must either be kept (in state, or with visibility), or be
 * cheap to do again.
 */
enum { TURN_OVER = -EINPROGRESS };

struct query_kind {
	/* Without a transaction. */
	int (*begin)(struct search_query *q);
	/* 0: the answer is complete in hits or entries. */
	int (*turn)(struct search_query *q);
	/* After a turn that was not enough, without the caller's credentials;
	 * or NULL. */
	void (*turn_over)(struct search_query *q);
	/* Calls done, in place of on_hits and on_entries; NULL: those. */
	void (*end)(struct search_query *q, int err);
	/* Frees state; also after a failure and if begin was not called. */
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
	struct digests *digests; /* owned: of what is not in the tree */
	enum index_relation relation;
	/* Of such queries one at a time is worked on (searcher.grouping). */
	bool takes_memory;
	struct search_caller caller;
	/* Only paths below these become hits; NULL: all do.  Borrowed. */
	const struct search_paths *within;
	/* One of the two is set, if the kind has no end(). */
	search_hits_fn *on_hits;
	search_entries_fn *on_entries;
	void *arg;

	uint64_t turn;       /* when it is worked on, see share.h */
	uint64_t number;     /* ... once the committer got so far */
	unsigned turns_done; /* so many were not enough */

	struct digests_wait wait; /* of search_file() */
	struct search_hits hits;  /* so far */
	struct search_entries entries;
	void *state; /* of the kind */
	struct visibility visibility;
	struct index_visibility
		*index_visibility; /* NULL: the caller is trusted */

	/* Of this turn. */
	struct catalog_txn *txn;
	struct directory_cache *directories; /* borrowed, of the thread */
	size_t work_left;
	bool ignores; /* some pairs of contents are ignored */
	int err;      /* of what a callback of the index did */

	/* What is searched for just now. */
	struct file_key self;
	uint32_t self_content; /* 0: not in the catalog */
};

/* Nothing more is to be examined in this turn: TURN_OVER, or -ECANCELED at the
 * end of all; else 0. */
int query_may_go_on(const struct search_query *q);
/* That much was done. */
void query_count_work(struct search_query *q, size_t work);

/* ---- query.c ---- */

/* fd: -1 for none. */
int query_new(struct searcher *s, const struct query_kind *kind, int fd,
	      const struct search_caller *caller, struct search_query **out);
void query_free(struct search_query *q);

/* Lets q wait until the committer has got as far as what is posted now. */
void query_hold(struct search_query *q);

/* Puts it among those that are ready; under the lock. */
void query_make_ready(struct searcher *s, struct search_query *q);
/* Calls done and frees it. */
void query_end(struct search_query *q, int err);

struct key_list {
	struct file_key *keys; /* owned */
	size_t count;
};

/* Serves as a callback of the catalog; arg is the list. */
int key_list_add(void *arg, const struct file_key *key);

/* ---- paths.c ---- */

/* Whether the caller, whose credentials the thread has, may read the file. */
bool caller_can_read(const struct search_caller *caller, int fd);

/* Whether the caller may know of the path of a file: it could have listed
 * every directory on it.  ("a/b" is a directory in which to find "a/b/c".) */
bool path_is_visible(struct search_query *q, const char *path);

/* Whether the caller may know of the entries of that directory. */
bool directory_is_visible(struct search_query *q, const struct file_key *key);

/* Whether the calling thread may list the directory and go on from there;
 * key_out may be NULL. */
bool directory_is_open(const struct source *source, const char *path,
		       struct file_key *key_out);

/* The identity of fd if it is the regular file that key says. */
bool file_identify(const struct source *source, int fd,
		   const struct file_key *key, struct file_identity *out);

/* ---- hits.c ---- */

/* Whether the caller may know that this file has near-duplicates. */
bool file_is_visible(struct search_query *q, const struct file_key *key);

/* Makes the file a hit, by the first of its paths that will do: 1; else 0. */
int hits_add_file(struct search_query *q, const struct file_key *key,
		  int score);

/* 1 when it could be a hit, else 0. */
int hits_probe_file(struct search_query *q, const struct file_key *key);

/* As path_is_visible(), and the path leads to the file in the state that is
 * known, which the caller may read. */
bool copy_is_visible(struct search_query *q, const struct file_key *key,
		     const char *path);

/* Whether the user ignores the pair of a content with these digests, or, in the
 * second function, with those of q->self_content. */
bool pair_is_ignored(struct search_query *q, const struct digests *d,
		     uint32_t content);
bool self_pair_is_ignored(struct search_query *q, uint32_t content);

/* Calls each for the files with a content, from the cursor on, until it returns
 * something else than 0, which is returned then; counts their work. */
int copies_each(struct search_query *q, uint32_t content,
		struct copy_cursor *cursor,
		int (*each)(void *arg, const struct file_key *key), void *arg);

/* 1 when a file with that content, other than q->self, is a hit. */
int content_has_hit(struct search_query *q, uint32_t content);

/* The files with a content that became hits.  Zeroed at first. */
struct content_copies {
	struct copy_cursor cursor;
	size_t added;
};

/* Adds the files with that content, at most limit, other than q->self; sets
 * cut when there is one more. */
int content_add_hits(struct search_query *q, uint32_t content, int score,
		     size_t limit, struct content_copies *copies, bool *cut);

/* Whether the caller sees a file with that content: serves the index as
 * index_visibility.is_visible, with the query as arg. */
bool content_is_visible(void *arg, uint32_t content);

/* ---- near_contents.c ---- */

/* The texts of digests that are compared, by the measure of the mount; sketches
 * are read from the catalog. */
uint32_t near_texts(const struct search_query *q);

/* What resembles q->self_content, or else these digests. */
struct content_query {
	const struct digests *digests; /* NULL: those of q->self_content */
	enum index_relation relation;
	uint32_t first_content; /* least id looked at */
	bool any;               /* one is enough */
};

/* So many matches are looked for: some have no file that the caller sees. */
size_t matches_most(const struct search_query *q);

/* The contents that score at least the threshold, or share a passage, and are
 * not identical, best first, at most matches_most(); free() the array. */
int near_contents(struct search_query *q, const struct content_query *wanted,
		  struct index_match **out, size_t *count_out);

#endif
