/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNIT_KERNEL_FIXTURE_H
#define TESTS_UNIT_KERNEL_FIXTURE_H

#include <sys/mman.h>
#include <unistd.h>

#include "core/kernel/kernel.h"
#include "core/kernel/md4/md4.h"
#include "core/kernel/rdc/rdc.h"
#include "tests/support/recipe.h"

/* Memory with pages before and behind that nobody may touch. */
struct guarded {
	uint8_t *map;
	uint8_t *data;
	size_t len; /* whole pages */
};

static inline struct guarded guarded_new(size_t len)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct guarded g = { .len = (len + page - 1) / page * page };

	g.map = mmap(NULL, g.len + 2 * page, PROT_NONE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(g.map != MAP_FAILED);
	g.data = g.map + page;
	assert_int_equal(mprotect(g.data, g.len, PROT_READ | PROT_WRITE), 0);
	return g;
}

static inline void guarded_free(struct guarded *g)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	assert_int_equal(munmap(g->map, g->len + 2 * page), 0);
}

/* Seeded bytes: random ones, few symbols, or a short period. */
static inline void fill(uint8_t *data, size_t len, uint64_t seed)
{
	struct draws d = draws_of(seed);
	size_t i, period = 1 + draw(&d) % 100;
	unsigned kind = (unsigned)(draw(&d) % 3);

	for (i = 0; i < len; i++) {
		data[i] = (uint8_t)(draw(&d) >> 32);
		if (kind == 1)
			data[i] &= 1;
		else if (kind == 2 && i >= period)
			data[i] = data[i - period];
	}
}

static inline void random_h3(struct kernel_h3 *h3)
{
	struct draws d = draws_of(3);
	size_t i;

	for (i = 0; i < 256; i++)
		h3->values[i] = (uint32_t)(draw(&d) >> 32);
	kernel_h3_init(h3);
}

#endif
