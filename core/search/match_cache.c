/* SPDX-License-Identifier: Apache-2.0 */
#include "core/search/match_cache.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct match_slot {
	uint32_t content; /* 0: none */
	uint32_t count;
	uint64_t changes;
	uint64_t size;
	uint8_t xxh128[16];
	struct index_match *matches; /* owned */
};

struct match_cache {
	pthread_mutex_t lock; /* the slots */
	struct match_slot slots[MATCH_CACHE_SLOTS];
};

int match_cache_new(struct match_cache **out)
{
	struct match_cache *c = calloc(1, sizeof(*c));
	int err = c ? -pthread_mutex_init(&c->lock, NULL) : -ENOMEM;

	if (err)
		free(c);
	else
		*out = c;
	return err;
}

void match_cache_free(struct match_cache *c)
{
	size_t i;

	if (!c)
		return;
	for (i = 0; i < MATCH_CACHE_SLOTS; i++)
		free(c->slots[i].matches);
	(void)pthread_mutex_destroy(&c->lock);
	free(c);
}

/* With room for one more: an empty answer is an array, too.  NULL without
 * memory. */
static struct index_match *copy_of(const struct index_match *matches,
				   size_t count)
{
	struct index_match *copy = malloc((count + 1) * sizeof(*copy));

	if (copy && count)
		memcpy(copy, matches, count * sizeof(*copy));
	return copy;
}

static bool is_for(const struct match_slot *slot, uint32_t content,
		   const struct digests *d, uint64_t changes)
{
	return slot->content == content && slot->changes == changes &&
	       slot->size == d->size &&
	       memcmp(slot->xxh128, d->xxh128, sizeof(d->xxh128)) == 0;
}

bool match_cache_get(struct match_cache *c, uint32_t content,
		     const struct digests *d, uint64_t changes,
		     struct index_match **out, size_t *count_out)
{
	const struct match_slot *slot = &c->slots[content % MATCH_CACHE_SLOTS];
	struct index_match *copy = NULL;

	(void)pthread_mutex_lock(&c->lock);
	if (is_for(slot, content, d, changes)) {
		copy = copy_of(slot->matches, slot->count);
		*count_out = slot->count;
	}
	(void)pthread_mutex_unlock(&c->lock);
	if (copy)
		*out = copy;
	return copy;
}

void match_cache_put(struct match_cache *c, uint32_t content,
		     const struct digests *d, uint64_t changes,
		     const struct index_match *matches, size_t count)
{
	struct match_slot *slot = &c->slots[content % MATCH_CACHE_SLOTS];
	struct match_slot new = { .content = content,
				  .count = (uint32_t)count,
				  .changes = changes,
				  .size = d->size };
	struct index_match *old;

	if (count > MATCH_CACHE_MOST)
		return;
	memcpy(new.xxh128, d->xxh128, sizeof(new.xxh128));
	new.matches = copy_of(matches, count);
	if (!new.matches)
		return;
	(void)pthread_mutex_lock(&c->lock);
	old = slot->matches;
	*slot = new;
	(void)pthread_mutex_unlock(&c->lock);
	free(old);
}
