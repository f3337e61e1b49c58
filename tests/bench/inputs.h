/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_BENCH_INPUTS_H
#define TESTS_BENCH_INPUTS_H

#include <stdbool.h>
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
 * zeros   one byte again and again
 * period  "abc" again and again
 * dense   every byte ends a piece of SiSe and ssdeep, at as many block sizes
 *         as a byte can
 */
struct input input_random(size_t size);
struct input input_text(size_t size);
struct input input_zeros(size_t size);
struct input input_period(size_t size);
struct input input_dense(size_t size);

/* xorshift64*; state is not 0. */
uint64_t draw(uint64_t *state);

/* Calls visit for the regular files below the directories, in the order of
 * their names, until it returns false. */
typedef bool visit_fn(void *arg, const char *path, size_t size);
void visit_files(const char *const *directories, visit_fn *visit, void *arg);

/* At most room bytes from the start of a file; 0 when it can not be read. */
size_t file_read(const char *path, uint8_t *data, size_t room);

#endif
