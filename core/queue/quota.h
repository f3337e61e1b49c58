/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_QUEUE_QUOTA_H
#define CORE_QUEUE_QUOTA_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * A bounded number of places, and what each user may hold of them.
 *
 * A user may hold as many places as are still free: half of all when alone, a
 * third when two users take as many as they can get, and so on.  So there is
 * always a place for another user.
 *
 * A place comes with a turn.  A server that serves places in the order of their
 * turns, and reports each turn by quota_serve(), serves users in rotation: if
 * one user has a thousand places and another user one, that one is served after
 * the first of the thousand at the latest.
 *
 * Not thread-safe: the caller has a lock.
 */
enum { QUOTA_BUCKETS = 64 };

struct quota_user;

struct quota {
	size_t most; /* set by the owner */
	size_t used;
	uint64_t turn; /* the one being served */
	struct quota_user *users[QUOTA_BUCKETS];
};

/* -EAGAIN when uid holds its quota already; -ENOMEM. */
int quota_take(struct quota *s, uid_t uid, uint64_t *turn_out);
/* A further turn for a place that uid holds, after all turns of that user: a
 * place that needs many turns gets one in each rotation. */
uint64_t quota_next_turn(struct quota *s, uid_t uid);
/* Takes count places, or none: -EAGAIN.  For what has no turns, as bytes. */
int quota_take_many(struct quota *s, uid_t uid, size_t count);
void quota_give_many(struct quota *s, uid_t uid, size_t count);
/* Gives a place back. */
void quota_give(struct quota *s, uid_t uid);
/* The caller begins to serve a place with this turn. */
void quota_serve(struct quota *s, uint64_t turn);

#endif
