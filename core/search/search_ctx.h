/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_SEARCH_SEARCH_CTX_H
#define CORE_SEARCH_SEARCH_CTX_H

#include "core/engine/engine_impl.h"
#include "core/search/near.h"
#include "core/search/visibility.h"

/*
 * One request's view of the catalog.  Private to hits.c, near.c and browse.c.
 * The functions run with the caller's credentials.
 */
struct look {
	struct request *r;
	struct engine *e;
	struct catalog_txn *txn;
	struct file_key self;
	uint32_t self_content;    /* 0: not in the catalog */
	struct engine_hits *hits; /* NULL: one is enough, keep nothing */
	size_t found;
	struct sights sights;
	struct index_viewer *viewer; /* owned; NULL: trusted */
	int err;                     /* of what the index asked (sees) */
};

/* Ends with look_end(l).  *l must not move meanwhile. */
int look_begin(struct request *r, struct look *l);
void look_end(struct look *l);
bool look_is_stopping(const struct look *l);

struct key_list {
	struct file_key *keys; /* owned */
	size_t count;
};

/* Serves as a callback of the catalog; arg is the list. */
int key_list_add(void *arg, const struct file_key *key);

/* ---- hits.c ---- */

/* Whether the caller, whom the thread is by now, may read the file. */
bool caller_can_read(const struct engine_caller *v, int fd);

/* Whether the caller may know that this file has near-duplicates. */
bool file_is_visible(struct look *l, const struct file_key *key);

/* Whether the caller may know of the path of a file: it could have listed
 * every directory on it.  ("a/b" is a directory in which to find "a/b/c".) */
bool path_is_visible(struct look *l, const char *path);

/* The same for what is in a directory. */
bool directory_is_visible(struct look *l, const struct file_key *key);

/* As path_is_visible(), and the path leads to the file in the state that is known, which
 * the caller may read. */
bool copy_is_visible(struct look *l, const struct file_key *key,
		     const char *path);

/* Whether the calling thread may list the directory and go on from there;
 * key_out may be NULL. */
bool directory_is_open(const struct engine *e, const char *path,
		       struct file_key *key_out);

/* Whether it may list all those above a path; the root is not asked. */
bool directories_are_open(const struct engine *e, const char *path);

/* 1 when a file with that content, other than l->self, is a hit. */
int content_has_hit(struct look *l, uint32_t content);

/* Adds the files with that content, at most limit, other than l->self; sets
 * cut when there is one more. */
int content_hits(struct look *l, uint32_t content, int score, size_t limit,
		 bool *cut);

/* ---- near.c ---- */

struct near_query {
	const struct digests *digests;
	const struct sif_sketch *sketch; /* NULL: it has none */
	enum index_relation relation;
	uint32_t first_content; /* least id looked at */
	bool any;               /* one is enough */
};

/* The contents that score at least the threshold and are not identical, best
 * first, at most INDEX_MATCHES; free() the array. */
int near_contents(struct look *l, const struct near_query *q,
		  struct index_match **out, size_t *count_out);

#endif
