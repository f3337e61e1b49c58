/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/similar/readers.h"

static _Atomic uint64_t *slot_of(struct readers *r, pid_t tid)
{
	return &r->known[(unsigned)tid % READERS_KNOWN];
}

static uint64_t word_of(pid_t tid, bool looks_up)
{
	return (uint64_t)(unsigned)tid << 1 | looks_up;
}

bool readers_want_links(struct readers *r, pid_t tid)
{
	_Atomic uint64_t *slot = slot_of(r, tid);
	uint64_t word = atomic_load_explicit(slot, memory_order_relaxed);

	if (word >> 1 == word_of(tid, false) >> 1)
		return word & 1;
	atomic_store_explicit(slot, word_of(tid, false), memory_order_relaxed);
	return true;
}

void readers_looked_up(struct readers *r, pid_t tid)
{
	atomic_store_explicit(slot_of(r, tid), word_of(tid, true),
			      memory_order_relaxed);
}
