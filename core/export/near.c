/* SPDX-License-Identifier: Apache-2.0 */
#include "core/export/near.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/array.h"

/* NULL: it has none. */
static int sketch_of(const struct digests *d, struct sif_sketch *room,
		     struct sif_sketch **out)
{
	const char *text = d->text[DIGEST_SIF];

	*out = text ? room : NULL;
	return text ? sif_parse(text, strlen(text), room) : 0;
}

static int fetch_sketch(void *arg, uint32_t content, struct sif_sketch *out)
{
	const struct near *n = arg;
	const char *text = n->all[content - 1]->text[DIGEST_SIF];

	return text ? sif_parse(text, strlen(text), out) : -ENOENT;
}

static int fetch_short_sketch(void *arg, uint32_t content,
			      struct short_sketch *out)
{
	const struct near *n = arg;

	return digests_short_sketch(n->all[content - 1], out) ? 0 : -ENOENT;
}

int near_add(struct near *n, const struct digests *d)
{
	const struct digests **all;

	all = array_with_room(n->all, n->count, sizeof(*all));
	if (!all)
		return -ENOMEM;
	n->all = all;
	all[n->count++] = d;
	return 0;
}

int near_begin(struct near *n)
{
	struct sif_sketch *sketch;
	size_t i;
	int err = index_new(&n->index);

	if (err)
		return err;
	err = index_load_begin(n->index);
	for (i = 0; i < n->count && !err; i++) {
		if (!n->all[i]->size)
			continue;
		err = sketch_of(n->all[i], &n->sketch, &sketch);
		if (!err)
			err = index_add(n->index, (uint32_t)i + 1, n->all[i],
					sketch);
	}
	return err ? err : index_load_end(n->index);
}

int near_search(struct near *n, const struct digests *d, int least,
		size_t *count_out)
{
	const struct index_store store = { .sketch = fetch_sketch,
					   .arg = n,
					   .short_sketch = fetch_short_sketch };
	struct index_query query = { .digests = d,
				     .relation = INDEX_ALIKE,
				     .first_content = 1,
				     .least = least };
	struct short_sketch short_sketch;
	struct sif_sketch *sketch;
	int err = sketch_of(d, &n->sketch, &sketch);

	*count_out = 0;
	if (err || !d->size)
		return err;
	query.sketch = sketch;
	if (digests_short_sketch(d, &short_sketch))
		query.short_sketch = &short_sketch;
	return index_search(n->index, &query, &store, n->matches, count_out);
}

void near_release(struct near *n)
{
	index_free(n->index);
	free(n->all);
	n->index = NULL;
	n->all = NULL;
	n->count = 0;
}
