/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_DIGEST_SKETCH_SKETCH_H
#define CORE_DIGEST_SKETCH_SKETCH_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/kernel/sketch/sketch.h"

/*
 * The sketch of a content: a sample of its windows, in which each window has the
 * same chance to be, whatever the content.  So two sketches tell how much two
 * contents share, and the sketches of parts make the sketch of the whole.
 *
 * Definition.  NUL, white space and the punctuation of ASCII are left out of the
 * content, and A to Z become a to z (core/kernel/sketch/sketch.h); F bytes are
 * left, the folded content.  A window is 16 bytes in a row of it.  A window of
 * which all bytes are equal counts for nothing.  Any other has a key of 48 bits:
 * its filter, and behind that the bits 16 to 31 of the exclusive or of both
 * halves of
 *
 *   (u ^ 9fb21c651e98df25) * (v ^ d6e8feb86659fd93)
 *
 * of 128 bits, u and v the first and second 8 bytes of the window,
 * little-endian.  Windows with one key are taken for the same window.  The
 * sample of level j has all keys below 2^(48 - j), one window in 2^j; the sketch
 * is the sample of the smallest level at which at most sketch_most(F) keys are
 * left.
 *
 * For example: ten windows have the keys 0.03, 0.09, 0.22, 0.31, 0.48, 0.55,
 * 0.61, 0.74, 0.80 and 0.97 times 2^48.  If at most four were kept, the level
 * would be 2 with the three keys below 0.25, as level 1 has five.  These three
 * stand for about 3 * 2^2 windows.
 *
 * It follows that the sketch depends on the folded content alone; that without
 * its keys from 2^(47 - j) on a sketch of level j is one of level j + 1; and
 * that two sketches are compared at the larger of their levels.
 *
 * SimHash (Charikar 2002): bit b is set if more than half of mix(key), for the
 * keys of the sample, have bit b set.  mix(x) is twice x ^= x >> 32,
 * x *= d6e8feb86659fd93, and then x ^= x >> 32.
 *
 * A sketch keeps of each key the SKETCH_VALUE_BITS highest bits from the first
 * one that is set; the others are 0.  This value depends on nothing but the
 * window.  Windows with equal values are counted as one: of the samples of
 * small contents one in a thousand has such windows, of the largest one in
 * twenty.
 */
#define SKETCH_WINDOW KERNEL_SKETCH_WINDOW
#define SKETCH_LEAST 192 /* keys up to 18 KiB, */
#define SKETCH_MOST 1536 /* and from 144 KiB on */
#define SKETCH_RATE 96   /* folded bytes to a key between the two */
#define SKETCH_KEY_BITS 48
#define SKETCH_VALUE_BITS 24
#define SKETCH_PLACES 64
#define SKETCH_PLACED 4096 /* folded bytes from which on places are known */

/* All 0: the sketch of an empty content. */
struct sketch {
	/* Of the content before it was folded; 0: not known.  No form has it:
	 * who reads a sketch of a content knows its size. */
	uint64_t bytes;
	uint64_t folded; /* F */
	/* Of the folded content, but those of one repeated byte.  0: there are
	 * none, or this is the sketch of a union, which does not know. */
	uint64_t windows;
	unsigned level;
	size_t count;
	bool is_placed;
	uint64_t values[SKETCH_MOST]; /* ascending */
	uint32_t times[SKETCH_MOST];  /* how often each occurs, rounded down by
				      * sketch_round_times(); of a union 1 */
	uint8_t places[SKETCH_MOST];  /* if is_placed: in which part of
				      * sketch_place_unit() folded bytes the
				      * last window with the value begins,
				      * 0..SKETCH_PLACES - 1 */
};

/* In how many bytes of the content so many of the folded content are, as far as
 * it is alike throughout. */
static inline double sketch_unfolded(const struct sketch *s, double folded)
{
	return s->bytes > s->folded && s->folded ?
		       folded * (double)s->bytes / (double)s->folded :
		       folded;
}

/* How many keys there are at most of so many folded bytes. */
size_t sketch_most(uint64_t folded);

/* The windows of so many folded bytes, those of one repeated byte among them. */
static inline uint64_t sketch_windows_most(uint64_t folded)
{
	return folded < SKETCH_WINDOW ? 0 : folded - SKETCH_WINDOW + 1;
}

static inline double sketch_place_unit(uint64_t folded)
{
	return (double)folded / SKETCH_PLACES;
}

/* ---- the stream ---- */

#define SKETCH_PIECE 4096 /* bytes that are folded at a time */
#define SKETCH_FULL 2048  /* windows that are sorted at a time, and more */

/* The smallest keys, ascending, as many as a sketch has and one more. */
struct sketch_sample {
	size_t count;
	uint64_t keys[SKETCH_MOST + 1];
	uint64_t last[SKETCH_MOST + 1]; /* place of the last window */
	uint32_t times[SKETCH_MOST + 1];
};

/* 270 KiB, of which a small content touches little.  Private, but the tests
 * look at the keys. */
struct sketch_stream {
	const struct kernel_sketch *kernel;
	uint64_t size;
	size_t most; /* keys that are kept */
	bool is_begun;
	uint64_t folded, repeats; /* so far */
	unsigned level;
	/* The end of what was folded, too short for a window, and then the
	 * piece that is being looked at. */
	size_t carried;
	uint8_t piece[SKETCH_WINDOW - 1 + SKETCH_PIECE];
	uint32_t filters[SKETCH_PIECE], found[SKETCH_PIECE];
	/* Windows that are not in the sample yet: keys, the number of each in
	 * the lower 16 bits, and by that number their places. */
	size_t pending;
	uint64_t keys[SKETCH_FULL + SKETCH_PIECE];
	uint64_t sorted[SKETCH_FULL + SKETCH_PIECE];
	uint64_t places[SKETCH_FULL + SKETCH_PIECE];
	struct sketch_sample samples[2]; /* the sample, and room for the next */
	unsigned now;                    /* which is the sample */
};

/* size: of the content, UINT64_MAX if it is not known.  If it is, one update
 * with all of the content takes the least time.  Of a content that turns out
 * larger there may be fewer keys than by the definition. */
void sketch_begin(struct sketch_stream *s, uint64_t size);

/* Zero bytes change nothing: a hole may be left out. */
void sketch_update(struct sketch_stream *s, const void *data, size_t len);

/* *simhash_out is 0 if the sketch has no values.  s must begin again before it
 * is used again. */
void sketch_final(struct sketch_stream *s, struct sketch *out,
		  uint64_t *simhash_out);

/* The number, or for one from 32 on the nearest below of which five bits
 * suffice. */
uint32_t sketch_round_times(uint32_t times);

/* ---- sketches ---- */

/* Of a level at least as large as the sketch's. */
void sketch_raise(struct sketch *sketch, unsigned level);

/* Raises the level until there are at most so many values. */
void sketch_cut(struct sketch *sketch, size_t most);

/* The level at which two sketches are compared. */
static inline unsigned sketch_joint_level(const struct sketch *a,
					  const struct sketch *b)
{
	return a->level > b->level ? a->level : b->level;
}

/* The values below this one are the sample of that level, 0..48. */
static inline uint64_t sketch_bound(unsigned level)
{
	return UINT64_C(1) << (SKETCH_KEY_BITS - level);
}

/* How many of the numbers, ascending, are below bound. */
static inline size_t sketch_count_below(const uint64_t *numbers, size_t count,
					uint64_t bound)
{
	size_t low = 0, middle;

	while (low < count) {
		middle = low + (count - low) / 2;
		if (numbers[middle] < bound)
			low = middle + 1;
		else
			count = middle;
	}
	return low;
}

size_t sketch_count_at_level(const struct sketch *sketch, unsigned level);

/* How many windows differ; above level 0 an estimate. */
static inline uint64_t sketch_distinct(const struct sketch *sketch)
{
	return (uint64_t)sketch->count << sketch->level;
}

/* Any upper bits of it are as good as random.  Neither the upper bits of a
 * value are, which is one of the smallest, nor its lower ones, which are 0. */
static inline uint64_t sketch_spread(uint64_t value)
{
	return value * UINT64_C(0x9e3779b97f4a7c15);
}

/*
 * Makes into the sketch of the union, which knows neither the number of windows
 * nor how often each occurs nor places.  It keeps up to SKETCH_MOST values
 * whatever the sizes, so that the order in which sketches are united makes no
 * difference.
 */
void sketch_merge(struct sketch *into, const struct sketch *from);

/*
 * The extent of a content: the sum of log2(1 + n) over its different windows, n
 * times how often each occurs.  So one that occurs once counts 1, and the few that
 * a table or a log repeats a thousand times 10 each: they neither decide what two
 * contents share nor, being in a sample or not, how far the estimate is wrong.
 * Of a union, where n is not known, each counts 1.  Above level 0 an estimate.
 */
double sketch_extent(const struct sketch *sketch);

/* The extent of one window that occurs so often.  Most windows occur once. */
static inline double sketch_extent_of(double times)
{
	return times > 1 ? log2(1 + times) : 1;
}

/*
 * What two contents share: of the windows of both, as many as can be put into
 * pairs of equal ones.  A window that one has three times and the other one
 * twice is two shared windows, of the extent log2(1 + 2).  Where either sketch is
 * one of a union, each distinct window counts once.
 */
struct sketch_shares {
	double windows; /* shared */
	double of_a;    /* the shared part of the extent of a, 0..1 */
	double of_b;
	double of_larger; /* of the larger extent */
	/* What this rests on: values of each at the joint level, and how many
	 * of them both have. */
	size_t a_samples, b_samples, matches;
};

/* The result is the same, bit for bit, when a and b change places. */
void sketch_shares(const struct sketch *a, const struct sketch *b,
		   struct sketch_shares *out);

/* ---- forms ---- */

/* The binary form (sketch_pack.c); returns its length. */
#define SKETCH_PACKED_MAX (64 + SKETCH_MOST * 11)
size_t sketch_pack(const struct sketch *sketch,
		   uint8_t bytes[static SKETCH_PACKED_MAX]);

/* -EINVAL when it is not what sketch_pack() makes of a sketch that can be; out
 * is not specified then. */
int sketch_unpack(const uint8_t *bytes, size_t len, struct sketch *out);

/* Appends "sif5:" and the binary form in base64, without padding.  -ENOMEM. */
int sketch_format(const struct sketch *sketch, struct buf *out);

/* -EINVAL when it is not what sketch_format() writes, -EPROTONOSUPPORT when an
 * earlier version wrote it; out is not specified then. */
int sketch_parse(const char *text, size_t len, struct sketch *out);

#endif
