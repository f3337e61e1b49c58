/* SPDX-License-Identifier: Apache-2.0 */
#include "core/search/similar_request.h"

#include <errno.h>
#include <jansson.h>

#include "core/base/buf.h"
#include "core/digest/digest.h"

struct json_t *digests_to_json(const struct digests *d, uint32_t set)
{
	json_t *texts = json_object();
	struct buf text = { 0 };
	int id, err = texts ? 0 : -ENOMEM;

	for (id = 0; id < DIGEST_COUNT && !err; id++) {
		if (!(d->set & set & DIGEST_BIT(id)))
			continue;
		buf_clear(&text);
		err = digest_format(d, (enum digest_id)id, &text);
		if (!err && json_object_set_new(texts, digest_table[id]->name,
						json_string(text.data)))
			err = -ENOMEM;
	}
	buf_release(&text);
	if (!err)
		return texts;
	json_decref(texts);
	return NULL;
}

struct json_t *similar_request_new(const struct digests *d, int threshold,
				   bool all)
{
	/* NULL makes json_pack() fail. */
	return json_pack("{s:{s:I, s:o}, s:i, s:b}", "similar", "size",
			 (json_int_t)d->size, "digests",
			 digests_to_json(d, ~DIGEST_BIT(DIGEST_SDHASH)),
			 "threshold", threshold, "all", all);
}
