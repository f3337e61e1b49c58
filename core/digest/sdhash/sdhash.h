/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_DIGEST_SDHASH_SDHASH_H
#define CORE_DIGEST_SDHASH_SDHASH_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"

#define SDHASH_WINDOW 64 /* bytes of a feature */

/*
 * sdhash (Roussev, Data Fingerprinting with Similarity Digests, 2010), bit for
 * bit as the program of that name computes it, which is not quite as the paper
 * says.
 *
 * Features are windows of 64 bytes that are rare among their neighbours,
 * judged by their entropy.  The SHA-1 of each sets five bits of a Bloom
 * filter.  A stream digest fills one filter after the other; a block digest
 * has a filter for every block of the input.
 *
 * The digest is about 2.6 % (blocks of 16 KiB: 1.6 %) of the input, its text a
 * third more.
 *
 * In use, of one digest; the lines of a file, which may be several, are the row
 * of digest_table (sdhash_digest.c):
 *
 *	struct sdhash_digest d = { 0 };
 *
 *	err = sdhash_set_name(&d, path);
 *	err = sdhash_begin(s, 0, 65536, &d);
 *	err = sdhash_update(s, data, len);
 *	err = sdhash_final(s);
 *	err = sdhash_format(&d, &text);
 *	sdhash_digest_release(&d);
 *
 * Nothing here is shared between threads.
 */
#define SDHASH_MIN_SIZE 512
#define SDHASH_FILTER_BYTES 256
#define SDHASH_STREAM_FEATURES 160 /* of a full filter */
#define SDHASH_BLOCK_FEATURES 192
#define SDHASH_BLOCK_UNIT 1024
#define SDHASH_MAX_BLOCK 16384
#define SDHASH_SIDE_BYTES 16384
/* Scores of 15 or more that a block can have at most: a window adds 1, and up
 * to 65 of those before may have added to it. */
#define SDHASH_PLACES ((SDHASH_MAX_BLOCK + SDHASH_WINDOW + 1) / 15)

/* ---- the digest ---- */

struct sdhash_filter {
	uint8_t bits[SDHASH_FILTER_BYTES];
	uint16_t count;  /* of features, as the program counts them */
	uint16_t weight; /* of one bits */
};

/* A zeroed one is empty and valid. */
struct sdhash_digest {
	uint64_t size;       /* of the input */
	uint32_t block_size; /* 0: stream digest */
	size_t count;
	size_t capacity;
	struct sdhash_filter *filters; /* owned */
	struct buf name;               /* part of the text form */
};

void sdhash_digest_release(struct sdhash_digest *d);

/* ---- computing it ---- */

/*
 * The lowest rank of the windows that were scored last.  Places are counted
 * from where the next call begins; a zeroed one is the start of an input.
 */
struct sdhash_lowest {
	size_t at;
	uint16_t rank; /* 0: none */
};

/*
 * Works in chunks that have nothing to do with each other: the blocks, or
 * 32 MiB of a stream.  data has what is not finished of the growing chunk; its
 * ranks and scores stand at the same index.
 */
struct sdhash {
	struct sdhash_digest *digest; /* borrowed from begin to final */
	uint64_t size;
	size_t max_text;
	size_t chunk_left; /* bytes that the chunk still takes */
	size_t fill;       /* of data */
	size_t ranked;     /* of ranks */
	struct sdhash_lowest lowest;
	uint32_t side_count; /* features of this chunk in side */
	uint8_t side[SDHASH_SIDE_BYTES];
	uint8_t data[SDHASH_MAX_BLOCK];
	uint16_t ranks[SDHASH_MAX_BLOCK];
	uint8_t scores[SDHASH_MAX_BLOCK];
	uint16_t places[SDHASH_PLACES];
};

/*
 * Any number of inputs one after the other: begin, update..., final.  After a
 * failure only begin may follow.
 *
 * Stream digests follow release 4.0, which leaves out features that a filter of
 * 16 KiB remembers; 3.4 does not.
 *
 * block_size is 0 for a stream digest or a multiple of 1024 up to 16384
 * (-EINVAL else).  digest_out has its name; it is emptied but for that, and
 * grows while it is computed: -ENOMEM.  It is complete after final.  A text of
 * more than max_text bytes is not wanted: -E2BIG as soon as it is clear that it
 * would be longer.
 */
int sdhash_begin(struct sdhash *s, uint32_t block_size, size_t max_text,
		 struct sdhash_digest *digest_out);
int sdhash_update(struct sdhash *s, const void *data, size_t len);

/* Zero bytes that are not counted in the size, SDHASH_MIN_SIZE at most. */
int sdhash_pad(struct sdhash *s, size_t zeros);

/* -ENODATA when there were less than 512 bytes: such an input has no digest. */
int sdhash_final(struct sdhash *s);

/* ---- text: sdbf:03:... and sdbf-dd:03:... ---- */

/*
 * Names the digest of a file; the program gives it the path on its command
 * line.  It reads a name up to the first colon, whatever its length, and a line
 * up to its end: colons and control characters become "_", and so does an empty
 * name.  All else is kept, of whatever encoding.  -ENOMEM.
 */
int sdhash_set_name(struct sdhash_digest *d, const char *path);

/* Bytes of the line without the newline; count > 0. */
size_t sdhash_text_length(const struct sdhash_digest *d);

/* Appends the line without the newline.  -ENODATA for an empty digest,
 * -ENOMEM. */
int sdhash_format(const struct sdhash_digest *d, struct buf *out);

/*
 * Reads the lines of one file: a single one, or those of its segments, named
 * "x.0000M", "x.0128M" and so on, which become one digest in blocks of the same
 * size.  out is zeroed or initialised, and what it had is lost.  -EINVAL when
 * text is not, byte for byte, what the program writes, without the last
 * newline; -ENOMEM.  out is unchanged after an error.
 */
int sdhash_parse(const char *text, size_t len, struct sdhash_digest *out);

/*
 * 0..100, or -1: nothing can be said.  The score of release 3.4, whose cut-off
 * tells chance from likeness, but filters that are too empty to mean anything
 * are left out, as in 4.0, and order and names do not matter.
 */
int sdhash_score(const struct sdhash_digest *a, const struct sdhash_digest *b);

/* ---- private to this folder ---- */

/*
 * Features: sdhash_features.c.  Every window of 64 bytes has a rank, the lowest
 * rank of 64 windows in a row has a score, and the windows of high scores are
 * the features.
 */

/*
 * Ranks of the count windows that start at bytes, bytes + 1 and so on: by their
 * entropy, 1 the rarest, 990 the most common, 0 never to be taken.  Reads count
 * + 63 bytes, none if count is 0.
 */
void sdhash_rank(const uint8_t *bytes, size_t count, uint16_t *ranks_out);

/*
 * Adds 1 to the score of the lowest rank of every 64 in a row that start at
 * places 0 .. steps - 1.  Reads ranks up to place steps + 64; adds to scores up
 * to place steps + 63, and to those below steps for the last time.
 */
void sdhash_score_places(struct sdhash_lowest *lowest, const uint16_t *ranks,
			 size_t steps, uint8_t *scores);

/* Appends count empty ones: sdhash.c.  -ENOMEM, with d unchanged. */
int sdhash_add_filters(struct sdhash_digest *d, size_t count);

/* Sets the weights from the bits: sdhash_score.c. */
void sdhash_weigh(struct sdhash_digest *d);

#endif
