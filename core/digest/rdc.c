/* SPDX-License-Identifier: Apache-2.0 */
#include "core/digest/rdc.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "core/base/bytes.h"

/* That of window 48. */
#define USUAL_ROTATION 2

/* ---- the rolling hash, [MS-RDC] 3.1.5.1.1 ---- */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static uint32_t h3[256];
static int h3_error;

/* The table is a chain of MD4s that starts from zeros, 3.1.3. */
static int chain_h3(struct md4 *m)
{
	uint8_t link[16] = { 0 };
	unsigned i;
	int err;

	for (i = 0; i < 256; i++) {
		if (i % 4 == 0) {
			err = md4_begin(m);
			if (!err)
				err = md4_update(m, link, sizeof(link));
			if (!err)
				err = md4_final(m, link);
			if (err)
				return err;
		}
		h3[i] = load_le32(link + i % 4 * 4);
	}
	return 0;
}

static void make_h3(void)
{
	struct md4 m;

	h3_error = md4_init(&m);
	if (h3_error)
		return;
	h3_error = chain_h3(&m);
	md4_release(&m);
}

/* The rotation that makes a byte cancel after window steps. */
static uint32_t rotation_for(unsigned window)
{
	unsigned rotation = 1, divisor = 32;

	while (divisor > 0 && window % divisor) {
		rotation *= 2;
		divisor /= 2;
	}
	return rotation % 32;
}

static inline uint32_t rotate(uint32_t x, uint32_t bits)
{
	return x << bits | x >> (-bits & 31);
}

uint32_t rdc_roll(const struct rdc *r, uint32_t h, uint8_t in, uint8_t out)
{
	return rotate(h ^ h3[out] ^ h3[in], r->rotation);
}

uint32_t rdc_h3(uint8_t index)
{
	return h3[index];
}

/* Hashes the block that has just become full, and finds its peak. */
static inline void hash_block(struct rdc *r, uint32_t rotation)
{
	const uint8_t *in = r->data + r->horizon;
	const uint8_t *out = in - r->window;
	uint32_t *hashes = r->hashes[r->blocks % 3];
	struct rdc_peak peak = { 0, 0, false };
	uint32_t h = r->rolling;
	uint32_t i, count = r->horizon;

	for (i = 0; i < count; i++) {
		h = rotate(h ^ (h3[out[i]] ^ h3[in[i]]), rotation);
		hashes[i] = h;
		if (h > peak.value)
			peak = (struct rdc_peak){ h, i, true };
		else if (h == peak.value)
			peak.unique = false;
	}
	r->rolling = h;
	r->peaks[r->blocks % 3] = peak;
}

/* ---- chunks ---- */

static int begin_chunk(struct rdc *r)
{
	r->chunk_length = 0;
	return md4_begin(&r->md4);
}

static void add_traits(struct rdc *r, const uint8_t md4[16])
{
	uint64_t candidates[RDC_TRAITS];
	unsigned i;

	md4_suffixed(md4, candidates);
	for (i = 0; i < RDC_TRAITS; i++)
		if (candidates[i] < r->minima[i])
			r->minima[i] = candidates[i];
}

/* Does nothing when the chunk is empty: a cut may fall on a forced one. */
static int end_chunk(struct rdc *r)
{
	uint8_t md4[16];
	int err;

	if (r->chunk_length == 0)
		return 0;
	err = md4_final(&r->md4, md4);
	if (err)
		return err;
	add_traits(r, md4);
	if (r->on_chunk)
		r->on_chunk(r->arg, md4, (uint16_t)r->chunk_length);
	return begin_chunk(r);
}

/* Chunks are cut by force when they reach the largest length. */
static int grow_chunk(struct rdc *r, const uint8_t *data, uint32_t len)
{
	uint32_t part;
	int err;

	while (len > 0) {
		part = RDC_MAX_CHUNK - r->chunk_length;
		if (part > len)
			part = len;
		err = md4_update(&r->md4, data, part);
		if (err)
			return err;
		r->chunk_length += part;
		if (r->chunk_length == RDC_MAX_CHUNK) {
			err = end_chunk(r);
			if (err)
				return err;
		}
		data += part;
		len -= part;
	}
	return 0;
}

/* Whether all hashes of a block from first to last - 1 are below limit.  The
 * block's peak mostly tells without a look at them. */
static bool all_below(const struct rdc *r, uint64_t block, uint32_t first,
		      uint32_t last, uint32_t limit)
{
	const struct rdc_peak *peak = &r->peaks[block % 3];
	const uint32_t *hashes = r->hashes[block % 3];
	uint32_t i;

	if (peak->value < limit)
		return true;
	if (peak->offset >= first && peak->offset < last)
		return false;
	for (i = first; i < last; i++)
		if (hashes[i] >= limit)
			return false;
	return true;
}

/*
 * Whether the peak of the last block but one is larger than every other hash
 * from horizon before it to horizon after it, both ends included, 3.1.5.1.2.
 * The first block has no cut: the hashes before it do not exist.
 */
static bool has_cut(const struct rdc *r)
{
	uint64_t block = r->blocks - 1;
	const struct rdc_peak *peak = &r->peaks[block % 3];

	return block > 0 && peak->unique &&
	       all_below(r, block - 1, peak->offset, r->horizon, peak->value) &&
	       all_below(r, block + 1, 0, peak->offset + 1, peak->value);
}

/* The block after the one in the first half of data is full: that one's cut
 * is known now. */
static int settle_block(struct rdc *r)
{
	uint32_t cut;
	int err;

	if (!has_cut(r))
		return grow_chunk(r, r->data, r->horizon);
	cut = r->peaks[(r->blocks - 1) % 3].offset;
	err = grow_chunk(r, r->data, cut);
	if (!err)
		err = end_chunk(r);
	if (!err)
		err = grow_chunk(r, r->data + cut, r->horizon - cut);
	return err;
}

static int finish_block(struct rdc *r)
{
	int err;

	/* A rotation that the compiler knows is faster by a third. */
	if (r->rotation == USUAL_ROTATION)
		hash_block(r, USUAL_ROTATION);
	else
		hash_block(r, r->rotation);
	if (r->blocks > 0) {
		err = settle_block(r);
		if (err)
			return err;
	}
	memcpy(r->data, r->data + r->horizon, r->horizon);
	r->blocks++;
	r->fill = 0;
	return 0;
}

/* ---- a file ---- */

int rdc_init(struct rdc *r, unsigned window, unsigned horizon)
{
	if (window < 2 || window > RDC_MAX_WINDOW ||
	    horizon < RDC_MIN_HORIZON || horizon > RDC_MAX_HORIZON)
		return -EINVAL;
	(void)pthread_once(&once, make_h3);
	if (h3_error)
		return h3_error;
	r->window = window;
	r->horizon = horizon;
	r->rotation = rotation_for(window);
	r->on_chunk = NULL;
	r->arg = NULL;
	return md4_init(&r->md4);
}

void rdc_release(struct rdc *r)
{
	md4_release(&r->md4);
}

int rdc_begin(struct rdc *r)
{
	r->blocks = 0;
	r->fill = 0;
	r->rolling = 0;
	memset(r->minima, 0xff, sizeof(r->minima));
	/* What is before the file counts as zero bytes. */
	memset(r->data, 0, r->horizon);
	return begin_chunk(r);
}

int rdc_update(struct rdc *r, const void *data, size_t len)
{
	const uint8_t *bytes = data;
	uint32_t part;
	int err;

	while (len > 0) {
		part = r->horizon - r->fill;
		if (part > len)
			part = (uint32_t)len;
		memcpy(r->data + r->horizon + r->fill, bytes, part);
		r->fill += part;
		if (r->fill == r->horizon) {
			err = finish_block(r);
			if (err)
				return err;
		}
		bytes += part;
		len -= part;
	}
	return 0;
}

int rdc_final(struct rdc *r, uint8_t traits_out[RDC_TRAITS])
{
	bool empty = r->blocks == 0 && r->fill == 0;
	unsigned i;
	int err = 0;

	if (r->blocks > 0)
		err = grow_chunk(r, r->data, r->horizon);
	if (!err)
		err = grow_chunk(r, r->data + r->horizon, r->fill);
	if (!err)
		err = end_chunk(r);
	if (err)
		return err;
	for (i = 0; i < RDC_TRAITS; i++)
		traits_out[i] = empty ? 0 : r->minima[i] & 0x3f;
	return 0;
}
