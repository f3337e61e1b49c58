/* SPDX-License-Identifier: Apache-2.0 */
#include "core/index/grouping/grouping_impl.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* ---- how many keys ---- */

/* How likely it is that at most one of so many values is shared. */
static double miss_chance(double share, unsigned values)
{
	return pow(1 - share, values) +
	       values * share * pow(1 - share, values - 1);
}

struct key_rules key_rules_for(int threshold)
{
	double wanted = threshold / 100.0;
	/* Of two contents that are alike, the rare values are shared a little
	 * less than all values. */
	double share = 0.8 * wanted;
	struct key_rules rules = { .plain = 8, .least = 2 };

	while (rules.plain < KEYS_PLAIN_MAX &&
	       miss_chance(share, rules.plain) > 0.0005)
		rules.plain++;
	if (rules.plain == KEYS_PLAIN_MAX)
		rules.least = 1;
	/* The smaller content has at least the share `wanted` of the windows of
	 * the larger one; half as much again for chance. */
	rules.looked_up = (unsigned)(1.5 * rules.plain / wanted) + 16;
	if (rules.looked_up > KEYS_LOOKED_UP_MAX)
		rules.looked_up = KEYS_LOOKED_UP_MAX;
	return rules;
}

/* ---- the keys of a sketch ---- */

static uint64_t mix(uint64_t x)
{
	x *= UINT64_C(0x9e3779b97f4a7c15);
	x = (x ^ x >> 32) * UINT64_C(0xd6e8feb86659fd93);
	return x ^ x >> 32;
}

static bool is_rare(const struct frequency *f, uint64_t value)
{
	return weight_contents(&(struct weigher){ .frequency = f }, value) <=
	       KEYS_RARE;
}

static bool is_mostly_common(const struct sketch *sketch,
			     const struct frequency *f)
{
	size_t common = 0, i;

	for (i = 0; i < sketch->count; i++)
		common += !is_rare(f, sketch->values[i]);
	return 2 * common > sketch->count;
}

static void add_bands(const struct sketch *sketch, struct sketch_keys *out)
{
	enum { IN_BAND = 3 };
	unsigned filled[KEYS_BANDS] = { 0 }, band;
	uint64_t hash[KEYS_BANDS] = { 0 };
	size_t i;

	for (i = 0; i < sketch->count; i++) {
		band = (unsigned)(sketch_spread(sketch->values[i]) >> 32) %
		       KEYS_BANDS;
		if (filled[band]++ < IN_BAND)
			hash[band] = mix(hash[band] ^ sketch->values[i]);
	}
	for (band = 0; band < KEYS_BANDS; band++)
		if (filled[band])
			out->keys[out->plain + out->bands++] =
				(uint32_t)mix(hash[band] + band + 1);
}

void sketch_keys_of(const struct sketch *sketch,
		    const struct frequency *frequency, unsigned most,
		    struct sketch_keys *out)
{
	size_t common = 0, i;

	out->plain = out->bands = 0;
	for (i = 0; i < sketch->count && out->plain < most; i++)
		if (is_rare(frequency, sketch->values[i]))
			out->keys[out->plain++] =
				(uint32_t)mix(sketch->values[i]);
		else
			common++;
	if (common && is_mostly_common(sketch, frequency))
		add_bands(sketch, out);
}

/* ---- the table ---- */

int key_table_init(struct key_table *t, size_t buckets)
{
	size_t count = 1;

	while (count < buckets)
		count *= 2;
	*t = (struct key_table){ .bucket_count = count };
	t->ends = calloc(count + 1, sizeof(*t->ends));
	return t->ends ? 0 : -ENOMEM;
}

void key_table_release(struct key_table *t)
{
	free(t->ends);
	free(t->entries);
	*t = (struct key_table){ 0 };
}

static size_t bucket_of(const struct key_table *t, uint32_t key)
{
	return key & (t->bucket_count - 1);
}

void key_table_count(struct key_table *t, uint32_t key)
{
	t->ends[bucket_of(t, key) + 1]++;
}

/* ends[i + 1] becomes the start of bucket i, and grows to its end.  What is
 * counted and not added later is an entry of no key. */
int key_table_allocate(struct key_table *t)
{
	size_t sum = 0, i, count;

	for (i = 1; i <= t->bucket_count; i++) {
		count = t->ends[i];
		t->ends[i] = sum;
		sum += count;
	}
	t->entries = malloc((sum + 1) * sizeof(*t->entries));
	if (!t->entries)
		return -ENOMEM;
	memset(t->entries, 0xff, (sum + 1) * sizeof(*t->entries));
	return 0;
}

void key_table_add(struct key_table *t, uint32_t key, uint32_t rank)
{
	size_t *end = &t->ends[bucket_of(t, key) + 1];

	t->entries[(*end)++] = (uint64_t)key << 32 | rank;
}

static int by_entry(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

size_t key_table_sort(struct key_table *t, size_t bucket)
{
	uint64_t *entries = t->entries + t->ends[bucket];
	size_t count = t->ends[bucket + 1] - t->ends[bucket];

	if (count > 1)
		qsort(entries, count, sizeof(*entries), by_entry);
	return count;
}

/* The first of the entries from low to high that is not below the given one. */
static size_t find_entry(const uint64_t *entries, size_t low, size_t high,
			 uint64_t entry)
{
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (entries[middle] < entry)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

size_t key_table_find(const struct key_table *t, uint32_t key,
		      const uint64_t **first_out)
{
	size_t bucket = bucket_of(t, key), first, end;

	first = find_entry(t->entries, t->ends[bucket], t->ends[bucket + 1],
			   (uint64_t)key << 32);
	end = find_entry(t->entries, first, t->ends[bucket + 1],
			 (uint64_t)key << 32 | UINT32_MAX);
	*first_out = t->entries + first;
	return end - first;
}
