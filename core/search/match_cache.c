/* SPDX-License-Identifier: Apache-2.0 */
#include "core/search/match_cache.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

/* A match of INDEX_ALIKE without the fields that are always 0. */
struct kept_match {
	uint32_t content;
	uint8_t score, distinctive;
};

struct match_slot {
	uint32_t content; /* 0: none */
	uint32_t count;
	uint64_t changes;
	struct kept_match *matches; /* owned */
};

struct match_cache {
	pthread_mutex_t lock; /* everything below */
	size_t bytes;
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
	pthread_mutex_destroy(&c->lock);
	free(c);
}

/* ---- one match ---- */

static bool can_be_kept(const struct index_match *matches, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		if (matches[i].verdict.reason != VERDICT_LISTED)
			return false;
	return count <= MATCH_CACHE_MOST;
}

static struct kept_match *keep_matches(const struct index_match *matches,
				       size_t count)
{
	struct kept_match *kept = malloc((count + 1) * sizeof(*kept));
	size_t i;

	for (i = 0; kept && i < count; i++)
		kept[i] = (struct kept_match){
			.content = matches[i].content,
			.score = (uint8_t)matches[i].verdict.score,
			.distinctive = (uint8_t)matches[i].verdict.distinctive,
		};
	return kept;
}

static struct index_match *restore_matches(const struct kept_match *kept,
					   size_t count)
{
	struct index_match *matches = malloc((count + 1) * sizeof(*matches));
	size_t i;

	for (i = 0; matches && i < count; i++)
		matches[i] = (struct index_match){
			.content = kept[i].content,
			.verdict = { .score = kept[i].score,
				     .distinctive = kept[i].distinctive },
		};
	return matches;
}

/* ---- the matches of a content ---- */

bool match_cache_get(struct match_cache *c, uint32_t content, uint64_t changes,
		     struct index_match **out, size_t *count_out)
{
	const struct match_slot *slot = &c->slots[content % MATCH_CACHE_SLOTS];
	struct index_match *copy = NULL;

	(void)pthread_mutex_lock(&c->lock);
	if (slot->content == content && slot->changes == changes) {
		copy = restore_matches(slot->matches, slot->count);
		*count_out = slot->count;
	}
	(void)pthread_mutex_unlock(&c->lock);
	if (copy)
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
	struct kept_match *unused;

	if (!can_be_kept(matches, count))
		return;
	new.matches = keep_matches(matches, count);
	if (!new.matches)
		return;
	(void)pthread_mutex_lock(&c->lock);
	c->bytes -= bytes_of(slot);
	unused = slot->matches;
	*slot = (struct match_slot){ 0 };
	if (c->bytes + bytes_of(&new) <= MATCH_CACHE_BYTES) {
		*slot = new;
		c->bytes += bytes_of(slot);
		new.matches = NULL;
	}
	(void)pthread_mutex_unlock(&c->lock);
	free(unused);
	free(new.matches);
}
