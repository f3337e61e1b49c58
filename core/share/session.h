/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_SHARE_SESSION_H
#define CORE_SHARE_SESSION_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/share/feed.h"
#include "core/share/state.h"

/*
 * One catalog that is published: follows it, and sends what changed.
 *
 *   session_open      the catalog and its state; no network
 *   session_greet     on each new connection: is what the database has of this
 *                     host what the state says?  Otherwise a new epoch begins
 *   session_publish   sends what is to be sent now, and returns
 *
 * Why a new epoch: the database lost the host (it was emptied, or restored from
 * a backup), or the host lost its state or went back to an old one.  Both sides
 * keep the random token of the last batch, and the state also that of a batch
 * that was sent and not yet answered; any other token means that one side is
 * not what it was.  Then the publications are forgotten, everything is sent
 * again, and last the copies of earlier epochs are deleted.
 *
 * Nothing of a session is used by two threads, but for the figures.
 */
struct session {
	/* Set by the owner; borrowed. */
	const char *directory; /* of the catalog */
	const struct share_rules *rules;
	const atomic_bool *stop;
	/* NULL, or told how far the first filling is. */
	void (*progress)(void *arg, uint64_t visited, uint64_t all);
	void *arg;

	char *share_directory; /* owned */
	char *source;          /* owned */
	struct catalog *catalog;
	struct share_state *state;
	struct feed feed;
	bool is_full_pass; /* the pass under way is over everything */
	bool is_idle;      /* nothing changed since the last pass */
	/* Of a catalog that has not recorded a change yet: what the last full
	 * pass saw. */
	uint64_t snapshot;
	/* For share_status(), read by other threads. */
	atomic_ullong published, batches;
	atomic_bool is_current;
};

/* -EBUSY: another kin-share publishes it; or as catalog_follow(). */
int session_open(struct session *s);
void session_close(struct session *s);

/* The catalog alone, to read it; and the id of the host, which session_open()
 * left.  -ENODATA: it was never published from here. */
int session_peek(struct session *s, char host_out[DB_UUID_TEXT + 1]);

int session_greet(struct session *s, struct share_db *db, int64_t limit);

/* -ESTALE: session_greet() is to be called again.  -EAGAIN: the catalog was
 * replaced: session_open() again. */
int session_publish(struct session *s, struct share_db *db);

/* Everything is to be published again, as if it never had been. */
int session_refill(struct session *s);

#endif
