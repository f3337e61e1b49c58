/* SPDX-License-Identifier: Apache-2.0 */
#include "core/digest/sif/sif.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "core/kernel/kernel.h"

#define DROPPED_BITS (64 - SIF_BITS)

/* How many windows are hashed at once while a good part of them is of
 * interest: the first ones say how large a part. */
#define EARLY_WINDOWS 512
#define EARLY_BOUND (UINT64_MAX / 16)

#define MARKS 4096
#define BUCKETS 256

/* By how many bits values up to the bound shift to be less than 2^bits. */
static unsigned shift_to(const struct sif *s, unsigned bits)
{
	uint64_t most = s->bound >> DROPPED_BITS;
	unsigned length = most ? 64 - (unsigned)__builtin_clzll(most) : 0;

	return length > bits ? length - bits : 0;
}

/* ---- the smallest values ---- */

/* The value at which max ones are certain: so many marks are set up to it, and
 * what sets different marks is different.  UINT64_MAX: there are fewer. */
static uint64_t enough(const uint64_t *marks, size_t max, unsigned shift)
{
	uint64_t word;
	size_t i, here;

	for (i = 0; i < MARKS / 64; i++) {
		here = (size_t)__builtin_popcountll(marks[i]);
		if (here >= max)
			break;
		max -= here;
	}
	if (i == MARKS / 64)
		return UINT64_MAX;
	for (word = marks[i]; max > 1; max--)
		word &= word - 1;
	i = i * 64 + (size_t)__builtin_ctzll(word);
	return ((uint64_t)(i + 1) << shift) - 1;
}

/* Lowers the bound almost as far as can be, in little time. */
static void lower(struct sif *s)
{
	uint64_t marks[MARKS / 64] = { 0 }, mark, most;
	unsigned shift = shift_to(s, 12);
	size_t i, kept = 0;

	if (s->count < s->max)
		return;
	for (i = 0; i < s->count; i++) {
		mark = s->values[i] >> shift;
		marks[mark / 64] |= UINT64_C(1) << mark % 64;
	}
	most = enough(marks, s->max, shift);
	if (most >= s->bound >> DROPPED_BITS)
		return;
	for (i = 0; i < s->count; i++) {
		s->values[kept] = s->values[i];
		kept += s->values[i] <= most;
	}
	s->count = kept;
	s->bound = ((most + 1) << DROPPED_BITS) - 1;
}

/* By their highest bits, then one by one: they are as good as random. */
static void sort(struct sif *s)
{
	uint16_t places[BUCKETS + 1] = { 0 };
	unsigned shift = shift_to(s, 8);
	uint64_t value;
	size_t i, k;

	for (i = 0; i < s->count; i++)
		places[(s->values[i] >> shift) + 1]++;
	for (i = 1; i < BUCKETS; i++)
		places[i] = (uint16_t)(places[i] + places[i - 1]);
	for (i = 0; i < s->count; i++)
		s->sorted[places[s->values[i] >> shift]++] = s->values[i];
	for (i = 1; i < s->count; i++) {
		value = s->sorted[i];
		for (k = i; k > 0 && s->sorted[k - 1] > value; k--)
			s->sorted[k] = s->sorted[k - 1];
		s->sorted[k] = value;
	}
}

/* Leaves the smallest values, in order. */
static void settle(struct sif *s)
{
	size_t i, kept = 0;

	lower(s);
	sort(s);
	for (i = 0; i < s->count && kept < s->max; i++)
		if (kept == 0 || s->sorted[i] != s->values[kept - 1])
			s->values[kept++] = s->sorted[i];
	s->count = kept;
	if (kept == s->max)
		s->bound = (s->values[kept - 1] << DROPPED_BITS) - 1;
}

/*
 * Takes the hashes behind the values.  Repeats are common, so most of them are
 * recognised at a glance: what was once dealt with need not be again, as the
 * bound only falls.
 */
static void take(struct sif *s, size_t count)
{
	const uint64_t *hashes = s->values + s->count;
	uint64_t value, *recent;
	size_t i, kept = s->count;

	for (i = 0; i < count; i++) {
		value = hashes[i] >> DROPPED_BITS;
		recent = &s->recent[value % SIF_RECENT];
		s->values[kept] = value;
		kept += *recent != value;
		*recent = value;
	}
	s->count = kept;
	if (s->count > SIF_LIMIT(s->max))
		lower(s);
	/* The rest repeats, or is from a file that was made for this. */
	if (s->count > SIF_LIMIT(s->max))
		settle(s);
}

/* ---- the stream ---- */

/* The windows within the bytes. */
static void scan(struct sif *s, const uint8_t *bytes, size_t len)
{
	size_t count, part;

	if (len < s->table.window)
		return;
	for (count = len - s->table.window + 1; count > 0; count -= part) {
		part = s->bound > EARLY_BOUND ? EARLY_WINDOWS : SIF_PART;
		part = count < part ? count : part;
		take(s, s->kernel->pick(&s->table, bytes, part, s->bound,
					s->values + s->count));
		bytes += part;
	}
}

int sif_init(struct sif *s, unsigned window, size_t max)
{
	uint64_t values[256];
	unsigned i;
	uint8_t byte;

	if (window < SIF_MIN_WINDOW || window > SIF_MAX_WINDOW || max < 2 ||
	    max > SIF_MAX_VALUES)
		return -EINVAL;
	for (i = 0; i < 256; i++) {
		byte = (uint8_t)i;
		values[i] = XXH3_64bits(&byte, 1);
	}
	kernel_sif_init(&s->table, values, window);
	s->kernel = kernel_best()->sif;
	sif_begin(s, max);
	return 0;
}

size_t sif_values(uint64_t size)
{
	if (size <= (uint64_t)SIF_VALUES * SIF_SHARE)
		return SIF_VALUES;
	if (size >= (uint64_t)SIF_MAX_VALUES * SIF_SHARE)
		return SIF_MAX_VALUES;
	return (size_t)(size / SIF_SHARE);
}

void sif_begin(struct sif *s, size_t max)
{
	size_t i;

	s->max = max;
	s->bound = UINT64_MAX;
	s->fill = 0;
	s->count = 0;
	/* Values that belong elsewhere. */
	for (i = 0; i < SIF_RECENT; i++)
		s->recent[i] = i + 1;
}

void sif_update(struct sif *s, const void *data, size_t len)
{
	const size_t before = s->table.window - 1;
	const uint8_t *bytes = data;
	uint8_t seam[2 * SIF_MAX_WINDOW];
	size_t head = len < before ? len : before;

	if (len == 0)
		return;
	/* The first windows begin in the update before. */
	memcpy(seam, s->last, s->fill);
	memcpy(seam + s->fill, bytes, head);
	scan(s, seam, s->fill + head);
	scan(s, bytes, len);
	if (len >= before) {
		s->fill = before;
		memcpy(s->last, bytes + len - before, before);
		return;
	}
	head += s->fill;
	s->fill = head < before ? head : before;
	memcpy(s->last, seam + head - s->fill, s->fill);
}

void sif_update_zeros(struct sif *s, uint64_t len)
{
	static const uint8_t zeros[2 * SIF_MAX_WINDOW];

	sif_update(s, zeros, len < sizeof(zeros) ? (size_t)len : sizeof(zeros));
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

/* A full sketch may be one of many. */
static void count_distinct(struct sif_sketch *sketch, bool full)
{
	sketch->distinct =
		full ? estimate(sketch->values, sketch->count) : sketch->count;
}

void sif_final(struct sif *s, struct sif_sketch *out)
{
	settle(s);
	out->window = s->table.window;
	out->count = s->count;
	memcpy(out->values, s->values, s->count * sizeof(s->values[0]));
	count_distinct(out, s->count == s->max);
}

void sif_cut(struct sif_sketch *sketch, size_t max)
{
	if (sketch->count < max)
		return;
	sketch->count = max;
	count_distinct(sketch, true);
}

static bool is_complete(const struct sif_sketch *sketch)
{
	return sketch->distinct == sketch->count;
}

/* The value at the bound itself is in the sketch by the choice of the bound,
 * not by chance. */
uint64_t sif_known(const struct sif_sketch *sketch)
{
	return is_complete(sketch) ? UINT64_MAX :
				     sketch->values[sketch->count - 1];
}

uint64_t sif_joint_bound(const struct sif_sketch *a, const struct sif_sketch *b)
{
	uint64_t known_a = sif_known(a), known_b = sif_known(b);

	return known_a < known_b ? known_a : known_b;
}

/* Walks two sketches in step. */
struct sketch_walk {
	const struct sif_sketch *a, *b;
	size_t i, j;
	uint64_t value;  /* where it stands, */
	bool in_a, in_b; /* and whose that is */
};

static bool walk_on(struct sketch_walk *w)
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
	struct sketch_walk w = { .a = a, .b = b };
	uint64_t bound = sif_joint_bound(a, b);
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
	uint64_t known_into = sif_known(into), known_from = sif_known(from);
	uint64_t known = known_into < known_from ? known_into : known_from;
	struct sif_sketch both = { .window = into->window };
	struct sketch_walk w = { .a = into, .b = from };

	if (into->window != from->window || max < 2 || max > SIF_MAX_VALUES)
		return -EINVAL;
	while (both.count < max && walk_on(&w) && w.value <= known)
		both.values[both.count++] = w.value;
	count_distinct(&both, both.count == max || known != UINT64_MAX);
	*into = both;
	return 0;
}
