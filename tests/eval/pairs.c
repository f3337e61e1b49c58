/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/eval/pairs.h"

#include <stdlib.h>
#include <string.h>

#include "tests/eval/eval.h"
#include "tests/eval/listing.h"
#include "tests/eval/plan.h"

#define STAR_FROM (4 * MIB)
#define CACHE_VALUES ((size_t)160 << 20) /* 1.25 GiB */

static void add(struct pairs *p, size_t a, size_t b, bool is_kin)
{
	p->pairs = grown(p->pairs, p->count, sizeof(*p->pairs));
	p->pairs[p->count++] = (struct pair){
		.a = (uint32_t)(a < b ? a : b),
		.b = (uint32_t)(a < b ? b : a),
		.is_kin = is_kin,
	};
}

static void add_family(struct pairs *p, const struct corpus *c,
		       const struct family *f)
{
	size_t i, j, centres = f->count;

	if (f->count && f->star &&
	    c->files[f->members[0]].digests.size >= STAR_FROM)
		centres = 1;
	for (i = 0; i < centres; i++)
		for (j = i + 1; j < f->count; j++)
			add(p, f->members[i], f->members[j], true);
}

static bool is_of_parts(const struct family *f)
{
	return !strncmp(f->name, PARTS_GROUP, strlen(PARTS_GROUP));
}

void pairs_add_kin(struct pairs *p, const struct corpus *c, bool held_out)
{
	size_t i;

	for (i = 0; i < c->family_count; i++)
		if (c->families[i].held_out == held_out &&
		    !is_of_parts(&c->families[i]))
			add_family(p, c, &c->families[i]);
}

void pairs_add_listed(struct pairs *p, const struct listing *l)
{
	const struct entry *e;
	size_t i, j;

	for (i = 0; i < l->count; i++)
		for (j = 0; j < l->files[i].count; j++) {
			e = &l->files[i].entries[j];
			if (listing_counts(l, i, e))
				add(p, i, e->other, false);
		}
}

/* Kin first, which then stay. */
static int by_files(const void *a, const void *b)
{
	const struct pair *x = a, *y = b;

	if (x->a != y->a)
		return x->a < y->a ? -1 : 1;
	if (x->b != y->b)
		return x->b < y->b ? -1 : 1;
	return y->is_kin - x->is_kin;
}

static void drop_repeats(struct pairs *p)
{
	size_t kept = 0, i;

	for (i = 0; i < p->count; i++)
		if (!kept || p->pairs[kept - 1].a != p->pairs[i].a ||
		    p->pairs[kept - 1].b != p->pairs[i].b)
			p->pairs[kept++] = p->pairs[i];
	p->count = kept;
}

static bool is_same(const struct verdict *a, const struct verdict *b)
{
	return a->score == b->score && a->distinctive == b->distinctive &&
	       a->bytes == b->bytes && a->reason == b->reason;
}

void pairs_finish(struct pairs *p, const struct corpus *c, struct index *ix)
{
	struct verdict back;
	struct cache cache;
	size_t i;

	if (!p->count)
		return;
	qsort(p->pairs, p->count, sizeof(*p->pairs), by_files);
	drop_repeats(p);
	cache_init(&cache, c, CACHE_VALUES);
	for (i = 0; i < p->count; i++) {
		struct pair *pair = &p->pairs[i];

		pair->truth = cache_truth(&cache, pair->a, pair->b);
		pair->verdict = listing_verdict(c, ix, pair->a, pair->b);
		back = listing_verdict(c, ix, pair->b, pair->a);
		pair->is_symmetric = is_same(&pair->verdict, &back);
	}
	cache_release(&cache);
}

void pairs_release(struct pairs *p)
{
	free(p->pairs);
	*p = (struct pairs){ 0 };
}

const struct pair *pairs_find(const struct pairs *p, size_t a, size_t b)
{
	struct pair key = { .a = (uint32_t)(a < b ? a : b),
			    .b = (uint32_t)(a < b ? b : a) };
	size_t low = 0, high = p->count, middle;

	while (low < high) {
		middle = low + (high - low) / 2;
		if (p->pairs[middle].a < key.a ||
		    (p->pairs[middle].a == key.a && p->pairs[middle].b < key.b))
			low = middle + 1;
		else
			high = middle;
	}
	if (low == p->count || p->pairs[low].a != key.a ||
	    p->pairs[low].b != key.b)
		return NULL;
	return &p->pairs[low];
}
