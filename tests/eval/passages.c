/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/eval/corpus.h"
#include "tests/eval/passages.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/digest/fingerprint.h"
#include "core/index/index.h"
#include "tests/eval/eval.h"
#include "tests/eval/material.h"
#include "tests/eval/truth.h"

#define CLASSES (GENERATED_CLASSES + FOUND_CLASSES)
#define PAIRS 15      /* of a shape, */
#define PAIRS_LEAST 5 /* or fewer, where there is little material */
#define SHARE_MIN (16 * KIB)
/* Contents share the pieces of this length of the one that are anywhere in the
 * other.  Those that share less than half of SHARE_MIN are unrelated: in real
 * files there are passages in common that were not put there. */
#define PIECE 128

/* Two contents of these sizes and what they have in common.  All material is
 * without blanks, of which the sketch knows nothing. */
static const struct shape {
	const char *name; /* in the figures */
	size_t sizes[2], passage;
} shapes[] = {
	{ "5%", { 512 * KIB, 512 * KIB }, 512 * KIB / 20 },
	{ "16K", { 512 * KIB, 512 * KIB }, 16 * KIB },
	{ "20K", { 100 * KIB, 100 * KIB }, 20 * KIB },
	{ "32K", { 100 * KIB, 2 * MIB }, 32 * KIB },
};

#define SHAPES (sizeof(shapes) / sizeof(*shapes))
#define CONTENTS (2 * PAIRS * SHAPES)

/* Content i is i + 1 in the index; 2 * i and 2 * i + 1 are a pair. */
struct passage_corpus {
	struct fingerprint *fingerprint;
	size_t pairs;                    /* of a shape */
	struct bytes contents[CONTENTS]; /* owned */
	struct digests digests[CONTENTS];
	struct sketch sketches[CONTENTS];
	size_t passages[CONTENTS]; /* bytes */
	size_t count;
	struct index *ix;
};

struct passage_result {
	size_t asked, found;
	double error; /* of the bytes of those found, in percent; their sum */
};

struct passage_table {
	struct passage_result by_shape[SHAPES];
	size_t entries, unrelated;
};

/* ---- contents ---- */

static void add_content(struct passage_corpus *c, struct bytes *b)
{
	struct sketch *sketch = &c->sketches[c->count];
	struct digests *d = &c->digests[c->count];

	digest_content(c->fingerprint, b, d);
	fail_errno("sketch", digests_sketch(d, sketch));
	c->contents[c->count++] = *b;
	fail_errno("index", index_add(c->ix, (uint32_t)c->count, sketch));
}

/* Cuts a content and puts the passage in its place at random. */
static void make_content(struct passage_corpus *c, struct material *m,
			 size_t size, const struct bytes *passage,
			 uint64_t *state)
{
	struct bytes host, content = { allocate(size), size };

	if (!material_cut(m, size, &host))
		fail("%s: used up", m->name);
	memcpy(content.data, host.data, size);
	memcpy(content.data + draw_below(state, size - passage->len + 1),
	       passage->data, passage->len);
	c->passages[c->count] = passage->len;
	add_content(c, &content);
}

static size_t bytes_of_material(size_t pairs)
{
	size_t bytes = 0, i;

	for (i = 0; i < SHAPES; i++)
		bytes += pairs * (shapes[i].sizes[0] + shapes[i].sizes[1] +
				  shapes[i].passage);
	/* Material keeps a quarter back. */
	return bytes + bytes / 3 + 64 * KIB;
}

static void make_pairs(struct passage_corpus *c, struct material *m)
{
	uint64_t state = hash_text(m->name);
	struct bytes passage;
	size_t i, pair, side;

	for (i = 0; i < SHAPES; i++)
		for (pair = 0; pair < c->pairs; pair++) {
			if (!material_cut(m, shapes[i].passage, &passage))
				fail("%s: used up", m->name);
			for (side = 0; side < 2; side++)
				make_content(c, m, shapes[i].sizes[side],
					     &passage, &state);
		}
}

/* ---- what real files share ---- */

/* A piece of the one content, and whether the other has it. */
struct piece {
	uint64_t hash;
	bool is_shared;
};

/* Of pieces, in upper bits: whether one may have such a hash. */
#define FILTER_BITS 20
struct pieces {
	struct piece *piece; /* by hash; owned */
	size_t count;
	bool filter[1 << FILTER_BITS];
};

static int by_hash(const void *a, const void *b)
{
	const struct piece *x = a, *y = b;

	return (x->hash > y->hash) - (x->hash < y->hash);
}

/* The sum of (byte + 1) * FACTOR^(bytes behind it), modulo 2^64. */
#define FACTOR UINT64_C(0x9e3779b97f4a7c15)

static uint64_t hash_piece(const uint8_t *piece)
{
	uint64_t hash = 0;
	size_t i;

	for (i = 0; i < PIECE; i++)
		hash = hash * FACTOR + piece[i] + 1;
	return hash;
}

static bool repeats_one_byte(const uint8_t *piece)
{
	return !memcmp(piece, piece + 1, PIECE - 1);
}

static struct pieces *cut_pieces(const struct bytes *b)
{
	struct pieces *p = allocate(sizeof(*p));
	uint64_t hash;
	size_t at;

	p->piece = allocate((b->len / PIECE + 1) * sizeof(*p->piece));
	for (at = 0; at + PIECE <= b->len; at += PIECE) {
		if (repeats_one_byte(b->data + at))
			continue;
		hash = hash_piece(b->data + at);
		p->filter[hash >> (64 - FILTER_BITS)] = true;
		p->piece[p->count++] = (struct piece){ hash, false };
	}
	qsort(p->piece, p->count, sizeof(*p->piece), by_hash);
	return p;
}

static void mark_shared(struct pieces *p, uint64_t hash)
{
	size_t low = 0, high = p->count, middle;

	while (low < high) {
		middle = low + (high - low) / 2;
		if (p->piece[middle].hash < hash)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < p->count && p->piece[low].hash == hash; low++)
		p->piece[low].is_shared = true;
}

static void mark_all_shared(struct pieces *p, const struct bytes *b)
{
	uint64_t hash = hash_piece(b->data), leaving = 1;
	size_t i;

	for (i = 0; i < PIECE; i++)
		leaving *= FACTOR;
	for (i = PIECE;; i++) {
		if (p->filter[hash >> (64 - FILTER_BITS)])
			mark_shared(p, hash);
		if (i == b->len)
			break;
		hash = hash * FACTOR + b->data[i] + 1 -
		       leaving * (b->data[i - PIECE] + 1u);
	}
}

static size_t shared_bytes(const struct bytes *a, const struct bytes *b)
{
	struct pieces *p = cut_pieces(a);
	size_t shared = 0, i;

	mark_all_shared(p, b);
	for (i = 0; i < p->count; i++)
		shared += p->piece[i].is_shared;
	free(p->piece);
	free(p);
	return shared * PIECE;
}

static bool share_little(const struct passage_corpus *c, size_t i, size_t j)
{
	return shared_bytes(&c->contents[i], &c->contents[j]) < SHARE_MIN / 2;
}

/* ---- answers ---- */

static int fetch_sketch(void *arg, uint32_t content, struct sketch *out)
{
	const struct passage_corpus *c = arg;

	*out = c->sketches[content - 1];
	return 0;
}

static void ask(struct passage_corpus *c, size_t i, struct passage_table *t)
{
	const struct index_store store = { .sketch = fetch_sketch, .arg = c };
	struct passage_result *result = &t->by_shape[i / (2 * c->pairs)];
	struct index_query q = { .subject = subject_of_bytes(&c->sketches[i]),
				 .rules = { .relation = INDEX_SHARES,
					    .share_min = SHARE_MIN },
				 .self = (uint32_t)i + 1 };
	struct index_match matches[INDEX_MATCHES];
	size_t count, j;

	fail_errno("search", index_search(c->ix, &q, &store, matches, &count));
	result->asked++;
	for (j = 0; j < count; j++) {
		t->entries++;
		if (matches[j].content - 1 != (i ^ 1)) {
			t->unrelated +=
				share_little(c, i, matches[j].content - 1);
			continue;
		}
		result->found++;
		result->error += fabs((double)matches[j].verdict.bytes /
					      (double)c->passages[i] -
				      1);
	}
}

/* ---- figures ---- */

static double percent(double part, size_t whole)
{
	return whole ? 100 * part / (double)whole : 0;
}

static void report(const char *class, const struct passage_table *t,
		   struct figures *figures)
{
	double unrelated = percent(10 * (double)t->unrelated, t->entries);
	const struct passage_result *r;
	size_t i;

	printf("%-13s", class);
	for (i = 0; i < SHAPES; i++) {
		r = &t->by_shape[i];
		printf(" %6.1f %5.1f", percent((double)r->found, r->asked),
		       percent(r->error, r->found));
		figures_add(figures, percent((double)r->found, r->asked),
			    "passages.%s.%s", class, shapes[i].name);
	}
	printf(" %9.1f\n", unrelated);
	figures_add(figures, unrelated, "passages.%s.unrelated", class);
}

/* false: there is too little material. */
static bool evaluate_class(struct material *m, struct figures *figures)
{
	struct passage_corpus *c = allocate(sizeof(*c));
	struct passage_table t = { 0 };
	size_t i;

	m->pool.len = fold(m->pool.data, m->pool.len, m->pool.data);
	c->pairs = PAIRS;
	while (m->pool.len < bytes_of_material(c->pairs))
		if (c->pairs-- == PAIRS_LEAST) {
			free(c);
			return false;
		}
	c->count = 0;
	fail_errno("fingerprint",
		   fingerprint_new(DIGEST_BIT(DIGEST_SIF), &c->fingerprint));
	fail_errno("index", index_new(&c->ix));
	make_pairs(c, m);
	for (i = 0; i < c->count; i++)
		ask(c, i, &t);
	report(m->name, &t, figures);
	for (i = 0; i < c->count; i++) {
		digests_release(&c->digests[i]);
		free(c->contents[i].data);
	}
	fingerprint_free(c->fingerprint);
	index_free(c->ix);
	free(c);
	return true;
}

static void print_title(void)
{
	size_t i;

	printf("\nOne passage in two contents, share_min %zu KiB: found, %%, "
	       "and the error of its length, %%;\nentries of contents that "
	       "share none, in 1000\n%-13s",
	       SHARE_MIN / KIB, "");
	for (i = 0; i < SHAPES; i++)
		printf(" %12s", shapes[i].name);
	printf(" %9s\n", "unrelated");
}

void passages_evaluate(const struct list *list, struct figures *figures)
{
	size_t classes = list ? CLASSES : GENERATED_CLASSES, i;
	/* A third and more of it is no blanks. */
	const size_t bytes = 3 * bytes_of_material(PAIRS);
	struct material m;

	print_title();
	for (i = 0; i < classes; i++) {
		m = i < GENERATED_CLASSES ?
			    material_generate(i, i, bytes) :
			    material_collect(list, i - GENERATED_CLASSES,
					     bytes);
		if (!evaluate_class(&m, figures))
			printf("%-13s too little of it\n", m.name);
		material_release(&m);
	}
}
