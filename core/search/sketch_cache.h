/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_SEARCH_SKETCH_CACHE_H
#define CORE_SEARCH_SKETCH_CACHE_H

#include <stdint.h>

#include "core/catalog/catalog.h"
#include "core/digest/sketch/sketch.h"

/*
 * A cache of decoded sketches.  A program that walks the virtual tree asks for
 * the files of a group one after the other, and each is compared with all
 * others.  Without the cache, reading and decoding sketches took a third of the
 * time of a walk.
 *
 * The id of a content is never reused, and a sketch never changes, so entries
 * never become invalid.  The cache does not store that a sketch is missing.
 * Any thread may call these functions.
 */
struct sketch_cache;

/* The number of contents (direct-mapped), and the bytes of all sketches.  With
 * a quarter of both, a walk through 62,000 files takes a tenth longer. */
#define SKETCH_CACHE_SLOTS 4096
#define SKETCH_CACHE_BYTES ((size_t)8 << 20)

int sketch_cache_new(struct sketch_cache **out);
void sketch_cache_free(struct sketch_cache *c);

/* As catalog_sketch_get(). */
int sketch_cache_get(struct sketch_cache *c, struct catalog_txn *txn,
		     uint32_t content, struct sketch *out);

#endif
