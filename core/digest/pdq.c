/* SPDX-License-Identifier: Apache-2.0 */
#include "core/digest/pdq.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/digest/digest.h"

/*
 * A box filter runs over the picture twice along its rows and twice along its
 * columns.  It keeps a running sum, and the bits depend on how that is rounded:
 * the order of additions along a line is fixed, and no two operations may be
 * joined to one (the compiler is told so in the Makefile).
 *
 * Lines do not depend on each other.  A pass along the rows takes LANES rows side
 * by side, a pass along the columns a row of sums at a time, so that all inner
 * loops are vector instructions and memory is read row by row.  The last two
 * passes make only the 64 columns, and then the 64 rows, that are kept.
 */
enum { SIDE = 64, FREQUENCIES = PDQ_FREQUENCIES, LANES = 8, LEAST = 5 };

/* Where the window of the filter is in a line: from `behind` values before its
 * place to `ahead` values after it, as far as the line has them. */
struct box {
	size_t len; /* of the line */
	size_t behind, ahead;
};

/* Columns of LANES rows side by side. */
typedef float lanes[LANES];

static struct box box_of(size_t len)
{
	const size_t window = (len + 2 * SIDE - 1) / (2 * SIDE);
	const size_t ahead = (window + 2) / 2 - 1;

	return (struct box){ len, window - 1 - ahead, ahead };
}

static float box_count(const struct box *b, size_t at)
{
	const size_t end = at + b->ahead < b->len ? at + b->ahead : b->len - 1;
	const size_t begin = at > b->behind ? at - b->behind : 0;

	return (float)(end - begin + 1);
}

/* Which of so many lines the line i of the reduced picture is. */
static size_t kept_line(size_t i, size_t count)
{
	return (size_t)(((double)i + 0.5) * (double)count / SIDE);
}

/* ---- along the rows ---- */

/* Rows that are missing at the bottom are zeros. */
static void to_lanes(const float *rows, size_t width, size_t count, lanes *out)
{
	size_t k, x;

	for (k = 0; k < LANES; k++)
		for (x = 0; x < width; x++)
			out[x][k] = k < count ? rows[k * width + x] : 0;
}

static void begin_rows(const struct box *b, const lanes *in, lanes sum)
{
	size_t k, x;

	memset(sum, 0, sizeof(lanes));
	for (x = 0; x < b->ahead; x++)
		for (k = 0; k < LANES; k++)
			sum[k] += in[x][k];
}

/* Moves the windows to a column. */
static inline void step_rows(const struct box *b, const lanes *in, size_t x,
			     lanes sum, lanes mean)
{
	const float count = box_count(b, x);
	size_t k;

	if (x + b->ahead < b->len)
		for (k = 0; k < LANES; k++)
			sum[k] += in[x + b->ahead][k];
	if (x > b->behind)
		for (k = 0; k < LANES; k++)
			sum[k] -= in[x - b->behind - 1][k];
	for (k = 0; k < LANES; k++)
		mean[k] = sum[k] / count;
}

/* What the passes work with. */
struct work {
	lanes *in, *means;
	float *rows;         /* LANES of them */
	float *sum;          /* one row */
	float (*thin)[SIDE]; /* all rows, of the columns that are kept */
};

/* Filters at most LANES rows in place. */
static void filter_rows(const struct box *b, float *rows, size_t count,
			const struct work *w)
{
	lanes sum;
	size_t k, x;

	to_lanes(rows, b->len, count, w->in);
	begin_rows(b, w->in, sum);
	for (x = 0; x < b->len; x++)
		step_rows(b, w->in, x, sum, w->means[x]);
	for (k = 0; k < count; k++)
		for (x = 0; x < b->len; x++)
			rows[k * b->len + x] = w->means[x][k];
}

/* The same, but only for the columns that are kept. */
static void filter_rows_kept(const struct box *b, size_t count,
			     const struct work *w, float (*out)[SIDE])
{
	size_t i, k, x = 0;
	lanes sum, mean;

	to_lanes(w->rows, b->len, count, w->in);
	begin_rows(b, w->in, sum);
	for (i = 0; i < SIDE; i++) {
		for (; x <= kept_line(i, b->len); x++)
			step_rows(b, w->in, x, sum, mean);
		for (k = 0; k < count; k++)
			out[k][i] = mean[k];
	}
}

/* ---- along the columns ---- */

static void begin_columns(const struct box *b, const float *plane, size_t width,
			  float *sum)
{
	size_t x, y;

	memset(sum, 0, width * sizeof(*sum));
	for (y = 0; y < b->ahead; y++)
		for (x = 0; x < width; x++)
			sum[x] += plane[y * width + x];
}

static void step_columns(const struct box *b, const float *plane, size_t width,
			 size_t y, float *sum, float *out)
{
	const bool adds = y + b->ahead<b->len, drops = y> b->behind;
	const float *add = adds ? plane + (y + b->ahead) * width : NULL;
	const float *drop = drops ? plane + (y - b->behind - 1) * width : NULL;
	const float count = box_count(b, y);
	size_t x;

	if (adds && drops) {
		for (x = 0; x < width; x++) {
			sum[x] = sum[x] + add[x] - drop[x];
			out[x] = sum[x] / count;
		}
		return;
	}
	for (x = 0; x < width; x++) {
		if (adds)
			sum[x] += add[x];
		if (drops)
			sum[x] -= drop[x];
		out[x] = sum[x] / count;
	}
}

/* ---- to 64 x 64 ---- */

static void reduce_rows(float *plane, const struct box *across,
			const struct box *down, const struct work *w)
{
	const size_t width = across->len;
	size_t y, k, count;

	for (y = 0; y < down->len; y += LANES) {
		count = down->len - y < LANES ? down->len - y : LANES;
		filter_rows(across, plane + y * width, count, w);
	}
	begin_columns(down, plane, width, w->sum);
	for (y = 0; y < down->len; y += LANES) {
		count = down->len - y < LANES ? down->len - y : LANES;
		for (k = 0; k < count; k++)
			step_columns(down, plane, width, y + k, w->sum,
				     w->rows + k * width);
		filter_rows_kept(across, count, w, w->thin + y);
	}
}

static void reduce_columns(const struct box *down, const struct work *w,
			   float small[SIDE][SIDE])
{
	float row[SIDE];
	size_t i, y = 0;

	begin_columns(down, w->thin[0], SIDE, w->sum);
	for (i = 0; i < SIDE; i++) {
		for (; y <= kept_line(i, down->len); y++)
			step_columns(down, w->thin[0], SIDE, y, w->sum, row);
		memcpy(small[i], row, sizeof(row));
	}
}

static int reduce(float *plane, size_t width, size_t height,
		  float small[SIDE][SIDE])
{
	const struct box across = box_of(width), down = box_of(height);
	const struct work w = {
		.in = malloc(width * sizeof(lanes)),
		.means = malloc(width * sizeof(lanes)),
		.rows = malloc(width * sizeof(lanes)),
		.sum = malloc((width > SIDE ? width : SIDE) * sizeof(float)),
		.thin = malloc(height * sizeof(*w.thin)),
	};
	int err = -ENOMEM;

	if (w.in && w.means && w.rows && w.sum && w.thin) {
		reduce_rows(plane, &across, &down, &w);
		reduce_columns(&down, &w, small);
		err = 0;
	}
	free(w.in);
	free(w.means);
	free(w.rows);
	free(w.sum);
	free(w.thin);
	return err;
}

/* ---- the values ---- */

static int slope(float u, float v)
{
	return abs((int)((u - v) * 100 / 255));
}

static int quality_of(float small[SIDE][SIDE])
{
	enum { SCALE = 90 };
	size_t i, j;
	int sum = 0;

	for (i = 0; i < SIDE; i++) {
		for (j = 0; j < SIDE; j++) {
			if (i + 1 < SIDE)
				sum += slope(small[i][j], small[i + 1][j]);
			if (j + 1 < SIDE)
				sum += slope(small[i][j], small[i][j + 1]);
		}
	}
	return sum / SCALE < 100 ? sum / SCALE : 100;
}

/* The lowest frequencies but those that are constant, along the columns and then
 * along the rows. */
static void transform(float small[SIDE][SIDE], float out[PDQ_BITS])
{
	float cosines[SIDE][FREQUENCIES], half[FREQUENCIES][SIDE] = { { 0 } };
	const float scale = sqrtf(2.0F / SIDE);
	int i, j, k;

	for (k = 0; k < SIDE; k++)
		for (i = 0; i < FREQUENCIES; i++)
			cosines[k][i] = (float)((double)scale *
						cos(M_PI / 2 / SIDE * (i + 1) *
						    (2 * k + 1)));
	for (k = 0; k < SIDE; k++)
		for (i = 0; i < FREQUENCIES; i++)
			for (j = 0; j < SIDE; j++)
				half[i][j] += cosines[k][i] * small[k][j];
	memset(out, 0, PDQ_BITS * sizeof(*out));
	for (i = 0; i < FREQUENCIES; i++)
		for (k = 0; k < SIDE; k++)
			for (j = 0; j < FREQUENCIES; j++)
				out[i * FREQUENCIES + j] +=
					half[i][k] * cosines[k][j];
}

static int compare_values(const void *a, const void *b)
{
	const float x = *(const float *)a, y = *(const float *)b;

	return (x > y) - (x < y);
}

/* The smaller one of the two in the middle. */
static float median_of(const float values[PDQ_BITS])
{
	float sorted[PDQ_BITS];

	memcpy(sorted, values, sizeof(sorted));
	qsort(sorted, PDQ_BITS, sizeof(*sorted), compare_values);
	return sorted[PDQ_BITS / 2 - 1];
}

int pdq_transform(float *plane, size_t width, size_t height,
		  struct pdq_values *out)
{
	float small[SIDE][SIDE], median;
	int i, err = 0;

	memset(out, 0, sizeof(*out));
	if (width < LEAST || height < LEAST)
		return 0;
	if (width == SIDE && height == SIDE)
		memcpy(small, plane, sizeof(small));
	else
		err = reduce(plane, width, height, small);
	if (err)
		return err;
	transform(small, out->values);
	out->quality = quality_of(small);
	median = median_of(out->values);
	for (i = 0; i < PDQ_BITS; i++)
		out->weak += fabsf(out->values[i] - median) < 1;
	return 0;
}

/* ---- bits ---- */

static bool has_bit(const struct pdq *hash, unsigned n)
{
	return hash->bytes[PDQ_BYTES - 1 - n / 8] >> n % 8 & 1;
}

static void add_bit(struct pdq *hash, unsigned n, bool bit)
{
	hash->bytes[PDQ_BYTES - 1 - n / 8] |= (uint8_t)(bit << n % 8);
}

/*
 * To turn a picture moves the values of its frequencies, and changes the sign of
 * those that are odd in that direction (the lowest frequency, of row or column 0,
 * is odd).  Where the value of row i and column j goes.
 */
static unsigned turned_place(enum pdq_turn turn, unsigned i, unsigned j,
			     bool *negated_out)
{
	const bool odd_row = !(i % 2), odd_column = !(j % 2);
	const bool negated[PDQ_TURNS] = {
		[PDQ_ROTATED_90] = odd_column,
		[PDQ_ROTATED_180] = odd_row != odd_column,
		[PDQ_ROTATED_270] = odd_row,
		[PDQ_MIRRORED_UP_DOWN] = odd_row,
		[PDQ_MIRRORED_LEFT_RIGHT] = odd_column,
		[PDQ_TRANSPOSED_BACK] = odd_row != odd_column,
	};
	static const bool transposed[PDQ_TURNS] = {
		[PDQ_ROTATED_90] = true,
		[PDQ_ROTATED_270] = true,
		[PDQ_TRANSPOSED] = true,
		[PDQ_TRANSPOSED_BACK] = true,
	};

	*negated_out = negated[turn];
	return transposed[turn] ? j * FREQUENCIES + i : i * FREQUENCIES + j;
}

void pdq_of_values(const struct pdq_values *v, enum pdq_turn turn,
		   struct pdq *out)
{
	float moved[PDQ_BITS], median;
	unsigned n, to;
	bool negated;

	for (n = 0; n < PDQ_BITS; n++) {
		to = turned_place(turn, n / FREQUENCIES, n % FREQUENCIES,
				  &negated);
		moved[to] = v->values[n] * (negated ? -1.0F : 1.0F);
	}
	median = median_of(moved);
	*out = (struct pdq){ { 0 } };
	for (n = 0; n < PDQ_BITS; n++)
		add_bit(out, n, moved[n] > median);
}

void pdq_turn(const struct pdq *hash, enum pdq_turn turn, struct pdq *out)
{
	struct pdq turned = { { 0 } };
	unsigned n, to;
	bool negated;

	for (n = 0; n < PDQ_BITS; n++) {
		to = turned_place(turn, n / FREQUENCIES, n % FREQUENCIES,
				  &negated);
		add_bit(&turned, to, has_bit(hash, n) != negated);
	}
	*out = turned;
}

unsigned pdq_distance(const struct pdq *a, const struct pdq *b, unsigned most)
{
	unsigned i, bits = 0;
	uint64_t x, y;

	for (i = 0; i < PDQ_BYTES && bits <= most; i += sizeof(x)) {
		memcpy(&x, a->bytes + i, sizeof(x));
		memcpy(&y, b->bytes + i, sizeof(y));
		bits += (unsigned)__builtin_popcountll(x ^ y);
	}
	return bits;
}

int digest_pdq_distance(const struct digests *a, const struct digests *b,
			int *distance_out)
{
	if (!(a->set & b->set & DIGEST_BIT(DIGEST_PDQ)))
		return -ENODATA;
	*distance_out = (int)pdq_distance(&a->picture.exchange,
					  &b->picture.exchange, PDQ_BITS);
	return 0;
}

const struct digest_ops digest_pdq = {
	.id = DIGEST_PDQ,
	.name = "pdq",
	.attribute = "user.pdq",
	.flags = DIGEST_IS_EXCHANGE,
	.len = PDQ_BYTES,
	.offset = offsetof(struct digests, picture.exchange),
};
