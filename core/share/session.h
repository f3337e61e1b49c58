/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_SHARE_SESSION_H
#define CORE_SHARE_SESSION_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/catalog/catalog.h"
#include "core/share/batch.h"
#include "core/share/schema.h"
#include "core/share/state.h"

/* What is shared. */
struct share_rules {
	struct share_names globs; /* of paths relative to SOURCE; none: all */
	bool none;                /* nothing is shared */
	bool no_paths;            /* contents and their number alone */
	char label[256];          /* of the host; at least one character */
};

/*
 * One catalog that is published: follows it, and sends what changed.
 *
 * session_greet() on each new connection asks whether the database has of this
 * host what the state says.  Both sides keep the random token of the last
 * batch, and the state also that of a batch that was sent and not yet answered;
 * any other token means that one side was emptied or went back to a backup.
 * Then a new epoch begins: the publications are forgotten, everything is sent
 * again, and last the copies of earlier epochs are deleted.
 *
 * A pass visits files and puts those into batches whose publications differ
 * from what they should have: all files and all publications, or the files that
 * changed since the last pass.  What changes behind it is recorded as dirty and
 * visited by the next one.  A file that is being hashed keeps its publication
 * until its digests are known.
 *
 * Nothing of a session is used by two threads, but for the figures.
 */
struct session {
	/* Set by the owner; borrowed. */
	const char *directory; /* of the catalog */
	const struct share_rules *rules;
	const atomic_bool *stop;

	char *share_directory; /* owned */
	char *source;          /* owned; absolute */
	struct file_key root;  /* of source */
	struct catalog *catalog;
	struct share_state *state;
	char host[DB_UUID_TEXT + 1];
	int64_t limit; /* of the shared catalog */

	/* The pass under way. */
	enum {
		PASS_NONE,
		PASS_FILES,        /* of all: by their contents */
		PASS_PUBLICATIONS, /* then those of files that are gone */
		PASS_CHANGES,      /* of what changed */
		PASS_END           /* but for the last batch */
	} step;
	bool is_full;           /* it is one over everything */
	bool is_blind;          /* as if nothing were published */
	struct dirty_mark mark; /* it covers changes up to there */
	uint32_t content;       /* PASS_FILES: the next one */
	struct file_key key;    /* the last one of the other steps */
	bool has_key;
	uint64_t visited, all; /* files, for a progress bar */
	struct catalog_txn *txn;
	char *path; /* of the file that is visited, if it is told; owned */
	struct file_key *work; /* files still to be visited; owned */
	size_t work_count;
	struct share_batch batch;
	struct sketch *sketch; /* room; owned */

	/* Of a catalog that has not recorded a change yet: what the last full
	 * pass saw. */
	uint64_t snapshot;
	/* Read by other threads. */
	atomic_ullong published, batches;
	atomic_bool is_current;
};

/* -EBUSY: another kin-share publishes it; or as catalog_follow(). */
int session_open(struct session *s);
void session_close(struct session *s);

/* The catalog alone, for a blind pass; s->host is what session_open() left.
 * -ENODATA: it was never published from here. */
int session_peek(struct session *s);

int session_greet(struct session *s, struct share_db *db, int64_t limit);

/* 1: a batch was sent, and there may be more; 0: everything is published.
 * -ESTALE: session_greet() is to be called again.  -EAGAIN: the catalog was
 * replaced: session_open() again. */
int session_publish(struct session *s, struct share_db *db);

/* Everything is to be published again, as if it never had been. */
int session_refill(struct session *s);

/* ---- feed.c ---- */

/* Goes on with a pass until the batch is full.  1: the batch is to be sent and
 * cleared, and the call repeated; 0: the pass has come to its end. */
int feed_fill(struct session *s);

/* Forgets the pass that is under way. */
void feed_restart(struct session *s);

#endif
