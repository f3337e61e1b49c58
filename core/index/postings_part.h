/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_INDEX_POSTINGS_PART_H
#define CORE_INDEX_POSTINGS_PART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * One part of the postings.  Private to postings.c and the tests.
 *
 * Most entries are in the base, sorted by key and content, in 6 bytes: the
 * directory over the upper bits of the keys leaves 15 bits of the key and one
 * that tells an anchor.  New entries go to the fresh entries, a hash table
 * that is merged into the base when its time comes.  No entry is in both.
 *
 * The table has a slot for each key, not for each entry, so that many entries
 * of one key do no harm to the others; the entries of a key are a list, its
 * contents descending.  Contents that come in ascending order are therefore
 * never looked for in it.
 *
 * A tag is the key within the part, and TAG_ANCHOR.
 */
#define TAG_BITS 24
#define TAG_ANCHOR 1u
#define LOW_BITS 16
#define BUCKETS (1u << (TAG_BITS - LOW_BITS))
#define FRESH_MAX 8192u /* entries, a power of two */

struct fresh_entry {
	uint32_t tag;
	uint32_t content;
	uint16_t next;  /* place of the next entry of the key, from 1; 0: end */
	uint16_t count; /* of the first entry of a key: how many it has */
};

struct fresh {
	struct fresh_entry *entries;
	uint16_t *slots; /* 2 * capacity: place of the first entry of a key */
	uint32_t count;
	uint32_t capacity; /* 0 or a power of two */
	unsigned shift;    /* from a hash to its slot */
};

struct part {
	uint32_t *contents;
	uint16_t *lows;              /* lower bits of the tags */
	uint32_t room;               /* for entries */
	uint32_t newest;             /* no content in the base is above */
	uint32_t first[BUCKETS + 1]; /* entry in the base */
	struct fresh fresh;
};

struct part_entry {
	uint32_t tag;
	uint32_t content;
};

/* What changes need for a while. */
struct part_scratch {
	struct part_entry gathered[FRESH_MAX];
	struct part_entry sorted[FRESH_MAX];
};

/* A zeroed part is empty and valid. */
void part_release(struct part *part);

/* Makes sure that many entries can be put.  -ENOMEM. */
int part_reserve(struct part *part, uint32_t more, struct part_scratch *s);

enum part_put {
	PART_NEW,
	PART_RAISED, /* it was there and is an anchor only now */
	PART_SAME,
};

enum part_put part_put(struct part *part, uint32_t tag, uint32_t content);

/* By key; keeps the order of equal ones.  Changes entries, too. */
void part_sort(struct part_entry *entries, uint32_t count,
	       struct part_entry *sorted_out);

/* An empty part gets these, sorted by key and content, each once.  -ENOMEM. */
int part_fill(struct part *part, const struct part_entry *sorted,
	      uint32_t count);

/* As postings_find(). */
size_t part_find(const struct part *part, uint32_t tag, uint32_t *out,
		 size_t capacity);

/* Drops the entries from tag on that are no anchors. */
void part_trim(struct part *part, uint32_t tag, struct part_scratch *s);

/* Drops the entries that keep() refuses. */
typedef bool part_keep_fn(void *arg, uint32_t tag, uint32_t content);
void part_filter(struct part *part, part_keep_fn *keep, void *arg,
		 struct part_scratch *s);

/*
 * Mappings of so many bytes, NULL if none: large arrays grow often and by
 * little, all in turn, which would leave a heap full of holes.  Does not fail
 * when there is to be less than before.
 */
int pages_resize(void *pages, size_t from, size_t to, void **out);

size_t part_bytes(const struct part *part);

#endif
