/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_SEARCH_SIMILAR_REQUEST_H
#define CORE_SEARCH_SIMILAR_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

struct digests;
struct json_t;

/* Makes the JSON request to kin-share for contents that resemble one with these
 * digests (core/share/ask.h).  all: also contents with nothing but boilerplate
 * in common.  NULL: no memory. */
struct json_t *similar_request_new(const struct digests *d, int threshold,
				   bool all);

#endif
