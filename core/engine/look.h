/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_ENGINE_LOOK_H
#define CORE_ENGINE_LOOK_H

#include "core/engine/engine_impl.h"
#include "core/engine/near.h"

/*
 * One request's view of the catalog.  Private to hits.c, near.c and browse.c.
 * The functions run with the viewer's credentials.
 */
struct look {
	struct request *r;
	struct engine *e;
	struct catalog_txn *txn;
	struct file_key self;
	uint32_t self_content;    /* 0: not in the catalog */
	struct engine_hits *hits; /* NULL: one is enough, keep nothing */
	size_t found;
};

/* Ends with catalog_abort(l->txn). */
int look_begin(struct request *r, struct look *l);
bool look_is_stopping(const struct look *l);

struct key_list {
	struct file_key *keys; /* owned */
	size_t count;
};

/* Serves as a callback of the catalog; arg is the list. */
int key_list_add(void *arg, const struct file_key *key);

/* ---- hits.c ---- */

/* Whether the viewer, whom the thread is by now, may read the file. */
bool viewer_can_read(const struct engine_viewer *v, int fd);

/* Whether the viewer may know that this file has near-duplicates. */
bool file_is_visible(struct look *l, const struct file_key *key);

/* Adds the files with that content, at most limit; sets cut when there may be
 * more.  With no list to fill it stops at the first. */
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
