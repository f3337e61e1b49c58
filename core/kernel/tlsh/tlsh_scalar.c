/* SPDX-License-Identifier: Apache-2.0 */
#include "core/kernel/tlsh/tlsh.h"

#include <string.h>

void kernel_tlsh_init(struct kernel_tlsh_table *table,
		      const uint8_t pearson[256])
{
	static const uint8_t salts[] = { 0, 2, 3, 5, 7, 11, 13 };
	size_t x, i;

	memcpy(table->pearson, pearson, sizeof(table->pearson));
	for (i = 0; i < sizeof(salts); i++)
		table->salts[i] = pearson[salts[i]];
	memset(table->first, 0, sizeof(table->first));
	for (x = 0; x < 256; x++) {
		for (i = 0; i < sizeof(salts); i++)
			table->first[x] |=
				(uint64_t)pearson[table->salts[i] ^ x] << 8 * i;
	}
}

static uint8_t count(const struct kernel_tlsh_table *table,
		     const uint8_t *bytes, size_t len,
		     uint32_t counts[KERNEL_TLSH_TRIPLETS][256],
		     uint8_t checksum)
{
	const uint8_t *T = table->pearson;
	uint8_t p1, p2, p3, p4;
	uint64_t w;
	size_t i;

	for (i = KERNEL_TLSH_WINDOW - 1; i < len; i++) {
		w = table->first[bytes[i]];
		p1 = bytes[i - 1];
		p2 = bytes[i - 2];
		p3 = bytes[i - 3];
		p4 = bytes[i - 4];
		counts[0][T[T[(uint8_t)(w >> 8) ^ p1] ^ p2]]++;
		counts[1][T[T[(uint8_t)(w >> 16) ^ p1] ^ p3]]++;
		counts[2][T[T[(uint8_t)(w >> 24) ^ p2] ^ p3]]++;
		counts[3][T[T[(uint8_t)(w >> 32) ^ p2] ^ p4]]++;
		counts[4][T[T[(uint8_t)(w >> 40) ^ p1] ^ p4]]++;
		counts[5][T[T[(uint8_t)(w >> 48) ^ p3] ^ p4]]++;
		checksum = T[T[(uint8_t)w ^ p1] ^ checksum];
	}
	return checksum;
}

const struct kernel_tlsh tlsh_scalar = { count };
