/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_BASE_HOLE_H
#define CORE_BASE_HOLE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Holes of sparse files, which need not be read: they are zeros.  Short ones
 * are not worth it and count as data.
 */
#define HOLE_LEAST (1 << 20)

/* A part of a file: a hole, or bytes to be read. */
struct hole_part {
	bool hole;
	uint64_t end; /* of the part */
};

/*
 * The part of the file that begins at, which is below size; it may be followed
 * by another of its kind.  Where the filesystem does not tell, all is to be
 * read.  Moves the position of fd.
 */
void hole_find(int fd, uint64_t at, uint64_t size, struct hole_part *out);

#endif
