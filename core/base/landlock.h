/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_BASE_LANDLOCK_H
#define CORE_BASE_LANDLOCK_H

#include <linux/landlock.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Takes from the process all rights on files that the kernel knows, but for
 * those below the paths that are allowed: landlock_begin(), landlock_allow()
 * for each, landlock_end().  The process must have PR_SET_NO_NEW_PRIVS.
 */
struct landlock {
	int rules;
	uint64_t files; /* rights that are taken */
	int err;        /* the first one */
};

#define LANDLOCK_READ \
	(LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)

/* all: also the network, abstract sockets and signals to other processes.
 * -ENOSYS or -EOPNOTSUPP: the kernel has no Landlock. */
int landlock_begin(struct landlock *l, bool all);

/* NULL, and what is not there, is passed over. */
void landlock_allow(struct landlock *l, const char *path, uint64_t access);

/* From here on it is so, for children, too.  To be called after a successful
 * landlock_begin(). */
int landlock_end(struct landlock *l);

#endif
