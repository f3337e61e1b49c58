/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FS_SIMILAR_ELSEWHERE_H
#define FS_SIMILAR_ELSEWHERE_H

#include <pthread.h>

struct fs;
struct listing_query;

/*
 * The view .elsewhere of a file: its near-duplicates on other hosts, for the
 * owner of the mount.
 *
 *   .elsewhere/097_ada:report.txt -> ada:/home/ada/report.txt
 *
 * The links lead nowhere on this host.  The mount sends a query as a datagram
 * (core/share/ask.h) to its kin-share, which answers.  Each request has a
 * thread of its own, ELSEWHERE_MAX at a time, which gives up after
 * ELSEWHERE_WAIT_S; nothing else waits for it.  If there is no kin-share, or it
 * cannot answer, the state of the listing is "incomplete".
 */
enum { ELSEWHERE_MAX = 8, ELSEWHERE_WAIT_S = 3 };

struct elsewhere {
	pthread_mutex_t lock; /* running */
	pthread_cond_t ended;
	unsigned running; /* threads */
	int catalog_fd; /* of the directory, O_PATH; -1: not known; constant */
};

int elsewhere_init(struct elsewhere *e);
void elsewhere_release(struct elsewhere *e);

/* Called before the first request. */
void elsewhere_set_catalog(struct fs *fs, const char *directory);

/* Waits for all threads, which reply to their requests. */
void elsewhere_stop(struct fs *fs);

/* list() of the view.  -EACCES: the caller does not own the mount. */
int list_elsewhere(struct listing_query *query, int fd);

#endif
