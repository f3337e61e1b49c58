/* SPDX-License-Identifier: Apache-2.0 */
#include "core/index/piece_runs.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

/* A probability. */
#define IMPOSSIBLE 1e-4
/* Content that repeats much has more pieces; each is compared with each. */
enum { MOST_PIECES = 512 };

/* Content that repeats a pattern has short pieces, many of which are left of
 * single bytes; so pieces that occur more than once do not count. */
static void find_unique(const struct sise_part *part, bool out[MOST_PIECES])
{
	uint16_t seen[SISE_PAIR_VALUES] = { 0 };
	size_t i;

	for (i = 0; i < part->count; i++)
		seen[part->pairs[i]]++;
	for (i = 0; i < part->count; i++)
		out[i] = seen[part->pairs[i]] == 1;
}

static size_t longest_run(const struct sise_part *a, const struct sise_part *b)
{
	/* runs[j + 1]: of the run that ends with piece j of b. */
	uint16_t runs[MOST_PIECES + 1] = { 0 }, longest = 0;
	bool unique[MOST_PIECES];
	size_t i, j;

	find_unique(a, unique);
	for (i = 0; i < a->count; i++)
		for (j = b->count; j > 0; j--) {
			bool equal = a->pairs[i] == b->pairs[j - 1];

			runs[j] = equal ? runs[j - 1] + unique[i] : 0;
			if (runs[j] > longest)
				longest = runs[j];
		}
	return longest;
}

static bool is_long(const struct sise_part *a, const struct sise_part *b,
		    uint64_t size, double part)
{
	double pieces = (double)(a->count < b->count ? a->count : b->count);
	double left = 1 / (1 + part * (double)size / pieces);

	if (a->block_size != b->block_size || a->count > MOST_PIECES ||
	    b->count > MOST_PIECES)
		return false;
	return pieces * pow(left, (double)longest_run(a, b)) < IMPOSSIBLE;
}

bool piece_runs_are_long(const struct sise_signature *a,
			 const struct sise_signature *b, uint64_t size,
			 double part)
{
	return is_long(&a->leading, &b->leading, size, part) ||
	       is_long(&a->secondary, &b->secondary, size, part);
}
