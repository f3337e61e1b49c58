/* SPDX-License-Identifier: Apache-2.0 */
#include "core/digest/simhash.h"

#include <pthread.h>
#include <string.h>
#include <sys/random.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "core/kernel/kernel.h"

/* ---- the set of keys ---- */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static uint64_t process_secret;

/* Digests do not depend on it, only who makes their contents must not know. */
static void make_secret(void)
{
	if (getrandom(&process_secret, sizeof(process_secret), GRND_NONBLOCK) !=
	    sizeof(process_secret))
		process_secret = (uint64_t)(uintptr_t)&process_secret *
				 UINT64_C(0x9e3779b97f4a7c15);
	process_secret |= 1;
}

static uint64_t secret(void)
{
	(void)pthread_once(&once, make_secret);
	return process_secret;
}

static void clear_set(struct simhash *s)
{
	memset(s->set.slots, 0, SIMHASH_SLOTS * sizeof(s->set.slots[0]));
	memset(s->recent, 0, sizeof(s->recent));
	s->set.slot_count = SIMHASH_SLOTS;
	s->set.secret = secret();
	s->set.count = 0;
	s->has_zero = false;
}

/* Drops the keys above the limit. */
static void sift(struct simhash *s)
{
	size_t strays = s->ops->sift(&s->set, s->limit, s->scratch);

	s->ops->insert(&s->set, s->scratch, strays);
}

/*
 * The value that has rank smaller ones before it in order; rank < count.
 * Radix selection: what can not be the answer is dropped, byte after byte
 * from the top.  Reorders values.
 */
static uint64_t select_rank(uint64_t *values, size_t count, size_t rank)
{
	size_t histogram[256];
	size_t i, kept;
	unsigned byte;
	int shift;

	for (shift = 56; shift >= 0 && count > 1; shift -= 8) {
		memset(histogram, 0, sizeof(histogram));
		for (i = 0; i < count; i++)
			histogram[values[i] >> shift & 0xff]++;
		for (byte = 0; rank >= histogram[byte]; byte++)
			rank -= histogram[byte];
		kept = 0;
		for (i = 0; i < count; i++)
			if ((values[i] >> shift & 0xff) == byte)
				values[kept++] = values[i];
		count = kept;
	}
	return values[0];
}

/*
 * The key of the set that has rank smaller ones before it, looked for where it
 * should be: keys are spread evenly up to the limit.  0 when it is elsewhere.
 */
static uint64_t guess_rank(struct simhash *s, size_t rank)
{
	const size_t slack = SIMHASH_SAMPLE / 64;
	uint64_t step = s->limit / s->set.count;
	uint64_t low = step * (rank - slack), high = step * (rank + slack);
	size_t below, inside;

	if (rank + slack >= s->set.count)
		return 0;
	below = s->ops->between(s->set.slots, s->set.slot_count, 1, low,
				s->scratch);
	inside = s->ops->between(s->set.slots, s->set.slot_count, low + 1, high,
				 s->scratch);
	if (rank < below || rank >= below + inside)
		return 0;
	return select_rank(s->scratch, inside, rank - below);
}

/* Makes the limit the key of the last window that belongs to the sample.
 * Later windows can only bring it down further. */
static void lower_limit(struct simhash *s)
{
	size_t rank = SIMHASH_SAMPLE - 1 - s->has_zero;
	uint64_t limit = guess_rank(s, rank);

	if (limit == 0) {
		(void)s->ops->between(s->set.slots, s->set.slot_count, 1,
				      UINT64_MAX, s->scratch);
		limit = select_rank(s->scratch, s->set.count, rank);
	}
	s->limit = limit;
}

/* ---- windows ---- */

/* Drops many of the keys that are in the set: each of those that came last in
 * its place.  Text repeats what it said a moment ago. */
static void drop_recent(struct simhash *s)
{
	size_t i, kept = 0;
	uint64_t key, *recent;

	/* Without branches: they could not be foreseen. */
	for (i = 0; i < s->key_count; i++) {
		key = s->keys[i];
		recent = &s->recent[key >> 16 & (SIMHASH_RECENT - 1)];
		s->has_zero |= key == 0;
		s->keys[kept] = key;
		kept += *recent != key;
		*recent = key;
	}
	s->key_count = kept;
}

static void add_keys(struct simhash *s)
{
	drop_recent(s);
	s->ops->insert(&s->set, s->keys, s->key_count);
	s->key_count = 0;
}

/* Adds windows with keys from low to high until the set is full.  Returns the
 * number of those that were looked at; the last keys may wait for more. */
static size_t add_windows(struct simhash *s, const uint8_t *bytes, size_t count,
			  uint64_t low, uint64_t high)
{
	const size_t batch = SIMHASH_BATCH;
	size_t i, part, some;

	for (i = 0; i < count && s->set.count < SIMHASH_MAX_FILL; i += part) {
		part = count - i < batch ? count - i : batch;
		some = window_is_run(bytes + i, part) ? 1 : part;
		s->key_count += s->ops->pick(bytes + i, some, low, high,
					     s->keys + s->key_count);
		if (s->key_count > batch)
			add_keys(s);
	}
	return i;
}

/* ---- the bytes that are held ---- */

/* Where the sample should end, and a little more, if count distinct keys are
 * spread evenly up to limit. */
static uint64_t guess_limit(uint64_t limit, size_t count)
{
	const uint64_t wanted = SIMHASH_SAMPLE + SIMHASH_SAMPLE / 32;
	uint64_t step = count ? limit / count : UINT64_MAX;

	return step > UINT64_MAX / wanted ? UINT64_MAX : step * wanted;
}

/*
 * Adds from the held bytes all that can be in the sample, in ranges of keys:
 * each brings in what the ones before left room for.  Where more falls in a
 * range than the set can take, which takes keys made for it, bisection finds
 * one that fits.
 */
static void add_held(struct simhash *s)
{
	const size_t count = s->held_len - (SIMHASH_WINDOW - 1);
	uint64_t low = 0, high = guess_limit(UINT64_MAX, count);
	uint64_t least = 0, most = UINT64_MAX; /* the limit is between */

	clear_set(s);
	for (;;) {
		(void)add_windows(s, s->held, count, low, high);
		add_keys(s);
		if (s->set.count >= SIMHASH_MAX_FILL) {
			most = high - 1;
			low = 0;
			clear_set(s);
		} else if (s->set.count >= SIMHASH_SAMPLE || high == most) {
			break;
		} else {
			least = low = high + 1;
		}
		high = guess_limit(high, s->set.count);
		if (most < UINT64_MAX || high < low)
			high = least + (most - least) / 2;
	}
	s->limit = high;
}

/* ---- the stream ---- */

void simhash_init(struct simhash *s)
{
	uintptr_t begin = (uintptr_t)s->memory;
	size_t skip = -begin % WINDOW_ALIGN / sizeof(s->memory[0]);

	s->ops = kernel_best()->window;
	s->held_len = 0;
	s->streams = false;
	s->tail_len = 0;
	s->key_count = 0;
	s->set.slots = s->memory + skip;
}

static void keep_tail(struct simhash *s, const uint8_t *end, size_t len)
{
	s->tail_len = len < SIMHASH_WINDOW - 1 ? len : SIMHASH_WINDOW - 1;
	memcpy(s->tail, end - s->tail_len, s->tail_len);
}

static void stream_windows(struct simhash *s, const uint8_t *bytes,
			   size_t count)
{
	size_t i = 0;

	while (i < count) {
		i += add_windows(s, bytes + i, count - i, 0, s->limit);
		if (s->set.count >= SIMHASH_MAX_FILL) {
			lower_limit(s);
			sift(s);
		}
	}
}

static void stream(struct simhash *s, const uint8_t *bytes, size_t len)
{
	const size_t most = SIMHASH_WINDOW - 1;
	uint8_t seam[2 * SIMHASH_WINDOW];
	size_t head = len < most ? len : most;
	size_t seam_len = s->tail_len + head;

	/* First the windows that begin before bytes. */
	memcpy(seam, s->tail, s->tail_len);
	memcpy(seam + s->tail_len, bytes, head);
	if (seam_len > most)
		stream_windows(s, seam, seam_len - most);
	if (len > most)
		stream_windows(s, bytes, len - most);
	if (len >= most)
		keep_tail(s, bytes + len, len);
	else
		keep_tail(s, seam + seam_len, seam_len);
}

static void start_stream(struct simhash *s)
{
	add_held(s);
	keep_tail(s, s->held + s->held_len, s->held_len);
	s->streams = true;
}

void simhash_update(struct simhash *s, const void *data, size_t len)
{
	size_t part = SIMHASH_HELD - s->held_len;
	const uint8_t *bytes = data;

	if (len == 0)
		return;
	part = len < part ? len : part;
	memcpy(s->held + s->held_len, bytes, part);
	s->held_len += part;
	if (len == part)
		return;
	if (!s->streams)
		start_stream(s);
	stream(s, bytes + part, len - part);
}

void simhash_update_zeros(struct simhash *s, uint64_t len)
{
	static const uint8_t zeros[4096];
	/* One window of zeros in the stream is as good as many. */
	uint64_t most = SIMHASH_HELD - s->held_len + SIMHASH_WINDOW;
	size_t part;

	for (len = len < most ? len : most; len > 0; len -= part) {
		part = len < sizeof(zeros) ? (size_t)len : sizeof(zeros);
		simhash_update(s, zeros, part);
	}
}

/* ---- the result ---- */

/* Bit i is set where more than half of the values have it set. */
static uint64_t majority(const uint32_t sums[64], size_t count)
{
	uint64_t result = 0;
	size_t i;

	for (i = 0; i < 64; i++)
		if (2 * (size_t)sums[i] > count)
			result |= UINT64_C(1) << i;
	return result;
}

/* 2 ** bits places, four for each of count if possible. */
static unsigned clear_places(struct simhash *s, size_t count)
{
	unsigned bits = 6;

	while (bits < SIMHASH_PLACE_BITS && (size_t)1 << bits < 4 * count)
		bits++;
	memset(s->few.table, 0, sizeof(s->few.table[0]) << bits);
	return bits;
}

/* Moves the distinct ones of count values, fewer than there are places, to the
 * front; returns their number. */
static size_t drop_repeats(struct simhash *s, uint64_t *values, size_t count)
{
	const size_t mask = ((size_t)1 << clear_places(s, count)) - 1;
	size_t i, at, kept = 0;
	uint16_t owner;

	for (i = 0; i < count; i++) {
		at = values[i] & mask;
		while ((owner = s->few.table[at]) != 0 &&
		       values[owner - 1] != values[i])
			at = (at + 1) & mask;
		if (owner != 0)
			continue;
		values[kept++] = values[i];
		s->few.table[at] = (uint16_t)kept;
	}
	return kept;
}

static uint64_t digest_few(struct simhash *s, size_t count)
{
	struct window_tally t = { .table = s->few.table,
				  .place_bits = clear_places(s, count),
				  .rest = s->few.rest };

	s->ops->tally(s->few.held, count, &t);
	count = drop_repeats(s, t.rest, t.rest_count);
	s->ops->sum(t.rest, count, t.sums);
	return majority(t.sums, t.count + count);
}

static uint64_t digest_sample(struct simhash *s)
{
	uint32_t sums[64] = { 0 };
	size_t count;

	add_keys(s);
	if (s->set.count + s->has_zero > SIMHASH_SAMPLE)
		lower_limit(s);
	count = s->ops->between(s->set.slots, s->set.slot_count, 1, s->limit,
				s->scratch);
	if (s->has_zero)
		s->scratch[count++] = 0;
	s->ops->evaluate(s->scratch, count);
	s->ops->sum(s->scratch, count, sums);
	return majority(sums, count);
}

uint64_t simhash_final(struct simhash *s)
{
	const size_t most = SIMHASH_WINDOW - 1;

	if (s->held_len <= most)
		return s->held_len ? XXH3_64bits(s->held, s->held_len) : 0;
	if (s->held_len - most <= SIMHASH_FEW)
		return digest_few(s, s->held_len - most);
	if (!s->streams)
		add_held(s);
	return digest_sample(s);
}
