/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_INDEX_POSTINGS_PART_H
#define CORE_INDEX_POSTINGS_PART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * One part of the postings.  Private to postings.c and the tests.
 *
 * Most entries are in the base, sorted by key and content, in 6 bytes each: a
 * directory of the upper bits of the keys leaves 15 bits of the key and one bit
 * that marks an anchor.  New entries go to the fresh entries, a hash table that
 * is merged into the base from time to time.  No entry is in both.
 *
 * The table has one slot for each key, not for each entry, so that a key with
 * many entries does not slow down the others.  The entries of a key are a list
 * in descending order of contents: an addition in ascending order is put at the
 * head without a search.
 *
 * A tag is the key within the part, shifted, and TAG_ANCHOR.
 */
#define TAG_BITS 24
#define TAG_ANCHOR 1u
#define LOW_BITS 16
#define BUCKETS (1u << (TAG_BITS - LOW_BITS))
#define FRESH_MAX 8192u /* entries, a power of two */

struct fresh_entry {
	uint32_t tag;
	uint32_t content;
	uint16_t next;  /* next entry of the key, counted from 1; 0: none */
	uint16_t count; /* entries of the key, in its first entry only */
};

struct part_fresh {
	struct fresh_entry *entries;
	uint16_t *slots; /* 2 * capacity: first entry of a key, from 1 */
	uint32_t count;
	uint32_t capacity; /* 0 or a power of two */
	unsigned shift;    /* of a hash, to get its slot */
};

struct postings_part {
	uint32_t *contents;
	uint16_t *lows;              /* lower bits of the tags */
	uint32_t room;               /* for entries */
	uint32_t newest;             /* greatest content in the base */
	uint32_t first[BUCKETS + 1]; /* entry in the base */
	struct part_fresh fresh;
};

struct part_entry {
	uint32_t tag;
	uint32_t content;
};

/* Buffers for the time of a change. */
struct part_scratch {
	struct part_entry gathered[FRESH_MAX];
	struct part_entry sorted[FRESH_MAX];
};

/* A zeroed part is empty and valid. */
void part_release(struct postings_part *part);

/* Makes room for so many part_put().  -ENOMEM. */
int part_reserve(struct postings_part *part, uint32_t more,
		 struct part_scratch *s);

enum part_put {
	PART_NEW,
	PART_RAISED, /* it existed and has become an anchor */
	PART_SAME,
};

enum part_put part_put(struct postings_part *part, uint32_t tag,
		       uint32_t content);

/* A stable sort by key.  entries is overwritten. */
void part_sort(struct part_entry *entries, uint32_t count,
	       struct part_entry *sorted_out);

/* Adds entries that the part does not have, one or more, sorted by key and
 * content.  -ENOMEM. */
int part_add(struct postings_part *part, const struct part_entry *sorted,
	     uint32_t count);

/* As postings_find(). */
size_t part_find(const struct postings_part *part, uint32_t tag, uint32_t *out,
		 size_t capacity);

/* Drops all entries from tag on except anchors. */
void part_trim(struct postings_part *part, uint32_t tag,
	       struct part_scratch *s);

/* Drops the entries that keep() refuses. */
typedef bool part_keep_fn(void *arg, uint32_t tag, uint32_t content);
void part_filter(struct postings_part *part, part_keep_fn *keep, void *arg,
		 struct part_scratch *s);

/*
 * Resizes an anonymous mapping (NULL: 0 bytes).  Large arrays that grow often
 * and by little, in turns, would fragment the heap.  Shrinking cannot fail.
 */
int pages_resize(void *pages, size_t from, size_t to, void **out);

size_t part_bytes(const struct postings_part *part);

#endif
