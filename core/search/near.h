/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_SEARCH_NEAR_H
#define CORE_SEARCH_NEAR_H

#include "core/engine/engine.h"

/* What an inquiry thread works on; private to inquiry.c and what it calls. */
struct request {
	struct request *next;
	struct engine *engine;
	int fd; /* the file or directory, O_PATH; -1 with digests */
	struct digests *digests; /* owned: of what is not in the tree */
	enum index_relation relation;
	bool directories; /* on_hits gets directories */
	bool incomplete;  /* engine_hits.incomplete */
	struct engine_caller caller;
	uint64_t turn;
	uint64_t number; /* to be answered once the committer got so far */
	/* One of the two is set. */
	void (*on_hits)(void *arg, int result, struct engine_hits *hits);
	void (*on_entries)(void *arg, int result,
			   struct engine_entries *entries);
	void *arg;
};

/* They run with the caller's credentials. */
int near_list(struct request *r, struct engine_hits *hits_out);
int near_directories(struct request *r, struct engine_hits *hits_out);
int near_browse(struct request *r, struct engine_entries *entries_out);

#endif
