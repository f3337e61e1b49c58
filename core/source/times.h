/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_SOURCE_TIMES_H
#define CORE_SOURCE_TIMES_H

#include <stdbool.h>
#include <stdint.h>

#include "core/catalog/catalog.h"

/*
 * Whether the timestamps of a file show every change.  Digests are valid while
 * size, mtime and ctime are those of the file that was hashed.
 *
 * TIMES_OWN: every change sets the ctime, by the clock of this machine.  A file
 * is hashed when its ctime is so old that another change would get a later one.
 * How old depends on the resolution of the filesystem's timestamps, and whether
 * the change itself is known to be over: its writer sets the ctime first.
 *
 * TIMES_DOUBTFUL: the clock is that of another machine; or the ctime follows
 * the mtime, which users can set; or the filesystem is not known.  A file is
 * hashed when its identity has been the same for some time, by the clock of
 * this machine.  A file that is written through the host is hashed again even
 * if its identity is the same.
 */
enum times_worth { TIMES_OWN, TIMES_DOUBTFUL };

/* Milliseconds since the ctime; negative when it lies in the future. */
int64_t times_age(const struct file_identity *id);

/* Whether the timestamps are so young that another change might leave them as
 * they are; wait_ms_out: for how long still.  reported: the change is over, as
 * its writer has closed the file.  same_ms: how long the identity has been the
 * same. */
bool times_are_too_young(enum times_worth worth, const struct file_identity *id,
			 bool reported, int64_t same_ms, int64_t *wait_ms_out);

#endif
