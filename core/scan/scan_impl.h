/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_SCAN_SCAN_IMPL_H
#define CORE_SCAN_SCAN_IMPL_H

#include "core/base/logger.h"
#include "core/queue/event.h"
#include "core/scan/scan.h"

static inline bool scan_is_stopping(const struct scanner *s)
{
	return atomic_load(s->context.stopping);
}

/* ---- scan_directory.c ---- */

/* Walks the whole tree. */
int scan_walk_tree(struct scanner *s);

/* Reads a directory again, for the tries-th time.  deep: and all below it. */
int scan_walk_again(struct scanner *s, const char *path,
		    const struct file_key *key, unsigned tries, bool deep);

/* ---- scan_retry.c ---- */

/* From so many tries on a retry no longer keeps the scan from being idle. */
enum { EARLY_TRIES = 4 };

/* Has the directory at the path read again soon; path NULL: has the request
 * served again.  Replaces a retry of the same kind for the same key.  Takes
 * the request, unless it fails (-ENOMEM). */
int scan_retry_later(struct scanner *s, const char *path,
		     const struct scan_request *r);

/* When the next retry is due; INT64_MAX: there is none. */
int64_t scan_next_retry_ms(const struct scanner *s);
void scan_serve_retries(struct scanner *s);
void scan_drop_retries(struct scanner *s);

/* ---- scan_request.c ---- */

void scan_serve_requests(struct scanner *s);
/* Adds a request (taken) that may have been tried before. */
void scan_request_again(struct scanner *s, const struct scan_request *r);
void scan_drop_requests(struct scanner *s);
/* Takes the request. */
void scan_serve_request(struct scanner *s, struct scan_request *r);

/* ---- scan_seen.c ---- */

void scan_check_seen(struct scanner *s);

/* ---- scan_names.c ---- */

/* Posts a name in the directory *key, open as dir_fd.  Returns an O_PATH
 * descriptor of the file or directory of that name, and sets *key to its key.
 * -ESTALE: names in the directory changed at each try. */
int scan_report_name(struct scanner *s, int dir_fd, const char *name,
		     struct file_key *key);

#endif
