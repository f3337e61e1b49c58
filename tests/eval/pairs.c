/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/eval/pairs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/eval/eval.h"
#include "tests/eval/listing.h"

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

/* Those are in a table of their own. */
static void set_scattered(const struct corpus *c, struct pair *p)
{
	const char *name = c->families[c->files[p->a].family].name;

	p->is_scattered = !strncmp(name, "scattered/", strlen("scattered/"));
	p->is_kin = !p->is_scattered;
}

void pairs_add_kin(struct pairs *p, const struct corpus *c, bool held_out)
{
	size_t i;

	for (i = 0; i < c->family_count; i++)
		if (c->families[i].held_out == held_out)
			add_family(p, c, &c->families[i]);
	for (i = 0; i < p->count; i++)
		set_scattered(c, &p->pairs[i]);
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
	return y->is_kin + y->is_scattered - x->is_kin - x->is_scattered;
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

static bool is_edit_of(const struct file *f, enum edit_kind kind)
{
	return f->edit.amount && f->edit.kind == kind;
}

/* The content, or what a passage of it was moved in or words were replaced
 * in. */
static size_t unmoved(const struct corpus *c, size_t file)
{
	const struct file *f = &c->files[file];

	return is_edit_of(f, EDIT_MOVE) || is_edit_of(f, EDIT_WORDS) ?
		       c->families[f->family].members[0] :
		       file;
}

/* The percentage of the bytes that are in words that were replaced. */
static double replaced_words(const struct corpus *c, size_t file)
{
	const struct file *f = &c->files[file];

	return is_edit_of(f, EDIT_WORDS) ? f->edit.amount / 100.0 : 0;
}

/* The percentage of the bytes that are the same, each in its place or where
 * edits that move bytes have put it. */
static double same_bytes(const struct corpus *c, const struct pair *p)
{
	struct bytes a = corpus_read(c, unmoved(c, p->a));
	struct bytes b = corpus_read(c, unmoved(c, p->b));
	double replaced = replaced_words(c, p->a) + replaced_words(c, p->b);
	size_t same = 0, i;

	for (i = 0; i < a.len && i < b.len; i++)
		same += a.data[i] == b.data[i];
	free(a.data);
	free(b.data);
	return 100 * (double)same / (double)(a.len > b.len ? a.len : b.len) -
	       replaced;
}

void pairs_finish(struct pairs *p, const struct corpus *c, struct index *ix)
{
	struct index_match match;
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
		if (corpus_is_partly_scattered(c, pair->a, pair->b))
			pair->truth.bytes =
				(float)fmax((double)pair->truth.shared,
					    same_bytes(c, pair));
		match = listing_score(c, ix, pair->a, pair->b);
		pair->score = (uint8_t)match.score;
		pair->is_boilerplate = match.is_boilerplate;
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
