/* SPDX-License-Identifier: Apache-2.0 */
#include "core/search/credentials.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/syscall.h>
#include <unistd.h>

int credentials_own(struct credentials *out)
{
	struct credentials p = { .uid = geteuid(), .gid = getegid() };
	int count = getgroups(0, NULL);

	if (count < 0)
		return -errno;
	p.groups = calloc((size_t)count + 1, sizeof(*p.groups));
	if (!p.groups)
		return -ENOMEM;
	count = getgroups(count, p.groups);
	if (count < 0) {
		int err = -errno;

		free(p.groups);
		return err;
	}
	p.group_count = (size_t)count;
	*out = p;
	return 0;
}

int credentials_copy(const struct credentials *from, struct credentials *out)
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

void credentials_release(struct credentials *p)
{
	free(p->groups);
	*p = (struct credentials){ 0 };
}

/* Groups are in the same order: the kernel sorts them. */
bool credentials_equal(const struct credentials *a, const struct credentials *b)
{
	return a->uid == b->uid && a->gid == b->gid &&
	       a->group_count == b->group_count &&
	       (!a->group_count ||
		memcmp(a->groups, b->groups,
		       a->group_count * sizeof(*a->groups)) == 0);
}

/* The system call, because setgroups() of the C library changes every thread of
 * the process. */
static int set_groups(const struct credentials *p)
{
	return syscall(SYS_setgroups, p->group_count, p->groups) ? -errno : 0;
}

/* setfsuid() and setfsgid() return no errors; a second call returns the present
 * id. */
static bool set_fsuid(uid_t uid)
{
	(void)setfsuid(uid);
	return (uid_t)setfsuid((uid_t)-1) == uid;
}

static bool set_fsgid(gid_t gid)
{
	(void)setfsgid(gid);
	return (gid_t)setfsgid((gid_t)-1) == gid;
}

int credentials_enter(const struct credentials *p,
		      const struct credentials *own)
{
	int err = set_groups(p);

	if (err)
		return err;
	if (set_fsgid(p->gid) && set_fsuid(p->uid))
		return 0;
	credentials_leave(own);
	return -EPERM;
}

/* The only place in core/ that ends the process. */
void credentials_leave(const struct credentials *own)
{
	if (!set_fsuid(own->uid) || !set_fsgid(own->gid) || set_groups(own))
		abort();
}
