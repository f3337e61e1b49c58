/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/hole.h"
#include "core/base/xxh3.h"
#include "core/act/dedup/dedup_impl.h"

/*
 * A slot: the upper half of a fingerprint, and the number of the block and 1;
 * 0 is empty.  A block whose number does not fit is not in the table.
 */

/* The slot that a block has, or would have; NULL: it is not in the sample. */
static uint64_t *find_slot(const struct block_table *t, const char *block,
			   uint64_t *fingerprint_out)
{
	uint64_t fingerprint;
	size_t i;

	if (!block[0] && !memcmp(block, block + 1, BLOCK_BYTES - 1))
		return NULL;
	fingerprint = XXH3_64bits(block, BLOCK_BYTES);
	if (fingerprint & (((uint64_t)1 << t->sample_bits) - 1))
		return NULL;
	i = (size_t)(fingerprint >> t->sample_bits) & (t->slot_count - 1);
	while (t->slots[i] && t->slots[i] >> 32 != fingerprint >> 32)
		i = (i + 1) & (t->slot_count - 1);
	*fingerprint_out = fingerprint;
	return &t->slots[i];
}

static void add_block(struct block_table *t, const char *block, uint64_t number)
{
	uint64_t fingerprint, *slot = find_slot(t, block, &fingerprint);

	if (slot && !*slot && number < UINT32_MAX)
		*slot = (fingerprint & ~(uint64_t)UINT32_MAX) | (number + 1);
}

/* From half to a quarter of the slots are used, if all blocks are distinct. */
static int choose_size(struct block_table *t, uint64_t blocks, size_t most)
{
	t->sample_bits = 0;
	while (blocks >> t->sample_bits > most / 2)
		t->sample_bits++;
	for (t->slot_count = 1024;
	     t->slot_count / 2 < blocks >> t->sample_bits;)
		t->slot_count *= 2;
	free(t->slots);
	t->slots = calloc(t->slot_count, sizeof(*t->slots));
	return t->slots ? 0 : -ENOMEM;
}

/* At a sample the odds decide, so a table may have more entries than planned;
 * fingerprints are even enough that it never fills up. */
int block_table_fill(struct block_table *t, int fd, uint64_t size,
		     size_t slots_most)
{
	enum { CHUNK = 1 << 20 };
	char *chunk = malloc(CHUNK);
	struct hole_part part = { 0 };
	int64_t n = 0;
	uint64_t at, offset;
	int err = chunk ? choose_size(t, size / BLOCK_BYTES, slots_most) :
			  -ENOMEM;

	for (at = 0; !err && at + BLOCK_BYTES <= size; at += CHUNK) {
		if (at >= part.end)
			hole_find(fd, at, size, &part);
		if (part.hole && part.end >= at + CHUNK)
			continue;
		n = block_read(fd, chunk, CHUNK, at);
		if (n < 0)
			err = (int)n;
		for (offset = 0; !err && offset + BLOCK_BYTES <= (uint64_t)n;
		     offset += BLOCK_BYTES)
			add_block(t, chunk + offset,
				  (at + offset) / BLOCK_BYTES);
	}
	free(chunk);
	if (err)
		block_table_release(t);
	return err;
}

void block_table_release(struct block_table *t)
{
	free(t->slots);
	*t = (struct block_table){ 0 };
}

bool block_table_find(const struct block_table *t, const void *block,
		      uint64_t *number_out)
{
	uint64_t fingerprint, *slot = find_slot(t, block, &fingerprint);

	if (!slot || !*slot)
		return false;
	*number_out = (*slot & UINT32_MAX) - 1;
	return true;
}
