/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_DIGEST_SDHASH_SDHASH_H
#define CORE_DIGEST_SDHASH_SDHASH_H

#include <stdbool.h>
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
 * In use: all digests of a file, or of what comes through a pipe, in the form
 * that the program gives them, are the business of struct sdhash_input; its
 * emit function formats or keeps them.  One digest of a form of its own, such
 * as a stream of any size, is that of struct sdhash:
 *
 *	struct sdhash_digest d = { 0 };
 *
 *	err = sdhash_set_name(&d, path);
 *	err = sdhash_begin(s, SDHASH_4_0, 0, &d);
 *	sdhash_limit(s, 65536);
 *	err = sdhash_update(s, data, len);
 *	err = sdhash_final(s);
 *	err = sdhash_format(&d, &text);
 *	sdhash_digest_release(&d);
 *
 * Lines from elsewhere are read with sdhash_set_parse(), made one digest with
 * sdhash_set_join() when they are segments, and compared by sdhash_score().
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

/* The releases of the program differ in stream digests of large inputs: 4.0
 * leaves out features that a filter of 16 KiB remembers. */
enum sdhash_rules {
	SDHASH_4_0,
	SDHASH_3_4,
};

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
	enum sdhash_rules rules;
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
 * block_size is 0 for a stream digest or a multiple of 1024 up to 16384
 * (-EINVAL else).  digest_out is emptied, but for its name, and grows while it
 * is computed: -ENOMEM.  It is complete after final.
 */
int sdhash_begin(struct sdhash *s, enum sdhash_rules rules, uint32_t block_size,
		 struct sdhash_digest *digest_out);
int sdhash_update(struct sdhash *s, const void *data, size_t len);

/*
 * After begin, and when the digest has its name: a text of more than max_text
 * bytes is not wanted.  update, pad and final say -E2BIG as soon as it is clear
 * that it would be longer.
 */
void sdhash_limit(struct sdhash *s, size_t max_text);

/* Zero bytes that are not counted in the size; see struct sdhash_segment. */
int sdhash_pad(struct sdhash *s, size_t zeros);

/* -ENODATA when there were less than 512 bytes: such an input has no digest. */
int sdhash_final(struct sdhash *s);

/* ---- what the program does by default ---- */

/*
 * A file below 16 MiB has a stream digest.  A larger one has block digests of
 * segments of 128 MiB; so has any input of unknown size, one below 16 MiB
 * included, but struct sdhash_input gives a pipe the digests of a file.
 */
#define SDHASH_DEFAULT_BLOCK 16384
#define SDHASH_BLOCKS_FROM (UINT64_C(16) << 20)
#define SDHASH_SEGMENT (UINT64_C(128) << 20)

struct sdhash_segment {
	uint64_t offset;
	uint64_t size;
	/* The program may read past the end of the file by mistake; what it
	 * finds there are zeros.  To be given to sdhash_pad(). */
	uint32_t zeros;
};

/* Block size for a file of size bytes; 0: stream digest. */
uint32_t sdhash_default_block(uint64_t size);

/* Number of segments, at least 1, and segment number index. */
uint64_t sdhash_segments(uint64_t size);
struct sdhash_segment sdhash_segment(uint64_t size, uint64_t index);

/* Appends the name of segment number index of a file: "name.0128M", or the
 * plain name when there is one segment.  -ENOMEM. */
int sdhash_segment_name(const char *name, uint64_t size, uint64_t index,
			struct buf *out);

#define SDHASH_UNKNOWN UINT64_MAX

/*
 * Takes a finished digest; it is emptied when this returns.  0, or an error
 * that the caller of the update gets.
 */
typedef int sdhash_emit_fn(void *context, struct sdhash_digest *digest);

/*
 * All digests of one input, each as soon as it is clear where it ends.  Of an
 * input of unknown size both kinds are computed up to 16 MiB, which takes
 * twice the time and about 1 MiB; the digest of a segment takes up to 3 MiB.
 * Not for the stack.
 */
struct sdhash_input {
	const char *path;
	sdhash_emit_fn *emit;
	void *context;
	size_t max_text;
	uint64_t expected; /* size, or SDHASH_UNKNOWN */
	uint64_t size;     /* so far */
	uint64_t segment;  /* index */
	uint64_t filled;   /* of the segment, without what is held */
	bool in_stream;    /* stream is computed, */
	bool in_blocks;    /* blocks are */
	int stream_err;    /* -E2BIG: its text is too long */
	int blocks_err;
	size_t held; /* bytes behind a full segment that may be its tail */
	uint8_t hold[512];
	struct sdhash_digest stream_digest;
	struct sdhash_digest block_digest;
	struct sdhash stream;
	struct sdhash blocks;
};

/*
 * Begin, update..., final; release in any case and at any time.  path, which
 * names the digests, and context are borrowed until then.  size is what the
 * input is known to have, or SDHASH_UNKNOWN.
 *
 * Errors end it: -E2BIG when a line would be longer than max_text, which begin
 * can tell already of large files; -ESTALE when size is not that of the input
 * and the digests would be of the other kind; what emit says; -ENOMEM; of
 * final also -ENODATA, when there were less than 512 bytes.
 */
int sdhash_input_begin(struct sdhash_input *in, const char *path, uint64_t size,
		       size_t max_text, sdhash_emit_fn *emit, void *context);
int sdhash_input_update(struct sdhash_input *in, const void *data, size_t len);
int sdhash_input_final(struct sdhash_input *in);
void sdhash_input_release(struct sdhash_input *in);

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
 * The reverse; d_out is initialised, and what it had is lost.  -EINVAL when
 * text is not, byte for byte, what the program writes: *reason_out, a static
 * text, says why.  -ENOMEM.  d_out is unchanged after an error.  Names may hold
 * colons, which the program can not read back.
 */
int sdhash_parse(const char *text, size_t len, struct sdhash_digest *d_out,
		 const char **reason_out);

/*
 * The digests in a file of lines, in their order: the program writes a line
 * for every file that it is given, and for every segment of a large one.
 * Lines may end in CR LF; empty ones do not count.  A zeroed set is empty.
 */
struct sdhash_set {
	struct sdhash_digest *digests; /* owned */
	size_t count;
};

struct sdhash_fault {
	size_t line;        /* from 1 */
	const char *reason; /* static */
};

void sdhash_set_release(struct sdhash_set *set);

/*
 * -EINVAL and fault_out when a line is no digest, or with line 0 when there is
 * none at all; -ENOMEM.  set_out is initialised, and what it had is lost; it
 * is unchanged on failure.
 */
int sdhash_set_parse(const char *text, size_t len, struct sdhash_set *set_out,
		     struct sdhash_fault *fault_out);

/*
 * Makes one digest of the segments of a file, "x.0000M", "x.0128M", ...: that
 * of x in blocks of the same size.  A single digest is taken as it is.  -EINVAL
 * when they are not the segments of one file in order, each block full but the
 * last; -ENOMEM.  As for sdhash_set_parse().
 */
int sdhash_set_join(const struct sdhash_set *set, struct sdhash_digest *d_out);

/* ---- comparing ---- */

/*
 * Ours is that of 3.4, whose cut-off tells chance from likeness, but leaves
 * out the filters that are too empty to mean anything, as 4.0 does, and does
 * not depend on order or names.  The others are the program's; folded is what
 * 4.0 says when it is asked to be fast.
 */
enum sdhash_measure {
	SDHASH_SCORE,
	SDHASH_SCORE_4_0,
	SDHASH_SCORE_4_0_FOLDED,
	SDHASH_SCORE_3_4,
};

/* 0..100, or -1: nothing can be said. */
int sdhash_score(const struct sdhash_digest *a, const struct sdhash_digest *b,
		 enum sdhash_measure measure);

#endif
