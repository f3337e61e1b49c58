/* SPDX-License-Identifier: Apache-2.0 */
#include "core/watch/watch_impl.h"

static size_t slot_of(uint64_t id)
{
	return (id >> 1) % FOREIGN_SLOTS;
}

bool watch_is_foreign(const struct watch *w, uint64_t id)
{
	return atomic_load_explicit(&w->foreign[slot_of(id)],
				    memory_order_relaxed) == id;
}

unsigned watch_get_moves(struct watch *w)
{
	unsigned moves;

	pthread_mutex_lock(&w->lock);
	moves = w->moves;
	pthread_mutex_unlock(&w->lock);
	return moves;
}

void watch_add_foreign(struct watch *w, uint64_t id, unsigned moves)
{
	pthread_mutex_lock(&w->lock);
	if (w->moves == moves)
		atomic_store(&w->foreign[slot_of(id)], id);
	pthread_mutex_unlock(&w->lock);
}

void watch_directory_moved(struct watch *w)
{
	size_t i;

	pthread_mutex_lock(&w->lock);
	w->moves++;
	for (i = 0; i < FOREIGN_SLOTS; i++)
		atomic_store_explicit(&w->foreign[i], 0, memory_order_relaxed);
	pthread_mutex_unlock(&w->lock);
}
