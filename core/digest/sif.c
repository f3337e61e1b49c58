/* SPDX-License-Identifier: Apache-2.0 */
#include "core/digest/sif.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#define DROPPED_BITS (64 - SIF_BITS)

static inline uint64_t rotate(uint64_t v, unsigned bits)
{
	return v << (bits & 63) | v >> (-bits & 63);
}

/* ---- the smallest values ---- */

/* How many values are smaller: where value is or belongs.  No branches but the
 * loop: which way to go no processor can foresee. */
static size_t place_of(const uint64_t *values, size_t count, uint64_t value)
{
	size_t place = 0, half;

	while (count > 0) {
		half = (count + 1) / 2;
		place += values[place + half - 1] < value ? half : 0;
		count -= half;
	}
	return place;
}

/* value is within the bound: a full sketch has a larger one, which goes. */
static void insert(struct sif *s, uint64_t value)
{
	size_t place = place_of(s->values, s->count, value);

	if (place < s->count && s->values[place] == value)
		return;
	s->count -= s->count == s->max;
	memmove(s->values + place + 1, s->values + place,
		(s->count - place) * sizeof(s->values[0]));
	s->values[place] = value;
	s->count++;
	if (s->count == s->max)
		s->bound = (s->values[s->max - 1] << DROPPED_BITS) - 1;
}

static bool repeats_a_byte(const uint8_t *window, unsigned len)
{
	return window[0] == window[1] &&
	       memcmp(window, window + 1, len - 1) == 0;
}

/*
 * Takes a window whose hash is within the bound; in a small file all are.
 * Repeats are common, so most of them are recognised at a glance: what was
 * once dealt with need not be again, as the bound only falls.  Returns whether
 * the window repeats one byte.
 */
static __attribute__((noinline)) bool offer(struct sif *s, uint64_t hash,
					    const uint8_t *window)
{
	uint64_t value = hash >> DROPPED_BITS;
	uint64_t *recent = &s->recent[value % SIF_RECENT];

	if (*recent == value)
		return false;
	if (repeats_a_byte(window, s->window))
		return true;
	*recent = value;
	insert(s, value);
	return false;
}

/* ---- the stream ---- */

/* Bytes of a file after its first window; before them must be as many as the
 * window has. */
static void roll(struct sif *s, const uint8_t *bytes, size_t len)
{
	const uint8_t *leaving = bytes - s->window;
	uint64_t hash = s->hash, bound = s->bound;
	size_t i;

	for (i = 0; i < len; i++) {
		hash = rotate(hash, 1) ^ s->enter[bytes[i]] ^
		       s->leave[leaving[i]];
		if (__builtin_expect(hash > bound, 1))
			continue;
		/* While the same byte goes in and out, nothing changes. */
		if (offer(s, hash, leaving + i + 1))
			while (i + 1 < len && bytes[i + 1] == bytes[i])
				i++;
		bound = s->bound;
	}
	s->hash = hash;
}

/* Bytes of the first window; returns how many it took. */
static size_t fill_window(struct sif *s, const uint8_t *bytes, size_t len)
{
	size_t i;

	for (i = 0; i < len && s->fill < s->window; i++) {
		s->hash = rotate(s->hash, 1) ^ s->enter[bytes[i]];
		s->last[s->fill++] = bytes[i];
		if (s->fill == s->window)
			(void)offer(s, s->hash, s->last);
	}
	return i;
}

int sif_init(struct sif *s, unsigned window, size_t max)
{
	unsigned i;
	uint8_t byte;

	if (window < SIF_MIN_WINDOW || window > SIF_MAX_WINDOW || max < 2 ||
	    max > SIF_MAX_VALUES)
		return -EINVAL;
	s->window = window;
	s->max = max;
	for (i = 0; i < 256; i++) {
		byte = (uint8_t)i;
		s->enter[i] = XXH3_64bits(&byte, 1);
		s->leave[i] = rotate(s->enter[i], window);
	}
	sif_begin(s);
	return 0;
}

void sif_begin(struct sif *s)
{
	size_t i;

	s->bound = UINT64_MAX;
	s->hash = 0;
	s->fill = 0;
	s->count = 0;
	/* Values that belong elsewhere. */
	for (i = 0; i < SIF_RECENT; i++)
		s->recent[i] = i + 1;
}

void sif_update(struct sif *s, const void *data, size_t len)
{
	const uint8_t *bytes = data;
	uint8_t seam[2 * SIF_MAX_WINDOW];
	size_t used = 0, head;

	if (s->fill < s->window && len > 0)
		used = fill_window(s, bytes, len);
	bytes += used;
	len -= used;
	if (len == 0)
		return;
	/* The first windows begin in the update before. */
	head = len < s->window ? len : s->window;
	memcpy(seam, s->last, s->window);
	memcpy(seam + s->window, bytes, head);
	roll(s, seam + s->window, head);
	roll(s, bytes + head, len - head);
	if (head == s->window)
		memcpy(s->last, bytes + len - head, head);
	else
		memcpy(s->last, seam + head, s->window);
}

/* ---- sketches ---- */

/* How many values there are in all, when these are the smallest: unbiased,
 * with a relative standard deviation of 1 / sqrt(count - 2). */
static uint64_t estimate(const uint64_t *values, size_t count)
{
	uint64_t covered = values[count - 1] + 1; /* of 2^SIF_BITS */
	uint64_t number;

	assert(covered > count - 1 && covered <= UINT64_C(1) << SIF_BITS);
	number = ((uint64_t)(count - 1) << SIF_BITS) / covered;
	return number > count ? number : count + 1;
}

void sif_final(const struct sif *s, struct sif_sketch *out)
{
	out->window = s->window;
	out->count = s->count;
	memcpy(out->values, s->values, s->count * sizeof(s->values[0]));
	out->distinct = s->count;
	if (s->count == s->max)
		out->distinct = estimate(s->values, s->count);
}

static bool is_complete(const struct sif_sketch *sketch)
{
	return sketch->distinct == sketch->count;
}

/* The largest value about which the sketch knows everything. */
static uint64_t known_up_to(const struct sif_sketch *sketch)
{
	return is_complete(sketch) ? UINT64_MAX :
				     sketch->values[sketch->count - 1];
}

/* Walks two sketches in step. */
struct walk {
	const struct sif_sketch *a, *b;
	size_t i, j;
	uint64_t value;  /* where it stands, */
	bool in_a, in_b; /* and whose that is */
};

static bool walk_on(struct walk *w)
{
	bool more_a = w->i < w->a->count, more_b = w->j < w->b->count;
	uint64_t a = more_a ? w->a->values[w->i] : UINT64_MAX;
	uint64_t b = more_b ? w->b->values[w->j] : UINT64_MAX;

	w->value = a < b ? a : b;
	w->in_a = more_a && a <= b;
	w->in_b = more_b && b <= a;
	w->i += w->in_a;
	w->j += w->in_b;
	return more_a || more_b;
}

static double share(size_t part, size_t whole)
{
	return whole ? (double)part / (double)whole : 0;
}

int sif_compare(const struct sif_sketch *a, const struct sif_sketch *b,
		struct sif_relation *out)
{
	struct walk w = { .a = a, .b = b };
	uint64_t known_a = known_up_to(a), known_b = known_up_to(b);
	/* The value at the bound is in one of them by the choice of the bound,
	 * not by chance. */
	uint64_t bound = known_a < known_b ? known_a : known_b;
	size_t max = SIZE_MAX, samples = 0, shared = 0, common = 0;
	size_t a_samples = 0, b_samples = 0;

	if (a->window != b->window)
		return -EINVAL;
	/* So many of the smallest values of the union are certain. */
	if (!is_complete(a))
		max = a->count;
	if (!is_complete(b) && b->count < max)
		max = b->count;
	while (walk_on(&w)) {
		if (samples < max) {
			samples++;
			shared += w.in_a && w.in_b;
		}
		if (w.value < bound) {
			a_samples += w.in_a;
			b_samples += w.in_b;
			common += w.in_a && w.in_b;
		}
	}
	*out = (struct sif_relation){
		.resemblance = share(shared, samples),
		.a_in_b = share(common, a_samples),
		.b_in_a = share(common, b_samples),
		.samples = samples,
		.a_samples = a_samples,
		.b_samples = b_samples,
	};
	return 0;
}

int sif_merge(struct sif_sketch *into, const struct sif_sketch *from,
	      size_t max)
{
	uint64_t known_into = known_up_to(into), known_from = known_up_to(from);
	uint64_t known = known_into < known_from ? known_into : known_from;
	struct sif_sketch both = { .window = into->window };
	struct walk w = { .a = into, .b = from };

	if (into->window != from->window || max < 2 || max > SIF_MAX_VALUES)
		return -EINVAL;
	while (both.count < max && walk_on(&w) && w.value <= known)
		both.values[both.count++] = w.value;
	both.distinct = both.count;
	if (both.count == max || known != UINT64_MAX)
		both.distinct = estimate(both.values, both.count);
	*into = both;
	return 0;
}
