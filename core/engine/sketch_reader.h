/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_ENGINE_SKETCH_READER_H
#define CORE_ENGINE_SKETCH_READER_H

#include <stdint.h>

struct catalog_txn;
struct sif_sketch;

typedef int (*sketch_each)(void *arg, uint32_t content,
			   const struct sif_sketch *sketch);

/*
 * As list(txn, each, arg), but list() runs on a thread of its own: it reads and
 * decodes sketches while each() works on earlier ones.  The sketches given to
 * each() have only the values stored in full (sif_unpack_in_full()).
 *
 * each() runs on the calling thread, which must not use txn meanwhile.  If it
 * returns anything but 0, the reading stops.
 */
int sketch_reader_each(int (*list)(struct catalog_txn *txn, sketch_each each,
				   void *arg),
		       struct catalog_txn *txn, sketch_each each, void *arg);

#endif
