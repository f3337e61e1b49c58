/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CLI_EVERYWHERE_EVERYWHERE_H
#define CORE_CLI_EVERYWHERE_EVERYWHERE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/digest/digest.h"

struct mount;
struct output;

/*
 * Questions to the catalog that many hosts share.  kin has no network: it asks
 * the kin-share of a mount, over the socket in the directory of its catalog.
 * Requests and answers are lines of JSON (core/share/ask.h).
 */
struct everywhere {
	const struct mount *mount; /* whose kin-share is asked */
	char reason[256]; /* why the answer is not complete; "": it is */
};

/* Calls each for every line of the answer but the last one; a result that is
 * not 0 ends it and is returned.  Whatever else goes wrong is a reason, also
 * when there is no kin-share.  Takes the request. */
int everywhere_ask(struct everywhere *e, json_t *request,
		   int (*each)(void *arg, json_t *line), void *arg);

/* "host:path" of a file in an answer, to be freed. */
char *everywhere_name(const json_t *file);

/* What the kin-share of a mount tells of itself; NULL: the mount was never
 * published. */
json_t *everywhere_status(const struct mount *mount);

/* kin groups --everywhere: an exit code. */
int everywhere_groups(const struct mount *mount, uint64_t min_size,
		      const struct output *output);

#endif
