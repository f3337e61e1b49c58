/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/eval/cache.h"

#include <stdlib.h>

#include "tests/eval/eval.h"

void cache_init(struct cache *cache, const struct corpus *corpus, size_t most)
{
	*cache = (struct cache){ .corpus = corpus, .most = most };
	cache->windows = allocate(corpus->count * sizeof(*cache->windows));
	cache->used = allocate(corpus->count * sizeof(*cache->used));
}

static void drop(struct cache *cache, size_t file)
{
	cache->values -= cache->windows[file].count;
	windows_release(&cache->windows[file]);
}

void cache_release(struct cache *cache)
{
	size_t i;

	for (i = 0; i < cache->corpus->count; i++)
		drop(cache, i);
	free(cache->windows);
	free(cache->used);
}

static bool is_here(const struct cache *cache, size_t file)
{
	return cache->windows[file].hash != NULL;
}

/* Drops the half that was used longest ago, roughly, but one file. */
static void make_room(struct cache *cache, size_t keep)
{
	uint64_t oldest, i;
	size_t least = cache->values / 2;

	while (cache->values > least) {
		oldest = cache->now;
		for (i = 0; i < cache->corpus->count; i++)
			if (i != keep && is_here(cache, i) &&
			    cache->used[i] < oldest)
				oldest = cache->used[i];
		if (oldest == cache->now)
			return;
		for (i = 0; i < cache->corpus->count; i++)
			if (i != keep && is_here(cache, i) &&
			    cache->used[i] <= oldest + 64)
				drop(cache, i);
	}
}

/* keep is not dropped to make room. */
static const struct windows *windows_of(struct cache *cache, size_t file,
					size_t keep)
{
	struct windows *w = &cache->windows[file];
	struct bytes b;

	cache->used[file] = ++cache->now;
	if (is_here(cache, file))
		return w;
	b = corpus_read(cache->corpus, file);
	if (cache->values + b.len > cache->most)
		make_room(cache, keep);
	windows_init(w, b.data, b.len);
	cache->values += w->count;
	free(b.data);
	return w;
}

struct truth cache_truth(struct cache *cache, size_t a, size_t b)
{
	const struct windows *x = windows_of(cache, a, b);
	const struct windows *y = windows_of(cache, b, a);

	return truth_of(x, y);
}
