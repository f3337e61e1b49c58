/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_SHARE_FEED_H
#define CORE_SHARE_FEED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/catalog/catalog.h"
#include "core/share/batch.h"
#include "core/share/state.h"

/*
 * What of a catalog is to be published now: the difference between its files
 * and the publications in the state.
 *
 * A pass visits files and puts those that differ into a batch: all files of the
 * catalog and all publications (feed_all), or the files that changed since the
 * last pass (feed_changes).  When the batch is full the pass stops, and goes on
 * when it is called again after the batch was sent.  The catalog may change
 * between the calls: what changes behind the pass is recorded as dirty and
 * visited by the next one.
 *
 * A file that is being hashed keeps its publication until its digests are
 * known.
 */

/* What is shared; all borrowed. */
struct share_rules {
	const char *const *globs; /* of paths relative to SOURCE */
	size_t glob_count;        /* 0: all files */
	bool none;                /* nothing is shared */
	bool no_paths;            /* contents and their number alone */
	const char *label;        /* of the host; at least one character */
};

/* Rules with another hash publish other rows. */
uint64_t share_rules_hash(const struct share_rules *rules);

struct feed {
	/* Set by the owner. */
	struct catalog *catalog;
	struct share_state *state;
	const struct share_rules *rules;
	const char *source; /* absolute */
	struct file_key root;
	int64_t limit;
	const atomic_bool *stop;

	/* The pass. */
	enum {
		FEED_BEGIN,
		FEED_FILES,
		FEED_PUBLICATIONS,
		FEED_CHANGES,
		FEED_END
	} step;
	struct dirty_mark mark; /* the pass covers changes up to there */
	uint32_t content;       /* FEED_FILES: next */
	struct file_key key;    /* the last one of the other steps */
	bool has_key;
	bool is_blind;         /* of feed_all_again() */
	uint64_t visited, all; /* of feed_all(), for a progress bar */
	struct file_key *work; /* files still to be visited */
	size_t work_count;
	struct share_batch batch;
	struct sketch *sketch; /* room */
};

int feed_init(struct feed *f);
void feed_release(struct feed *f);

/* Forgets the pass that is under way. */
void feed_restart(struct feed *f);

/* Goes on with a pass.  1: the batch is to be sent, and the call repeated; 0:
 * the pass has come to its end with an empty batch, f->mark is published. */
int feed_all(struct feed *f);
/* feed_all() as if nothing were published; state may be NULL. */
int feed_all_again(struct feed *f);
int feed_changes(struct feed *f, const struct dirty_mark *done);

#endif
