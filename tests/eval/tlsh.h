/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_EVAL_TLSH_H
#define TESTS_EVAL_TLSH_H

#include "tests/eval/corpus.h"

/*
 * TLSH digests (Oliver, Cheng, Chen 2013) as the program tlsh makes them, and
 * their distance as the paper defines it, which the program would need a
 * process a pair for.
 */
#define TLSH_BYTES 35 /* checksum, length, quartile ratios, 128 buckets */
#define TLSH_LARGEST MIB

struct tlsh {
	bool is_there; /* the program makes none of short or plain contents */
	uint8_t code[TLSH_BYTES];
};

/* By file; the caller frees them.  Of the files of one half up to
 * TLSH_LARGEST.  NULL when there is no such program or it fails. */
struct tlsh *tlsh_digests(const struct corpus *c, bool held_out);

/* 70 hex digits. */
bool tlsh_parse(const char *text, struct tlsh *out);
int tlsh_distance(const struct tlsh *a, const struct tlsh *b);

#endif
