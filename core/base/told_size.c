/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/told_size.h"

#include <errno.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

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
