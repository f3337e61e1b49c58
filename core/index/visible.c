/* SPDX-License-Identifier: Apache-2.0 */
#include "core/index/visible.h"

#include <errno.h>
#include <stdlib.h>

#include "core/index/judge_rules.h"

/* All contents of a key; the caller frees the array. */
static int copy_list(struct index *ix, uint32_t key, uint32_t **out,
		     size_t *count_out)
{
	size_t count;
	uint32_t *ids = NULL;

	(void)pthread_rwlock_rdlock(&ix->rows_lock);
	count = postings_find(ix->postings, key, NULL, 0);
	if (count)
		ids = malloc(count * sizeof(*ids));
	if (ids)
		(void)postings_find(ix->postings, key, ids, count);
	(void)pthread_rwlock_unlock(&ix->rows_lock);
	if (count && !ids)
		return -ENOMEM;
	*out = ids;
	*count_out = count;
	return 0;
}

int visible_find(struct index *ix, const struct index_visibility *v,
		 uint32_t key, size_t most, uint32_t *out, size_t *count_out)
{
	size_t count, kept = 0, i;
	uint32_t *ids;
	int err = copy_list(ix, key, &ids, &count);

	if (err)
		return err;
	for (i = 0; i < count && kept <= most; i++)
		if (v->is_visible(v->arg, ids[i]))
			out[kept++] = ids[i];
	free(ids);
	*count_out = kept;
	return 0;
}

uint32_t visible_limit(struct index *ix)
{
	uint32_t limit;

	(void)pthread_rwlock_rdlock(&ix->rows_lock);
	limit = postings_limit(ix->postings);
	(void)pthread_rwlock_unlock(&ix->rows_lock);
	return limit;
}

/* A value of few contents has the full weight for every caller, so visibility
 * is not asked for. */
static int count_visible(struct visible_index *v, uint32_t key,
			 size_t *count_out)
{
	uint32_t ids[INDEX_VISIBLE_MAX + 1];
	size_t count;

	(void)pthread_rwlock_rdlock(&v->ix->rows_lock);
	count = postings_find(v->ix->postings, key, NULL, 0);
	(void)pthread_rwlock_unlock(&v->ix->rows_lock);
	*count_out = count;
	if (count <= WEIGHT_FEW)
		return 0;
	return visible_find(v->ix, v->visibility, key, INDEX_VISIBLE_MAX, ids,
			    count_out);
}

uint32_t visible_contents(void *arg, uint64_t value)
{
	struct visible_index *v = arg;
	uint32_t key = posting_key(value);
	struct index_count *known =
		&v->visibility->counts[key % INDEX_COUNT_SLOTS];
	size_t count = 0;
	int err;

	if (key >= v->limit)
		return 0;
	if (known->contents && known->key == key)
		return known->contents;
	err = count_visible(v, key, &count);
	if (err && !v->err)
		v->err = err;
	known->key = key;
	known->contents = count ? (uint32_t)count : 1;
	return known->contents;
}
