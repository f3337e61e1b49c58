/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_INDEX_POSTINGS_H
#define CORE_INDEX_POSTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Which contents have a key: a multimap from keys of 31 bits to content ids,
 * for tens of millions of entries in little more than 6 bytes each.  Private
 * to core/index and its tests.
 *
 * A content adds the keys of its sketch, of which the first few are its
 * anchors.  Anchors are always kept, other entries only while their key is
 * below the limit.  The limit begins at 2^31 and is halved whenever there are
 * more entries than the budget allows, down to 0; what it leaves behind is
 * dropped.  So with uniform keys the others are a sample that is the same for
 * all contents, and anchors alone may exceed the budget.
 *
 * There is at most one entry of a content under a key; it is an anchor if one
 * of those added was.
 *
 * No locks: many callers of the functions that take it const, or one change
 * at a time.  A change need not be prepared aside, because none takes long: the
 * keys are spread over POSTINGS_PARTS parts that are rewritten, in place, one
 * by one.  Two changes touch all parts: the addition that halves the limit,
 * some 20 ms with 16 million entries, and postings_sweep(), which is there by
 * parts as well.
 */
struct postings;

#define POSTINGS_KEYS (UINT32_C(1) << 31) /* every key is below */
#define POSTINGS_MAX_ADD 4096
#define POSTINGS_PARTS 256

/* budget: entries. */
int postings_new(size_t budget, struct postings **out);
void postings_free(struct postings *p);

/*
 * Adds a content under its keys, the first of them (anchors, or all if there
 * are not so many) as anchors.  A content may be added in several steps and
 * the same keys again; ascending ids are fastest.  -EINVAL when there are more
 * than POSTINGS_MAX_ADD keys, -ENOMEM; it is as before then.
 */
int postings_add(struct postings *p, uint32_t content, const uint32_t *keys,
		 size_t count, size_t anchors);

/*
 * Several times as fast for very many contents: of empty postings (-EINVAL
 * else), and the ids must not descend then.  Until the end nothing is found,
 * and there is no sweeping.  -ENOMEM; what does not end can only be freed.
 */
int postings_load_begin(struct postings *p);
int postings_load_end(struct postings *p);

/*
 * The contents with that key, in no order but the same one until the next
 * change: at most capacity of them, and returns how many there are.  Telling
 * that takes no longer when there are many.
 */
size_t postings_find(const struct postings *p, uint32_t key, uint32_t *out,
		     size_t capacity);

/* Keys from here on are kept for anchors only, 0..POSTINGS_KEYS. */
uint32_t postings_limit(const struct postings *p);

/* Drops the entries of contents that do not live any more: all of them, or
 * those in part 0..POSTINGS_PARTS-1. */
void postings_sweep(struct postings *p, bool (*lives)(void *arg, uint32_t),
		    void *arg);
void postings_sweep_part(struct postings *p, unsigned part,
			 bool (*lives)(void *arg, uint32_t), void *arg);

size_t postings_count(const struct postings *p);
size_t postings_bytes(const struct postings *p);

#endif
