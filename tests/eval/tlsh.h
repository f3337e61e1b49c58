/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_EVAL_TLSH_H
#define TESTS_EVAL_TLSH_H

#include "core/digest/tlsh/tlsh.h"
#include "tests/eval/corpus.h"

/*
 * TLSH digests (Oliver, Cheng, Chen 2013) as the program tlsh makes them.  Their
 * distance is ours (core/digest/tlsh/tlsh.h), as the program would need a
 * process a pair.
 */
#define TLSH_LARGEST MIB

struct tlsh_answer {
	bool is_there; /* the program makes none of short or plain contents */
	struct tlsh_digest digest;
};

/* By file; the caller frees them.  Of the files of one half up to
 * TLSH_LARGEST.  NULL when there is no such program or it fails. */
struct tlsh_answer *tlsh_digests(const struct corpus *c, bool held_out);

#endif
