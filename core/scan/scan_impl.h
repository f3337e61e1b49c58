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

/* Reads a directory again, for the tries-th time.  deep: and all below it. */
void scan_walk(struct scanner *s, const char *path, const struct file_key *key,
	       unsigned tries, bool deep);

/* ---- scan_request.c ---- */

/* Posts a name in the directory *key, open as dir_fd.  Returns an O_PATH
 * descriptor of the file or directory of that name, and sets *key to its key.
 * -ESTALE: names in the directory changed at each try. */
int scan_report_name(struct scanner *s, int dir_fd, const char *name,
		     struct file_key *key);

/* From so many tries on a directory no longer keeps the scan from being
 * idle. */
enum { EARLY_TRIES = 4 };

/* Adds a copy of the request, of which due_ms is set, and takes its descriptor.
 * Instead of an earlier request for that key. */
void scan_add_request(struct scanner *s, const struct scan_request *r);
/* With the lock: when the next request is due; INT64_MAX: there is none. */
int64_t scan_next_request_ms(const struct scanner *s);
/* With the lock: whether there are some, but for late tries. */
bool scan_has_early_requests(const struct scanner *s);
void scan_serve_request(struct scanner *s);
/* Something at the path could not be looked at for a lack. */
void scan_note_lack(struct scanner *s, const char *path, int error);
/* Reads all directories again in which something could not. */
void scan_try_again(struct scanner *s);
void scan_drop_requests(struct scanner *s);

/* ---- scan.c ---- */

void scan_check_seen(struct scanner *s);

#endif
