/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_DIGEST_SIF_SIF_H
#define CORE_DIGEST_SIF_SIF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/digest/run_count.h"
#include "core/digest/window_sample.h"
#include "core/kernel/sif/sif.h"

/*
 * Sampled fingerprints in the manner of sif (Manber, Finding Similar Files in
 * a Large File System, 1994), kept as a bottom-k sketch (Broder 1997): of the
 * fingerprints of all windows of a file, the k smallest.  These are a uniform
 * sample of the distinct windows, of bounded size whatever the file's; two
 * sketches tell resemblance and containment, and the sketch of a union is
 * made of the sketches.
 *
 * A window that repeats one byte has no fingerprint: files with nothing but
 * padding in common have nothing in common.
 *
 * The fingerprint of window w[0..s-1] is the cyclic polynomial
 *
 *   h = rol(T[w[0]], s - 1) ^ ... ^ rol(T[w[s-2]], 1) ^ T[w[s-1]]
 *
 * of 64 bits, T[c] = XXH3_64bits of the byte c.  Without s - 1 adjacent bits
 * it is pairwise independent (Lemire and Kaser, 2010), which is what the
 * estimates need, and it rolls at twice the speed of XXH3 of each window.
 * Its upper 48 bits are kept.  Only as many values as 2^48 * k / windows are
 * possible among the k smallest: with 40 bits, two unrelated files of 10^9
 * windows would share one value in ten comparisons, with 48 one in 2000.
 *
 * How many values a file keeps in full depends on its size (sif_values()): a
 * passage is found in a file many times as large only when values of it are
 * among those that were kept, and larger files are few.
 *
 * A value in full has SIF_VALUE_BITS significant bits, from its highest one on;
 * those below are 0.  How a value is rounded depends on nothing but itself, so
 * equal values stay equal in files of any size.  Of n values in full that are
 * compared with another value, one equals it by chance once in
 * 2^(SIF_VALUE_BITS - 1) / n, whatever the sizes of the files, as the smallest
 * values of a large file have more zeros above and lose fewer bits below.  In
 * the binary form they take SIF_VALUE_BITS + 2.5 - log2(n) bits each.
 *
 * Up to SIF_SAMPLES more values follow of which only the upper bits are kept,
 * SIF_REST_BITS more than tell them apart.  They serve the comparison of two
 * sketches alone: a value of each is in the same place by chance once in
 * 2^SIF_REST_BITS, and that number is known (sif_find_shares()).
 *
 * With each value goes how often its window occurs in the file.
 */
#define SIF_WINDOW 16
#define SIF_MIN_WINDOW 4
/* In longer windows of periodic data, rotations cancel each other. */
#define SIF_MAX_WINDOW WINDOW_SAMPLE_MOST
#define SIF_VALUES 128
#define SIF_MAX_VALUES BOTTOM_K_MOST
#define SIF_SHARE 128 /* bytes to a value between the two */
#define SIF_BITS 48
#define SIF_VALUE_BITS 28
/*
 * Values in all, unless there are more in full.  The evaluation has a mean
 * error of 0.8 points with 256, 0.9 with 144; at 4 KiB 256 cost 15 % of the
 * time of all digests, as the sample becomes too dense for the wide kernels.
 */
#define SIF_SAMPLES 144
#define SIF_REST_BITS 8
/*
 * The fingerprints up to the largest in values are all known; if there are no
 * others, distinct is count + rest, else more than that.
 *
 * A sketch of a union, as sif_merge() makes it, knows nothing of how often a
 * window occurs: windows is 0, and each distinct window counts once.
 *
 * A place says in which unit of sif_place_unit() bytes the last window with the
 * fingerprint begins, 0..SIF_PLACES - 1.  So what two files have in common at
 * one place is told from what is spread over them.  A file of one unit has no
 * places, and the rest of a sketch has none.
 */
#define SIF_PLACES 64

struct sif_sketch {
	unsigned window;
	unsigned rest_shift; /* so many lower bits of the rest are 0 */
	uint64_t distinct;   /* fingerprints of the file; estimated if more than
			    * there are values */
	uint64_t windows;    /* of the file, but those without a fingerprint;
			    * 0: not known */
	size_t count;        /* values in full */
	size_t rest;         /* values behind these, whose lower bits are 0 */
	uint64_t values[SIF_MAX_VALUES]; /* ascending, SIF_BITS each */
	/* How often the window of each value occurs, rounded by sif_round();
	 * not specified if windows is 0, and by sif_unpack_in_full(). */
	uint32_t times[SIF_MAX_VALUES];
	bool is_placed;                 /* places are known */
	uint8_t places[SIF_MAX_VALUES]; /* of the values in full */
};

/* Not to be copied. */
struct sif {
	struct kernel_sif_table table;
	const struct kernel_sif *kernel;
	struct run_count runs;       /* windows without a fingerprint */
	struct window_sample sample; /* fingerprints, in the upper SIF_BITS */
};

/* How many values are kept in full of a file of so many bytes: SIF_VALUES up
 * to SIF_SHARE times as many, then one in SIF_SHARE up to SIF_MAX_VALUES. */
size_t sif_values(uint64_t size);

/* How many values are kept in all, in full and rounded: at least
 * SIF_SAMPLES. */
size_t sif_samples(uint64_t size);

/* window SIF_MIN_WINDOW..SIF_MAX_WINDOW, max 2..SIF_MAX_VALUES (-EINVAL
 * else). */
int sif_init(struct sif *s, unsigned window, size_t max);

/* Any number of files one after the other: begin, update..., final.  init
 * has begun the first.  max as for init. */
void sif_begin(struct sif *s, size_t max);
void sif_update(struct sif *s, const void *data, size_t len);
/* Adds zero bytes as if they were data; many take no longer than some. */
void sif_update_zeros(struct sif *s, uint64_t len);

/* A file of fewer bytes than the window has no fingerprints.  All values are
 * in full. */
void sif_final(struct sif *s, struct sif_sketch *out);

/* ---- sketches ---- */

/* Leaves at most max values, 2..SIF_MAX_VALUES, and fewer only if all others
 * are lost: the sketch that the file would have had with them. */
void sif_cut(struct sif_sketch *sketch, size_t max);

/* Of a file of so many bytes. */
double sif_place_unit(uint64_t size);

/* Leaves at most full of the values in full, 2 or more; the others become part
 * of the rest. */
void sif_thin(struct sif_sketch *sketch, size_t full);

/* Rounds the values in full.  Of two that would be equal then, the smaller one
 * becomes the next rounded value below. */
void sif_round_values(struct sif_sketch *sketch);

/* Any upper bits of it are as good as random.  Neither the upper bits of a
 * value in full are, which is one of the smallest, nor its lower ones, which
 * are rounded. */
static inline uint64_t sif_spread(uint64_t value)
{
	return value * UINT64_C(0x9e3779b97f4a7c15);
}

/* The number, or for one above 32 the nearest below of which five bits suffice:
 * how often a window occurs is kept like this. */
uint32_t sif_round(uint32_t times);

/* The binary form (sif_pack.c) of a sketch whose values are rounded; returns
 * its length.  It writes within SIF_PACKED_MAX bytes. */
#define SIF_PACKED_MAX (64 + SIF_MAX_VALUES * 13)
size_t sif_pack(const struct sif_sketch *sketch, uint8_t *bytes);

/* -EINVAL when it is not what sif_pack() makes of a sound sketch; out is not
 * specified then. */
int sif_unpack(const uint8_t *bytes, size_t len, struct sif_sketch *out);

/* Reads the values in full alone, in half the time: the sketch has no rest, no
 * places, and no times, without which it must not be compared. */
int sif_unpack_in_full(const uint8_t *bytes, size_t len,
		       struct sif_sketch *out);

/* Appends "sif3:16:<distinct>:<rest of the binary form, base64>" and, if there
 * are any, ":<places>", one character of the same alphabet for each.
 * -ENOMEM. */
int sif_format(const struct sif_sketch *sketch, struct buf *out);

/* Whether these can be the smallest values of distinct ones.  A reader of
 * foreign bytes checks their sketch with it. */
bool sif_is_sound(const struct sif_sketch *sketch);

/* The binary form of the sketch with this text, in a fraction of the time that
 * sif_parse() and sif_pack() take.  The text is one of sif_format(): it is not
 * checked whether its sketch is sound.  0: it is no such text. */
size_t sif_pack_text(const char *text, size_t len, uint8_t *bytes);

/* -EINVAL when text is no sketch; out is not specified then. */
int sif_parse(const char *text, size_t len, struct sif_sketch *out);

/*
 * What two files share: of the windows of both, as many as can be put into
 * pairs of equal ones.  A window that one file has three times and the other
 * one twice is two shared windows.
 */
struct sif_shares {
	double windows; /* shared */
	double of_a;    /* their share of all windows of a, 0..1 */
	double of_b;
	double of_larger; /* of the one that has more windows */
	size_t samples;   /* values that the estimate rests on; 0: none */
};

/* -EINVAL when the windows differ. */
int sif_find_shares(const struct sif_sketch *a, const struct sif_sketch *b,
		    struct sif_shares *out);

/* The sketch knows in full of all values below that one; UINT64_MAX: of all. */
uint64_t sif_known(const struct sif_sketch *sketch);

/* Both sketches know in full of all values below that one. */
uint64_t sif_joint_bound(const struct sif_sketch *a,
			 const struct sif_sketch *b);

/* How many of the values, ascending, are below bound. */
size_t sif_count_below(const uint64_t *values, size_t count, uint64_t bound);

/* Makes into the sketch of the union, at most max values.  For sketches made
 * with max, it is the one that the union itself would have given.  -EINVAL
 * when the windows differ or max is not 2..SIF_MAX_VALUES. */
int sif_merge(struct sif_sketch *into, const struct sif_sketch *from,
	      size_t max);

/* ---- the original rule ---- */

/*
 * Of all windows of 50 bytes, the fingerprints
 *
 *   (w[0] * p^49 + ... + w[48] * p + w[49]) mod 2^30
 *
 * whose last bits are zero, as a set.  It grows with the file: about one in
 * 2^zero_bits windows.  Windows that repeat one byte take part, so zeros always
 * have the fingerprint 0.
 */
#define SIF_CLASSIC_WINDOW 50
#define SIF_CLASSIC_BASE 7
#define SIF_CLASSIC_ZERO_BITS 8

struct sif_classic {
	uint32_t base;
	uint32_t mask; /* of the bits that must be zero */
	uint32_t hash;
	size_t fill;
	uint8_t last[SIF_CLASSIC_WINDOW];
	uint32_t leave[256];
	uint32_t *values; /* owned */
	size_t count;
	size_t capacity;
};

/* base is p, not 0; zero_bits 0..30 (-EINVAL else). */
int sif_classic_init(struct sif_classic *s, uint32_t base, unsigned zero_bits);
void sif_classic_release(struct sif_classic *s);

/* -ENOMEM: s can only be released then. */
int sif_classic_update(struct sif_classic *s, const void *data, size_t len);

/* The fingerprints so far, ascending, without repeats; they stay s's and are
 * valid until the next call. */
const uint32_t *sif_classic_values(struct sif_classic *s, size_t *count_out);

#endif
