/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CLI_PROGRESS_H
#define CORE_CLI_PROGRESS_H

#include <jansson.h>
#include <stdbool.h>

#include "core/base/buf.h"

/* How far the daemon is, from its status; no number is negative, whatever
 * another user's mount says. */
struct progress {
	bool idle, scanning;
	bool reading; /* the catalog: the numbers are not known yet */
	bool counted; /* else files and left are not told to the caller */
	long long files, left; /* left: of files, without valid digests */
	long long failed;      /* files that could not be hashed */
	long long unread;      /* names that could not be looked at */
	long long unsteady;    /* files that change all the time */
	/* Documents and archives whose text is still to be read; when idle, it
	 * cannot be. */
	long long texts;
	long long failed_texts; /* those that could not be read */
	bool has_extract;       /* the program that reads them is installed */
	int percent;            /* 100 only when idle and all is hashed */
	const char *error;      /* of the catalog, in the status; or NULL */
	const char *paused;     /* why, to be shown; or NULL */
	bool stalled;           /* paused, and nothing else is under way */
	/* Bytes of the files that it is reading; 0: nothing is known of that. */
	double done, size, speed;
	double left_bytes; /* of all files */
	double seconds;    /* until all is done; negative: unknown */
};

void progress_read(const json_t *status, struct progress *out);

/* "1.2G of 3.4G, 500M/s, 12 s left"; of small files, which are too many, and of
 * none only the last part, if that is known. */
void progress_append_files(const struct progress *p, double least_size,
			   struct buf *out);

/* "3 files could not be hashed: kin status --failed"; nothing if all could be
 * read. */
void progress_append_failed(const struct progress *p, struct buf *out);
/* Why texts are not read, when idle. */
void progress_append_texts(const struct progress *p, struct buf *out);

/* How far a command itself is: a bar on standard error if that is a terminal and
 * standard output is no pipe.  It goes away again. */
void progress_show(const char *what, double share);
void progress_clear(void);

/* groups_next() without its progress, which is shown.  quiet: not while groups
 * are listed, which show it themselves. */
struct groups;
int progress_groups_next(struct groups *g, const char *what, bool quiet);

#endif
