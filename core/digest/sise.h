/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_DIGEST_SISE_H
#define CORE_DIGEST_SISE_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/digest/ctph.h"

/*
 * SiSe (Gayoso Martinez, Hernandez Alvarez, Hernandez Encinas, Mathematics
 * 8(4):503, 2020), in its clean form: every block size is computed from the
 * first byte on, in one pass.
 *
 * A pair of characters is 12 bits of a piece's hash, core/digest/ctph.h.
 */
#define SISE_MAX_PAIRS CTPH_MAX_PIECES
#define SISE_MIN_PAIRS 32
#define SISE_PAIR_VALUES 4096

/* Half of a signature: one block size. */
struct sise_part {
	uint64_t block_size;
	uint64_t mod_value; /* block size - 1 in all but foreign signatures */
	size_t count;       /* 1..SISE_MAX_PAIRS */
	uint16_t pairs[SISE_MAX_PAIRS]; /* 12 bits each */
};

struct sise_signature {
	struct sise_part leading;
	struct sise_part secondary; /* at half the block size */
};

/* The signature of the bytes that c has seen so far; c was initialised with
 * CTPH_SISE. */
void sise_read(const struct ctph *c, struct sise_signature *out);

/* Initialises c for SiSe alone.  The search for the block size starts at that
 * one, whatever the size of the file: for comparing with a signature that has
 * it (paper, 4.1).  -EINVAL when it is not 3 * 2^level. */
int sise_init_from(struct ctph *c, uint64_t block_size);

/* Appends "6144(6143):pairs::3072(3071):pairs".  -ENOMEM. */
int sise_format(const struct sise_signature *sig, struct buf *out);

/* Appends the binary form (sise.c).  -ENOMEM. */
int sise_pack(const struct sise_signature *sig, struct buf *out);

/* -EINVAL when it is no binary form of a signature; out is not specified
 * then. */
int sise_unpack(struct digest_value v, struct sise_signature *out);

/* Parts longer than SISE_MAX_PAIRS are cut to that.  -EINVAL when text is no
 * signature; out is not specified then. */
int sise_parse(const char *text, size_t len, struct sise_signature *out);

/* 0..100, the same in both orders: parts of equal block size are compared in
 * both orders, and the largest score counts. */
int sise_score(const struct sise_signature *a, const struct sise_signature *b);

#endif
