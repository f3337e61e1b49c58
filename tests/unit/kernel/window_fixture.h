/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNIT_KERNEL_WINDOW_FIXTURE_H
#define TESTS_UNIT_KERNEL_WINDOW_FIXTURE_H

#include <sys/mman.h>
#include <unistd.h>

#include "core/kernel/kernel.h"
#include "core/kernel/window/window.h"
#include "tests/support/recipe.h"

/* Windows or keys in an input. */
#define MOST 4096

/* Memory that ends where a page begins that must not be touched. */
static inline void *guarded_new(size_t size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t all = (size + page - 1) / page * page;
	uint8_t *base = mmap(NULL, all + page, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(base != MAP_FAILED);
	assert_int_equal(mprotect(base + all, page, PROT_NONE), 0);
	return base + all;
}

/* As above, with a guard in front: memory begins at a page. */
static inline void *guarded_front_new(size_t size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uint8_t *base = mmap(NULL, page + size, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(base != MAP_FAILED);
	assert_int_equal(mprotect(base, page, PROT_NONE), 0);
	return base + page;
}

/* Calls check for every variant but the scalar one. */
static inline void each_variant(void (*check)(const struct kernel_ops *ops))
{
	const struct kernel_ops *all;
	size_t i, count;

	all = kernel_all(&count);
	assert_ptr_equal(all[0].window, &window_scalar);
	for (i = 1; i < count; i++)
		check(&all[i]);
}

static inline void fail_of(const struct kernel_ops *ops, uint64_t seed,
			   size_t len)
{
	fail_msg("%s differs: seed %llu, length %zu", ops->name,
		 (unsigned long long)seed, len);
}

/* Random, text, periodic, zeros; by the seed. */
static inline struct bytes input_of(uint64_t seed, size_t len)
{
	struct bytes b;

	if (seed % 4 == 1)
		return recipe_text(seed, len);
	if (seed % 4 == 2)
		return recipe_repeat((const uint8_t *)"abcdefghijk", 11, len);
	b = recipe_random(seed, len);
	if (seed % 4 == 3)
		memset(b.data, 0, len);
	return b;
}

#endif
