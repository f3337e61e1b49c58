/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_EVAL_EDITS_H
#define TESTS_EVAL_EDITS_H

#include <stddef.h>
#include <stdint.h>

/*
 * Changes made to a content on purpose, one kind at a time.  An edit is
 * described by its kind, amount and seed; applying it again gives the same.
 *
 * What is put in comes from a donor: a content of the same class.
 */
enum edit_kind {
	EDIT_INSERT,   /* one block put in */
	EDIT_DELETE,   /* one block taken out */
	EDIT_REPLACE,  /* one block replaced */
	EDIT_MOVE,     /* one block moved */
	EDIT_PREPEND,  /* a block before the start */
	EDIT_APPEND,   /* a block after the end */
	EDIT_TRUNCATE, /* the end cut off */
	EDIT_BEHEAD,   /* the start cut off */
	EDIT_HUNKS,    /* places of 20 to 400 bytes replaced */
	EDIT_WORDS,    /* places of 1 to 8 bytes replaced by others */
	EDIT_NOISE,    /* single bytes replaced */
	EDIT_PART,     /* one block is left; not among those of edit_at() */
	EDIT_LESS,     /* the same, and most of the block replaced */
	EDIT_KINDS
};

struct edit {
	enum edit_kind kind;
	unsigned amount; /* 1/10000 of the content */
	uint64_t seed;
};

struct edit_info {
	const char *name;
	/* The amounts that are tried, up to a 0. */
	unsigned amounts[12];
};

/* Indexed by enum edit_kind. */
extern const struct edit_info edit_infos[EDIT_KINDS];

/* The number of pairs of a kind and an amount, and one of them. */
size_t edit_count(void);
struct edit edit_at(size_t i);

struct bytes {
	uint8_t *data; /* owned where nothing else is said */
	size_t len;
};

/* The donor is not empty.  The caller frees the result. */
struct bytes edit_apply(const struct edit *e, const uint8_t *data, size_t len,
			const struct bytes *donor);

#endif
