/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_DIGEST_DIGEST_H
#define CORE_DIGEST_DIGEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"

/*
 * The digests of one content, their names and their text forms.
 *
 * Everything in this folder is a pure function of the bytes.  Digests know
 * nothing of files, storage or threads but those of team.h; the names are those
 * of the extended attributes that carry them.
 *
 * Objects
 *
 *   fingerprint  computes any set of digests of a stream in one pass
 *                (fingerprint.h); it drives the parts below
 *   digests      the result: struct digests here.  Fixed-size digests are
 *                numbers, those that vary in length are kept as their text.
 *   parts        one file or folder for each digest: X_init or X_begin once,
 *                X_update for each piece of the stream, X_final.  Their state
 *                is bounded whatever the length of the stream, but for sdhash.
 *                ctph.h is shared by SiSe and ssdeep, window_sample.h and
 *                bottom_k.h by SimHash and the sketches.
 *   text form    X_format() appends it, X_parse() reads it and refuses every
 *                text that X_format() would not write
 *   comparison   digest_compare(): one measure of two contents, 0..100
 *
 * A new digest gets an id below, a line in digest_infos, its format and parse
 * functions in digest.c, and a part in fingerprint.c; attributes, options,
 * command lines, the catalog and the export know it from then on.
 *
 * What must never happen
 *
 *   - A result depends on how the stream is cut into pieces, on the kernel
 *     (core/kernel/kernel.h), on the byte order or on the number of threads.
 *   - A digest that has an origin differs from it by a bit; the tests have its
 *     values.
 *   - A text, however it was damaged, is read outside of its length or taken
 *     for a digest that it is not.
 */
enum digest_id {
	DIGEST_SISE,    /* SiSe, Gayoso Martinez et al. 2020, clean form */
	DIGEST_SIMHASH, /* Charikar 2002; Roth, Similarity Index v2.0, 2013 */
	DIGEST_RDC,     /* similarity traits, [MS-RDC] 3.1.5.4.1 */
	DIGEST_SIF,     /* Manber 1994, as a bottom-k sketch */
	DIGEST_SSDEEP,  /* Kornblum 2006, as ssdeep 2.14.1 */
	DIGEST_XXH128,  /* XXH3, 128 bits: the identity of the content */
	DIGEST_SIF8,    /* as sif, of windows of 8 bytes: short_sketch.h */
	DIGEST_SDHASH,  /* Roussev 2010; grows with the content */
	DIGEST_TLSH,    /* Oliver, Cheng, Chen 2013, as TLSH 4.12.1 */
	DIGEST_SHA256,  /* FIPS 180-4 */
	DIGEST_TEXT,    /* sif of the normalised text; only of texts */
	DIGEST_COUNT
};

#define DIGEST_BIT(id) (1u << (id))
#define DIGEST_ALL (DIGEST_BIT(DIGEST_COUNT) - 1)

/* Those that are kept of a content if the user wants them. */
#define DIGEST_KEPT (DIGEST_ALL & ~DIGEST_BIT(DIGEST_SDHASH))

/* Those that are for other programs, and nothing here needs. */
#define DIGEST_EXCHANGE (DIGEST_BIT(DIGEST_TLSH) | DIGEST_BIT(DIGEST_SHA256))

/* Those that are kept of every content, unless the user says otherwise. */
#define DIGEST_DEFAULT (DIGEST_KEPT & ~DIGEST_EXCHANGE)

/* Those that are kept as a string. */
#define DIGEST_TEXTS                                             \
	(DIGEST_BIT(DIGEST_SISE) | DIGEST_BIT(DIGEST_SIF) |      \
	 DIGEST_BIT(DIGEST_SSDEEP) | DIGEST_BIT(DIGEST_SDHASH) | \
	 DIGEST_BIT(DIGEST_SIF8) | DIGEST_BIT(DIGEST_TEXT) | DIGEST_EXCHANGE)

struct digest_info {
	enum digest_id id;
	const char *name;      /* "sise": in options and on command lines */
	const char *attribute; /* "user.sise" */
};

/* Indexed by enum digest_id. */
extern const struct digest_info digest_infos[DIGEST_COUNT];

/* By any of its names: "rdc", "rdc.traits" or "user.rdc.traits".  NULL if there
 * is none. */
const struct digest_info *digest_find(const char *name);

/* The DIGEST_BIT()s of names separated by commas or colons, and that of XXH128.
 * -EINVAL when one is no digest. */
int digest_parse_set(const char *names, uint32_t *set_out);

/* By the field name alone, as in lines NAME=TEXT; NULL: there is none. */
const struct digest_info *digest_named(const char *name, size_t len);

/*
 * The digests of one content.  set says which fields are valid; XXH128 and
 * size are always there, they are the content's identity.
 */
struct digests {
	uint32_t set;       /* DIGEST_BIT()s */
	uint64_t size;      /* bytes that were digested */
	uint8_t xxh128[16]; /* canonical order, as xxhsum -H2 prints it */
	uint64_t simhash;
	uint8_t traits[16];
	/* Owned, NUL-terminated; NULL when not set, and always for those that
	 * are not in DIGEST_TEXTS. */
	char *text[DIGEST_COUNT];
};

void digests_release(struct digests *d);
int digests_copy(const struct digests *from, struct digests *out);

/* Appends the text form, without NUL or newline at the end.  -ENODATA when id
 * is not in d->set. */
int digest_format(const struct digests *d, enum digest_id id, struct buf *out);

/* A line of digests_format_lines(); what it points to is not terminated. */
struct digest_line {
	const char *name, *text;
	size_t name_len, text_len;
};

/* Reads the line at *at and moves *at behind it.  1; 0 at the end; -EINVAL. */
int digest_line_next(const char **at, struct digest_line *out);

/* Appends a line NAME=TEXT for each digest of d that is in set. */
int digests_format_lines(const struct digests *d, uint32_t set,
			 struct buf *out);

/* The reverse: sets one field of d and its bit.  A SiSe signature of any length
 * is cut to ours, and TLSH is read in lower case and without T1, too.  -EINVAL
 * when text is not the text form of that digest, character for character; d is
 * untouched then. */
int digest_parse(enum digest_id id, const char *text, size_t len,
		 struct digests *d);

/*
 * How alike two contents are by one measure, 0..100.
 *
 *   sise     the SiSe score (paper 3.3, Algorithm 2) with whole-pair run
 *            ends, both argument orders, the larger
 *   simhash  100 * (64 - Hamming distance) / 64, rounded down (Roth 2013)
 *   rdc      100 * equal traits / 16, rounded down; all-zero traits mean
 *            "not computed" and score 0
 *   sif      the share of the larger content's windows that the other has,
 *            estimated (sif.h), rounded; sketches without a sample say nothing
 *   text     the same of the normalised texts (text/text_sif.h)
 *   ssdeep   what ssdeep says
 *   sif8     the same by windows of 8 bytes, of the content with more windows
 *   sdhash   the score of sdhash 3.4 less its accidents (sdhash.h)
 *   xxh128   100 when hash and size are equal, else 0
 *   sha256   100 when it is equal, else 0
 *
 * TLSH has a distance and no percentage: digest_tlsh_distance().
 *
 * -ENODATA when one side lacks the digest or nothing can be said, -EINVAL when
 * a text is malformed or two sketches have different windows, -ENOMEM.
 */
int digest_compare(enum digest_id id, const struct digests *a,
		   const struct digests *b, int *score_out);

/* Its sif8; false: it has none. */
struct short_sketch;
bool digests_short_sketch(const struct digests *d, struct short_sketch *out);

/* 0 (most alike) to 2473, with the lengths.  -ENODATA, -EINVAL. */
int digest_tlsh_distance(const struct digests *a, const struct digests *b,
			 int *distance_out);

#endif
