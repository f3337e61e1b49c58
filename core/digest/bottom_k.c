/* SPDX-License-Identifier: Apache-2.0 */
#include "core/digest/bottom_k.h"

#include <stdlib.h>
#include <string.h>

/* While most values are up to the bound parts are small: soon it will be
 * lower. */
#define DENSE_PART 512

#define MARKS 4096
#define MAX_SLOTS 8192
#define BINS 256
#define MAX_BUCKET_BITS 10
#define FEW 16 /* values for which no table is worth it */
#define PLACE_MASK ((UINT64_C(1) << BOTTOM_K_PLACE_BITS) - 1)

/* By how many bits values up to the bound shift to be less than 2^bits. */
static unsigned shift_to(const struct bottom_k *b, unsigned bits)
{
	unsigned length =
		b->bound ? 64 - (unsigned)__builtin_clzll(b->bound) : 0;

	return length > bits ? length - bits : 0;
}

static void start(struct bottom_k *b, uint64_t bound)
{
	b->bound = bound;
	b->streams = false;
	b->settled = true;
	b->placed = false;
	b->count = 0;
}

void bottom_k_begin(struct bottom_k *b, size_t max)
{
	b->max = max;
	b->counts = false;
	start(b, UINT64_MAX);
}

void bottom_k_count(struct bottom_k *b)
{
	b->counts = true;
}

/* Adds up two records of one value; b is the later one. */
static struct bottom_k_seen join(struct bottom_k_seen a, struct bottom_k_seen b)
{
	uint32_t times = a.times + b.times;

	return (struct bottom_k_seen){
		.times = times < a.times ? UINT32_MAX : times,
		.last = b.last,
	};
}

static void start_stream(struct bottom_k *b)
{
	size_t i;

	/* Values that belong elsewhere. */
	for (i = 0; i < BOTTOM_K_RECENT; i++)
		b->recent[i] = (uint64_t)(i + 1) << 16;
	b->streams = true;
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
	return (((uint64_t)i + 1) << shift) - 1;
}

/* Lowers the bound almost as far as can be, in little time. */
static void lower(struct bottom_k *b)
{
	uint64_t marks[MARKS / 64] = { 0 }, mark, most;
	unsigned shift = shift_to(b, 12);
	size_t i, kept = 0;

	for (i = 0; i < b->count; i++) {
		mark = b->values[i] >> shift;
		marks[mark / 64] |= UINT64_C(1) << mark % 64;
	}
	most = enough(marks, b->max, shift);
	if (most >= b->bound)
		return;
	for (i = 0; i < b->count; i++) {
		b->values[kept] = b->values[i];
		if (b->counts)
			b->seen[kept] = b->seen[i];
		kept += b->values[i] <= most;
	}
	b->count = kept;
	b->bound = most;
}

/* ---- repeats ---- */

static int compare_values(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void sort(uint64_t *values, size_t count)
{
	qsort(values, count, sizeof(values[0]), compare_values);
}

static size_t slot_mask(size_t count)
{
	size_t mask = 1023;

	while (mask < 4 * count && mask < MAX_SLOTS - 1)
		mask = 2 * mask + 1;
	return mask;
}

/*
 * Each of count values has a slot, by its bits from shift on, and the first one
 * that comes there owns it: these go to owners_out[1..], and their number is
 * returned.  Those that differ from the owner of their slot come to the front
 * of values.  Without branches, which could not be foreseen.
 */
static size_t find_owners(uint64_t *values, size_t count, unsigned shift,
			  uint64_t *owners_out, size_t *others_out)
{
	uint16_t slots[MAX_SLOTS], owner;
	size_t i, slot, mask = slot_mask(count), owned = 0, others = 0;
	uint64_t value;

	memset(slots, 0, (mask + 1) * sizeof(slots[0]));
	for (i = 0; i < count; i++) {
		value = values[i];
		slot = value >> shift & mask;
		owner = slots[slot];
		values[others] = value;
		others += (owner != 0) & (owners_out[owner] != value);
		owners_out[owned + 1] = value;
		owned += owner == 0;
		slots[slot] = owner ? owner : (uint16_t)owned;
	}
	*others_out = others;
	return owned;
}

static size_t drop_neighbours(uint64_t *values, size_t count)
{
	size_t i, kept = 0;

	for (i = 0; i < count; i++)
		if (kept == 0 || values[i] != values[kept - 1])
			values[kept++] = values[i];
	return kept;
}

/* Writes the distinct ones of the values, in any order; returns their number.
 * Values are as good as random, but for those of a file made for this.  The
 * values left at the end equal no owner: they would have had its slot. */
static size_t find_distinct(struct bottom_k *b, uint64_t **distinct_out)
{
	static const uint8_t shifts[] = { 16, 29, 42, 22 };
	uint64_t *owners = b->scratch;
	size_t i, owned = 0, others = b->count;

	for (i = 0; others > FEW && i < sizeof(shifts); i++)
		owned += find_owners(b->values, others, shifts[i],
				     owners + owned, &others);
	sort(b->values, others);
	others = drop_neighbours(b->values, others);
	memcpy(owners + 1 + owned, b->values, others * sizeof(owners[0]));
	*distinct_out = owners + 1;
	return owned + others;
}

/* ---- repeats that are counted ---- */

/* As find_owners(); scratch_seen belongs to the owners, and seen to the
 * others. */
static size_t count_owners(struct bottom_k *b, size_t count, unsigned shift,
			   size_t owned, size_t *others_out)
{
	uint64_t *owners = b->scratch, *values = b->values, value;
	struct bottom_k_seen *of_owner = b->scratch_seen, seen, joined;
	uint16_t slots[MAX_SLOTS], owner;
	size_t i, slot, mask = slot_mask(count), others = 0;
	bool equal;

	memset(slots, 0, (mask + 1) * sizeof(slots[0]));
	for (i = 0; i < count; i++) {
		value = values[i];
		seen = b->seen[i];
		slot = value >> shift & mask;
		owner = slots[slot];
		equal = (owner != 0) & (owners[owner] == value);
		values[others] = value;
		b->seen[others] = seen;
		others += (owner != 0) & !equal;
		joined = join(of_owner[owner], seen);
		of_owner[owner] = equal ? joined : of_owner[owner];
		owners[owned + 1] = value;
		of_owner[owned + 1] = seen;
		owned += owner == 0;
		slots[slot] = owner ? owner : (uint16_t)owned;
	}
	*others_out = others;
	return owned;
}

static void add_places(uint64_t *values, size_t count, size_t first)
{
	size_t i;

	for (i = 0; i < count; i++)
		values[i] |= first + i;
}

/* Takes the places from the values again.  Those of recent ones are others. */
static void take_places(struct bottom_k *b)
{
	size_t i;

	if (!b->placed)
		return;
	b->placed = false;
	if (b->streams)
		start_stream(b);
	for (i = 0; i < b->count; i++) {
		b->seen[i] = b->scratch_seen[b->values[i] & PLACE_MASK];
		b->values[i] &= ~PLACE_MASK;
	}
}

static size_t count_rest(struct bottom_k *b, size_t count, size_t owned)
{
	uint64_t *owners = b->scratch, value;
	struct bottom_k_seen seen;
	size_t i, first = owned;

	add_places(b->values, count, 0);
	sort(b->values, count);
	for (i = 0; i < count; i++) {
		value = b->values[i] & ~PLACE_MASK;
		seen = b->seen[b->values[i] & PLACE_MASK];
		if (owned > first && owners[owned] == value) {
			b->scratch_seen[owned] =
				join(b->scratch_seen[owned], seen);
			continue;
		}
		owned++;
		owners[owned] = value;
		b->scratch_seen[owned] = seen;
	}
	return owned;
}

/* As find_distinct(); the values have places in scratch_seen. */
static size_t count_distinct(struct bottom_k *b, uint64_t **distinct_out)
{
	static const uint8_t shifts[] = { 16, 29, 42, 22 };
	size_t i, owned = 0, others = b->count;

	for (i = 0; others > FEW && i < sizeof(shifts); i++)
		owned = count_owners(b, others, shifts[i], owned, &others);
	owned = count_rest(b, others, owned);
	add_places(b->scratch + 1, owned, 1);
	*distinct_out = b->scratch + 1;
	return owned;
}

/* ---- the result ---- */

/* The first bin that holds a value with rank smaller ones before it; rank_out
 * is its rank there. */
static unsigned find_bin(const uint64_t *values, size_t count, unsigned shift,
			 size_t rank, size_t *rank_out)
{
	uint16_t bins[BINS] = { 0 };
	unsigned bin;
	size_t i;

	for (i = 0; i < count; i++)
		bins[values[i] >> shift]++;
	for (bin = 0; rank >= bins[bin]; bin++)
		rank -= bins[bin];
	*rank_out = rank;
	return bin;
}

/* Takes the max smallest of more distinct values, in any order. */
static void select_smallest(struct bottom_k *b, uint64_t *values, size_t count)
{
	const unsigned shift = shift_to(b, 8);
	size_t i, rank, kept = 0, last = 0;
	unsigned bin = find_bin(values, count, shift, b->max - 1, &rank);

	for (i = 0; i < count; i++) {
		const uint64_t value = values[i];

		b->values[kept] = value;
		kept += value >> shift < bin;
		values[last] = value;
		last += value >> shift == bin;
	}
	sort(values, last);
	memcpy(b->values + kept, values, (rank + 1) * sizeof(values[0]));
	b->count = b->max;
	b->bound = b->counts ? values[rank] & ~PLACE_MASK : values[rank];
}

void bottom_k_settle(struct bottom_k *b)
{
	uint64_t *distinct;
	size_t count;

	if (b->settled)
		return;
	count = b->counts ? count_distinct(b, &distinct) :
			    find_distinct(b, &distinct);
	if (count > b->max) {
		select_smallest(b, distinct, count);
	} else {
		memcpy(b->values, distinct, count * sizeof(distinct[0]));
		b->count = count;
	}
	b->settled = true;
	b->placed = b->counts;
}

/* Values that are at most distance places away from where they belong: odd-even
 * transposition, without branches. */
static void sort_nearby(uint64_t *values, size_t count, size_t distance)
{
	uint64_t a, b;
	size_t i, k;

	for (k = 0; k <= distance; k++) {
		for (i = k % 2; i + 1 < count; i += 2) {
			a = values[i];
			b = values[i + 1];
			values[i] = a < b ? a : b;
			values[i + 1] = a < b ? b : a;
		}
	}
}

void bottom_k_sort(struct bottom_k *b)
{
	uint16_t places[(1 << MAX_BUCKET_BITS) + 1] = { 0 }, largest = 0;
	unsigned bits = 1, shift;
	size_t i;

	bottom_k_settle(b);
	if (b->counts && !b->placed) {
		memcpy(b->scratch_seen, b->seen, b->count * sizeof(b->seen[0]));
		add_places(b->values, b->count, 0);
		b->placed = true;
	}
	while (bits < MAX_BUCKET_BITS && (size_t)1 << bits < b->count)
		bits++;
	shift = shift_to(b, bits);
	for (i = 0; i < b->count; i++)
		places[(b->values[i] >> shift) + 1]++;
	for (i = 1; i <= (size_t)1 << bits; i++) {
		largest = places[i] > largest ? places[i] : largest;
		places[i] = (uint16_t)(places[i] + places[i - 1]);
	}
	for (i = 0; i < b->count; i++)
		b->scratch[places[b->values[i] >> shift]++] = b->values[i];
	if (largest > FEW)
		sort(b->scratch, b->count);
	else
		sort_nearby(b->scratch, b->count, largest);
	memcpy(b->values, b->scratch, b->count * sizeof(b->values[0]));
	take_places(b);
}

/* ---- the stream ---- */

/* Leaves out most repeats.  A value once dealt with need not be again, as the
 * bound only falls. */
static size_t drop_recent(struct bottom_k *b, size_t count)
{
	uint64_t value, *recent, *values = b->values + b->count;
	size_t i, kept = 0;

	for (i = 0; i < count; i++) {
		value = values[i];
		recent = &b->recent[value >> 16 & (BOTTOM_K_RECENT - 1)];
		values[kept] = value;
		kept += *recent != value;
		*recent = value;
	}
	return kept;
}

/* As drop_recent(); a repeat of a recent value counts for it. */
static size_t count_recent(struct bottom_k *b, size_t count, uint32_t where)
{
	const struct bottom_k_seen once = { 1, where }, none = { 0, where };
	uint64_t value, *values = b->values + b->count;
	size_t i, at, kept = 0;
	uint16_t place;
	bool known;

	for (i = 0; i < count; i++) {
		value = values[i];
		at = value >> 16 & (BOTTOM_K_RECENT - 1);
		known = b->recent[at] == value;
		place = known ? b->recent_places[at] :
				(uint16_t)(b->count + kept);
		values[kept] = value;
		b->seen[b->count + kept] = none;
		b->seen[place] = join(b->seen[place], once);
		b->recent[at] = value;
		b->recent_places[at] = place;
		kept += !known;
	}
	return kept;
}

/* How many of count new values are kept. */
static size_t keep_new(struct bottom_k *b, size_t count, uint32_t where)
{
	const struct bottom_k_seen once = { 1, where };
	size_t i;

	take_places(b);
	if (b->streams)
		return b->counts ? count_recent(b, count, where) :
				   drop_recent(b, count);
	for (i = 0; b->counts && i < count; i++)
		b->seen[b->count + i] = once;
	return count;
}

void bottom_k_add(struct bottom_k *b, size_t count, uint32_t where)
{
	if (count == 0)
		return;
	b->count += keep_new(b, count, where);
	b->settled = false;
	if (b->count <= BOTTOM_K_LIMIT(b->max))
		return;
	/* lower() moves values, and places of recent ones would be wrong. */
	if (!b->streams || b->counts)
		start_stream(b);
	lower(b);
	/* The rest repeats, or is from a file that was made for this. */
	if (b->count > BOTTOM_K_LIMIT(b->max))
		bottom_k_settle(b);
}

size_t bottom_k_part(const struct bottom_k *b)
{
	/* So many of a whole part are expected. */
	const size_t picked = (size_t)(b->bound / (UINT64_MAX / BOTTOM_K_PART));

	return b->count + picked > BOTTOM_K_LIMIT(b->max) ? DENSE_PART :
							    BOTTOM_K_PART;
}

/* The bound up to which distinct values are expected to be enough, if there are
 * count of them up to the present one. */
static uint64_t scale_bound(const struct bottom_k *b, uint64_t count)
{
	/* Four standard deviations more than k. */
	const uint64_t wanted = b->max + b->max / 8 + 32;
	uint64_t step = b->bound / (count ? count : 1);

	return count <= wanted && step > UINT64_MAX / wanted ? UINT64_MAX :
							       step * wanted;
}

void bottom_k_guess(struct bottom_k *b, uint64_t count)
{
	b->bound = scale_bound(b, count);
}

bool bottom_k_suffices(struct bottom_k *b)
{
	bottom_k_settle(b);
	if (b->count == b->max || b->bound == UINT64_MAX)
		return true;
	start(b, b->count > b->max / 8 ? scale_bound(b, b->count) : UINT64_MAX);
	return false;
}
