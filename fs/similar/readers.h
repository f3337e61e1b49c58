/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FS_SIMILAR_READERS_H
#define FS_SIMILAR_READERS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Readers of listings, and whether they look at the links.  `ls -l` looks at each
 * link, and gets it together with its name.  A program that walks the tree for
 * the names, such as find, does not, and each link that it gets costs a node
 * here, an inode in the kernel, and a message when the kernel forgets that.
 *
 * Whether a program looks at links is only seen when it has to ask for them.  So
 * a thread gets links in its first listing, and only names in the next ones,
 * until it looks one up.  This changes no answer, only the number of requests.
 *
 * Zeroed at first.  Any thread may call these functions.
 */
enum { READERS_KNOWN = 64 };

struct readers {
	/* By thread id: twice the id, plus 1 if the thread looks up links. */
	_Atomic uint64_t known[READERS_KNOWN];
};

/* The thread begins to read a listing.  Whether it should get links. */
bool readers_want_links(struct readers *r, pid_t tid);

/* The thread has looked up a link. */
void readers_looked_up(struct readers *r, pid_t tid);

#endif
