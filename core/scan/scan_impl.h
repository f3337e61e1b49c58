/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_SCAN_SCAN_IMPL_H
#define CORE_SCAN_SCAN_IMPL_H

#include "core/base/logger.h"
#include "core/scan/scan.h"

static inline bool scan_is_stopping(const struct scanner *s)
{
	return atomic_load(s->context.stopping);
}

/* ---- scan_directory.c ---- */

/* Walks the whole tree. */
int scan_walk_tree(struct scanner *s);

/* Reads a directory for the tries-th time, and with deep all below it. */
int scan_walk_again(struct scanner *s, const char *path,
		    const struct file_key *key, unsigned tries, bool deep);

/* ---- scan_retry.c ---- */

enum { EARLY_TRIES = 4 }; /* after these the directory is not waited for */

/* The directory at the path will be read again soon.  path NULL: it is looked
 * for again.  Takes the request unless it fails (-ENOMEM); another retry of
 * the directory is dropped. */
int scan_retry_later(struct scanner *s, const char *path,
		     const struct scan_request *r);

/* When the next retry is due; INT64_MAX: there is none. */
int64_t scan_next_retry_ms(const struct scanner *s);
void scan_serve_retries(struct scanner *s);
void scan_drop_retries(struct scanner *s);

/* ---- scan_request.c ---- */

void scan_serve_requests(struct scanner *s);
/* Takes the request, which was not the first one. */
void scan_request_again(struct scanner *s, const struct scan_request *r);
void scan_drop_requests(struct scanner *s);
/* Takes the request. */
void scan_serve_request(struct scanner *s, struct scan_request *r);

/* ---- scan_seen.c ---- */

void scan_check_seen(struct scanner *s);

/* ---- scan_names.c ---- */

/* Reports a name in the directory *key, open as dir_fd.  Returns an O_PATH
 * descriptor of the file or directory of that name and its key in *key, or
 * -ESTALE when names in the directory kept changing. */
int scan_report_name(struct scanner *s, int dir_fd, const char *name,
		     struct file_key *key);

#endif
