/* SPDX-License-Identifier: Apache-2.0 */
#include "core/digest/sdhash/sdhash.h"

#include <inttypes.h>

/* A rest up to this goes with the segment before. */
#define SHORT_TAIL 512

uint32_t sdhash_default_block(uint64_t size)
{
	return size < SDHASH_BLOCKS_FROM ? 0 : SDHASH_DEFAULT_BLOCK;
}

uint64_t sdhash_segments(uint64_t size)
{
	uint64_t whole = size / SDHASH_SEGMENT;

	if (whole == 0)
		return 1;
	return whole + (size % SDHASH_SEGMENT > SHORT_TAIL);
}

struct sdhash_segment sdhash_segment(uint64_t size, uint64_t index)
{
	struct sdhash_segment out = { index * SDHASH_SEGMENT, 0, 0 };
	uint64_t tail = size % SDHASH_SEGMENT, count = sdhash_segments(size);

	out.size = SDHASH_SEGMENT;
	if (index + 1 < count)
		return out;
	out.size = size - out.offset;
	/* The program adds the tail twice, unless it has one segment only. */
	if (count > 1 && tail <= SHORT_TAIL)
		out.zeros = (uint32_t)tail;
	return out;
}

int sdhash_segment_name(const char *name, uint64_t size, uint64_t index,
			struct buf *out)
{
	if (sdhash_segments(size) == 1)
		return buf_append_text(out, name);
	return buf_append_format(out, "%s.%04" PRIu64 "M", name,
				 index * (SDHASH_SEGMENT >> 20));
}
