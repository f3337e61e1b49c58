/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_DIGEST_SDHASH_FILE_H
#define CORE_DIGEST_SDHASH_FILE_H

#include "core/digest/sdhash.h"

/*
 * The sdhash of a file as text, by what the program does by default: a stream
 * digest below 16 MiB, blocks from there on, a line for every 128 MiB.
 */
struct sdhash_file {
	struct sdhash sdhash;
	struct sdhash_digest digest; /* of the segment */
	struct buf name;
	uint64_t size;
	uint64_t index; /* of the segment */
	uint64_t left;  /* bytes of the segment that are still to come */
	size_t most;    /* bytes of text */
	struct buf text;
};

void sdhash_file_init(struct sdhash_file *f);
void sdhash_file_release(struct sdhash_file *f);

/*
 * Any number of files one after the other: begin, update..., final.  The size
 * must be known, as it decides what is computed.  Colons and control characters
 * of the name become question marks: the program could not read the line.
 *
 * -E2BIG, as soon as it is certain, when the text is longer than most bytes;
 * else as sdhash_begin().  After a failure only begin and release may follow.
 */
int sdhash_file_begin(struct sdhash_file *f, const char *name, uint64_t size,
		      size_t most);
int sdhash_file_update(struct sdhash_file *f, const void *data, size_t len);

/* Appends the lines, with newlines between them.  -EAGAIN when there were not
 * size bytes; -ENODATA when a digest needs more. */
int sdhash_file_final(struct sdhash_file *f, struct buf *out);

/* ---- several lines ---- */

/* The digests of a text of lines; the caller frees them.  -EINVAL when there
 * is none or one is malformed, -ENOMEM. */
int sdhash_parse_lines(const char *text, size_t len,
		       struct sdhash_digest **digests_out, size_t *count_out);
void sdhash_free_lines(struct sdhash_digest *digests, size_t count);

/* Of the best partners of the digests on the shorter side, the average; -1
 * when nothing can be said of any. */
int sdhash_score_lines(const struct sdhash_digest *a, size_t a_count,
		       const struct sdhash_digest *b, size_t b_count,
		       enum sdhash_measure measure);

#endif
