/* SPDX-License-Identifier: Apache-2.0 */
#include "core/index/frequency.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "core/digest/sise.h"

enum {
	TABLE_SIZE = 1 << 22,
	FEATURE_PAIRS = 3,
	FEATURE_CHARS = 2 * FEATURE_PAIRS,
	FEATURES_MAX = SISE_MAX_PAIRS,
};

#define COMMON_WEIGHT 0.1

struct frequency {
	uint16_t count[TABLE_SIZE]; /* stops at the top */
};

/* One half of a signature's text: "768(767):pairs". */
struct half {
	const char *head; /* "768(767)" */
	size_t head_len;
	const char *pairs;
	size_t pairs_len; /* characters */
};

/* Hashes of the distinct features of a half, ascending. */
struct features {
	uint64_t hash[FEATURES_MAX];
	size_t count;
};

int frequency_new(struct frequency **out)
{
	struct frequency *f = calloc(1, sizeof(*f));

	if (!f)
		return -ENOMEM;
	*out = f;
	return 0;
}

void frequency_free(struct frequency *f)
{
	free(f);
}

size_t frequency_bytes(const struct frequency *f)
{
	return sizeof(*f);
}

/* ---- features ---- */

static int half_parse(const char *text, size_t len, struct half *out)
{
	const char *colon = memchr(text, ':', len);

	if (!colon)
		return -EINVAL;
	out->head = text;
	out->head_len = (size_t)(colon - text);
	out->pairs = colon + 1;
	out->pairs_len = len - out->head_len - 1;
	return 0;
}

static int halves_parse(const char *sise, struct half out[2])
{
	const char *middle = strstr(sise, "::");
	int err;

	if (!middle)
		return -EINVAL;
	err = half_parse(sise, (size_t)(middle - sise), &out[0]);
	if (err)
		return err;
	return half_parse(middle + 2, strlen(middle + 2), &out[1]);
}

static int compare_hashes(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static void features_find(const struct half *h, struct features *out)
{
	uint64_t seed = XXH3_64bits(h->head, h->head_len);
	size_t i, kept = 0;

	out->count = 0;
	for (i = 0; i + FEATURE_CHARS <= h->pairs_len; i += 2) {
		if (out->count == FEATURES_MAX)
			break;
		out->hash[out->count++] =
			XXH3_64bits_withSeed(h->pairs + i, FEATURE_CHARS, seed);
	}
	qsort(out->hash, out->count, sizeof(out->hash[0]), compare_hashes);
	for (i = 0; i < out->count; i++)
		if (!i || out->hash[i] != out->hash[kept - 1])
			out->hash[kept++] = out->hash[i];
	out->count = kept;
}

/* ---- counting ---- */

static void count_features(struct frequency *f, const struct features *found)
{
	size_t i;

	for (i = 0; i < found->count; i++) {
		uint16_t *count = &f->count[found->hash[i] % TABLE_SIZE];

		if (*count < UINT16_MAX)
			(*count)++;
	}
}

int frequency_add(struct frequency *f, const char *sise)
{
	struct features *found;
	struct half halves[2];
	int err = halves_parse(sise, halves), i;

	if (err)
		return err;
	found = malloc(sizeof(*found));
	if (!found)
		return -ENOMEM;
	for (i = 0; i < 2; i++) {
		features_find(&halves[i], found);
		count_features(f, found);
	}
	free(found);
	return 0;
}

/* ---- weighing ---- */

struct weighing {
	const struct frequency *f;
	size_t limit; /* of a count, from which on a feature is common */
	double plain, weighted;
};

static void weigh(struct weighing *w, uint64_t hash)
{
	bool common = w->f->count[hash % TABLE_SIZE] >= w->limit;

	w->plain += 1;
	w->weighted += common ? COMMON_WEIGHT : 1;
}

static double divide(double a, double b)
{
	return b > 0 ? a / b : 0;
}

static double discount(const struct weighing *start, const struct features *a,
		       const struct features *b)
{
	struct weighing in_a = *start, in_b = *start, both = *start;
	double plain, weighted;
	size_t i, j = 0;

	for (i = 0; i < a->count; i++) {
		weigh(&in_a, a->hash[i]);
		while (j < b->count && b->hash[j] < a->hash[i])
			j++;
		if (j < b->count && b->hash[j] == a->hash[i])
			weigh(&both, a->hash[i]);
	}
	for (j = 0; j < b->count; j++)
		weigh(&in_b, b->hash[j]);
	plain = divide(both.plain,
		       in_a.plain > in_b.plain ? in_a.plain : in_b.plain);
	weighted = divide(both.weighted, in_a.weighted > in_b.weighted ?
						 in_a.weighted :
						 in_b.weighted);
	return plain > 0 && weighted < plain ? weighted / plain : 1;
}

static const struct half *find_common_half(const struct half a[2],
					   const struct half b[2],
					   const struct half **other_out)
{
	int i;

	for (i = 0; i < 4; i++) {
		const struct half *x = &a[i / 2], *y = &b[i % 2];

		if (x->head_len != y->head_len ||
		    memcmp(x->head, y->head, x->head_len) != 0)
			continue;
		*other_out = y;
		return x;
	}
	return NULL;
}

int frequency_discount(const struct frequency *f, size_t contents,
		       const char *sise_a, const char *sise_b,
		       double *discount_out)
{
	size_t share = contents / FREQUENCY_COMMON_SHARE;
	struct weighing start = { .f = f };
	struct half a[2], b[2];
	const struct half *x, *y = NULL;
	struct features *found;
	int err = halves_parse(sise_a, a);

	if (!err)
		err = halves_parse(sise_b, b);
	if (err)
		return err;
	x = find_common_half(a, b, &y);
	if (!x) {
		*discount_out = 1;
		return 0;
	}
	found = malloc(2 * sizeof(*found));
	if (!found)
		return -ENOMEM;
	features_find(x, &found[0]);
	features_find(y, &found[1]);
	start.limit =
		share > FREQUENCY_COMMON_MIN ? share : FREQUENCY_COMMON_MIN;
	if (start.limit > UINT16_MAX)
		start.limit = UINT16_MAX;
	*discount_out = discount(&start, &found[0], &found[1]);
	free(found);
	return 0;
}
