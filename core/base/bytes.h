/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_BASE_BYTES_H
#define CORE_BASE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Integers in byte order of their own.  Everything on disk goes through
 * these: big-endian in keys (so that they sort), little-endian in records.
 */

static inline void store_be32(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v >> 24);
	p[1] = (uint8_t)(v >> 16);
	p[2] = (uint8_t)(v >> 8);
	p[3] = (uint8_t)v;
}

static inline void store_be64(uint8_t *p, uint64_t v)
{
	store_be32(p, (uint32_t)(v >> 32));
	store_be32(p + 4, (uint32_t)v);
}

static inline uint32_t load_be32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 |
	       (uint32_t)p[2] << 8 | (uint32_t)p[3];
}

static inline uint64_t load_be64(const uint8_t *p)
{
	return (uint64_t)load_be32(p) << 32 | load_be32(p + 4);
}

static inline void store_le16(uint8_t *p, uint16_t v)
{
	p[0] = (uint8_t)v;
	p[1] = (uint8_t)(v >> 8);
}

static inline void store_le32(uint8_t *p, uint32_t v)
{
	store_le16(p, (uint16_t)v);
	store_le16(p + 2, (uint16_t)(v >> 16));
}

static inline void store_le64(uint8_t *p, uint64_t v)
{
	store_le32(p, (uint32_t)v);
	store_le32(p + 4, (uint32_t)(v >> 32));
}

static inline uint16_t load_le16(const uint8_t *p)
{
	return (uint16_t)(p[0] | p[1] << 8);
}

static inline uint32_t load_le32(const uint8_t *p)
{
	return load_le16(p) | (uint32_t)load_le16(p + 2) << 16;
}

static inline uint64_t load_le64(const uint8_t *p)
{
	return load_le32(p) | (uint64_t)load_le32(p + 4) << 32;
}

/* ---- of any length ---- */

/* Numbers on disk whose small values take few bytes (LEB128): 7 bits a byte,
 * the lowest first; the highest bit says that more follow. */
#define VARINT_BYTES 10 /* at most */

static inline size_t store_varint(uint8_t *p, uint64_t v)
{
	size_t len = 0;

	for (; v > 127; v >>= 7)
		p[len++] = (uint8_t)(v | 128);
	p[len++] = (uint8_t)v;
	return len;
}

/* Moves *at behind the number.  False where there is none before end, or one
 * that is longer than it has to be. */
static inline bool load_varint(const uint8_t **at, const uint8_t *end,
			       uint64_t *out)
{
	uint64_t v = 0;
	unsigned shift;
	uint8_t byte;

	for (shift = 0; shift < 64 && *at < end; shift += 7) {
		byte = *(*at)++;
		if (shift == 63 && byte > 1)
			return false;
		v |= (uint64_t)(byte & 127) << shift;
		if (byte < 128) {
			*out = v;
			return shift == 0 || byte > 0;
		}
	}
	return false;
}

#endif
