/* SPDX-License-Identifier: Apache-2.0 */
#include "core/index/best.h"

/* Whether a comes before b in the result. */
static bool candidate_is_better(const struct index_candidate *a,
				const struct index_candidate *b)
{
	if (a->rank != b->rank)
		return a->rank > b->rank;
	return a->content < b->content;
}

static void swap(struct index_candidate *a, struct index_candidate *b)
{
	struct index_candidate c = *a;

	*a = *b;
	*b = c;
}

static void heap_sink(struct index_candidate *heap, size_t count, size_t i)
{
	size_t child;

	for (; 2 * i + 1 < count; i = child) {
		child = 2 * i + 1;
		if (child + 1 < count &&
		    candidate_is_better(&heap[child], &heap[child + 1]))
			child++;
		if (!candidate_is_better(&heap[i], &heap[child]))
			return;
		swap(&heap[i], &heap[child]);
	}
}

static void heap_rise(struct index_candidate *heap, size_t i)
{
	size_t parent;

	for (; i; i = parent) {
		parent = (i - 1) / 2;
		if (!candidate_is_better(&heap[parent], &heap[i]))
			return;
		swap(&heap[i], &heap[parent]);
	}
}

bool best_wants(const struct best_candidates *best,
		const struct index_candidate *c)
{
	if (c->rank < best->least)
		return false;
	return best->count < best->capacity ||
	       candidate_is_better(c, &best->out[0]);
}

void best_add(struct best_candidates *best, const struct index_candidate *c)
{
	if (!best_wants(best, c))
		return;
	if (best->count < best->capacity) {
		best->out[best->count] = *c;
		heap_rise(best->out, best->count++);
	} else {
		best->out[0] = *c;
		heap_sink(best->out, best->count, 0);
	}
	if (best->count == best->capacity)
		best->least = best->out[0].rank;
}

void best_sort(struct best_candidates *best)
{
	size_t left;

	for (left = best->count; left > 1; left--) {
		swap(&best->out[0], &best->out[left - 1]);
		heap_sink(best->out, left - 1, 0);
	}
}
