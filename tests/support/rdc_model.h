/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SUPPORT_RDC_MODEL_H
#define TESTS_SUPPORT_RDC_MODEL_H

#include "core/base/buf.h"
#include "tests/support/md4_model.h"

/* [MS-RDC] over the whole file: all hashes, then every maximum by comparing it
 * with all its neighbours.  Shares nothing with core/digest. */

#define RDC_MODEL_MAX_CHUNK 65535

/* 3.1.3: MD4 of 16 zeros, MD4 of that, and so on. */
static inline const uint32_t *rdc_model_h3(void)
{
	static uint32_t table[256];
	uint8_t hash[16] = { 0 };
	unsigned i;

	for (i = 0; table[255] == 0 && i < 256; i++) {
		if (i % 4 == 0)
			md4_model(hash, sizeof(hash), hash);
		table[i] = load_le32(hash + i % 4 * 4);
	}
	return table;
}

/* 3.1.5.1.1 */
static inline unsigned rdc_model_rotation(unsigned window)
{
	unsigned rotation = 1, i = 32;

	while (i > 0 && window % i) {
		rotation *= 2;
		i /= 2;
	}
	return rotation % 32;
}

static inline uint32_t *rdc_model_hashes(struct bytes b, unsigned window)
{
	uint32_t *hashes = calloc(b.len + 1, sizeof(*hashes));
	unsigned rotation = rdc_model_rotation(window);
	const uint32_t *h3 = rdc_model_h3();
	uint32_t h = 0;
	size_t i;

	assert_non_null(hashes);
	for (i = 0; i < b.len; i++) {
		h ^= h3[i < window ? 0 : b.data[i - window]] ^ h3[b.data[i]];
		h = rotation ? h << rotation | h >> (32 - rotation) : h;
		hashes[i] = h;
	}
	return hashes;
}

/* Near the end of the file, Windows' rule of whole blocks. */
static inline int rdc_model_is_cut(const uint32_t *hashes, size_t len, size_t i,
				   size_t horizon)
{
	size_t k;

	if (i < horizon || (i / horizon + 2) * horizon > len)
		return 0;
	for (k = i - horizon; k <= i + horizon; k++)
		if (k != i && hashes[k] >= hashes[i])
			return 0;
	return 1;
}

/* 3.1.5.4.1, for one chunk. */
static inline void rdc_model_traits(const uint8_t md4[16],
				    uint8_t minima[16][16])
{
	uint8_t message[17], hash[16];
	int i;

	memcpy(message, md4, 16);
	for (i = 0; i < 16; i++) {
		message[16] = (uint8_t)(i + 1);
		md4_model(message, sizeof(message), hash);
		if (memcmp(hash, minima[i], 16) < 0)
			memcpy(minima[i], hash, 16);
	}
}

/* Appends MD4 and length of every chunk, as a signature file has them. */
static inline void rdc_model(struct bytes b, unsigned window, unsigned horizon,
			     struct buf *chunks_out, uint8_t traits_out[16])
{
	uint32_t *hashes = rdc_model_hashes(b, window);
	uint8_t minima[16][16], record[18];
	size_t i, start = 0;

	memset(minima, 0xff, sizeof(minima));
	for (i = 1; i <= b.len; i++) {
		if (i < b.len && i - start < RDC_MODEL_MAX_CHUNK &&
		    !rdc_model_is_cut(hashes, b.len, i, horizon))
			continue;
		md4_model(b.data + start, i - start, record);
		store_le16(record + 16, (uint16_t)(i - start));
		assert_int_equal(buf_append(chunks_out, record, sizeof(record)),
				 0);
		rdc_model_traits(record, minima);
		start = i;
	}
	for (i = 0; i < 16; i++)
		traits_out[i] = b.len ? minima[i][7] & 0x3f : 0;
	free(hashes);
}

#endif
