/* SPDX-License-Identifier: Apache-2.0 */
#include "core/extract/picture/picture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * Sizes to which a picture is brought, proportions not kept.
 *
 * The hash for exchange is that of the reference, which reduces what has more
 * than 512 pixels in a row or column to 512 x 512.  The hash that judges is that
 * of 320 x 320 pixels: 320 is 64 times an odd number, so that the window of the
 * filter has a middle, and a picture that is turned has the turned bits.  Small
 * pictures are enlarged for it: of thumbnails of 128 pixels all are found instead
 * of 90 percent.
 */
enum { EXCHANGE_SIDE = 512, JUDGING_SIDE = 320 };

/* Icons are alike, and strangers. */
enum { JUDGING_SIDE_LEAST = 128, JUDGING_WEAK_MOST = 64 };

/* One of so many rows may be missing. */
enum { MISSING_SHARE = 10 };

/* ---- cells ---- */

enum extract_status picture_set_size(struct picture *p, uint32_t width,
				     uint32_t height)
{
	if (!width || !height)
		return EXTRACT_DAMAGED;
	p->width = width;
	p->height = height;
	return (uint64_t)width * height > PICTURE_PIXELS_MOST ? EXTRACT_LIMIT :
								EXTRACT_OK;
}

uint32_t picture_step(uint32_t width)
{
	return width > EXCHANGE_SIDE ? width / EXCHANGE_SIDE : 1;
}

enum extract_status picture_begin_rows(struct picture *p, uint32_t width,
				       uint32_t height)
{
	struct canvas *c = &p->canvas;

	*c = (struct canvas){ .width = width,
			      .height = height,
			      .step_x = picture_step(width),
			      .step_y = picture_step(height) };
	c->columns = (width + c->step_x - 1) / c->step_x;
	c->rows = (height + c->step_y - 1) / c->step_y;
	c->cells = calloc((size_t)c->columns * c->rows, sizeof(*c->cells));
	c->counts = calloc(c->rows, sizeof(*c->counts));
	return c->cells && c->counts ? EXTRACT_OK : EXTRACT_LIMIT;
}

void picture_add_row(struct picture *p, uint32_t y, const float *luma)
{
	struct canvas *c = &p->canvas;
	float *cells = c->cells + (size_t)(y / c->step_y) * c->columns, sum;
	uint32_t x, column, end;

	c->counts[y / c->step_y]++;
	c->received++;
	for (column = x = 0; column < c->columns; column++) {
		end = x + c->step_x < c->width ? x + c->step_x : c->width;
		for (sum = 0; x < end; x++)
			sum += luma[x];
		cells[column] += sum;
	}
}

/* Makes means of the sums.  A row of which nothing has come is like the one before
 * it. */
static void make_means(struct canvas *c)
{
	const uint32_t rest = c->width - (c->columns - 1) * c->step_x;
	float *row = c->cells;
	uint32_t x, y;

	for (y = 0; y < c->rows; y++, row += c->columns) {
		if (!c->counts[y] && y)
			memcpy(row, row - c->columns,
			       c->columns * sizeof(*row));
		for (x = 0; c->counts[y] && x < c->columns; x++)
			row[x] /=
				(float)c->counts[y] *
				(float)(x + 1 < c->columns ? c->step_x : rest);
	}
}

/* ---- another size ---- */

/* What a place of a line takes of the cells of another one. */
struct taps {
	uint32_t first, count;
	float *weights; /* their sum is 1 */
};

/* A smaller line has the mean of what each place covers; in a larger one values
 * between two places are interpolated.  extent: cells, with the part of the last
 * one. */
static void make_taps(double extent, uint32_t cells, uint32_t place,
		      uint32_t places, struct taps *out)
{
	const double scale = extent / places, reach = scale > 1 ? scale / 2 : 1;
	const double middle = ((double)place + 0.5) * scale;
	double begin = middle - reach - (scale > 1 ? 0 : 0.5), low, high, w;
	double sum = 0;
	uint32_t i;

	begin = begin < 0 ? 0 : begin;
	out->first = begin < cells ? (uint32_t)begin : cells - 1;
	out->count = 0;
	for (i = out->first; i < cells; i++) {
		low = fmax(middle - reach, i);
		high = fmin(middle + reach, i + 1);
		w = scale > 1 ? high - low : 1 - fabs(middle - 0.5 - i);
		if (w <= 0 && out->count)
			break;
		out->weights[out->count++] = (float)fmax(w, 0);
		sum += fmax(w, 0);
	}
	for (i = 0; i < out->count && sum > 0; i++)
		out->weights[i] = (float)(out->weights[i] / sum);
}

/* Values one after the other: of a row they are 1 apart, of a column a width. */
struct line {
	const float *at;
	ptrdiff_t step;
};

static float sum_taps(struct line line, const struct taps *t)
{
	float sum = 0;
	uint32_t i;

	line.at += (ptrdiff_t)t->first * line.step;
	for (i = 0; i < t->count; i++, line.at += line.step)
		sum += t->weights[i] * *line.at;
	return sum;
}

/* Where the pixels of a picture go that is shown as EXIF says. */
struct placement {
	ptrdiff_t origin, step_x, step_y;
};

static struct placement placement_of(unsigned orientation, ptrdiff_t width,
				     ptrdiff_t height)
{
	const bool is_swapped = orientation >= 5;
	const bool flips_x = orientation == 2 || orientation == 3 ||
			     orientation == 7 || orientation == 8;
	const bool flips_y = orientation == 3 || orientation == 4 ||
			     orientation == 6 || orientation == 7;
	struct placement p = { .step_x = is_swapped ? height : 1,
			       .step_y = is_swapped ? 1 : width };

	if (flips_x) {
		p.origin += (width - 1) * p.step_x;
		p.step_x = -p.step_x;
	}
	if (flips_y) {
		p.origin += (height - 1) * p.step_y;
		p.step_y = -p.step_y;
	}
	return p;
}

static void scale_rows(const struct canvas *c, uint32_t width, struct taps *t,
		       float *out)
{
	uint32_t x, y;

	for (x = 0; x < width; x++) {
		make_taps((double)c->width / c->step_x, c->columns, x, width,
			  t);
		for (y = 0; y < c->rows; y++)
			out[(size_t)y * width + x] = sum_taps(
				(struct line){
					c->cells + (size_t)y * c->columns, 1 },
				t);
	}
}

static void scale_columns(const struct canvas *c, const float *in,
			  uint32_t width, uint32_t height,
			  const struct placement *p, struct taps *t, float *out)
{
	uint32_t x, y;

	for (y = 0; y < height; y++) {
		make_taps((double)c->height / c->step_y, c->rows, y, height, t);
		for (x = 0; x < width; x++)
			out[p->origin + (ptrdiff_t)x * p->step_x +
			    (ptrdiff_t)y * p->step_y] =
				sum_taps((struct line){ in + x, width }, t);
	}
}

/* The picture in another size, and as it is shown; the caller frees it. */
static float *scale(const struct picture *p, uint32_t width, uint32_t height)
{
	const struct canvas *c = &p->canvas;
	const struct placement place =
		placement_of(p->orientation, width, height);
	const uint32_t longest = c->columns > c->rows ? c->columns : c->rows;
	float *out = malloc((size_t)width * height * sizeof(*out));
	float *half = malloc((size_t)width * c->rows * sizeof(*half));
	struct taps t = { .weights = calloc(longest + 1, sizeof(float)) };

	if (out && half && t.weights) {
		scale_rows(c, width, &t, half);
		scale_columns(c, half, width, height, &place, &t, out);
	} else {
		free(out);
		out = NULL;
	}
	free(half);
	free(t.weights);
	return out;
}

/* ---- the hashes ---- */

static enum extract_status hash(const struct picture *p, uint32_t width,
				uint32_t height, struct pdq_values *values,
				struct pdq *out)
{
	const bool is_swapped = p->orientation >= 5;
	float *plane = scale(p, width, height);
	int err = plane ? pdq_transform(plane, is_swapped ? height : width,
					is_swapped ? width : height, values) :
			  -1;

	free(plane);
	if (err)
		return EXTRACT_LIMIT;
	pdq_of_values(values, PDQ_AS_IS, out);
	return EXTRACT_OK;
}

static bool is_large(const struct picture *p)
{
	return p->width > EXCHANGE_SIDE || p->height > EXCHANGE_SIDE;
}

enum extract_status picture_finish(struct picture *p,
				   struct picture_hashes *out)
{
	struct canvas *c = &p->canvas;
	enum extract_status status;
	struct pdq_values values;
	struct picture_hashes h = { .width = p->width, .height = p->height };

	if (c->height - c->received > c->height / MISSING_SHARE)
		return EXTRACT_DAMAGED;
	if (p->orientation >= 5) {
		h.width = p->height;
		h.height = p->width;
	}
	make_means(c);
	status = hash(p, is_large(p) ? EXCHANGE_SIDE : p->width,
		      is_large(p) ? EXCHANGE_SIDE : p->height, &values,
		      &h.exchange);
	if (!status && values.quality >= PDQ_QUALITY_LEAST)
		h.has |= PICTURE_EXCHANGE;
	if (!status)
		status = hash(p, JUDGING_SIDE, JUDGING_SIDE, &values,
			      &h.judging);
	if (!status && values.quality >= PDQ_QUALITY_LEAST &&
	    values.weak <= JUDGING_WEAK_MOST &&
	    p->width >= JUDGING_SIDE_LEAST && p->height >= JUDGING_SIDE_LEAST)
		h.has |= PICTURE_JUDGING;
	if (!status)
		*out = h;
	return status;
}

void picture_release(struct picture *p)
{
	free(p->canvas.cells);
	free(p->canvas.counts);
	p->canvas = (struct canvas){ 0 };
}
