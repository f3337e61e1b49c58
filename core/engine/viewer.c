/* SPDX-License-Identifier: Apache-2.0 */
#include "core/engine/viewer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/syscall.h>
#include <unistd.h>

int viewer_copy(const struct engine_viewer *from, struct engine_viewer *out)
{
	gid_t *groups = calloc(from->group_count + 1, sizeof(*groups));

	if (!groups)
		return -ENOMEM;
	if (from->group_count)
		memcpy(groups, from->groups,
		       from->group_count * sizeof(*groups));
	*out = *from;
	out->groups = groups;
	return 0;
}

void viewer_release(struct engine_viewer *v)
{
	free((gid_t *)v->groups);
	v->groups = NULL;
}

/* The raw call: the C library's acts on every thread of the process. */
static int set_groups(size_t count, const gid_t *groups)
{
	return syscall(SYS_setgroups, count, groups) ? -errno : 0;
}

int viewer_enter(const struct engine_viewer *v)
{
	int err;

	if (v->trusted)
		return 0;
	err = set_groups(v->group_count, v->groups);
	if (err)
		return err;
	(void)setfsgid(v->gid);
	(void)setfsuid(v->uid);
	/* Both report the previous id only; ask whether they took effect. */
	if ((uid_t)setfsuid((uid_t)-1) == v->uid &&
	    (gid_t)setfsgid((gid_t)-1) == v->gid)
		return 0;
	viewer_leave(v);
	return -EPERM;
}

void viewer_leave(const struct engine_viewer *v)
{
	if (v->trusted)
		return;
	(void)setfsuid(geteuid());
	(void)setfsgid(getegid());
	(void)set_groups(0, NULL);
}

bool viewer_can_read(const struct engine_viewer *v, int fd)
{
	if (v->trusted)
		return true;
	return faccessat(fd, "", R_OK, AT_EMPTY_PATH | AT_EACCESS) == 0;
}
