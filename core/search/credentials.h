/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_SEARCH_CREDENTIALS_H
#define CORE_SEARCH_CREDENTIALS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * The user and groups of a thread, by which the kernel checks permissions and
 * owns new files.  A thread of a root process can take those of another user
 * for a while.  Meanwhile it has no capabilities that override permissions.
 */
struct credentials {
	uid_t uid;
	gid_t gid;
	gid_t *groups;
	size_t group_count;
};

/* Those of the process; free with credentials_release().  A negative errno. */
int credentials_own(struct credentials *out);

int credentials_copy(const struct credentials *from, struct credentials *out);
void credentials_release(struct credentials *p);

/* Whether both have the same user, group and supplementary groups. */
bool credentials_equal(const struct credentials *a,
		       const struct credentials *b);

/* Gives the calling thread, and no other, the credentials p.  On failure the
 * thread keeps own: -EPERM, or an error of setgroups(). */
int credentials_enter(const struct credentials *p,
		      const struct credentials *own);

/* Gives the calling thread the credentials of the process again.  If that
 * fails, ends the process: the thread must not go on as another user. */
void credentials_leave(const struct credentials *own);

#endif
