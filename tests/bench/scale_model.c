/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/scale_model.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "core/base/bytes.h"
#include "tests/bench/inputs.h"

#define CROWD_MOST 50000
#define CROWD_BYTES 8000.0
#define HEADER_BYTES 1000.0
#define BLOCK 4096 /* places whose families are drawn together */

/* What tells the streams of a content apart. */
enum { SEED_FAMILY = 1, SEED_BASE, SEED_MEMBER, SEED_OWN, SEED_HEADER };

/* ---- random numbers ---- */

/* The seed of one of many things; never 0. */
static uint64_t seed_of(uint64_t kind, uint64_t number)
{
	uint64_t state = (kind << 56 ^ number) * 2 + 1;
	int i;

	for (i = 0; i < 8; i++)
		(void)draw(&state);
	return draw(&state) | 1;
}

/* 0..1, neither of them. */
static double draw_share(uint64_t *state)
{
	return ((double)(draw(state) >> 12) + 0.5) * 0x1p-52;
}

/* Sizes as of the files below /usr: median 2200, one in ten above 30000. */
static double draw_size(uint64_t *state)
{
	double radius = sqrt(-2 * log(draw_share(state)));
	double angle = 2 * 3.14159265358979323846 * draw_share(state);
	double size = exp(7.7 + 2 * radius * cos(angle));

	return fmin(fmax(size, 100), 0x1p32);
}

/* ---- places and numbers ---- */

static uint64_t divisor(uint64_t a, uint64_t b)
{
	return b ? divisor(b, a % b) : a;
}

void scale_model_init(struct scale_model *m, uint64_t contents)
{
	uint64_t n = contents, there = (uint64_t)((double)n * 0.618);
	int64_t x = 0, next = 1, t;
	uint64_t a = n, b, rest;

	while (there > 1 && divisor(there, n) != 1)
		there--;
	there = there ? there : 1;
	/* Euclid: x * there = 1 modulo n in the end. */
	for (b = there; b; b = rest) {
		t = x - (int64_t)(a / b) * next;
		x = next;
		next = t;
		rest = a % b;
		a = b;
	}
	*m = (struct scale_model){
		.contents = n,
		.crowd = n / 20 < CROWD_MOST ? n / 20 : CROWD_MOST,
		.there = there,
		.back = (uint64_t)(x < 0 ? x + (int64_t)n : x),
	};
}

uint64_t scale_number(const struct scale_model *m, uint64_t place)
{
	return place * m->there % m->contents;
}

uint64_t scale_copied(const struct scale_model *m)
{
	return scale_number(m, m->contents / 2);
}

uint64_t scale_copies(const struct scale_model *m)
{
	return m->crowd;
}

struct family {
	uint64_t first; /* place, by which it is known */
	double bytes;   /* of its first member */
};

/* Families are drawn from the start of the block: with probability 1 / n^2
 * there are n members or more. */
static struct family family_at(const struct scale_model *m, uint64_t place)
{
	struct family f = { .bytes = CROWD_BYTES };
	uint64_t next, state, block;

	if (place < m->crowd)
		return f;
	block = (place - m->crowd) / BLOCK;
	state = seed_of(SEED_FAMILY, block);
	next = m->crowd + block * BLOCK;
	do {
		f.first = next;
		next += (uint64_t)(1 / sqrt(draw_share(&state)));
		f.bytes = draw_size(&state);
	} while (next <= place);
	return f;
}

/* ---- windows ---- */

/* The fingerprints of a set of windows, of which a share is kept. */
struct stream {
	uint64_t state, salt;
	double at, step, kept;
	uint64_t value; /* the next one; UINT64_MAX: no more */
};

static bool stream_keeps(const struct stream *s, uint64_t value)
{
	uint64_t state = (value ^ s->salt) | 1;

	if (s->kept >= 1)
		return true;
	(void)draw(&state);
	return draw_share(&state) < s->kept;
}

static void stream_next(struct stream *s)
{
	uint64_t before = s->value;

	do {
		s->at -= log(draw_share(&s->state)) * s->step;
		s->value = s->at < 0x1p48 ? (uint64_t)s->at : UINT64_MAX;
	} while (s->value != UINT64_MAX &&
		 (s->value == before || !stream_keeps(s, s->value)));
}

static void stream_begin(struct stream *s, uint64_t seed, double windows,
			 double kept, uint64_t salt)
{
	*s = (struct stream){
		.state = seed,
		.salt = salt,
		.step = windows > 0 ? 0x1p48 / windows : 0x1p50,
		.kept = kept,
		.value = UINT64_MAX,
	};
	stream_next(s);
}

/* In as many bits as a sketch keeps. */
static uint64_t rounded(uint64_t value)
{
	unsigned bits = value ? 64 - (unsigned)__builtin_clzll(value) : 0;
	unsigned dropped =
		bits > SKETCH_VALUE_BITS ? bits - SKETCH_VALUE_BITS : 0;

	return value >> dropped << dropped;
}

/* The sample of all of them, of about so many windows. */
static void merge(struct stream *streams, size_t count, double windows,
		  struct sketch *out)
{
	size_t most = sketch_most((uint64_t)windows + SKETCH_WINDOW - 1), i;
	uint64_t least;

	*out = (struct sketch){ 0 };
	for (;;) {
		least = UINT64_MAX;
		for (i = 0; i < count; i++)
			if (streams[i].value < least)
				least = streams[i].value;
		if (least == UINT64_MAX || out->count == most)
			break;
		out->times[out->count] = 1;
		out->values[out->count] = rounded(least);
		if (!out->count ||
		    out->values[out->count] != out->values[out->count - 1])
			out->count++;
		for (i = 0; i < count; i++)
			if (streams[i].value == least)
				stream_next(&streams[i]);
	}
	out->windows = out->count;
	if (least != UINT64_MAX) {
		while (sketch_bound(out->level) > least)
			out->level++;
		sketch_raise(out, out->level);
		out->windows = (uint64_t)fmax(windows, (double)out->count);
	}
	out->folded = out->windows + SKETCH_WINDOW - 1;
}

/* ---- digests ---- */

static void make_columns(uint64_t family, uint64_t member, double kept,
			 struct digests *d)
{
	double flips = acos(kept) / 3.14159265358979323846;
	uint64_t state = seed_of(SEED_OWN, member), simhash = draw(&family);
	unsigned i;

	for (i = 0; i < 64; i++)
		if (draw_share(&state) < flips)
			simhash ^= UINT64_C(1) << i;
	store_be64(d->simhash, simhash);
	for (i = 0; i < sizeof(d->traits); i++) {
		d->traits[i] = (uint8_t)(draw(&family) >> 58);
		if (draw_share(&state) > kept)
			d->traits[i] = (uint8_t)(draw(&state) >> 58);
	}
	for (i = 0; i < 2; i++)
		store_le64(d->xxh128 + 8 * i, draw(&state));
}

void scale_content(const struct scale_model *m, uint64_t number,
		   struct scale_content *out)
{
	uint64_t place = number * m->back % m->contents;
	struct family f = family_at(m, place);
	uint64_t state = seed_of(SEED_MEMBER, place);
	double kept = 0.5 + 0.49 * draw_share(&state), own;
	bool header = draw_share(&state) < 0.02;
	struct stream streams[3];

	if (place == f.first)
		kept = 1;
	own = f.bytes * (1 - kept);
	if (place != f.first && place % 8 == 0)
		own = 4 * f.bytes * draw_share(&state);
	stream_begin(&streams[0], seed_of(SEED_BASE, f.first), f.bytes, kept,
		     state);
	stream_begin(&streams[1], seed_of(SEED_OWN, place), own, 1, 0);
	stream_begin(&streams[2], seed_of(SEED_HEADER, 0),
		     header ? HEADER_BYTES : 0, 1, 0);
	own += kept * f.bytes + (header ? HEADER_BYTES : 0);
	merge(streams, 3, own, &out->sketch);
	out->digests = (struct digests){
		.set = DIGEST_BIT(DIGEST_XXH128) | DIGEST_BIT(DIGEST_SIMHASH) |
		       DIGEST_BIT(DIGEST_RDC),
		.size = out->sketch.folded,
	};
	make_columns(seed_of(SEED_BASE, f.first), place, kept, &out->digests);
}
