/* SPDX-License-Identifier: Apache-2.0 */
#include "core/act/export/export.h"

#include <errno.h>
#include <stdlib.h>

#include "core/base/array.h"

/* A content has two rows of the index, that of its bytes and that of its
 * text. */
static uint32_t content_of(uint32_t row)
{
	return (row - 1) / 2;
}

static int read_sketch(const struct digests *d, bool text, struct sketch *out)
{
	int err = text ? digests_text_sketch(d, out) : digests_sketch(d, out);

	return err == -ENODATA ? -ENOENT : err;
}

static int fetch_sketch(void *arg, uint32_t row, struct sketch *out)
{
	const struct near_index *n = arg;

	return read_sketch(n->all[content_of(row)], row % 2 == 0, out);
}

int near_add(struct near_index *n, const struct digests *d)
{
	const struct digests **all;

	all = array_with_room(n->all, n->count, sizeof(*all));
	if (!all)
		return -ENOMEM;
	n->all = all;
	all[n->count++] = d;
	return 0;
}

int near_begin(struct near_index *n)
{
	size_t i;
	int err = index_new(&n->index);

	if (err)
		return err;
	err = index_load_begin(n->index);
	for (i = 0; i < 2 * n->count && !err; i++) {
		const struct digests *d = n->all[i / 2];

		err = d->size ? read_sketch(d, i % 2, &n->sketch) : -ENOENT;
		if (!err)
			err = index_add(n->index, (uint32_t)i + 1, d,
					&n->sketch);
		if (err == -ENOENT)
			err = 0;
	}
	return err ? err : index_load_end(n->index);
}

/* Each content once, best first; of two documents by their texts alone. */
static void merge_matches(struct near_index *n, const struct digests *d,
			  size_t *count)
{
	struct index_match *m = n->matches;
	size_t kept = 0, i;

	for (i = 0; i < *count; i++) {
		const uint32_t content = content_of(m[i].content);
		const bool is_text = m[i].content % 2 == 0;

		if (d->text.bytes && n->all[content]->text.bytes &&
		    !(is_text && m[i].verdict.by_text))
			continue;
		m[kept] = m[i];
		m[kept++].content = content + 1;
	}
	kept = index_matches_merge(m, kept);
	*count = kept < INDEX_MATCHES ? kept : INDEX_MATCHES;
}

int near_search(struct near_index *n, const struct digests *d, int least,
		size_t *count_out)
{
	const struct index_store store = { .sketch = fetch_sketch, .arg = n };
	const struct index_query query = {
		.digests = d,
		.sketch = &n->sketch,
		.rules = { .relation = INDEX_ALIKE, .threshold = least },
		.first_content = 1,
	};
	size_t found, i;
	int text, err = 0;

	*count_out = 0;
	for (text = 0; d->size && text < 2 && !err; text++) {
		err = read_sketch(d, text, &n->sketch);
		if (!err)
			err = index_search(n->index, &query, &store,
					   n->matches + *count_out, &found);
		for (i = 0; !err && i < found; i++)
			n->matches[*count_out + i].verdict.by_text = text;
		if (!err)
			*count_out += found;
		if (err == -ENOENT)
			err = 0;
	}
	merge_matches(n, d, count_out);
	return err;
}

void near_release(struct near_index *n)
{
	index_free(n->index);
	free(n->all);
	n->index = NULL;
	n->all = NULL;
	n->count = 0;
}
