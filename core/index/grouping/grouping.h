/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_INDEX_GROUPING_GROUPING_H
#define CORE_INDEX_GROUPING_GROUPING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/index/index.h"

/*
 * Groups of contents that are alike.
 *
 * A group has a head.  Every other member would be in a listing of the head:
 * its score is at least the threshold, and more than boilerplate is alike
 * (judge.h).  So no chain of small resemblances ties contents together.  A
 * content is in one group at most.  A content of several files is a group by
 * itself if nothing resembles it.
 *
 * The algorithm (greedy star clustering)
 *
 *   1. The contents are ranked: larger ones first, then by XXH128.
 *   2. How many contents have a value is counted (weight.h).
 *   3. Each content is entered under a few keys (grouping_impl.h): the smallest
 *      values of its sketch that are not in very many contents.
 *   4. In order of rank, each content that has no head yet becomes a head.
 *      The contents that share keys with it are compared with it, and those
 *      that are alike enough become its members, but for heads, and for
 *      members of a head with which they have at least the same score.
 *   5. The groups are put in descending order of the space that could be saved:
 *      of each member all files but one, and each member but the head.
 *
 * The result depends on nothing but the contents that were added: not on the
 * order of the additions, nor on ids, nor on what else the index has.  So a
 * content that the caller does not add, because another user may not see it,
 * influences nothing.
 *
 * Time and memory
 *
 * A large family costs one comparison for each member.  A grouping takes at
 * most 460 bytes a content and 9 MiB, 220 bytes with a threshold of 60, 60
 * bytes for exact copies alone; the result 16 bytes for each content in a
 * group.  With values in very many contents, the work for a head is bounded,
 * and what resembles it in nothing but such values may be missed.
 *
 * Threads: one at a time.  A struct group_set never changes once made.
 */
struct group_rules {
	int threshold; /* 1..100 */
	bool exact;    /* identical files only; sketches are not read */
	/* Nothing is compared: each content is a group, also an empty one, in
	 * the order of XXH128 and size. */
	bool every;
};

/* Whether contents are compared, which takes their sketches and memory. */
static inline bool group_rules_compare(const struct group_rules *rules)
{
	return !rules->exact && !rules->every;
}

struct group_content {
	uint64_t size;
	uint8_t xxh128[16];
	uint32_t content;
	uint32_t files; /* 1 or more */
	uint32_t text;  /* id of a second sketch; 0: it has none */
};

struct group_member {
	uint32_t content;
	uint8_t score; /* with the head; 100: it is the head */
	uint8_t by;    /* enum subject_part */
};

struct content_group {
	uint64_t saved_exact, saved_near; /* bytes */
	uint64_t files;
	uint32_t first, count; /* in members: head, then best score first */
};

struct group_set {
	struct group_rules rules;
	struct content_group *groups; /* most bytes first */
	size_t count;
	struct group_member *members;
	size_t member_count;
};

void group_set_free(struct group_set *set);

struct grouping;

int grouping_new(const struct group_rules *rules, struct grouping **out);
void grouping_free(struct grouping *g);

/* Each content once.  But with rules.every empty contents and, with rules.exact,
 * contents of one file are passed over.  -ENOMEM. */
int grouping_add(struct grouping *g, const struct group_content *content);

/* Where the sketches are, and what is told after some work, where the comparison
 * of two contents is 1: spent() may wait, and an error ends the grouping.  It is
 * done to so many thousandths. */
struct group_source {
	struct index_store store;
	int (*spent)(void *arg, size_t work, unsigned done);
	void *arg;
};

/* Once, when all contents are added; the caller frees the set.  -ENOMEM, or an
 * error of the source.  A content of which the store has no sketch is alike with
 * nothing. */
int grouping_run(struct grouping *g, const struct group_source *source,
		 struct group_set **out);

#endif
