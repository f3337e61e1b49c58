/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CLI_PROGRESS_H
#define CORE_CLI_PROGRESS_H

#include <jansson.h>
#include <stdbool.h>

/* How far the daemon is, from its status. */
struct progress {
	bool idle, scanning;
	bool reading; /* the catalog: the numbers are not known yet */
	bool counted; /* else files and left are not told to the caller */
	long long files, left; /* left: of files, without valid digests */
	long long failed;      /* files that could not be hashed */
	long long unsteady;    /* files that change all the time */
	int percent;           /* 100 only when idle and all is hashed */
	const char *error;     /* of the catalog, in the status; or NULL */
	const char *paused;    /* why, to be shown; or NULL */
	bool stalled;          /* paused, and nothing else is under way */
};

void progress_read(const json_t *status, struct progress *out);

/* How far it is in the files that it is reading; all zero when nothing is known
 * of that. */
struct progress_files {
	double done, size; /* bytes */
	double left;       /* bytes, of all files */
	double speed;      /* bytes a second */
	double seconds;    /* until all is done; negative: unknown */
};

void progress_read_files(const json_t *status, struct progress_files *out);

/* "1.2 GiB" */
void progress_print_bytes(double bytes);

/* ", 12 s left"; nothing when that is unknown. */
void progress_print_left(const struct progress_files *files);

/* "1.2 GiB of 3.4 GiB, 500.0 MiB/s, 12 s left" */
void progress_print_files(const struct progress_files *files);

/* How far a command itself is: a bar on standard error if that is a terminal.
 * It goes away again. */
void progress_show(const char *what, double share);
void progress_clear(void);

/* groups_next() without its progress, which is shown.  quiet: not while groups
 * are listed, which show it themselves. */
struct groups;
int progress_groups_next(struct groups *g, const char *what, bool quiet);

#endif
