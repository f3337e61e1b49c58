/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_EXTRACT_PICTURE_PICTURE_H
#define CORE_EXTRACT_PICTURE_PICTURE_H

#include "core/digest/pdq.h"
#include "core/extract/reader.h"

/*
 * kin-extract-picture: the hashes of pictures (core/digest/pdq.h).
 *
 *   main.c                        which format it is; what became of it
 *   jpeg.c, png.c, webp.c, gif.c  each has a library decode one format
 *   canvas.c                      collects rows, and makes the hashes
 *   orientation.c                 how EXIF says that a picture is to be turned
 *
 * A decoder tells the size, then gives out rows of brightness as it gets them.
 * The canvas keeps means of squares of pixels, at most 1023 in a row, so that no
 * picture is in memory as a whole unless its decoder needs it there.
 */

/* Larger pictures are not decoded.  What a decoder would take beside is bounded by
 * the memory of the process. */
enum {
	PICTURE_PIXELS_MOST = 200000000,
	PICTURE_MEMORY_MOST = 256 << 20,
};

/* A mean of so many pixels is a cell. */
struct canvas {
	uint32_t width, height; /* of the rows that come, in pixels */
	uint32_t step_x, step_y;
	uint32_t columns, rows; /* cells */
	float *cells;           /* sums of pixels; owned */
	uint32_t *counts;       /* rows of pixels in each row of cells; owned */
	uint32_t received;      /* rows of pixels */
};

/* One file. */
struct picture {
	const struct extract_input *in;
	uint32_t width, height; /* as the file says */
	unsigned orientation;   /* of EXIF, 1 to 8 */
	struct canvas canvas;
};

/* ---- canvas.c ---- */

/* The size of the picture, before anything is decoded.  EXTRACT_LIMIT. */
enum extract_status picture_set_size(struct picture *p, uint32_t width,
				     uint32_t height);

/* A picture of that size is to be reduced by this factor at most before its rows
 * come. */
uint32_t picture_step(uint32_t width);

/* The size of the rows that come: that of the picture, or less. */
enum extract_status picture_begin_rows(struct picture *p, uint32_t width,
				       uint32_t height);

/* A row, each at most once, in any order. */
void picture_add_row(struct picture *p, uint32_t y, const float *luma);

/* Nine of ten rows have to come.  EXTRACT_DAMAGED, EXTRACT_LIMIT. */
enum extract_status picture_finish(struct picture *p,
				   struct picture_hashes *out);

void picture_release(struct picture *p);

/* What is transparent lies on white.  alpha: 0..255. */
static inline float luma_on_white(float luma, unsigned alpha)
{
	return alpha == 255 ? luma : 255 + (luma - 255) * ((float)alpha / 255);
}

/* ---- the formats ---- */

enum extract_status jpeg_read(struct picture *p);
enum extract_status png_read(struct picture *p);
enum extract_status webp_read(struct picture *p);
enum extract_status gif_read(struct picture *p);

/* ---- orientation.c ---- */

/* 1 to 8 of a block of EXIF; 1 if it does not say. */
unsigned orientation_of_exif(const uint8_t *exif, size_t len);

#endif
