/* SPDX-License-Identifier: Apache-2.0 */
#include "core/act/export/export.h"

#include <errno.h>
#include <stdlib.h>

#include "core/base/array.h"

struct near_content {
	struct digests digests; /* owned */
	uint32_t number;        /* that the caller gave it */
};

/* A content has two rows of the index, that of its bytes and that of its
 * text. */
static size_t content_of(uint32_t row)
{
	return (row - 1) / 2;
}

static bool is_of_text(uint32_t row)
{
	return row % 2 == 0;
}

static int read_sketch(const struct digests *d, bool text, struct sketch *out)
{
	return text ? digests_text_sketch(d, out) : digests_sketch(d, out);
}

/* For the index, too: no row of it is without one. */
static int fetch_sketch(void *arg, uint32_t row, struct sketch *out)
{
	const struct near_index *n = arg;

	return read_sketch(&n->all[content_of(row)].digests, is_of_text(row),
			   out);
}

int near_add(struct near_index *n, const struct digests *d, uint32_t number)
{
	struct near_content *all =
		array_with_room(n->all, n->count, sizeof(*all));
	int err;

	if (!all)
		return -ENOMEM;
	n->all = all;
	all[n->count].number = number;
	err = digests_copy(d, &all[n->count].digests);
	n->count += !err;
	return err;
}

int near_begin(struct near_index *n)
{
	const struct digests *d;
	uint32_t row;
	int err = index_new(&n->index);

	if (err)
		return err;
	err = index_load_begin(n->index);
	for (row = 1; row <= 2 * n->count && !err; row++) {
		d = &n->all[content_of(row)].digests;
		err = d->size ? fetch_sketch(n, row, &n->sketch) : -ENODATA;
		if (!err)
			err = index_add(n->index, row, &n->sketch);
		if (err == -ENODATA)
			err = 0;
	}
	return err ? err : index_load_end(n->index);
}

int near_search(struct near_index *n, const struct digests *d, int least)
{
	const struct index_store store = { .sketch = fetch_sketch, .arg = n };
	const struct index_query query = {
		.sketch = &n->sketch,
		.rules = { .relation = INDEX_ALIKE, .threshold = least },
		.first_content = 1,
	};
	size_t found, count = 0, i;
	int text, err = 0;

	for (text = 0; d->size && text < 2 && !err; text++) {
		struct index_match *m = n->matches + count;

		err = read_sketch(d, text, &n->sketch);
		if (!err)
			err = index_search(n->index, &query, &store, m, &found);
		for (i = 0; !err && i < found; i++) {
			const struct near_content *c =
				&n->all[content_of(m[i].content)];
			const bool by_text = text && is_of_text(m[i].content);

			m[i].content = c->number;
			/* Two documents are as alike as their texts are. */
			if (by_text || !d->text.bytes || !c->digests.text.bytes)
				n->matches[count++] = m[i];
		}
		if (err == -ENODATA)
			err = 0;
	}
	/* Each content once, best first. */
	count = index_matches_merge(n->matches, count);
	n->match_count = count < INDEX_MATCHES ? count : INDEX_MATCHES;
	return err;
}

void near_release(struct near_index *n)
{
	index_free(n->index);
	n->index = NULL;
	while (n->count)
		digests_release(&n->all[--n->count].digests);
	free(n->all);
	n->all = NULL;
}
