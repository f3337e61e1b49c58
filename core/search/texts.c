/* SPDX-License-Identifier: Apache-2.0 */
#include "core/search/search_impl.h"

int text_of_content(struct search_query *q, uint32_t content, uint32_t *out)
{
	struct content_text text = { 0 };
	int err = -ENOENT;

	if (q->context->texts && content)
		err = catalog_text_get(q->txn, content, &text);
	*out = text.sketch;
	return err == -ENOENT ? 0 : err;
}

int text_get_content(struct search_query *q, uint32_t id, uint32_t *out,
		     bool *is_text_out)
{
	int err = catalog_text_owner(q->txn, id, out);

	if (is_text_out)
		*is_text_out = !err;
	if (err == -ENOENT) {
		*out = id;
		return 0;
	}
	return !err && !q->context->texts ? -ENOENT : err;
}

int text_merge_matches(struct search_query *q, bool has_text,
		       struct index_match *matches, size_t *count)
{
	size_t kept = 0, i;
	uint32_t text;
	bool is_text;
	int err;

	for (i = 0; i < *count; i++) {
		struct index_match m = matches[i];

		err = text_get_content(q, m.content, &m.content, &is_text);
		if (err == -ENOENT || m.content == q->self_content)
			continue;
		text = is_text;
		if (!err && has_text && !is_text)
			err = text_of_content(q, m.content, &text);
		if (err)
			return err;
		if (has_text && text && !(is_text && m.verdict.by_text))
			continue;
		m.verdict.by_text |= is_text;
		matches[kept++] = m;
	}
	*count = index_matches_merge(matches, kept);
	return 0;
}
