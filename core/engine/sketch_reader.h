/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_ENGINE_SKETCH_READER_H
#define CORE_ENGINE_SKETCH_READER_H

#include <stdint.h>

#include "core/catalog/catalog.h"

typedef int sketch_each(void *arg, uint32_t content,
			const struct sketch *sketch);

/*
 * Calls each() with every sketch in the catalog, of contents and of texts, in
 * the order of their ids.  The
 * catalog is read by a thread of its own, and both threads unpack what it
 * found.  -EUCLEAN: a sketch could not be unpacked; those before it were given
 * to each().  -EAGAIN: no thread can be started.
 *
 * each() runs on the calling thread, which must not use txn meanwhile.  If it
 * returns anything but 0, the reading stops.
 */
int sketch_reader_each(struct catalog_txn *txn, sketch_each *each, void *arg);

#endif
