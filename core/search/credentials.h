/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_SEARCH_CREDENTIALS_H
#define CORE_SEARCH_CREDENTIALS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * Whom a thread is to a filesystem: whose permissions count and whose the
 * files are that it makes.  A process that is root can let its threads be
 * another user for a while; the capabilities that override permissions are
 * gone for as long.
 */
struct credentials {
	uid_t uid;
	gid_t gid;
	gid_t *groups;
	size_t group_count;
};

/* The process itself.  credentials_release() frees it; -ENOMEM or errno. */
int credentials_own(struct credentials *out);

int credentials_copy(const struct credentials *from, struct credentials *out);
void credentials_release(struct credentials *p);

/* Whether both have the same user, group and supplementary groups. */
bool credentials_equal(const struct credentials *a,
		       const struct credentials *b);

/* Makes the calling thread, and no other, p instead of own.  -EPERM, or what
 * setgroups() says; nothing has changed then. */
int credentials_enter(const struct credentials *p,
		      const struct credentials *own);

/* A thread that cannot go back must not go on: ends the process. */
void credentials_leave(const struct credentials *own);

#endif
