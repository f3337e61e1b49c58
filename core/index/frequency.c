/* SPDX-License-Identifier: Apache-2.0 */
#include "core/index/frequency.h"

#include <errno.h>
#include <stdlib.h>
#include <xxhash.h>

#include "core/index/speak.h"

enum { TABLE_SIZE = 1 << 22, FEATURE_PAIRS = 3 };

#define COMMON_WEIGHT 0.1

struct frequency {
	uint16_t count[TABLE_SIZE]; /* stops at the top */
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

static int compare_hashes(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static void features_find(const struct sise_part *part, struct features *out)
{
	uint64_t head[2] = { part->block_size, part->mod_value };
	uint64_t seed = XXH3_64bits(head, sizeof(head));
	const uint16_t *pairs = part->pairs;
	size_t i, kept = 0;

	out->count = part->count < FEATURE_PAIRS ?
			     0 :
			     part->count - FEATURE_PAIRS + 1;
	for (i = 0; i < out->count; i++)
		out->hash[i] = XXH3_64bits_withSeed(
			pairs + i, FEATURE_PAIRS * sizeof(*pairs), seed);
	if (out->count)
		qsort(out->hash, out->count, sizeof(out->hash[0]),
		      compare_hashes);
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

void frequency_add(struct frequency *f, const struct sise_signature *sig)
{
	struct features found;
	size_t i;

	for (i = 0; i < 2; i++) {
		features_find(speak_part(sig, i), &found);
		count_features(f, &found);
	}
}

/* ---- weighing ---- */

struct weighing {
	const struct frequency *f;
	size_t limit;
	double plain, weighted;
};

static bool is_common(const struct frequency *f, size_t limit, uint64_t hash)
{
	return f->count[hash % TABLE_SIZE] >= limit;
}

static void weigh(struct weighing *w, uint64_t hash)
{
	w->plain += 1;
	w->weighted += is_common(w->f, w->limit, hash) ? COMMON_WEIGHT : 1;
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

static size_t common_limit(size_t contents)
{
	size_t share = contents / FREQUENCY_COMMON_SHARE;

	if (share < FREQUENCY_COMMON_MIN)
		return FREQUENCY_COMMON_MIN;
	return share < UINT16_MAX ? share : UINT16_MAX;
}

void frequency_prepare(const struct frequency *f, size_t contents,
		       const struct sise_signature *sig, struct weighed *out)
{
	struct features *features;
	size_t i, k;

	out->sig = sig;
	out->limit = common_limit(contents);
	for (i = 0; i < 2; i++) {
		features = &out->features[i];
		features_find(speak_part(sig, i), features);
		out->has_common[i] = false;
		for (k = 0; k < features->count && !out->has_common[i]; k++)
			out->has_common[i] =
				is_common(f, out->limit, features->hash[k]);
	}
}

double frequency_discount(const struct frequency *f, const struct weighed *a,
			  const struct sise_signature *b)
{
	struct weighing start = { .f = f, .limit = a->limit };
	struct features found;
	size_t i;

	for (i = 0; i < 4; i++) {
		const struct sise_part *x = speak_part(a->sig, i / 2);
		const struct sise_part *y = speak_part(b, i % 2);

		if (x->block_size != y->block_size ||
		    x->mod_value != y->mod_value)
			continue;
		/* What is not common on one side is not common on both, and
		 * then nothing that is shared loses weight. */
		if (!a->has_common[i / 2])
			return 1;
		features_find(y, &found);
		return discount(&start, &a->features[i / 2], &found);
	}
	return 1;
}
