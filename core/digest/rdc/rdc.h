/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_DIGEST_RDC_RDC_H
#define CORE_DIGEST_RDC_RDC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/digest/rdc/rdc_block.h"
#include "core/kernel/kernel.h"
#include "core/kernel/md4/md4.h"
#include "core/kernel/rdc/rdc.h"

/*
 * Remote Differential Compression, [MS-RDC]: chunks whose edges depend on the
 * content (FilterMax, 3.1.5.1), the MD4 of each, and the similarity traits
 * made of these (3.1.5.4.1).
 *
 * Works in blocks of horizon bytes.  A chunk starts where the rolling hash
 * is larger than anywhere within horizon to either side; a block can hold one
 * such place at most, which is known when the next block is full.  A file that
 * ends earlier has no cut there: so does Windows, though the text of the
 * specification leaves it open.
 */
#define RDC_WINDOW 48 /* what DFSR and msrdc use for files */
#define RDC_HORIZON 1024
#define RDC_MAX_WINDOW KERNEL_MAX_WINDOW
#define RDC_MIN_HORIZON 128
#define RDC_MAX_HORIZON \
	RDC_MAX_BLOCK /* ours; the specification goes to 16384 */
#define RDC_MAX_CHUNK 65535
#define RDC_TRAITS 16

/* Chunks are hashed many at a time, so these bytes wait for it; of long ones
 * some wait once more. */
#define RDC_BUFFER (256 * 1024)
#define RDC_LEAVE (128 * 1024)
#define RDC_BATCH 224

struct rdc {
	const struct kernel_ops *ops;
	struct rdc_hasher hasher;
	uint32_t horizon;
	/* Borrowed; gets a record of each chunk, in order, if it is not NULL:
	 * its MD4 and its length. */
	struct buf *records;
	struct buf own; /* that of digest_rdc_signatures; owned */
	int err;        /* the first of the records */

	uint64_t blocks;          /* full ones so far */
	struct rdc_block last[3]; /* block n is in last[n % 3] */
	struct rdc_row row;

	/* Offsets in data: the growing chunk, the unfinished block, the end.
	 * They are in this order. */
	size_t chunk, block, end;
	size_t one_chunk_end; /* up to there no block is hashed, see rdc_expect() */
	size_t chunk_count;
	struct kernel_message chunks[RDC_BATCH]; /* have ended; in data */
	uint64_t minima[RDC_TRAITS]; /* first 8 bytes of the least MD4 */
	uint8_t data[RDC_LEAVE + RDC_MAX_WINDOW + RDC_BUFFER];
};

/* window 2..96, horizon 128..1024 (-EINVAL else). */
int rdc_init(struct rdc *r, unsigned window, unsigned horizon);

/* Any number of files one after the other: begin, update..., final. */
void rdc_begin(struct rdc *r);
/* No more than size bytes will come: a file of less than three blocks has no
 * cut, so none of them is hashed.  Called before the first update, if at all;
 * it changes nothing but the time it takes. */
void rdc_expect(struct rdc *r, uint64_t size);
void rdc_update(struct rdc *r, const void *data, size_t len);

/* The traits, 0..63 each; all zero for an empty file. */
void rdc_final(struct rdc *r, uint8_t traits_out[RDC_TRAITS]);

/*
 * A signature file, [MS-RDC] 2.2.2, is this header and the records.  What msrdc
 * writes for the same file with the same window and horizon has the same bytes.
 */
#define RDC_SIGNATURE_HEADER 24
#define RDC_SIGNATURE_RECORD 18
int rdc_signature_begin(struct buf *out);

#endif
