/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_INDEX_POSTINGS_H
#define CORE_INDEX_POSTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * An inverted index: a multimap from keys of 31 bits to content ids, for tens
 * of millions of entries of 6 bytes.  Private to core/index and its tests.
 *
 * A content adds the keys of its sketch, the first few of them as anchors.
 * Anchors are always kept.  Other entries are kept while their key is below the
 * limit.  The limit is 2^31 at first and is halved, down to 0, whenever there
 * are more entries than the budget allows; entries above it are dropped.  Keys
 * are uniform, so the entries below the limit are a sample of keys that is the
 * same for all contents.  Anchors alone may exceed the budget.
 *
 * A content has at most one entry under a key, which is an anchor if it was
 * ever added as one.
 *
 * No locks: either many callers of functions that take a const pointer, or one
 * caller of another function.  Changes are made in place because they are
 * short: an addition moves half of a bucket for each key, and there are 65,536
 * buckets.  One change touches all of them: an addition that halves the limit.
 */
struct postings;

#define POSTINGS_KEYS (UINT32_C(1) << 31) /* every key is below */
/* Of the buckets, for a caller that releases its lock in between. */
#define POSTINGS_PARTS 256

/* budget: the number of entries. */
int postings_new(size_t budget, struct postings **out);
void postings_free(struct postings *p);

/*
 * Adds a content under its keys, the first ones (at most `anchors`) as anchors.
 * A content may be added several times, also with the same keys.  Ascending ids
 * are fastest.  -ENOMEM: it may be found under some of the keys.
 */
int postings_add(struct postings *p, uint32_t content, const uint32_t *keys,
		 size_t count, size_t anchors);

/*
 * Around very many additions, each of another content under different keys,
 * whose ids do not descend (-EINVAL): several times as fast.  They are found
 * only after postings_load_end() for each part 0..POSTINGS_PARTS-1, in order,
 * and nothing may be swept or added in between.  -EINVAL: it has begun already;
 * -ENOMEM, of which postings_load_end() says that some entries are missing.
 */
int postings_load_begin(struct postings *p);
int postings_load_end(struct postings *p, unsigned part);

/* Writes the contents of a key, ascending, at most capacity of them.  Returns
 * the number of all contents of the key, in a time that hardly depends on it. */
size_t postings_find(const struct postings *p, uint32_t key, uint32_t *out,
		     size_t capacity);

/* Keys from the limit on have anchors only, 0..POSTINGS_KEYS. */
uint32_t postings_limit(const struct postings *p);

size_t postings_count(const struct postings *p);

/* Drops those entries of a part, 0..POSTINGS_PARTS-1, whose contents
 * is_alive() denies. */
void postings_sweep_part(struct postings *p, unsigned part,
			 bool (*is_alive)(void *arg, uint32_t), void *arg);

size_t postings_bytes(const struct postings *p);

#endif
