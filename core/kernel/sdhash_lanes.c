/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "core/kernel/sdhash_impl.h"

/*
 * A counter goes up when its byte enters the window and down when it leaves:
 * each waits for the one before.  Places far apart do not.
 */
#define LANES 4
#define WINDOW SDHASH_WINDOW
/* Where the first windows of the lanes cost less than they give. */
#define LEAST (LANES * 8 * WINDOW)

void sdhash_rank_lanes(const uint8_t *bytes, size_t count, uint16_t *ranks_out)
{
	uint8_t counts[LANES][256] = { 0 };
	int32_t steps[WINDOW], entropy[LANES] = { 0 };
	size_t i, k, each = count / LANES;
	const uint8_t *in;

	if (count < LEAST) {
		sdhash_scalar.rank(bytes, count, ranks_out);
		return;
	}
	for (i = 0; i < WINDOW; i++)
		steps[i] = sdhash_entropy[i + 1] - sdhash_entropy[i];
	for (k = 0; k < LANES; k++)
		for (i = 0; i < WINDOW - 1; i++)
			entropy[k] += steps[counts[k][bytes[k * each + i]]++];
	for (i = 0; i < each; i++)
#pragma GCC unroll 4
		for (k = 0; k < LANES; k++) {
			in = bytes + k * each + i;
			entropy[k] += steps[counts[k][in[WINDOW - 1]]++];
			ranks_out[k * each + i] =
				sdhash_rank[entropy[k] >> SDHASH_ENTROPY_SHIFT];
			entropy[k] -= steps[--counts[k][*in]];
		}
	i = LANES * each;
	sdhash_scalar.rank(bytes + i, count - i, ranks_out + i);
}
