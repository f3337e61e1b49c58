/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_DIGEST_PDQ_H
#define CORE_DIGEST_PDQ_H

#include <stddef.h>
#include <stdint.h>

/*
 * PDQ, the perceptual hash of a picture (Meta, 2017): 256 bits and a quality,
 * bit for bit as the reference of ThreatExchange computes them.
 *
 * The brightness of the picture is smoothed and reduced to 64 x 64 values; of
 * these a cosine transform keeps the 16 x 16 lowest frequencies.  A bit says
 * whether one of these 256 values is above their median.  Pictures that people
 * take for the same one differ in few bits, strangers in about 128.
 *
 * A picture whose surface is plain has bits that hang on rounding: its quality
 * is low.  The quality does not see that of stripes, rings and chessboards, most
 * of whose frequencies are zero; these have many weak values.
 */
enum { PDQ_BYTES = 32, PDQ_FREQUENCIES = 16, PDQ_BITS = 256 };

/* The authors' advice: a hash of lower quality says nothing. */
enum { PDQ_QUALITY_LEAST = 50 };

/* In the order of the text form: 64 hex digits, the highest bit first.  The bit
 * of row i and column j of the values has the number 16 * i + j. */
struct pdq {
	uint8_t bytes[PDQ_BYTES];
};

/*
 * What is kept of a picture: the hash for exchange with other programs, which is
 * that of the picture as it is, and the hash that judges, of the picture brought to
 * one size (core/extract/picture).
 */
enum { PICTURE_EXCHANGE = 1, PICTURE_JUDGING = 2 };

struct picture_hashes {
	struct pdq exchange, judging;
	uint32_t has; /* which of them say something; 0: there is no picture */
	uint32_t width, height; /* pixels, as it is shown */
};

/* How a picture may have been turned.  Angles go counter-clockwise; the last two
 * are mirrored along a diagonal. */
enum pdq_turn {
	PDQ_AS_IS,
	PDQ_ROTATED_90,
	PDQ_ROTATED_180,
	PDQ_ROTATED_270,
	PDQ_MIRRORED_UP_DOWN,
	PDQ_MIRRORED_LEFT_RIGHT,
	PDQ_TRANSPOSED,
	PDQ_TRANSPOSED_BACK,
	PDQ_TURNS
};

/* What the bits are made of. */
struct pdq_values {
	float values[PDQ_BITS];
	int quality; /* 0..100 */
	int weak;    /* values within 1.0 of the median, 0..256 */
};

static inline float pdq_luma(unsigned red, unsigned green, unsigned blue)
{
	return 0.299F * (float)red + 0.587F * (float)green +
	       0.114F * (float)blue;
}

/* plane: width * height values of brightness, 0..255, row by row; it is
 * overwritten.  A picture with fewer than 5 rows or columns has only zeros.
 * -ENOMEM. */
int pdq_transform(float *plane, size_t width, size_t height,
		  struct pdq_values *out);

/* The hash that the picture has when it is turned. */
void pdq_of_values(const struct pdq_values *v, enum pdq_turn turn,
		   struct pdq *out);

/* The hash of the turned picture from the bits alone.  A few bits may differ from
 * pdq_of_values(), as the median is not quite 0. */
void pdq_turn(const struct pdq *hash, enum pdq_turn turn, struct pdq *out);

/* Bits that differ; or, once these are more than most, as many as were counted. */
unsigned pdq_distance(const struct pdq *a, const struct pdq *b, unsigned most);

#endif
