/* SPDX-License-Identifier: Apache-2.0 */
#include "core/digest/sif/sif_places.h"

#include <string.h>

/* Slots for one of max values: those up to the bound are a few times as many. */
#define SLOTS_OF_VALUE 16

void sif_places_begin(struct sif_places *p, size_t max)
{
	size_t slots = SIF_PLACES_PROBES;

	while (slots < SLOTS_OF_VALUE * max && slots < SIF_PLACES_SLOTS)
		slots *= 2;
	p->mask = slots - 1;
	memset(p->hashes, 0, slots * sizeof(p->hashes[0]));
}

/* The lower bits of a fingerprint are not kept, and the upper ones are small. */
static size_t slot_of(const struct sif_places *p, uint64_t hash)
{
	return (size_t)(hash >> 16) & p->mask;
}

void sif_places_add(struct sif_places *p, uint64_t hash, uint64_t bound,
		    uint32_t unit)
{
	size_t at = slot_of(p, hash), room = SIZE_MAX, i;

	for (i = 0; i < SIF_PLACES_PROBES; i++, at = (at + 1) & p->mask) {
		if (p->hashes[at] == hash) {
			p->units[at] = unit;
			return;
		}
		if (room == SIZE_MAX &&
		    (!p->hashes[at] || p->hashes[at] > bound))
			room = at;
	}
	if (room == SIZE_MAX)
		return;
	p->hashes[room] = hash;
	p->units[room] = unit;
}

uint32_t sif_places_find(const struct sif_places *p, uint64_t hash)
{
	size_t at = slot_of(p, hash), i;

	for (i = 0; i < SIF_PLACES_PROBES; i++, at = (at + 1) & p->mask)
		if (p->hashes[at] == hash)
			return p->units[at];
	return 0;
}
