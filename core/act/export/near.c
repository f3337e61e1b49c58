/* SPDX-License-Identifier: Apache-2.0 */
#include "core/act/export/export.h"

#include <errno.h>
#include <stdlib.h>

#include "core/base/array.h"

struct near_content {
	struct digests digests; /* owned */
	uint32_t number;        /* that the caller gave it */
};

/* A content has the ids of two sketches, of its bytes and of its text. */
static uint32_t id_of(size_t place, enum subject_part part)
{
	return (uint32_t)(SUBJECT_PARTS * place) + part + 1;
}

static int fetch_sketch(void *arg, uint32_t id, struct sketch *out)
{
	const struct near_index *n = arg;
	const struct digests *d = &n->all[(id - 1) / SUBJECT_PARTS].digests;
	int err = (id - 1) % SUBJECT_PARTS == SUBJECT_TEXT ?
			  digests_text_sketch(d, out) :
			  digests_sketch(d, out);

	return err == -ENODATA ? -ENOENT : err;
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

/* An empty content resembles nothing. */
static int add_subject(struct near_index *n, size_t place)
{
	const uint32_t id = id_of(place, SUBJECT_BYTES);
	const uint32_t text = id_of(place, SUBJECT_TEXT);
	struct subject s;
	int err = n->all[place].digests.size ?
			  subject_of_digests(&n->all[place].digests, n->room,
					     &s) :
			  -ENODATA;

	if (err)
		return err == -ENODATA ? 0 : err;
	if (s.sketches[SUBJECT_BYTES])
		err = index_add(n->index, id, s.sketches[SUBJECT_BYTES]);
	if (!err && s.sketches[SUBJECT_TEXT])
		err = index_add_text(n->index, text, id,
				     s.sketches[SUBJECT_TEXT]);
	return err;
}

int near_begin(struct near_index *n)
{
	size_t place;
	int err = index_new(&n->index);

	if (err)
		return err;
	err = index_load_begin(n->index);
	for (place = 0; place < n->count && !err; place++)
		err = add_subject(n, place);
	return err ? err : index_load_end(n->index);
}

int near_search(struct near_index *n, const struct digests *d, int least)
{
	const struct index_store store = { .sketch = fetch_sketch, .arg = n };
	struct index_query query = {
		.rules = { .relation = INDEX_ALIKE, .threshold = least },
	};
	size_t i;
	int err = d->size ? subject_of_digests(d, n->room, &query.subject) :
			    -ENODATA;

	n->match_count = 0;
	if (err)
		return err == -ENODATA ? 0 : err;
	err = index_search(n->index, &query, &store, n->matches,
			   &n->match_count);
	for (i = 0; i < n->match_count; i++) {
		struct index_match *m = &n->matches[i];

		m->content = n->all[(m->content - 1) / SUBJECT_PARTS].number;
	}
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
