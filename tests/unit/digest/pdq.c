/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/hex.h"
#include "core/digest/pdq.h"
#include "tests/support/vectors.h"

/* Values of the reference: tests/vectors/pdq/README.md. */

/* ---- the pictures ---- */

enum kind { BLOCKS, WAVES, NOISE, RAMP, FLAT };

static const struct recipe {
	const char *name;
	enum kind kind;
	/* blocks: side, seed; waves: three factors; noise: seed; flat: grey.  A
	 * picture in colour has three of them. */
	unsigned channels[3][3];
} recipes[] = {
	{ "blocks-64.pgm", BLOCKS, { { 7, 1 } } },
	{ "blocks-128.pgm", BLOCKS, { { 11, 2 } } },
	{ "blocks-100x60.pgm", BLOCKS, { { 9, 3 } } },
	{ "blocks-60x100.pgm", BLOCKS, { { 9, 4 } } },
	{ "blocks-513x300.pgm", BLOCKS, { { 37, 5 } } },
	{ "blocks-300x513.pgm", BLOCKS, { { 37, 6 } } },
	{ "blocks-700x701.pgm", BLOCKS, { { 81, 7 } } },
	{ "waves-200.pgm", WAVES, { { 3, 5, 7 } } },
	{ "waves-333x77.pgm", WAVES, { { 1, 11, 2 } } },
	{ "waves-65x63.pgm", WAVES, { { 9, 4, 13 } } },
	{ "noise-256.pgm", NOISE, { { 8 } } },
	{ "noise-63.pgm", NOISE, { { 9 } } },
	{ "ramp-128x96.pgm", RAMP, { { 0 } } },
	{ "flat-80.pgm", FLAT, { { 128 } } },
	{ "small-5.pgm", BLOCKS, { { 1, 10 } } },
	{ "small-5x9.pgm", BLOCKS, { { 2, 11 } } },
	{ "small-4x400.pgm", BLOCKS, { { 9, 12 } } },
	{ "wide-1000x6.pgm", BLOCKS, { { 13, 13 } } },
	{ "colour-120x90.ppm", BLOCKS, { { 13, 21 }, { 13, 22 }, { 13, 23 } } },
	{ "colour-257x129.ppm",
	  WAVES,
	  { { 1, 6, 3 }, { 2, 5, 4 }, { 3, 4, 5 } } },
};

enum { PICTURES = sizeof(recipes) / sizeof(*recipes) };

static unsigned next_random(uint32_t *x)
{
	*x = *x * 1664525 + 1013904223;
	return *x >> 24;
}

static void make_blocks(uint8_t *out, unsigned w, unsigned h,
			const unsigned *how)
{
	const unsigned side = how[0];
	uint32_t random = how[1];
	unsigned x, y;

	for (y = 0; y < h; y++)
		for (x = 0; x < w; x++)
			out[y * w + x] =
				y % side ? out[(y - 1) * w + x] :
				x % side ? out[y * w + x - 1] :
					   (uint8_t)next_random(&random);
}

static uint8_t pixel(enum kind kind, const unsigned *how, unsigned x,
		     unsigned y, const unsigned size[2])
{
	const unsigned w = size[0] > 1 ? size[0] - 1 : 1;
	const unsigned h = size[1] > 1 ? size[1] - 1 : 1;

	switch (kind) {
	case WAVES:
		return (uint8_t)((x * x * how[0] + y * y * how[1] +
				  x * y * how[2]) >>
				 9);
	case RAMP:
		return (uint8_t)((x * 255 / w + y * 255 / h) / 2);
	default:
		return (uint8_t)how[0];
	}
}

static uint8_t *make_channel(enum kind kind, const unsigned *how,
			     const unsigned size[2])
{
	uint8_t *out = malloc((size_t)size[0] * size[1]);
	uint32_t random = how[0];
	unsigned x, y;

	assert_non_null(out);
	if (kind == BLOCKS)
		make_blocks(out, size[0], size[1], how);
	for (y = 0; kind != BLOCKS && y < size[1]; y++)
		for (x = 0; x < size[0]; x++)
			out[y * size[0] + x] =
				kind == NOISE ? (uint8_t)next_random(&random) :
						pixel(kind, how, x, y, size);
	return out;
}

static float *make_plane(const char *name, const unsigned size[2])
{
	const size_t count = (size_t)size[0] * size[1];
	float *plane = malloc(count * sizeof(*plane));
	const struct recipe *r = recipes;
	uint8_t *channels[3] = { NULL };
	size_t i;

	while (strcmp(r->name, name) != 0)
		assert_true(++r < recipes + PICTURES);
	assert_non_null(plane);
	for (i = 0; i < 3 && (!i || r->channels[i][0]); i++)
		channels[i] = make_channel(r->kind, r->channels[i], size);
	for (i = 0; i < count; i++)
		plane[i] = channels[1] ?
				   pdq_luma(channels[0][i], channels[1][i],
					    channels[2][i]) :
				   channels[0][i];
	for (i = 0; i < 3; i++)
		free(channels[i]);
	return plane;
}

/* ---- tests ---- */

static void assert_hash(const struct pdq *hash, const char *golden,
			const char *name)
{
	char text[2 * PDQ_BYTES + 1];

	hex_encode(hash->bytes, PDQ_BYTES, text);
	if (strcmp(text, golden) != 0)
		fail_msg("%s: want %s, have %s", name, golden, text);
}

TEST(hashes_of_the_reference)
{
	struct tsv golden = tsv_open("tests/vectors/pdq/pdq.tsv");
	struct pdq_values values;
	unsigned count = 0, size[2], turn;
	struct pdq hash;
	float *plane;
	char *at;

	while (tsv_next(&golden)) {
		const char *name = golden.fields[0];

		assert_int_equal(
			sscanf(golden.fields[1], "%ux%u", &size[0], &size[1]),
			2);
		plane = make_plane(name, size);
		assert_int_equal(
			pdq_transform(plane, size[0], size[1], &values), 0);
		free(plane);
		assert_int_equal(values.quality,
				 strtol(golden.fields[2], NULL, 10));
		pdq_of_values(&values, PDQ_AS_IS, &hash);
		assert_hash(&hash, golden.fields[3], name);
		at = golden.fields[4];
		for (turn = 0; turn < PDQ_TURNS; turn++) {
			pdq_of_values(&values, turn, &hash);
			assert_hash(&hash, strsep(&at, " "), name);
		}
		count++;
	}
	assert_int_equal(count, PICTURES);
	tsv_close(&golden);
}

/* Pictures whose frequencies are mostly zero have weak bits; others do not. */
TEST(weak_values)
{
	static const struct {
		const char *name;
		unsigned size[2];
		int least, most;
	} cases[] = {
		{ "blocks-128.pgm", { 128, 128 }, 0, 9 },
		{ "noise-256.pgm", { 256, 256 }, 0, 9 },
		{ "waves-65x63.pgm", { 65, 63 }, 200, 256 },
		{ "flat-80.pgm", { 80, 80 }, 256, 256 },
		{ "ramp-128x96.pgm", { 128, 96 }, 256, 256 },
	};
	struct pdq_values values;
	float *plane;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		plane = make_plane(cases[i].name, cases[i].size);
		assert_int_equal(pdq_transform(plane, cases[i].size[0],
					       cases[i].size[1], &values),
				 0);
		assert_in_range(values.weak, cases[i].least, cases[i].most);
		free(plane);
	}
}

/* Where a pixel of a square goes. */
static size_t turned(enum pdq_turn turn, size_t x, size_t y, size_t side)
{
	const size_t right = side - 1 - x, below = side - 1 - y;
	const size_t to[PDQ_TURNS][2] = {
		[PDQ_AS_IS] = { x, y },
		[PDQ_ROTATED_90] = { y, right },
		[PDQ_ROTATED_180] = { right, below },
		[PDQ_ROTATED_270] = { below, x },
		[PDQ_MIRRORED_UP_DOWN] = { x, below },
		[PDQ_MIRRORED_LEFT_RIGHT] = { right, y },
		[PDQ_TRANSPOSED] = { y, x },
		[PDQ_TRANSPOSED_BACK] = { below, right },
	};

	return to[turn][1] * side + to[turn][0];
}

/* The filter is symmetric at 320 pixels: what the bits alone say of the turned
 * picture is what the turned picture says. */
TEST(turned_pictures)
{
	enum { SIDE = 320 };
	static const unsigned size[2] = { SIDE, SIDE };
	float *plane = malloc(SIDE * SIDE * sizeof(*plane)), *other;
	struct pdq hash, from_bits, from_picture;
	struct pdq_values values;
	unsigned turn;
	size_t i;

	assert_non_null(plane);
	other = make_plane("blocks-700x701.pgm", size);
	assert_int_equal(pdq_transform(other, SIDE, SIDE, &values), 0);
	free(other);
	pdq_of_values(&values, PDQ_AS_IS, &hash);
	for (turn = 0; turn < PDQ_TURNS; turn++) {
		other = make_plane("blocks-700x701.pgm", size);
		for (i = 0; i < SIDE * SIDE; i++)
			plane[turned(turn, i % SIDE, i / SIDE, SIDE)] =
				other[i];
		free(other);
		assert_int_equal(pdq_transform(plane, SIDE, SIDE, &values), 0);
		pdq_of_values(&values, PDQ_AS_IS, &from_picture);
		pdq_turn(&hash, turn, &from_bits);
		assert_in_range(
			pdq_distance(&from_bits, &from_picture, PDQ_BITS), 0,
			20);
	}
	free(plane);
}
