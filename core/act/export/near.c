/* SPDX-License-Identifier: Apache-2.0 */
#include "core/act/export/near.h"

#include <errno.h>
#include <stdlib.h>

#include "core/base/array.h"

static int fetch_sketch(void *arg, uint32_t content, struct sketch *out)
{
	const struct near_index *n = arg;
	int err = digests_sketch(n->all[content - 1], out);

	return err == -ENODATA ? -ENOENT : err;
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
	for (i = 0; i < n->count && !err; i++) {
		if (!n->all[i]->size)
			continue;
		err = digests_sketch(n->all[i], &n->sketch);
		if (!err || err == -ENODATA)
			err = index_add(n->index, (uint32_t)i + 1, n->all[i],
					err ? NULL : &n->sketch);
	}
	return err ? err : index_load_end(n->index);
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
	int err = digests_sketch(d, &n->sketch);

	*count_out = 0;
	if (err || !d->size)
		return err == -ENODATA ? 0 : err;
	return index_search(n->index, &query, &store, n->matches, count_out);
}

void near_release(struct near_index *n)
{
	index_free(n->index);
	free(n->all);
	n->index = NULL;
	n->all = NULL;
	n->count = 0;
}
