/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_QUEUE_SHARE_H
#define CORE_QUEUE_SHARE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * A bounded number of places, shared fairly among users.
 *
 * A user may hold as many places as are left for the others: half of them when
 * alone, a third when two want as many as they can get, and so on.  So there
 * is always a place for the next user, however many one user asks for.
 *
 * A place comes with a turn.  A server that takes places in the order of their
 * turns, and says which turn it has reached, serves users in rotation: the only
 * place of one user comes before all but the first of a thousand of another.
 *
 * Not thread-safe: it lives under the lock of what it bounds.
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
/* Another turn for a place that uid holds: after all turns that the user has,
 * so that a user that needs many turns gets one in each rotation. */
uint64_t share_next_turn(struct share *s, uid_t uid);
/* Gives back one that was taken. */
void share_give(struct share *s, uid_t uid);
/* A place with this turn is being served. */
void share_serve(struct share *s, uint64_t turn);

#endif
