/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_ENGINE_SKETCH_READER_H
#define CORE_ENGINE_SKETCH_READER_H

#include <stdint.h>

struct catalog_txn;
struct sif_sketch;

typedef int (*sketch_each)(void *arg, uint32_t content,
			   const struct sif_sketch *sketch);

/*
 * Calls each() for what list() finds, in the same order and with the same
 * result as list() itself would, but list() runs on a thread of its own:
 * sketches are read from the catalog and decoded while each() works on those
 * before.  Only the values in full are handed over (sif_unpack_in_full()).
 *
 * each() runs on the calling thread, which must not use txn meanwhile.  When
 * each() does not return 0, nothing more is read.
 */
int sketch_reader_each(int (*list)(struct catalog_txn *txn, sketch_each each,
				   void *arg),
		       struct catalog_txn *txn, sketch_each each, void *arg);

#endif
