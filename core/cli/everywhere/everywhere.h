/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CLI_EVERYWHERE_EVERYWHERE_H
#define CORE_CLI_EVERYWHERE_EVERYWHERE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/client/client.h"

struct output;

/*
 * Questions to the catalog that many hosts share.  kin has no network: it asks
 * the kin-share of a mount, over the socket in the directory of its catalog.
 * Requests and answers are lines of JSON (core/share/ask.h).
 */
struct everywhere {
	struct client_query answer; /* to be closed in any case */
	char reason[256];           /* why it is not complete; "": it is */
};

/* Takes the request.  -ENOMEM; whatever else goes wrong is a reason, also when
 * there is no kin-share. */
int everywhere_ask(struct everywhere *e, const struct mount *mount,
		   json_t *request);

/* The next line of the answer, borrowed; NULL: there are no more. */
json_t *everywhere_next(struct everywhere *e);

/* "host:path" of a file in an answer, to be freed. */
char *everywhere_name(const json_t *file);

/* What the kin-share of a mount tells of itself; NULL: the mount was never
 * published. */
json_t *everywhere_status(const struct mount *mount);

/* kin groups --everywhere: an exit code. */
int everywhere_groups(const struct mount *mount, uint64_t min_size,
		      const struct output *output);

#endif
