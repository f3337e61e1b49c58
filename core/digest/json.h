/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_DIGEST_JSON_H
#define CORE_DIGEST_JSON_H

#include <stdint.h>

/* Digests as a JSON object: their names, and their text forms. */

struct digests;
struct json_t;

/* Those that d has and that are in set.  NULL: no memory. */
struct json_t *digests_to_json(const struct digests *d, uint32_t set);

/* Adds those of an object to d; NULL: none.  A name that is not known here is
 * that of a newer kinfs and left out.  -EINVAL: a text is none of its digest. */
int digests_from_json(const struct json_t *object, struct digests *d);

#endif
