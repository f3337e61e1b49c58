/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_BASE_PERSONA_H
#define CORE_BASE_PERSONA_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * Whom a thread is to a filesystem: whose permissions count and whose the
 * files are that it makes.  A process that is root can let its threads be
 * somebody else for a while; the capabilities that override permissions are
 * gone for as long.
 */
struct persona {
	uid_t uid;
	gid_t gid;
	gid_t *groups;
	size_t group_count;
};

/* The process itself.  persona_release() frees it; -ENOMEM or errno. */
int persona_own(struct persona *out);

int persona_copy(const struct persona *from, struct persona *out);
void persona_release(struct persona *p);

/* Whether both have the same user, group and supplementary groups. */
bool persona_equal(const struct persona *a, const struct persona *b);

/* Makes the calling thread, and no other, p instead of own.  -EPERM, or what
 * setgroups() says; nothing has changed then. */
int persona_enter(const struct persona *p, const struct persona *own);

/* A thread that cannot go back must not go on: ends the process. */
void persona_leave(const struct persona *own);

#endif
