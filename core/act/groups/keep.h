/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_ACT_GROUPS_KEEP_H
#define CORE_ACT_GROUPS_KEEP_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Which of several exact copies stays.  Everything that proposes copies for
 * removal uses this one rule: two commands that keep different ones would, one
 * after the other, take two clones of a tree apart.
 */
enum keep_order { KEEP_OLDEST, KEEP_NEWEST, KEEP_SHORTEST, KEEP_ORDERS };

extern const char *const keep_order_names[KEEP_ORDERS];

/* "oldest", "newest" or "shortest".  False: it is none of them. */
bool keep_order_parse(const char *name, enum keep_order *out);

struct keep_candidate {
	const char *path; /* all absolute, or all relative to one directory */
	int64_t mtime_ns;
	bool is_protected; /* the user wants it to be kept */
};

/* Negative: a is to be kept rather than b.  0 only for one path. */
int keep_compare(enum keep_order order, struct keep_candidate a,
		 struct keep_candidate b);

static inline int compare_numbers(int64_t a, int64_t b)
{
	return (a > b) - (a < b);
}

/* Whether a path is below a directory in which a program keeps files of its
 * own: the store of a version control system, or a cache.  Nothing there is
 * proposed unless the user asks for it. */
bool keep_is_internal(const char *path);

#endif
