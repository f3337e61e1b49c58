/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_EVAL_CACHE_H
#define TESTS_EVAL_CACHE_H

#include "tests/eval/corpus.h"
#include "tests/eval/truth.h"

/* The windows of the contents that were asked for last. */
struct cache {
	const struct corpus *corpus;
	struct windows *windows; /* by file; hash NULL: not here */
	uint64_t *used;          /* by file: when */
	uint64_t now;
	size_t values, most; /* hashes in memory */
};

void cache_init(struct cache *cache, const struct corpus *corpus, size_t most);
void cache_release(struct cache *cache);

struct truth cache_truth(struct cache *cache, size_t a, size_t b);

#endif
