/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_KERNEL_KERNEL_H
#define CORE_KERNEL_KERNEL_H

#include <stddef.h>

/*
 * The inner loops that are worth writing once for each instruction set.  This
 * is the only folder with intrinsics.
 *
 * Objects
 *
 *   family    the loops of one digest, in a folder of their own: a struct of
 *             function pointers, for example struct kernel_sketch
 *   variant   the functions of all families for one instruction set: scalar,
 *             AVX2, AVX-512.  struct kernel_ops is one variant
 *
 * A call.  A digest asks kernel_best() once, when it is initialised, and keeps
 * the pointer to its family.  The first caller asks the processor, and whether
 * the system saves its registers; later calls cost one load.
 * KINFS_KERNEL in the environment of kin chooses a lesser variant (kin(1)).
 *
 * The scalar file defines the results and is written to be read.  A new variant
 * is one more file with the same functions in the same order, all static, and
 * one table at its end, which kernel.c lists.  Tests and benchmarks walk
 * kernel_all(), so it is tested without another line.  What is the same for
 * several widths of vectors is in a header without intrinsics, which the file of
 * each variant includes once (md4_rounds.h).
 *
 * What must never happen
 *
 *   - Two variants give different bits.
 *   - A function reads outside of what it was given, be it within the same
 *     page, or asks for an alignment that its header does not name.
 *   - A function keeps state between calls: all are reentrant.
 */
struct kernel_ops {
	const char *name;
	const struct kernel_rdc *rdc;
	const struct kernel_md4 *md4;
	const struct kernel_ctph *ctph;
	const struct kernel_sketch *sketch;
};

/* The fastest that processor and operating system can run. */
const struct kernel_ops *kernel_best(void);

/* All that can be run here, for tests and benches: scalar first, then as they
 * get faster. */
const struct kernel_ops *kernel_all(size_t *count_out);

/* From now on kernel_best() says this, NULL: what it says by itself.  For
 * tests and benches only. */
void kernel_use(const struct kernel_ops *ops);

#endif
