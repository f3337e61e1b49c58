/* SPDX-License-Identifier: Apache-2.0 */
#include "core/search/search_impl.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

struct match_slot {
	uint32_t content; /* 0: none */
	uint32_t count;
	uint64_t changes;
	/* Matches of INDEX_ALIKE without the fields that are always 0; owned;
	 * one more than count, so that it is never NULL. */
	struct kept_match {
		uint32_t content, bytes; /* the lower half */
		uint8_t score, distinctive, by;
		uint8_t high; /* of the bytes: 40 bits are enough */
	} * matches;
};

struct match_cache {
	pthread_mutex_t lock; /* everything below */
	size_t bytes;
	struct match_slot slots[MATCH_CACHE_SLOTS];
};

int match_cache_new(struct match_cache **out)
{
	struct match_cache *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	(void)pthread_mutex_init(&c->lock, NULL);
	*out = c;
	return 0;
}

void match_cache_free(struct match_cache *c)
{
	size_t i;

	if (!c)
		return;
	for (i = 0; i < MATCH_CACHE_SLOTS; i++)
		free(c->slots[i].matches);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

bool match_cache_get(struct match_cache *c, uint32_t content, uint64_t changes,
		     struct index_match **out, size_t *count_out)
{
	const struct match_slot *slot = &c->slots[content % MATCH_CACHE_SLOTS];
	struct index_match *copy = NULL;
	size_t i;

	(void)pthread_mutex_lock(&c->lock);
	if (slot->content == content && slot->changes == changes)
		copy = calloc(slot->count + 1, sizeof(*copy));
	for (i = 0; copy && i < slot->count; i++)
		copy[i] = (struct index_match){
			slot->matches[i].content,
			{ .score = slot->matches[i].score,
			  .distinctive = slot->matches[i].distinctive,
			  .bytes = (uint64_t)slot->matches[i].high << 32 |
				   slot->matches[i].bytes,
			  .by = slot->matches[i].by },
		};
	*count_out = slot->count;
	(void)pthread_mutex_unlock(&c->lock);
	*out = copy;
	return copy;
}

static size_t bytes_of(const struct match_slot *slot)
{
	return slot->matches ? (slot->count + 1) * sizeof(*slot->matches) : 0;
}

void match_cache_put(struct match_cache *c, uint32_t content, uint64_t changes,
		     const struct index_match *matches, size_t count)
{
	struct match_slot *slot = &c->slots[content % MATCH_CACHE_SLOTS];
	struct match_slot new = { .content = content,
				  .count = (uint32_t)count,
				  .changes = changes };
	size_t i;

	if (count <= MATCH_CACHE_MOST)
		new.matches = malloc((count + 1) * sizeof(*new.matches));
	if (!new.matches)
		return;
	for (i = 0; i < count; i++)
		new.matches[i] = (struct kept_match){
			matches[i].content,
			(uint32_t)matches[i].verdict.bytes,
			(uint8_t)matches[i].verdict.score,
			(uint8_t)matches[i].verdict.distinctive,
			(uint8_t)matches[i].verdict.by,
			(uint8_t)(matches[i].verdict.bytes >> 32),
		};
	(void)pthread_mutex_lock(&c->lock);
	c->bytes -= bytes_of(slot);
	free(slot->matches);
	*slot = (struct match_slot){ 0 };
	if (c->bytes + bytes_of(&new) <= MATCH_CACHE_BYTES) {
		*slot = new;
		c->bytes += bytes_of(slot);
	} else {
		free(new.matches);
	}
	(void)pthread_mutex_unlock(&c->lock);
}
