/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "core/kernel/rdc_impl.h"

/* What is the same for all variants. */

void kernel_h3_init(struct kernel_h3 *h3)
{
	uint32_t value, i, k;

	memset(h3->taps, 0, sizeof(h3->taps));
	for (i = 0; i < 256; i++) {
		value = rdc_rotate(h3->values[i], 2);
		for (k = 0; k < 4; k++)
			h3->planes[k][i] = (uint8_t)(value >> 8 * k);
		for (k = 0; k < 16; k++) {
			h3->taps[i][16 + k] = (uint8_t)(value >> 24);
			value = rdc_rotate(value, 2);
		}
	}
}

/* Three chains of 16 steps, side by side. */
static uint32_t hash_48(const uint32_t *values, const uint8_t *data)
{
	uint32_t a = 0, b = 0, c = 0;
	size_t i;

	for (i = 0; i < 16; i++) {
		a = rdc_rotate(a ^ values[data[i]], 2);
		b = rdc_rotate(b ^ values[data[i + 16]], 2);
		c = rdc_rotate(c ^ values[data[i + 32]], 2);
	}
	return a ^ b ^ c;
}

uint32_t kernel_hash(const struct kernel_rolling *rolling, const uint8_t *data)
{
	const uint32_t *values = rolling->h3->values;
	uint32_t i, hash = 0;

	data -= rolling->window - 1;
	if (rolling->window == KERNEL_WINDOW)
		return hash_48(values, data);
	for (i = 0; i < rolling->window; i++)
		hash = rdc_rotate(hash ^ values[data[i]], rolling->rotation);
	return hash;
}

/* ---- what is marked ---- */

#define WORDS (RDC_SECTION / 64)

/* When there are more, rolling over all is as fast. */
#define FEW (RDC_SECTION / 16)

/* How many there are, FEW + 1 when they are more than FEW.  Loops over what is
 * there have fewer surprises for the processor than a look at every word. */
static size_t list_marks(const uint64_t marks[WORDS], size_t words,
			 size_t start, uint32_t places_out[FEW])
{
	uint32_t used = 0, i;
	size_t count = 0;
	uint64_t mark;

	for (i = 0; i < words; i++)
		used |= (uint32_t)(marks[i] != 0) << i;
	for (; used; used &= used - 1) {
		i = (uint32_t)__builtin_ctz(used);
		mark = marks[i];
		do {
			if (count == FEW)
				return FEW + 1;
			places_out[count++] = (uint32_t)start + 64 * i +
					      (uint32_t)__builtin_ctzll(mark);
			mark &= mark - 1;
		} while (mark);
	}
	return count;
}

static void add_high(const uint32_t *places, const uint32_t *hashes,
		     size_t count, uint32_t limit, struct kernel_high *high)
{
	size_t i;

	for (i = 0; i < count && high->count < KERNEL_PLACES; i++) {
		high->places[high->count] = places[i];
		high->hashes[high->count] = hashes[i];
		high->count += hashes[i] >= limit;
	}
}

void rdc_find(const struct rdc_ways *ways, const struct kernel_rolling *rolling,
	      const uint8_t *data, size_t count, uint32_t limit,
	      struct kernel_high *out)
{
	uint32_t places[FEW], hashes[FEW];
	uint64_t marks[WORDS];
	size_t at, part, marked;

	out->count = 0;
	for (at = 0; at < count && out->count < KERNEL_PLACES; at += part) {
		part = count - at < RDC_SECTION ? count - at : RDC_SECTION;
		marked = FEW + 1;
		if (rolling->window == KERNEL_WINDOW && limit > 0) {
			ways->mark(rolling, data + at, part,
				   (uint8_t)(limit >> 24), marks);
			marked =
				list_marks(marks, (part + 63) / 64, at, places);
		}
		if (marked > FEW) {
			rdc_roll_over(rolling, data, at, at + part, limit, out);
			continue;
		}
		ways->hashes(rolling, data, places, marked, hashes);
		add_high(places, hashes, marked, limit, out);
	}
}
