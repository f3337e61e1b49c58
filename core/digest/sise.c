/* SPDX-License-Identifier: Apache-2.0 */
#include "core/digest/sise.h"

#include <errno.h>
#include <string.h>

#define WHOLE (CTPH_ROWS - 1)

int sise_init_from(struct ctph *c, uint64_t block_size)
{
	unsigned level;

	for (level = 0; level < CTPH_LEVELS; level++)
		if (block_size == UINT64_C(3) << level)
			break;
	if (level == CTPH_LEVELS)
		return -EINVAL;
	ctph_init(c, CTPH_SISE);
	c->sise_start = level;
	return 0;
}

/* The pairs of a level and the one that the end of the file makes. */
static void copy_level(const struct ctph *c, unsigned level,
		       struct sise_part *out)
{
	size_t count = SISE_MAX_PAIRS;

	if (c->triggers[level] < SISE_MAX_PAIRS)
		count = (size_t)c->triggers[level];
	memcpy(out->pairs, c->pieces[level], count * sizeof(out->pairs[0]));
	if (count < SISE_MAX_PAIRS)
		out->pairs[count++] = c->states[level];
	out->block_size = UINT64_C(3) << level;
	out->mod_value = out->block_size - 1;
	out->count = count;
}

/* What stands below the smallest block size: the file in one piece. */
static void copy_whole(const struct ctph *c, struct sise_part *out)
{
	out->block_size = 1;
	out->mod_value = 0;
	out->count = 1;
	out->pairs[0] = c->states[WHOLE];
}

static bool has_enough(const struct ctph *c, unsigned level)
{
	/* The end of the file makes one pair more. */
	return c->triggers[level] + 1 >= SISE_MIN_PAIRS;
}

void sise_read(const struct ctph *c, struct sise_signature *out)
{
	unsigned level = CTPH_LEVELS - 1;

	while (level > c->sise_low &&
	       !(has_enough(c, level) && ctph_sise_comes_by(c, c->size, level)))
		level--;
	copy_level(c, level, &out->leading);
	if (level > 0)
		copy_level(c, level - 1, &out->secondary);
	else if (has_enough(c, 0))
		copy_whole(c, &out->secondary);
	else
		copy_level(c, 0, &out->secondary);
}
