/* SPDX-License-Identifier: Apache-2.0 */
#include "core/kernel/kernel.h"

#include <stdatomic.h>

#include "core/kernel/ctph/ctph.h"
#include "core/kernel/md4/md4.h"
#include "core/kernel/rdc/rdc.h"
#include "core/kernel/sketch/sketch.h"

#define VARIANT(variant)                                        \
	{                                                       \
		.name = #variant, .rdc = &rdc_##variant,        \
		.md4 = &md4_##variant, .ctph = &ctph_##variant, \
		.sketch = &sketch_##variant,                    \
	}

/* Each needs all that the ones before it need. */
static const struct kernel_ops variants[] = {
	VARIANT(scalar),
#ifdef __x86_64__
	VARIANT(avx2),
	VARIANT(avx512),
#endif
};

/* Pairs with nothing: what it points to is constant. */
static _Atomic(const struct kernel_ops *) chosen;

/* The builtin asks the processor, and whether the system saves the
 * registers. */
static size_t usable_variants(void)
{
	size_t count = 1;

#ifdef __x86_64__
	__builtin_cpu_init();
	if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("bmi") ||
	    !__builtin_cpu_supports("bmi2") ||
	    !__builtin_cpu_supports("pclmul") ||
	    !__builtin_cpu_supports("popcnt"))
		return count;
	count++;
	if (__builtin_cpu_supports("avx512f") &&
	    __builtin_cpu_supports("avx512bw") &&
	    __builtin_cpu_supports("avx512cd") &&
	    __builtin_cpu_supports("avx512dq") &&
	    __builtin_cpu_supports("avx512vl") &&
	    __builtin_cpu_supports("avx512vbmi") &&
	    __builtin_cpu_supports("avx512vbmi2") &&
	    __builtin_cpu_supports("avx512vnni") &&
	    __builtin_cpu_supports("avx512vpopcntdq") &&
	    __builtin_cpu_supports("avx512bitalg") &&
	    __builtin_cpu_supports("vpclmulqdq") &&
	    __builtin_cpu_supports("gfni"))
		count++;
#endif
	return count;
}

const struct kernel_ops *kernel_best(void)
{
	const struct kernel_ops *ops = atomic_load(&chosen);

	if (!ops) {
		ops = &variants[usable_variants() - 1];
		atomic_store(&chosen, ops);
	}
	return ops;
}

const struct kernel_ops *kernel_all(size_t *count_out)
{
	*count_out = usable_variants();
	return variants;
}

void kernel_use(const struct kernel_ops *ops)
{
	atomic_store(&chosen, ops);
}
