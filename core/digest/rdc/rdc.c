/* SPDX-License-Identifier: Apache-2.0 */
#include "core/digest/rdc/rdc.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>

#include "core/base/bytes.h"
#include "core/digest/digest.h"

/*
 * Among zeros all hashes are equal, so there is no cut, and chunks are cut by
 * force.  After a multiple of the largest chunk's length and of horizon the
 * state is the same again, and the chunks in between were all of one kind.
 */
#define ZEROS 65536

/* ---- the rolling hash, [MS-RDC] 3.1.5.1.1 ---- */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct kernel_h3 h3;

/*
 * The table is a chain of MD4s that starts from zeros, 3.1.3.  In ours all
 * values have that of a zero byte taken off: it cancels with that of the byte
 * that leaves the window, and what is before a file, all zero, does not count.
 */
static void make_h3(void)
{
	uint8_t from[16], link[16] = { 0 };
	struct kernel_message message = { .data = from, .len = sizeof(from) };
	uint32_t zero_value;
	unsigned i;

	for (i = 0; i < 256; i++) {
		if (i % 4 == 0) {
			memcpy(from, link, sizeof(from));
			kernel_best()->md4->many(&message, 1, 0, &link);
		}
		h3.values[i] = load_le32(link + i % 4 * 4);
	}
	zero_value = h3.values[0];
	for (i = 0; i < 256; i++)
		h3.values[i] ^= zero_value;
	kernel_h3_init(&h3);
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

/* ---- chunks ---- */

int rdc_signature_begin(struct buf *out)
{
	enum { VERSION = 0x00010001, FILE_TYPE = 1 };
	uint8_t header[RDC_SIGNATURE_HEADER] = { 0 };

	store_le32(header, sizeof(header));
	store_le32(header + 4, VERSION);
	store_le32(header + 8, VERSION); /* that a reader needs */
	store_le64(header + 16, FILE_TYPE);
	return buf_append(out, header, sizeof(header));
}

static void append_record(struct rdc *r, const uint8_t md4[16], size_t length)
{
	uint8_t record[RDC_SIGNATURE_RECORD];

	memcpy(record, md4, 16);
	store_le16(record + 16, (uint16_t)length);
	if (!r->err)
		r->err = buf_append(r->records, record, sizeof(record));
}

/* Some of them may wait for others, unless there are records. */
static void hash_chunks(struct rdc *r, size_t leave)
{
	uint8_t hashes[RDC_BATCH][16];
	size_t i, left;

	left = r->ops->md4->many(r->chunks, r->chunk_count,
				 r->records ? 0 : leave, hashes);
	r->ops->md4->suffixed(hashes, r->chunk_count - left, r->minima);
	for (i = 0; r->records && i < r->chunk_count; i++)
		append_record(r, hashes[i], r->chunks[i].len);
	r->chunk_count = left;
}

/* Does nothing when the chunk is empty: a cut may fall on a forced one. */
static void end_chunk(struct rdc *r, size_t end)
{
	if (end == r->chunk)
		return;
	if (r->chunk_count == RDC_BATCH)
		hash_chunks(r, RDC_LEAVE);
	r->chunks[r->chunk_count++] = (struct kernel_message){
		.data = r->data + r->chunk,
		.len = end - r->chunk,
	};
	r->chunk = end;
}

/* Chunks are cut by force when they reach the largest length. */
static void grow_chunk(struct rdc *r, size_t end)
{
	while (end - r->chunk >= RDC_MAX_CHUNK)
		end_chunk(r, r->chunk + RDC_MAX_CHUNK);
}

/* Whether the hashes of a block from first to last - 1 are below limit. */
static bool is_below(const struct rdc *r, uint64_t block, size_t first,
		     size_t last, uint32_t limit)
{
	size_t start = r->block - (size_t)(r->blocks - block) * r->horizon;

	assert(start + first >= r->hasher.rolling.window);
	return rdc_block_below(&r->hasher, r->data + start, &r->last[block % 3],
			       first, last, limit);
}

/*
 * Whether the peak of the last block but one is larger than every other hash
 * from horizon before it to horizon after it, both ends included, 3.1.5.1.2.
 * The first block has no cut: the hashes before it do not exist.
 */
static bool has_cut(const struct rdc *r)
{
	uint64_t block = r->blocks - 1;
	const struct rdc_peak *peak = &r->last[block % 3].peak;
	const struct rdc_peak *before = &r->last[(block + 2) % 3].peak;
	const struct rdc_peak *after = &r->last[(block + 1) % 3].peak;
	bool is_beaten;

	if (block == 0)
		return false;
	/* None of these can be predicted: no branch for each. */
	is_beaten =
		((before->hash >= peak->hash) &
		 (before->place >= peak->place)) |
		((after->hash >= peak->hash) & (after->place <= peak->place));
	return peak->unique && !is_beaten &&
	       is_below(r, block - 1, peak->place, r->horizon, peak->hash) &&
	       is_below(r, block + 1, 0, peak->place + 1, peak->hash);
}

/* The last block but one has its cut, if any, now that the block after it is
 * hashed. */
static void settle_block(struct rdc *r)
{
	size_t start = r->block - r->horizon, cut;

	if (has_cut(r)) {
		cut = start + r->last[(r->blocks - 1) % 3].peak.place;
		grow_chunk(r, cut);
		end_chunk(r, cut);
	}
	grow_chunk(r, r->block);
}

static void finish_blocks(struct rdc *r, size_t count)
{
	rdc_row_hash(&r->hasher, r->data + r->block, r->horizon, count,
		     &r->row);
	for (; count > 0; count--) {
		rdc_row_next(&r->row, &r->last[r->blocks % 3]);
		if (r->blocks > 0)
			settle_block(r);
		r->block += r->horizon;
		r->blocks++;
	}
}

/* All that are full. */
static void finish_full(struct rdc *r)
{
	size_t count;

	if (r->end <= r->one_chunk_end)
		return;
	r->one_chunk_end = 0; /* more came than was expected */
	while (r->end - r->block >= r->horizon) {
		count = (r->end - r->block) / r->horizon;
		finish_blocks(r, count < RDC_ROW ? count : RDC_ROW);
	}
}

/* What is not hashed of chunks comes first, then the growing one or the blocks
 * that may be looked at once more.  All are far shorter than data. */
static void make_room(struct rdc *r)
{
	size_t keep = r->block - 2 * (size_t)r->horizon, to = 0, i;
	struct kernel_message *chunk;

	hash_chunks(r, RDC_LEAVE);
	for (i = 0; i < r->chunk_count; i++) {
		chunk = &r->chunks[i];
		memmove(r->data + to, chunk->data, chunk->len);
		chunk->data = r->data + to;
		to += chunk->len;
	}
	if (r->chunk < keep)
		keep = r->chunk;
	keep -= RDC_MAX_WINDOW;
	assert(to <= keep);
	memmove(r->data + to, r->data + keep, r->end - keep);
	r->chunk -= keep - to;
	r->block -= keep - to;
	r->end -= keep - to;
}

/* ---- a file ---- */

int rdc_init(struct rdc *r, unsigned window, unsigned horizon)
{
	if (window < 2 || window > RDC_MAX_WINDOW ||
	    horizon < RDC_MIN_HORIZON || horizon > RDC_MAX_HORIZON)
		return -EINVAL;
	(void)pthread_once(&once, make_h3);
	r->ops = kernel_best();
	r->hasher.ops = r->ops->rdc;
	r->hasher.rolling.h3 = &h3;
	r->hasher.rolling.window = window;
	r->hasher.rolling.rotation = rotation_for(window);
	r->horizon = horizon;
	r->records = NULL;
	r->err = 0;
	return 0;
}

void rdc_begin(struct rdc *r)
{
	r->blocks = 0;
	r->chunk = RDC_MAX_WINDOW;
	r->block = RDC_MAX_WINDOW;
	r->end = RDC_MAX_WINDOW;
	r->one_chunk_end = 0;
	r->chunk_count = 0;
	memset(r->minima, 0xff, sizeof(r->minima));
	/* The bytes before the file count as zero bytes. */
	memset(r->data, 0, RDC_MAX_WINDOW);
}

void rdc_expect(struct rdc *r, uint64_t size)
{
	if (size < 3 * (uint64_t)r->horizon)
		r->one_chunk_end = RDC_MAX_WINDOW + (size_t)size;
}

void rdc_update(struct rdc *r, const void *data, size_t len)
{
	const uint8_t *bytes = data;
	size_t part;

	while (len > 0) {
		if (r->end == sizeof(r->data))
			make_room(r);
		part = sizeof(r->data) - r->end;
		if (part > len)
			part = len;
		memcpy(r->data + r->end, bytes, part);
		r->end += part;
		finish_full(r);
		bytes += part;
		len -= part;
	}
}

void rdc_final(struct rdc *r, uint8_t traits_out[RDC_TRAITS])
{
	bool empty = r->blocks == 0 && r->block == r->end;
	unsigned i;

	grow_chunk(r, r->end);
	end_chunk(r, r->end);
	hash_chunks(r, 0);
	for (i = 0; i < RDC_TRAITS; i++)
		traits_out[i] = empty ? 0 : r->minima[i] & 0x3f;
}

static int begin(void *state, const struct digest_stream *stream)
{
	struct rdc *r = state;
	int err = r->ops ? 0 : rdc_init(r, RDC_WINDOW, RDC_HORIZON);

	if (err)
		return err;
	rdc_begin(r);
	rdc_expect(r, stream->size);
	if (stream->set & DIGEST_BIT(DIGEST_RDC_SIGNATURES)) {
		buf_clear(&r->own);
		r->records = &r->own;
		r->err = rdc_signature_begin(r->records);
	}
	return r->err;
}

static int update(void *state, const void *data, size_t len)
{
	rdc_update(state, data, len);
	return 0;
}

/* Of many, most are not looked at unless there are records. */
static int zeros(void *state, uint64_t len)
{
	static const uint8_t none[ZEROS];
	struct rdc *r = state;
	const uint64_t period = (uint64_t)RDC_MAX_CHUNK * r->horizon;
	uint64_t done = 0, part;

	while (done < len) {
		/* By now a chunk has ended that is all zeros. */
		if (done == 4 * ZEROS && !r->records)
			len -= (len - done) / period * period;
		part = len - done < ZEROS ? len - done : ZEROS;
		rdc_update(r, none, (size_t)part);
		done += part;
	}
	return 0;
}

static void release(void *state)
{
	struct rdc *r = state;

	buf_release(&r->own);
}

static int final(void *state, struct buf *out)
{
	uint8_t traits[RDC_TRAITS];

	rdc_final(state, traits);
	return buf_append(out, traits, sizeof(traits));
}

static int final_signatures(void *state, struct buf *out)
{
	const struct rdc *r = state;
	uint8_t traits[RDC_TRAITS];

	rdc_final(state, traits);
	return r->err ? r->err : buf_append(out, r->own.data, r->own.len);
}

static int check(struct digest_value v)
{
	size_t i;

	for (i = 0; i < RDC_TRAITS; i++)
		if (v.bytes[i] > 0x3f)
			return -EINVAL;
	return 0;
}

static int compare(struct digest_value a, struct digest_value b, int *score_out)
{
	static const uint8_t none[RDC_TRAITS];
	int i, equal = 0;

	if (memcmp(a.bytes, none, sizeof(none)) != 0 &&
	    memcmp(b.bytes, none, sizeof(none)) != 0)
		for (i = 0; i < RDC_TRAITS; i++)
			equal += a.bytes[i] == b.bytes[i];
	*score_out = 100 * equal / RDC_TRAITS;
	return 0;
}

static const struct digest_part part = {
	.size = sizeof(struct rdc),
	.begin = begin,
	.update = update,
	.zeros = zeros,
	.release = release,
};

const struct digest_ops digest_rdc = {
	.id = DIGEST_RDC,
	.name = "rdc",
	.attribute = "user.rdc.traits",
	.flags = DIGEST_IS_KEPT | DIGEST_IS_DEFAULT,
	.listed = 2,
	.len = RDC_TRAITS,
	.offset = offsetof(struct digests, traits),
	.part = &part,
	.final = final,
	.check = check,
	.compare = compare,
};

const struct digest_ops digest_rdc_signatures = {
	.id = DIGEST_RDC_SIGNATURES,
	.part = &part,
	.final = final_signatures,
	.format = digest_format_bytes,
};
