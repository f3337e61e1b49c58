/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_DIGEST_DIGEST_H
#define CORE_DIGEST_DIGEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/bytes.h"
#include "core/digest/pdq.h"

/*
 * The digests of one content, their names and their text forms.
 *
 * Everything in this folder is a pure function of the bytes.  Digests know
 * nothing of files, storage or threads; the names are those of the extended
 * attributes that carry them.
 *
 * Objects
 *
 *   fingerprint  computes any set of digests of a stream in one pass
 *                (fingerprint.h)
 *   digests      the result: the bytes of each digest.  Text is made of them
 *                for attributes, output and exchange, and read from these.
 *   row          struct digest_ops, all that is known of a digest, in the
 *                digest's own file; digest_table has them all
 *   part         struct digest_part, what a stream goes through.  A part may
 *                serve two digests: ctph.h serves SiSe and ssdeep.  Its state
 *                is bounded whatever the length of the stream, but for sdhash
 *                and the digests that are no attributes.
 *
 * A new digest is an id below, a file with a row, and the row's line in
 * digest_table; attributes, options, command lines, the catalog and the export
 * know it from then on.
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
	DIGEST_SIF,     /* Manber 1994, as a bounded sketch */
	DIGEST_SSDEEP,  /* Kornblum 2006, as ssdeep 2.14.1 */
	DIGEST_XXH128,  /* XXH3, 128 bits; that and the size name a content */
	DIGEST_SDHASH,  /* Roussev 2010; grows with the content */
	DIGEST_TLSH,    /* Oliver, Cheng, Chen 2013, as TLSH 4.12.1 */
	DIGEST_SHA256,  /* FIPS 180-4 */
	DIGEST_PDQ,     /* Meta 2017: of a picture, for exchange (pdq.h) */
	DIGEST_COUNT,   /* of those above, which are attributes of a file */
	/* Of other programs and of the papers themselves.  A fingerprint computes
	 * them and they have a text form, but no name: digest_find() and loops
	 * to DIGEST_COUNT do not see them. */
	DIGEST_MD5 = DIGEST_COUNT, /* RFC 1321, for hashdeep */
	DIGEST_SI2,            /* reference/si2.h: the text is 16 hex digits */
	DIGEST_SIF_CLASSIC,    /* reference/sif_classic.h: the values in hex,
				* separated by commas; "-": there is none */
	DIGEST_RDC_SIGNATURES, /* rdc/rdc.h: the text is the file, in binary */
	/* Two XXH3 with the secrets of a catalog (identity.c).  It has no text,
	 * as nobody sees it. */
	DIGEST_IDENTITY,
	DIGEST_ROWS
};

#define DIGEST_BIT(id) (1u << (id))
#define DIGEST_ALL (DIGEST_BIT(DIGEST_COUNT) - 1)

/* A secret of a catalog. */
enum { DIGEST_SECRETS = 2, DIGEST_SECRET_BYTES = 192 };
struct digest_key {
	uint8_t secrets[DIGEST_SECRETS][DIGEST_SECRET_BYTES]; /* random */
};

/* The digests of one content.  XXH128 and size are always there, and name it to
 * other programs.  Another digest has bytes if its bit is set. */
struct digests {
	uint64_t size;      /* bytes that were digested */
	uint32_t set;       /* DIGEST_BIT()s */
	uint8_t xxh128[16]; /* canonical order, as xxhsum -H2 prints it */
	uint8_t simhash[8]; /* big-endian */
	uint8_t traits[16]; /* 0..63 each */
	uint8_t identity[16];
	/* The catalog keeps what is above as it is in memory. */
	bool is_document; /* perhaps it has another text (extract/sniff.h) */
	/* Of those that are not kept above. */
	struct digest_block {
		uint8_t *bytes; /* owned; NULL: none */
		size_t len;
	} blocks[DIGEST_ROWS];
	/* A second sketch, packed: of the text of a document, or the members of
	 * an archive.  It is no digest of the bytes, so it has no row. */
	struct digest_block text;
	/* Of a picture; DIGEST_PDQ is one of its hashes. */
	struct picture_hashes picture;
};

/* The bytes of one digest, which belong to a struct digests or a record. */
struct digest_value {
	const uint8_t *bytes;
	size_t len;
};

/* ---- rows ---- */

/* What a part is told of a stream before it begins. */
struct digest_stream {
	uint32_t set;       /* the digests that are wanted */
	uint64_t size;      /* UINT64_MAX: not known */
	const char *name;   /* stands in an sdhash; borrowed until final */
	size_t sdhash_most; /* the longest line of an sdhash */
	const struct digest_key *key; /* for DIGEST_IDENTITY */
};

struct digest_part {
	size_t size; /* of the state, all zeros before the first begin */
	int (*begin)(void *state, const struct digest_stream *stream);
	int (*update)(void *state, const void *data, size_t len);
	/* Many zero bytes as if they were data; NULL: by update. */
	int (*zeros)(void *state, uint64_t len);
	void (*release)(void *state); /* NULL: it owns nothing */
};

enum {
	DIGEST_IS_KEPT = 1,     /* in the catalog, if the user wants it */
	DIGEST_IS_EXCHANGE = 2, /* for other programs; nothing here needs it */
	DIGEST_IS_DEFAULT = 4,  /* kept unless the user says otherwise */
};

struct digest_ops {
	enum digest_id id;
	const char *name;      /* "sise": in options and on command lines */
	const char *attribute; /* "user.sise" */
	unsigned flags;
	/* Place in the list of attributes, where the short ones come first, as
	 * they nearly always fit; 0: not there. */
	unsigned listed;
	size_t len;    /* of all values; 0: they differ in length */
	size_t offset; /* in struct digests; 0: in blocks */
	/* NULL: no stream of bytes tells it, but a decoder. */
	const struct digest_part *part;
	/* Appends the bytes.  -ENODATA: this content has no such digest. */
	int (*final)(void *state, struct buf *out);
	/* Appends the text form, without NUL or newline at the end; NULL:
	 * lower-case hex digits. */
	int (*format)(struct digest_value v, struct buf *out);
	/* Appends the bytes.  -EINVAL.  NULL: of hex digits. */
	int (*parse)(const char *text, size_t len, struct buf *out);
	/* -EINVAL for bytes that cannot be a digest; NULL: all of that length
	 * can be. */
	int (*check)(struct digest_value v);
	/* 0..100; NULL: there is no such measure. */
	int (*compare)(struct digest_value a, struct digest_value b,
		       int *score_out);
};

extern const struct digest_ops digest_sise, digest_simhash, digest_rdc,
	digest_sif, digest_ssdeep, digest_xxh128, digest_sdhash, digest_tlsh,
	digest_sha256, digest_pdq, digest_md5, digest_si2, digest_sif_classic,
	digest_rdc_signatures, digest_identity;

/* Indexed by enum digest_id. */
extern const struct digest_ops *const digest_table[DIGEST_ROWS];

/* The DIGEST_BIT()s of rows with one of the flags. */
uint32_t digests_with(unsigned flags);

#define DIGEST_KEPT digests_with(DIGEST_IS_KEPT)
#define DIGEST_EXCHANGE digests_with(DIGEST_IS_EXCHANGE)
#define DIGEST_DEFAULT digests_with(DIGEST_IS_DEFAULT)

/* By any of its names: "rdc", "rdc.traits" or "user.rdc.traits".  NULL if there
 * is none. */
const struct digest_ops *digest_find(const char *name);

/* The DIGEST_BIT()s of names separated by commas or colons, and that of XXH128.
 * -EINVAL when one is no digest. */
int digest_parse_set(const char *names, uint32_t *set_out);

/* ---- digests ---- */

void digests_release(struct digests *d);
int digests_copy(const struct digests *from, struct digests *out);

/*
 * Whether both are digests of one content.  With the same catalog's identities
 * that holds whoever has made the contents.  Without, it is what XXH128 and size
 * say: a content with those of another one can be made at no cost.
 */
bool digests_are_of_one(const struct digests *a, const struct digests *b);

/* Valid until d is changed; no bytes when id is not in d->set. */
struct digest_value digest_value_of(const struct digests *d, enum digest_id id);

/* Whether bytes from elsewhere can be that digest. */
bool digest_is_valid(enum digest_id id, struct digest_value v);

/* Sets the digest to a copy of bytes that are valid.  -ENOMEM. */
int digest_put(struct digests *d, enum digest_id id, struct digest_value v);

static inline uint64_t digests_simhash(const struct digests *d)
{
	return load_be64(d->simhash);
}

/* ---- text ---- */

/* Appends the text form.  -ENODATA when id is not in d->set. */
int digest_format(const struct digests *d, enum digest_id id, struct buf *out);

/* The reverse: sets one digest of d.  A SiSe signature of any length is cut to
 * ours, and TLSH is read in lower case and without T1, too.  -EINVAL when text
 * is not the text form of that digest, character for character; -EPROTONOSUPPORT
 * when it is that of an earlier version; d is untouched then. */
int digest_parse(enum digest_id id, const char *text, size_t len,
		 struct digests *d);

/* The text forms of those digests that d has and that are in set, and the sketch
 * of its text, as an object by their names.  NULL: no memory. */
struct json_t *digests_to_json(const struct digests *d, uint32_t set);

/* The reverse: sets those that are known here.  NULL: none.  -EINVAL. */
int digests_from_json(struct json_t *texts, struct digests *d);

/* ---- comparing ---- */

/*
 * How alike two contents are by one measure, 0..100.
 *
 *   sise     the SiSe score (paper 3.3, Algorithm 2) with whole-pair run
 *            ends, both argument orders, the larger
 *   simhash  100 * (64 - Hamming distance) / 64, rounded down (Roth 2013)
 *   rdc      100 * equal traits / 16, rounded down; all-zero traits mean
 *            "not computed" and score 0
 *   sif      the share of the larger content's windows that the other has,
 *            estimated, rounded; sketches without a sample say nothing
 *   ssdeep   what ssdeep says
 *   sdhash   the score of sdhash 3.4 less its accidents (sdhash.h)
 *   xxh128   100 when hash and size are equal, else 0
 *   sha256   100 when it is equal, else 0
 *
 * TLSH and PDQ have a distance and no percentage: see below.
 *
 * -ENODATA when one side lacks the digest or nothing can be said, -ENOMEM.
 */
int digest_compare(enum digest_id id, const struct digests *a,
		   const struct digests *b, int *score_out);

/* Reads the sketch.  -ENODATA: there is none; -EINVAL. */
struct sketch;
int digests_sketch(const struct digests *d, struct sketch *out);

/* The sketch of its text, see struct digests: sets it to a copy of what
 * sketch_pack() made; reads it (-ENODATA: there is none). */
#define DIGEST_TEXT_NAME "text"
int digests_put_text(struct digests *d, const void *packed, size_t len);
int digests_text_sketch(const struct digests *d, struct sketch *out);

/* Sets the hashes of the picture, DIGEST_PDQ among them. */
void digests_put_picture(struct digests *d, const struct picture_hashes *p);

/* 0 (most alike) to 2473, with the lengths.  -ENODATA. */
int digest_tlsh_distance(const struct digests *a, const struct digests *b,
			 int *distance_out);

/* The bits that differ, 0 to 256.  -ENODATA. */
int digest_pdq_distance(const struct digests *a, const struct digests *b,
			int *distance_out);

/* ---- for rows ---- */

/* The bytes are the text. */
int digest_format_bytes(struct digest_value v, struct buf *out);

/* Lower-case hex digits. */
int digest_format_hex(struct digest_value v, struct buf *out);
int digest_parse_hex(const char *text, size_t text_len, size_t len,
		     struct buf *out);

/* 100 when the bytes are equal, else 0. */
int digest_compare_equal(struct digest_value a, struct digest_value b,
			 int *score_out);

#endif
