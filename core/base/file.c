/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/file.h"

#include <errno.h>
#include <linux/magic.h>
#include <sys/vfs.h>
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

/* ---- sizes ---- */

/* Where every file says 0, and some are consumed by reading
 * (/proc/kmsg, trace_pipe). */
static bool is_kernel_made(uint32_t type)
{
	return type == PROC_SUPER_MAGIC || type == CGROUP_SUPER_MAGIC ||
	       type == CGROUP2_SUPER_MAGIC || type == TRACEFS_MAGIC ||
	       type == DEBUGFS_MAGIC || type == SECURITYFS_MAGIC;
}

static uint32_t type_of(int fd)
{
	struct statfs st;

	return fstatfs(fd, &st) ? 0 : (uint32_t)st.f_type;
}

bool told_size_may_be_wrong(int fd, uint64_t size)
{
	uint32_t type = size ? 0 : type_of(fd);

	return type == FUSE_SUPER_MAGIC || is_kernel_made(type);
}

int told_size_check(int fd, uint64_t size)
{
	char byte;

	if (!size && is_kernel_made(type_of(fd)))
		return -EFBIG;
	return pread(fd, &byte, 1, (off_t)size) > 0 ? -EFBIG : 0;
}
