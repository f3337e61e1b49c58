/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_DIGEST_SISE_H
#define CORE_DIGEST_SISE_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"

/*
 * SiSe (Gayoso Martinez, Hernandez Alvarez, Hernandez Encinas, Mathematics
 * 8(4):503, 2020), in its clean form: every block size is computed from the
 * first byte on, in one pass.
 *
 * The file is cut into pieces where a rolling hash says so; a piece becomes a
 * pair of characters, 12 bits of its FNV hash.  Block sizes are 3 * 2^level.
 * Triggers are nested: one of a level is one of every level below.
 */
#define SISE_MAX_PAIRS 2560
#define SISE_MIN_PAIRS 32
#define SISE_PAIR_VALUES 4096
#define SISE_LEVELS 31 /* above, no 32-bit rolling value triggers */
#define SISE_LANES 32  /* the last one for the whole file */

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

#define SISE_WINDOW 7

/* The sums over the last bytes that make the rolling value. */
struct sise_rolling {
	uint32_t h1, h2, h3;
};

struct sise {
	uint64_t size;
	struct sise_rolling rolling;
	uint8_t last[SISE_WINDOW]; /* bytes, the newest last */
	unsigned low; /* levels below can not be in the result any more */
	/* FNV state of every level's growing piece; 12 bits count. */
	uint16_t fnv[SISE_LANES];
	uint64_t triggers[SISE_LEVELS];
	uint16_t pairs[SISE_LEVELS][SISE_MAX_PAIRS];
};

void sise_init(struct sise *s);
void sise_update(struct sise *s, const void *data, size_t len);
void sise_final(const struct sise *s, struct sise_signature *out);

/* Appends "6144(6143):pairs::3072(3071):pairs".  -ENOMEM. */
int sise_format(const struct sise_signature *sig, struct buf *out);

/* Parts longer than SISE_MAX_PAIRS are cut to that.  -EINVAL when text is no
 * signature; out is not specified then. */
int sise_parse(const char *text, size_t len, struct sise_signature *out);

/* 0..100, the same in both orders: parts of equal block size are compared in
 * both orders, and the largest score counts. */
int sise_score(const struct sise_signature *a, const struct sise_signature *b);

/*
 * A part that is compared with many others: where its values are.  Numbers
 * are places in the part; UINT16_MAX is none.
 */
struct sise_prepared {
	const struct sise_part *part;       /* borrowed */
	uint16_t last[SISE_PAIR_VALUES];    /* place of a value */
	uint16_t previous[SISE_MAX_PAIRS];  /* the place before, same value */
	uint16_t different[SISE_MAX_PAIRS]; /* ... and a different next pair */
	uint16_t number[SISE_MAX_PAIRS];    /* how many there are by then */
};

void sise_prepare(const struct sise_part *part, struct sise_prepared *out);

/* The larger score of both orders; 0 for parts that cannot be compared. */
int sise_score_part(const struct sise_prepared *b, const struct sise_part *a);

#endif
