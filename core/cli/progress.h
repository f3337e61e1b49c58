/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CLI_PROGRESS_H
#define CORE_CLI_PROGRESS_H

#include <jansson.h>
#include <stdbool.h>

/* How far the daemon is, from its status. */
struct progress {
	bool idle, scanning;
	bool counted; /* else files and left are not told to the caller */
	long long files, left; /* left: of files, without valid digests */
	long long failed;      /* files that could not be hashed */
	int percent;           /* 100 only when idle */
	const char *error;     /* of the catalog, in the status; or NULL */
	const char *paused;    /* why, to be shown; or NULL */
	bool stalled;          /* paused, and nothing else is under way */
};

void progress_read(const json_t *status, struct progress *out);

#endif
