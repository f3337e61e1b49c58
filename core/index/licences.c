/* SPDX-License-Identifier: Apache-2.0 */
#include "core/index/licences.h"

#include <string.h>

#include "core/base/bytes.h"

/*
 * The table, all numbers little-endian: BUCKETS + 1 numbers of 32 bits, where each
 * bucket of keys begins; the keys of 32 bits, ascending; for each key the number of
 * its licence, of 16 bits; the names, with a NUL behind each.
 */
__asm__(".pushsection .rodata\n"
	".balign 4\n"
	".globl licence_table\n"
	".hidden licence_table\n"
	"licence_table:\n"
	".incbin \"core/index/licences.bin\"\n"
	".popsection\n");
extern const uint8_t licence_table[];

enum { BUCKET_BITS = 12, BUCKETS = 1 << BUCKET_BITS };

static uint32_t start_of(uint32_t bucket)
{
	return load_le32(licence_table + 4 * (size_t)bucket);
}

static const uint8_t *keys(void)
{
	return licence_table + 4 * (size_t)(BUCKETS + 1);
}

/* The zeros before the first bit in the lower 9 bits, and the 23 significant bits
 * that follow it. */
static uint32_t key_of(uint64_t value)
{
	const unsigned zeros = (unsigned)__builtin_clzll(value);

	return (uint32_t)(value << zeros << 1 >> 41) << 9 | zeros;
}

/* The number of the licence, or -1. */
static int find(uint64_t value)
{
	const uint32_t key = value ? key_of(value) : 0;
	const uint32_t bucket = key >> (32 - BUCKET_BITS);
	const uint32_t end = start_of(bucket + 1), all = start_of(BUCKETS);
	uint32_t i;

	for (i = start_of(bucket); i < end; i++)
		if (load_le32(keys() + 4 * (size_t)i) == key)
			return load_le16(keys() + 4 * (size_t)all +
					 2 * (size_t)i);
	return -1;
}

static const char *name_of(int number)
{
	const char *name = (const char *)keys() + 6 * (size_t)start_of(BUCKETS);

	while (number-- > 0)
		name += strlen(name) + 1;
	return name;
}

bool licence_has(uint64_t value)
{
	return find(value) >= 0;
}

int licence_percentage(const struct sketch *sketch, const char **name_out)
{
	int numbers[SKETCH_MOST], best = -1;
	size_t count = 0, most = 0, same, i, k;

	for (i = 0; i < sketch->count; i++) {
		numbers[count] = find(sketch->values[i]);
		count += numbers[count] >= 0;
	}
	for (i = 0; i < count; i++) {
		for (same = 0, k = 0; k < count; k++)
			same += numbers[k] == numbers[i];
		if (same > most) {
			most = same;
			best = numbers[i];
		}
	}
	*name_out = best < 0 ? NULL : name_of(best);
	return count ? (int)(100 * count / sketch->count) : 0;
}
