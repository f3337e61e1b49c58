/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_INDEX_GROUPING_GROUPING_IMPL_H
#define CORE_INDEX_GROUPING_GROUPING_IMPL_H

#include "core/index/weight.h"
#include "core/index/grouping/grouping.h"
#include "core/index/judge.h"

/* Private to core/index: a grouping that is under way. */

/* ---- grouping_keys.c ---- */

/*
 * The keys under which contents that may be alike meet.
 *
 * A value is rare if at most KEYS_RARE contents have it.  Contents are entered
 * under their smallest rare values, and looked up by some more of them, as the
 * smallest values of a smaller content are further up among those of a larger
 * one.  Two contents that share the part r of their rare values miss each other
 * if at most one of `plain` values is shared.
 *
 * Two contents that share hardly a rare value can only be alike if they share
 * nearly all values (judge.h).  A content of which more than half of the values
 * are not rare is entered under band keys, too: its values are divided into
 * KEYS_BANDS bands, and the key of a band is a hash of its three smallest
 * values.
 */
enum {
	KEYS_RARE = 203,
	KEYS_BANDS = 8,
	KEYS_PLAIN_MAX = 32,
	KEYS_LOOKED_UP_MAX = 256,
};

struct key_rules {
	unsigned plain;     /* a content is entered under so many values */
	unsigned looked_up; /* ... and looked up by so many */
	unsigned least;     /* equal keys of a candidate */
};

struct key_rules key_rules_for(int threshold);

struct sketch_keys {
	size_t plain, bands;
	uint32_t keys[KEYS_LOOKED_UP_MAX + KEYS_BANDS]; /* plain ones first */
};

/* At most so many plain keys. */
void sketch_keys_of(const struct sketch *sketch,
		    const struct frequency *frequency, unsigned most,
		    struct sketch_keys *out);

/*
 * A multimap from keys to ranks.  First every entry is counted, then every
 * entry is added, then all buckets are sorted.
 */
struct key_table {
	size_t bucket_count; /* a power of two */
	size_t *ends;        /* owned, of the buckets; [0] is 0 */
	uint64_t *entries;   /* owned: key, rank */
};

int key_table_init(struct key_table *t, size_t buckets);
void key_table_release(struct key_table *t);

void key_table_count(struct key_table *t, uint32_t key);
/* Between counting and adding.  -ENOMEM. */
int key_table_allocate(struct key_table *t);
void key_table_add(struct key_table *t, uint32_t key, uint32_t rank);
/* Sorts a bucket, and returns its number of entries. */
size_t key_table_sort(struct key_table *t, size_t bucket);

/* The entries with a key in ascending order of rank: their number, and the
 * first of them. */
size_t key_table_find(const struct key_table *t, uint32_t key,
		      const uint64_t **first_out);

static inline uint32_t key_entry_rank(uint64_t entry)
{
	return (uint32_t)entry;
}

/* ---- grouping_star.c ---- */

#define NO_HEAD UINT32_MAX

/* What step 4 knows of a content. */
struct star {
	uint32_t head;   /* its rank, or NO_HEAD */
	uint32_t seen;   /* the last mark that met it */
	uint8_t matches; /* ... and so many equal keys, or more */
	uint8_t score;   /* with the head */
	uint8_t by;      /* ... enum subject_part */
	uint8_t plain;   /* keys that it is entered under */
};

struct grouping {
	struct group_rules rules;
	struct group_content *contents; /* by rank after the first step */
	size_t count, room;
	uint32_t *by_id; /* ranks by ascending ids, as they are stored */
	const struct group_source *source; /* while it runs */
	struct key_rules key_rules;
	struct frequency *frequency;
	struct key_table keys;
	struct star *stars; /* owned; by rank */
	uint32_t mark;      /* of the head that is at hand */
	uint32_t *met;      /* owned; the candidates of that head */
	size_t met_count;
	/* The one that is at hand, and one that it is compared with. */
	struct sketch sketches[SUBJECT_PARTS], others[SUBJECT_PARTS];
	struct subject subject, other;
	struct sketch_keys keys_of[SUBJECT_PARTS]; /* of its sketches */
	struct weighed_subject weighed;            /* ..., if is_weighed */
	bool is_weighed;
};

/* Reads the subject of that rank. */
int grouping_read(const struct grouping *g, uint32_t rank,
		  struct sketch room[SUBJECT_PARTS], struct subject *out);

/* Makes the content of that rank a head, if it has none, and finds members for
 * it.  Adds the work. */
int star_add_head(struct grouping *g, uint32_t rank, size_t *work);

#endif
