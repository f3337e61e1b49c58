/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "core/base/bytes.h"
#include "core/kernel/rdc_impl.h"

/*
 * Loops over a fixed number of bytes, for the compiler to do them with vectors
 * of whatever size there is.
 */
#define PIECE 64

/*
 * Pairs wait in a word for the place they go to: the lowest is for the byte
 * that was added last, the others for the fourth, eighth and twelfth after it.
 */
struct front {
	uint64_t waiting[4];      /* of the last 4 bytes */
	uint16_t sums[3 + PIECE]; /* 3 of the last piece */
	uint8_t tops[32 + PIECE]; /* of 16 bytes, 32 of the last piece */
};

static void add_up(struct front *f, const uint64_t pairs[256],
		   const uint8_t *data)
{
	uint64_t a = f->waiting[0], b = f->waiting[1];
	uint64_t c = f->waiting[2], d = f->waiting[3];
	uint16_t *sum = f->sums + 3;
	size_t i;

	for (i = 0; i < PIECE; i += 4) {
		a = a >> 16 ^ pairs[data[i]];
		b = b >> 16 ^ pairs[data[i + 1]];
		c = c >> 16 ^ pairs[data[i + 2]];
		d = d >> 16 ^ pairs[data[i + 3]];
		sum[i] = (uint16_t)a;
		sum[i + 1] = (uint16_t)b;
		sum[i + 2] = (uint16_t)c;
		sum[i + 3] = (uint16_t)d;
	}
	f->waiting[0] = a;
	f->waiting[1] = b;
	f->waiting[2] = c;
	f->waiting[3] = d;
}

static void add_piece(struct front *f, const struct kernel_h3 *h3,
		      const uint8_t *data)
{
	const uint16_t *sum = f->sums;
	unsigned value;
	size_t i;

	memmove(f->sums, f->sums + PIECE, 3 * sizeof(f->sums[0]));
	memmove(f->tops, f->tops + PIECE, 32);
	add_up(f, h3->pairs, data);
	for (i = 0; i < PIECE; i++) {
		value = sum[i + 3] ^ sum[i + 2] << 2 ^ sum[i + 1] << 4 ^
			sum[i] << 6;
		f->tops[32 + i] = (uint8_t)(value >> 8);
	}
}

/* Of the windows that end in the last piece. */
static void write_tops(const struct front *f, uint8_t bias, uint8_t tops[PIECE])
{
	size_t i;

	for (i = 0; i < PIECE; i++)
		tops[i] = f->tops[i] ^ f->tops[i + 16] ^ f->tops[i + 32] ^ bias;
}

static void tops(const struct kernel_rolling *rolling, const uint8_t *data,
		 size_t count, uint8_t *tops_out)
{
	uint8_t bias = (uint8_t)(rolling->bias >> 24);
	uint8_t last[PIECE] = { 0 };
	struct front f;
	size_t i;

	if (rolling->window != KERNEL_WINDOW) {
		rdc_roll_tops(rolling, data, count, tops_out);
		return;
	}
	memset(f.waiting, 0, sizeof(f.waiting));
	memset(f.sums + PIECE, 0, 3 * sizeof(f.sums[0]));
	memset(f.tops + PIECE, 0, 32);
	memcpy(last + PIECE - KERNEL_WINDOW, data - KERNEL_WINDOW,
	       KERNEL_WINDOW);
	add_piece(&f, rolling->h3, last);
	for (i = 0; i + PIECE <= count; i += PIECE) {
		add_piece(&f, rolling->h3, data + i);
		write_tops(&f, bias, tops_out + i);
	}
	if (i == count)
		return;
	memcpy(last, data + i, count - i);
	add_piece(&f, rolling->h3, last);
	write_tops(&f, bias, last);
	memcpy(tops_out + i, last, count - i);
}

static uint8_t largest_byte(const uint8_t *bytes, size_t count)
{
	uint8_t most[16] = { 0 }, top = 0;
	size_t i, k;

	for (i = 0; i + 16 <= count; i += 16)
		for (k = 0; k < 16; k++)
			most[k] =
				bytes[i + k] > most[k] ? bytes[i + k] : most[k];
	for (k = 0; k < 16; k++)
		top = most[k] > top ? most[k] : top;
	for (; i < count; i++)
		top = bytes[i] > top ? bytes[i] : top;
	return top;
}

/* Bit 8 * k + 7 is set when byte k of 8 is zero. */
static inline uint64_t zero_bytes(uint64_t x)
{
	const uint64_t low_bits = UINT64_C(0x7f7f7f7f7f7f7f7f);

	return ~(((x & low_bits) + low_bits) | x | low_bits);
}

/* Bit 8 * k + 7 is set when bytes[k] is the byte, up to count and to 8. */
static inline uint64_t equal_bytes(const uint8_t *bytes, size_t count,
				   uint8_t byte)
{
	uint64_t equal = 0;
	size_t i;

	if (count >= 8)
		return zero_bytes(load_le64(bytes) ^
				  UINT64_C(0x0101010101010101) * byte);
	for (i = 0; i < count; i++)
		equal |= (uint64_t)(bytes[i] == byte) << (8 * i + 7);
	return equal;
}

static size_t largest(const uint8_t *bytes, size_t count,
		      uint32_t places_out[KERNEL_PLACES])
{
	uint8_t most = largest_byte(bytes, count);
	size_t i, found = 0;
	uint64_t equal;

	for (i = 0; i < count; i += 8) {
		equal = equal_bytes(bytes + i, count - i, most);
		for (; equal; equal &= equal - 1) {
			places_out[found++] =
				(uint32_t)i +
				(uint32_t)__builtin_ctzll(equal) / 8;
			if (found == KERNEL_PLACES)
				return found;
		}
	}
	return found;
}

const struct kernel_rdc rdc_scalar = { tops, largest, rdc_roll_hashes };
