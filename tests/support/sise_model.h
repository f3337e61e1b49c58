/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SUPPORT_SISE_MODEL_H
#define TESTS_SUPPORT_SISE_MODEL_H

#include "core/digest/sise.h"
#include "tests/support/vectors.h"

/*
 * SiSe as the definition reads: pass after pass over the file with three block
 * sizes each, all pairs kept.  Slow, and shares nothing with core/.
 */
struct model_level {
	uint64_t value; /* block size, active from 3 on */
	uint32_t fnv;
	char *text; /* owned, terminated */
	size_t len, capacity;
};

struct model {
	struct model_level levels[3]; /* A, B, C */
};

static inline void model_pair(struct model_level *l)
{
	static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijkl"
				       "mnopqrstuvwxyz0123456789+/";

	if (l->len + 3 > l->capacity) {
		l->capacity = 2 * l->capacity + 64;
		l->text = realloc(l->text, l->capacity);
		assert_non_null(l->text);
	}
	l->text[l->len++] = alphabet[l->fnv >> 6 & 63];
	l->text[l->len++] = alphabet[l->fnv & 63];
	l->text[l->len] = '\0';
	l->fnv = 0x28021967;
}

static inline void model_release(struct model *m)
{
	int i;

	for (i = 0; i < 3; i++)
		free(m->levels[i].text);
}

static inline void model_trigger(struct model *m, uint32_t r)
{
	struct model_level *l;
	int i;

	for (i = 2; i >= 0; i--) {
		l = &m->levels[i];
		if (l->value < 3)
			continue;
		if (r % l->value != l->value - 1)
			return;
		model_pair(l);
	}
}

static inline struct model model_pass(const uint8_t *data, size_t len,
				      uint64_t block)
{
	struct model m = { 0 };
	uint32_t h1 = 0, h2 = 0, h3 = 0, c;
	uint32_t window[7] = { 0 };
	size_t i;
	int k;

	for (k = 0; k < 3; k++) {
		m.levels[k].value = block >> k;
		m.levels[k].fnv = 0x28021967;
	}
	for (i = 0; i < len; i++) {
		c = data[i];
		h2 = h2 - h1 + 7 * c;
		h1 = h1 + c - window[i % 7];
		window[i % 7] = c;
		h3 = h3 << 5 ^ c;
		for (k = 0; k < 3; k++)
			m.levels[k].fnv = m.levels[k].fnv * 0x01000193 ^ c;
		model_trigger(&m, h1 + h2 + h3);
	}
	for (k = 0; k < 3; k++)
		model_pair(&m.levels[k]);
	return m;
}

static inline char *model_join(const struct model_level *a,
			       const struct model_level *b, size_t max)
{
	char *text = NULL;

	assert_true(asprintf(&text, "%llu(%llu):%.*s::%llu(%llu):%.*s",
			     (unsigned long long)a->value,
			     (unsigned long long)(a->value ? a->value - 1 : 0),
			     (int)(a->len < max ? a->len : max), a->text,
			     (unsigned long long)b->value,
			     (unsigned long long)(b->value ? b->value - 1 : 0),
			     (int)(b->len < max ? b->len : max), b->text) >= 0);
	return text;
}

/* The signature, each part cut to max characters; the caller frees it. */
static inline char *model_signature(const uint8_t *data, size_t len, size_t max)
{
	uint64_t q = len / 64 + (len % 64 != 0), block = 3, next;
	struct model m;
	char *text = NULL;
	int k;

	while (block < q)
		block *= 2;
	while (!text) {
		m = model_pass(data, len, block);
		next = m.levels[2].value;
		for (k = 2; k > 0 && m.levels[k].value < 3;)
			k--;
		if (m.levels[0].len >= 64)
			text = model_join(&m.levels[0], &m.levels[1], max);
		else if (m.levels[1].len >= 64)
			text = model_join(&m.levels[1], &m.levels[2], max);
		else if (next < 3)
			text = model_join(&m.levels[k], &m.levels[k], max);
		model_release(&m);
		block = next;
	}
	return text;
}

/* Algorithm 2 with a table of all runs and a list of their ends. */
static inline int model_score(const struct sise_part *x,
			      const struct sise_part *y)
{
	size_t p = x->count, q = y->count, longer = p > q ? p : q;
	size_t i, j, v, n = 0, points = 0;
	uint16_t *run = calloc((p + 1) * (q + 1), sizeof(*run));
	uint16_t *ends = malloc((p * q + 1) * 2 * sizeof(*ends));
	char used_x[SISE_MAX_PAIRS + 1] = { 0 };
	char used_y[SISE_MAX_PAIRS + 1] = { 0 };

	assert_true(run && ends);
	for (i = 1; i <= p; i++) {
		for (j = 1; j <= q; j++) {
			if (x->pairs[i - 1] != y->pairs[j - 1])
				continue;
			run[i * (q + 1) + j] =
				(uint16_t)(run[(i - 1) * (q + 1) + j - 1] + 1);
			if (i == p || j == q || x->pairs[i] != y->pairs[j]) {
				ends[2 * n] = (uint16_t)i;
				ends[2 * n++ + 1] = (uint16_t)j;
			}
		}
	}
	while (n-- > 0) {
		i = ends[2 * n];
		j = ends[2 * n + 1];
		v = run[i * (q + 1) + j];
		while (v > 0 && (used_x[i] || used_y[j]))
			i--, j--, v--;
		for (; v > 0; i--, j--, v--) {
			points += !used_x[i] && !used_y[j];
			used_x[i] = used_y[j] = 1;
		}
	}
	free(run);
	free(ends);
	return longer ? (int)(100 * points / longer) : 0;
}

/* One order of the arguments. */
static inline int model_compare(const struct sise_signature *a,
				const struct sise_signature *b)
{
	const struct sise_part *x, *y;
	int k, score, best = 0;

	for (k = 0; k < 4; k++) {
		x = k & 1 ? &a->secondary : &a->leading;
		y = k & 2 ? &b->secondary : &b->leading;
		if (x->block_size != y->block_size ||
		    x->mod_value != y->mod_value || x->count > 30 * y->count ||
		    y->count > 30 * x->count)
			continue;
		score = model_score(x, y);
		best = score > best ? score : best;
	}
	return best;
}

#endif
