/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CLI_EVERYWHERE_EVERYWHERE_H
#define CORE_CLI_EVERYWHERE_EVERYWHERE_H

#include <jansson.h>
#include <stdint.h>

#include "core/client/client.h"

struct groups_printer;

/*
 * Questions to the catalog that many hosts share.  kin has no network: it asks
 * the kin-share of a mount, over the socket in the directory of its catalog.
 * Requests and answers are lines of JSON (core/share/ask.h).
 */

/* Takes the request.  -ENOMEM; whatever else goes wrong is a doubt, also when
 * there is no kin-share.  To be closed in any case. */
int everywhere_ask(struct lines *c, const struct mount *mount, json_t *request);

/* The next line of the answer, borrowed; NULL: there are no more. */
json_t *everywhere_next(struct lines *c);

/* Behind the last line, why the answer is not complete; NULL: it is. */
const char *everywhere_doubt(const struct lines *c);

/* "host:path" of a file in an answer, to be freed. */
char *everywhere_name(const json_t *file);

/* What the kin-share of a mount tells of itself; NULL: the mount was never
 * published. */
json_t *everywhere_status(const struct mount *mount);

/* kin groups --everywhere. */
int everywhere_groups(const struct mount *mount, uint64_t min_size,
		      struct groups_printer *p);

#endif
