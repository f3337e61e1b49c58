/* SPDX-License-Identifier: Apache-2.0 */
#include "core/search/similar_request.h"

#include <jansson.h>

#include "core/digest/digest.h"

struct json_t *similar_request_new(const struct digests *d, int threshold,
				   bool all)
{
	/* NULL makes json_pack() fail. */
	return json_pack("{s:{s:I, s:o}, s:i, s:b}", "similar", "size",
			 (json_int_t)d->size, "digests",
			 digests_to_json(d, ~DIGEST_BIT(DIGEST_SDHASH)),
			 "threshold", threshold, "all", all);
}
