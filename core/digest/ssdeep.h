/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_DIGEST_SSDEEP_H
#define CORE_DIGEST_SSDEEP_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/digest/ctph.h"

/*
 * Context triggered piecewise hashing (Kornblum, Digital Investigation 3S,
 * 2006) as ssdeep 2.14.1 computes and compares it, bit for bit, for exchange
 * with the tools that speak it.
 *
 * A character is the low 6 bits of a piece's hash, core/digest/ctph.h.  A part
 * that is full grows no further: its last character stands for all the rest.
 */
#define SSDEEP_MAX_CHARS 64  /* of the first part */
#define SSDEEP_HALF_CHARS 32 /* of the second, and the least that will do */
#define SSDEEP_WINDOW CTPH_WINDOW
#define SSDEEP_MAX_SIZE (UINT64_C(192) << (CTPH_LEVELS - 1))

/* One block size of a signature: 6 bits per character. */
struct ssdeep_part {
	size_t count;
	uint16_t chars[SSDEEP_MAX_CHARS];
};

struct ssdeep_signature {
	uint64_t block_size;
	struct ssdeep_part leading;
	struct ssdeep_part secondary; /* at twice the block size */
};

/* The signature of the bytes that c has seen so far; c was initialised with
 * CTPH_SSDEEP.  -EOVERFLOW for a file of more than SSDEEP_MAX_SIZE bytes
 * (192 GiB): it has no block size. */
int ssdeep_read(const struct ctph *c, struct ssdeep_signature *out);

/* Appends "48:chars:chars".  -ENOMEM. */
int ssdeep_format(const struct ssdeep_signature *sig, struct buf *out);

/* Appends the binary form: log2 of a third of the block size, or 255 and the
 * block size as a varint; the length of both parts, a byte each; the characters
 * of each part, 6 bits each, from a new byte on.  -ENOMEM. */
int ssdeep_pack(const struct ssdeep_signature *sig, struct buf *out);

/* The binary form without the characters that the SiSe signature of the content
 * has, too; and back.  -EINVAL. */
int ssdeep_shorten(struct digest_value v, struct digest_value sise,
		   struct buf *out);
int ssdeep_complete(struct digest_value shortened, struct digest_value sise,
		    struct buf *out);

/* Takes second parts of up to SSDEEP_MAX_CHARS too, some tools do not cut
 * them.  No file name may follow.  -EINVAL when text is no signature; out is
 * not specified then. */
int ssdeep_parse(const char *text, size_t len, struct ssdeep_signature *out);

/* 0..100, the score of fuzzy_compare() in ssdeep's library: the same in both
 * orders. */
int ssdeep_score(const struct ssdeep_signature *a,
		 const struct ssdeep_signature *b);

#endif
