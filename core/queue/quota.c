/* SPDX-License-Identifier: Apache-2.0 */
#include "core/queue/quota.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

struct quota_user {
	struct quota_user *next;
	uid_t uid;
	size_t count;
	uint64_t last; /* turn of the latest place */
};

/* The link to the user; to NULL, where a new one goes, if there is none. */
static struct quota_user **find_user(struct quota *s, uid_t uid)
{
	struct quota_user **at = &s->users[uid % QUOTA_BUCKETS];

	while (*at && (*at)->uid != uid)
		at = &(*at)->next;
	return at;
}

static uint64_t next_turn(const struct quota *s, struct quota_user *u)
{
	u->last = u->count && u->last >= s->turn ? u->last + 1 : s->turn;
	return u->last;
}

/* With turn_out the places come with a turn. */
static int take(struct quota *s, uid_t uid, size_t count, uint64_t *turn_out)
{
	struct quota_user **at = find_user(s, uid);
	const size_t left = s->most - s->used;

	if (count > left || (*at ? (*at)->count : 0) > left - count)
		return -EAGAIN;
	if (!*at) {
		*at = calloc(1, sizeof(**at));
		if (!*at)
			return -ENOMEM;
		(*at)->uid = uid;
	}
	if (turn_out)
		*turn_out = next_turn(s, *at);
	(*at)->count += count;
	s->used += count;
	return 0;
}

int quota_take(struct quota *s, uid_t uid, uint64_t *turn_out)
{
	return take(s, uid, 1, turn_out);
}

int quota_take_many(struct quota *s, uid_t uid, size_t count)
{
	return take(s, uid, count, NULL);
}

uint64_t quota_next_turn(struct quota *s, uid_t uid)
{
	struct quota_user *u = *find_user(s, uid);

	assert(u);
	return next_turn(s, u);
}

void quota_give_many(struct quota *s, uid_t uid, size_t count)
{
	struct quota_user **at = find_user(s, uid), *u = *at;

	if (!count)
		return;
	assert(u && u->count >= count && s->used >= count);
	s->used -= count;
	u->count -= count;
	if (u->count)
		return;
	*at = u->next;
	free(u);
}

void quota_give(struct quota *s, uid_t uid)
{
	quota_give_many(s, uid, 1);
}

void quota_serve(struct quota *s, uint64_t turn)
{
	if (turn > s->turn)
		s->turn = turn;
}
