/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/persona.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/syscall.h>
#include <unistd.h>

int persona_own(struct persona *out)
{
	struct persona p = { .uid = geteuid(), .gid = getegid() };
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

int persona_copy(const struct persona *from, struct persona *out)
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

void persona_release(struct persona *p)
{
	free(p->groups);
	*p = (struct persona){ 0 };
}

/* The kernel keeps groups sorted, and reports them in that order. */
bool persona_equal(const struct persona *a, const struct persona *b)
{
	return a->uid == b->uid && a->gid == b->gid &&
	       a->group_count == b->group_count &&
	       (!a->group_count ||
		memcmp(a->groups, b->groups,
		       a->group_count * sizeof(*a->groups)) == 0);
}

/* The raw call: the C library's acts on every thread of the process. */
static int set_groups(const struct persona *p)
{
	return syscall(SYS_setgroups, p->group_count, p->groups) ? -errno : 0;
}

/* setfsuid() and setfsgid() report nothing; asking again does. */
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

int persona_enter(const struct persona *p, const struct persona *own)
{
	int err = set_groups(p);

	if (err)
		return err;
	if (set_fsgid(p->gid) && set_fsuid(p->uid))
		return 0;
	persona_leave(own);
	return -EPERM;
}

/* The one place in core/ that ends the process: to go on as somebody else
 * would be worse than to stop. */
void persona_leave(const struct persona *own)
{
	if (!set_fsuid(own->uid) || !set_fsgid(own->gid) || set_groups(own))
		abort();
}
