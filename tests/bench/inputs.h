/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_BENCH_INPUTS_H
#define TESTS_BENCH_INPUTS_H

#include <stddef.h>
#include <stdint.h>

/* Bytes to digest. */
struct input {
	const char *name;
	uint8_t *data; /* owned */
	size_t len;
};

void input_release(struct input *in);

/*
 * random  no repeats at all
 * text    the text files below /usr/include and /usr/share, each content once;
 *         less than size when there are no more
 */
struct input input_random(size_t size);
struct input input_text(size_t size);

/* xorshift64*; state is not 0. */
uint64_t draw(uint64_t *state);

#endif
