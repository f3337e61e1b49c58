/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_QUEUE_SHARE_H
#define CORE_QUEUE_SHARE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * A bounded number of places, shared fairly among users.
 *
 * A user may hold as many places as are still free: half of all when alone, a
 * third when two users take as many as they can get, and so on.  So there is
 * always a place for another user.
 *
 * A place comes with a turn.  A server that serves places in the order of their
 * turns, and reports each turn by share_serve(), serves users in rotation: if
 * one user has a thousand places and another user one, that one is served after
 * the first of the thousand at the latest.
 *
 * Not thread-safe: the caller has a lock.
 */
enum { SHARE_BUCKETS = 64 };

struct share_user;

struct share {
	size_t most; /* set by the owner */
	size_t used;
	uint64_t turn; /* the one being served */
	struct share_user *users[SHARE_BUCKETS];
};

/* -EAGAIN when uid holds its share already; -ENOMEM. */
int share_take(struct share *s, uid_t uid, uint64_t *turn_out);
/* A further turn for a place that uid holds, after all turns of that user: a
 * place that needs many turns gets one in each rotation. */
uint64_t share_next_turn(struct share *s, uid_t uid);
/* Gives a place back. */
void share_give(struct share *s, uid_t uid);
/* The caller begins to serve a place with this turn. */
void share_serve(struct share *s, uint64_t turn);

#endif
