/* SPDX-License-Identifier: Apache-2.0 */
#include <stdbool.h>
#include <string.h>

#include "core/kernel/rdc/rdc_impl.h"

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

/* Places whose hashes are not computed yet. */
struct pending {
	const struct rdc_ways *ways;
	const struct kernel_rolling *rolling;
	const uint8_t *data;
	uint32_t limit;
	struct kernel_high *high;
	size_t count;
	uint32_t places[2 * FEW], hashes[2 * FEW];
};

static void hash_pending(struct pending *p)
{
	struct kernel_high *high = p->high;
	size_t i;

	p->ways->hashes(p->rolling, p->data, p->places, p->count, p->hashes);
	for (i = 0; i < p->count && high->count < KERNEL_PLACES; i++) {
		high->places[high->count] = p->places[i];
		high->hashes[high->count] = p->hashes[i];
		high->count += p->hashes[i] >= p->limit;
	}
	p->count = 0;
}

/* Adds what is marked of a section, if it is not more than FEW.  Loops over
 * what is there have fewer surprises for the processor than a look at every
 * word. */
static bool list_marks(struct pending *p, const uint64_t marks[WORDS],
		       uint64_t used, size_t start)
{
	const size_t most = p->count + FEW;
	size_t i, count = p->count;
	uint64_t mark;

	for (; used; used &= used - 1) {
		i = (size_t)__builtin_ctzll(used);
		mark = marks[i];
		do {
			if (count == most)
				return false;
			p->places[count++] =
				(uint32_t)(start + 64 * i +
					   (size_t)__builtin_ctzll(mark));
			mark &= mark - 1;
		} while (mark);
	}
	p->count = count;
	return true;
}

static void find_section(struct pending *p, size_t start, size_t count)
{
	uint64_t marks[WORDS], used;

	if (p->rolling->window == KERNEL_WINDOW && p->limit > 0) {
		used = p->ways->mark(p->rolling, p->data + start, count,
				     (uint8_t)(p->limit >> 24), marks);
		if (p->count > FEW)
			hash_pending(p);
		if (list_marks(p, marks, used, start))
			return;
		hash_pending(p);
	}
	rdc_roll_over(p->rolling, p->data, start, start + count, p->limit,
		      p->high);
}

void rdc_find(const struct rdc_ways *ways, const struct kernel_rolling *rolling,
	      const uint8_t *data, size_t count, uint32_t limit,
	      struct kernel_high *out)
{
	struct pending p;
	size_t at, part;

	p.ways = ways;
	p.rolling = rolling;
	p.data = data;
	p.limit = limit;
	p.high = out;
	p.count = 0;
	out->count = 0;
	for (at = 0; at < count && out->count < KERNEL_PLACES; at += part) {
		part = count - at < RDC_SECTION ? count - at : RDC_SECTION;
		find_section(&p, at, part);
	}
	hash_pending(&p);
}
