/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/hole.h"

#include <errno.h>
#include <unistd.h>

/* In a file of many short holes: so many are passed at a time. */
enum { PASS_MOST = 1024 };

/* Where data begins: at or later; size when there is none. */
static uint64_t find_data(int fd, uint64_t at, uint64_t size)
{
	off_t data = lseek(fd, (off_t)at, SEEK_DATA);

	if (data < 0)
		return errno == ENXIO ? size : at;
	return (uint64_t)data < size ? (uint64_t)data : size;
}

static uint64_t find_hole(int fd, uint64_t at, uint64_t size)
{
	off_t hole = lseek(fd, (off_t)at, SEEK_HOLE);

	return hole < 0 || (uint64_t)hole > size ? size : (uint64_t)hole;
}

void hole_find(int fd, uint64_t at, uint64_t size, struct hole_part *out)
{
	uint64_t data, hole = at;
	int passed;

	*out = (struct hole_part){ .end = size };
	if (size - at < HOLE_LEAST)
		return;
	for (passed = 0; passed < PASS_MOST; passed++) {
		data = find_data(fd, hole, size);
		if (data - hole >= HOLE_LEAST) {
			out->hole = hole == at;
			out->end = out->hole ? data : hole;
			return;
		}
		if (data == size)
			return;
		hole = find_hole(fd, data, size);
		if (hole <= data || hole == size)
			return;
	}
	out->end = hole;
}
