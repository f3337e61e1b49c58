/* SPDX-License-Identifier: Apache-2.0 */
#include "core/kernel/rdc_impl.h"

/* What is the same for all variants: hashes of any window, step by step. */

void kernel_h3_init(struct kernel_h3 *h3)
{
	uint32_t value, i, k;

	for (i = 0; i < 256; i++) {
		h3->pairs[i] = 0;
		for (k = 0; k < 4; k++) {
			/* Byte 3 - k and the one below it are on top. */
			value = rdc_rotate(h3->values[i], 2 + 8 * k);
			h3->planes[3 - k][i] = (uint8_t)(value >> 24);
			h3->pairs[i] |= (uint64_t)(value >> 16) << 16 * k;
		}
	}
}

/* Three chains of 16 steps, side by side. */
static uint32_t hash_48(const uint32_t *values, const uint8_t *data)
{
	uint32_t a = 0, b = 0, c = 0;
	size_t i;

	for (i = 0; i < 16; i++) {
		a = rdc_rotate(a ^ values[data[i]], 2);
		b = rdc_rotate(b ^ values[data[i + 16]], 2);
		c = rdc_rotate(c ^ values[data[i + 32]], 2);
	}
	return a ^ b ^ c;
}

/* Of the window that ends with data[0], but for the bias. */
static uint32_t hash_window(const struct kernel_rolling *rolling,
			    const uint8_t *data)
{
	const uint32_t *values = rolling->h3->values;
	uint32_t i, hash = 0;

	data -= rolling->window - 1;
	if (rolling->window == KERNEL_WINDOW)
		return hash_48(values, data);
	for (i = 0; i < rolling->window; i++)
		hash = rdc_rotate(hash ^ values[data[i]], rolling->rotation);
	return hash;
}

void rdc_roll_tops(const struct kernel_rolling *rolling, const uint8_t *data,
		   size_t count, uint8_t *tops_out)
{
	const uint8_t *out = data - rolling->window;
	uint32_t hash = hash_window(rolling, data - 1);
	size_t i;

	for (i = 0; i < count; i++) {
		hash = kernel_roll(rolling, hash, data[i], out[i]);
		tops_out[i] = (uint8_t)((hash ^ rolling->bias) >> 24);
	}
}

void rdc_roll_hashes(const struct kernel_rolling *rolling, const uint8_t *data,
		     const uint32_t *places, size_t count, uint32_t *hashes_out)
{
	size_t i;

	for (i = 0; i < count; i++)
		hashes_out[i] =
			hash_window(rolling, data + places[i]) ^ rolling->bias;
}
