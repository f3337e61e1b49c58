/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_KERNEL_KERNEL_H
#define CORE_KERNEL_KERNEL_H

#include <stddef.h>

/*
 * The inner loops that are worth writing once for each instruction set, an
 * area of the program to a header.  The scalar variant defines the results;
 * every variant gives the same bits, reads nothing outside of what it is given
 * and asks for no alignment that its header does not name.  All is reentrant.
 */
struct kernel_ops {
	const char *name;
	const struct kernel_rdc *rdc;
	const struct kernel_md4 *md4;
	const struct kernel_window *window;
	const struct kernel_sdhash *sdhash;
	const struct kernel_sif *sif;
	const struct kernel_columns *columns;
	const struct kernel_ctph *ctph;
	const struct kernel_tlsh *tlsh;
	const struct kernel_blanks *blanks;
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
