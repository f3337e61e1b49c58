/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_SEARCH_SIMILAR_REQUEST_H
#define CORE_SEARCH_SIMILAR_REQUEST_H

#include <stdbool.h>

struct digests;
struct json_t;

/* The request for contents like the one with these digests to the catalog that
 * many hosts share (core/share/ask.h); all: also those that share boilerplate
 * alone.  A new JSON object; NULL: out of memory. */
struct json_t *similar_request_new(const struct digests *d, int threshold,
				   bool all);

#endif
