/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_SOURCE_TIMES_H
#define CORE_SOURCE_TIMES_H

#include <stdbool.h>
#include <stdint.h>

#include "core/catalog/catalog.h"

/*
 * What the times of a file are worth: digests are believed for as long as size,
 * mtime and ctime are what they were when the file was hashed.
 *
 * TIMES_OWN: every change moves the ctime, by the clock of this machine.  A
 * file is hashed when its ctime is old enough for the next change to have
 * another one.  That depends on how finely the filesystem counts.
 *
 * TIMES_DOUBTFUL: the clock is another machine's, or the ctime follows the
 * mtime, which users may set, or it is not known what the times are worth.  A
 * file is hashed when it did not change for some time by the clock of this
 * machine; and a file that is changed through the host is hashed again whatever
 * its times say.
 */
enum times_worth { TIMES_OWN, TIMES_DOUBTFUL };

/* Of a filesystem, by the f_type of statfs(2). */
enum times_worth times_of_type(uint64_t type);

/* Of the filesystem that the file behind fd is on; O_PATH will do. */
enum times_worth times_of(int fd);

/* Milliseconds since the ctime; negative when it lies in the future. */
int64_t times_age(const struct file_identity *id);

/* Whether the file's times are so young that another change might not move
 * them; wait_ms_out says for how long.  same_ms is for how long the identity is
 * known to have been the same. */
bool times_are_too_young(enum times_worth worth, const struct file_identity *id,
			 int64_t same_ms, int64_t *wait_ms_out);

#endif
