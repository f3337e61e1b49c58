/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/landlock.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Each version of Landlock has more rights.  A kernel takes a longer struct
 * whose end is zero, and the headers may be older than it. */
int landlock_begin(struct landlock *l, bool all)
{
	int version = (int)syscall(SYS_landlock_create_ruleset, NULL, 0,
				   LANDLOCK_CREATE_RULESET_VERSION);
	struct {
		uint64_t files, network, scopes;
	} rights = { .files = (1 << 13) - 1 };

	if (version < 0)
		return -errno;
	if (version >= 2)
		rights.files |= 1 << 13; /* to refer */
	if (version >= 3)
		rights.files |= 1 << 14; /* to truncate */
	if (version >= 4 && all)
		rights.network = 3; /* to bind, to connect */
	if (version >= 5)
		rights.files |= 1 << 15; /* ioctl() of devices */
	if (version >= 6 && all)
		rights.scopes = 3; /* abstract sockets, signals */
	*l = (struct landlock){ .files = rights.files };
	l->rules = (int)syscall(SYS_landlock_create_ruleset, &rights,
				sizeof(rights), 0);
	return l->rules < 0 ? -errno : 0;
}

void landlock_allow(struct landlock *l, const char *path, uint64_t access)
{
	struct landlock_path_beneath_attr where = { 0 };
	struct stat st;

	where.parent_fd = path ? open(path, O_PATH | O_CLOEXEC) : -1;
	if (where.parent_fd < 0)
		return;
	if (fstat(where.parent_fd, &st) || !S_ISDIR(st.st_mode))
		access &= LANDLOCK_ACCESS_FS_READ_FILE;
	where.allowed_access = access & l->files;
	if (syscall(SYS_landlock_add_rule, l->rules, LANDLOCK_RULE_PATH_BENEATH,
		    &where, 0) &&
	    !l->err)
		l->err = -errno;
	(void)close(where.parent_fd);
}

int landlock_end(struct landlock *l)
{
	if (!l->err && syscall(SYS_landlock_restrict_self, l->rules, 0))
		l->err = -errno;
	(void)close(l->rules);
	return l->err;
}
