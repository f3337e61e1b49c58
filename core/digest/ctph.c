/* SPDX-License-Identifier: Apache-2.0 */
#include "core/digest/ctph.h"

#include <errno.h>
#include <string.h>

#include "core/digest/sise.h"
#include "core/digest/ssdeep.h"
#include "core/kernel/ctph/ctph.h"
#include "core/kernel/kernel.h"

/*
 * A span of the file is taken at a time.  First its triggers are found; they
 * tell which pieces end in it, and so all that is to be hashed is known before
 * anything is: pieces that are independent of each other, from a state that is
 * known to bytes that are known.  That is what the kernels want.
 *
 * The triggers of a span also count before its pieces are looked at: what the
 * end of a span makes superfluous is never hashed.
 */
#define SPAN 16384 /* stays in the nearest cache */
#define MAX_TRIGGERS 256
/* A trigger makes a piece and ends one early; then there are those that began
 * before the span, and a state and a last one of each tail. */
#define MAX_PIECES (2 * MAX_TRIGGERS + 6 * CTPH_ROWS)

#define WHOLE (CTPH_ROWS - 1) /* the row of the whole file */

/*
 * A window of zeros has the rolling value 0, which triggers at no level, and a
 * zero byte multiplies the state of a piece by the prime.  Odd numbers modulo
 * 2^12 return to 1 after 2^10 multiplications, so 1024 zeros change nothing.
 */
#define PRIME_ORDER 1024

#define FNV_START 0x967 /* the low 12 bits of 0x28021967 */

/* After that many triggers a part of ssdeep's is never ended again. */
#define WHOLE_PIECES (SSDEEP_MAX_CHARS - 1)
#define HALF_PIECES (SSDEEP_HALF_CHARS - 1)

struct start {
	uint32_t at;
	uint16_t state;
};

struct span {
	const uint8_t *bytes;
	size_t len;
	unsigned first; /* level, no trigger below was looked for */
	size_t trigger_count, piece_count, value_count;
	struct start starts[CTPH_ROWS]; /* of the pieces that grow */
	uint64_t before[CTPH_ROWS];     /* triggers, up to the span */
	struct kernel_trigger triggers[MAX_TRIGGERS];
	struct kernel_piece pieces[MAX_PIECES];
	/* Values that are to become the states of the pieces whose numbers
	 * they are.  Those in ctph.pieces are not listed. */
	uint16_t *values[5 * CTPH_ROWS];
};

/* ---- triggers ---- */

/* A window's bytes and the first ones of the span. */
struct seam {
	uint8_t bytes[2 * CTPH_WINDOW];
	size_t len; /* without the window */
};

static struct seam make_seam(const struct ctph *c, const struct span *s)
{
	struct seam seam = {
		.len = s->len < CTPH_WINDOW ? s->len : CTPH_WINDOW,
	};

	memcpy(seam.bytes, c->last, CTPH_WINDOW);
	memcpy(seam.bytes + CTPH_WINDOW, s->bytes, seam.len);
	return seam;
}

/* Ends the span early when there are too many. */
static void find(const struct ctph *c, struct span *s, unsigned level)
{
	const struct kernel_ctph *kernel = kernel_best()->ctph;
	struct seam seam = make_seam(c, s);
	size_t i, count;

	count = kernel->find(seam.bytes + CTPH_WINDOW, seam.len, level,
			     s->triggers, MAX_TRIGGERS);
	i = count;
	count += kernel->find(s->bytes + seam.len, s->len - seam.len, level,
			      s->triggers + count, MAX_TRIGGERS - count);
	for (; i < count; i++)
		s->triggers[i].end += (uint32_t)seam.len;
	s->trigger_count = count;
	if (count == MAX_TRIGGERS)
		s->len = s->triggers[count - 1].end;
}

/* The last one that ends up to end. */
static bool find_last(const struct ctph *c, const struct span *s, size_t end,
		      unsigned level, struct kernel_trigger *out)
{
	const struct kernel_ctph *kernel = kernel_best()->ctph;
	struct seam seam = make_seam(c, s);

	if (end > seam.len && kernel->find_last(s->bytes + seam.len,
						end - seam.len, level, out)) {
		out->end += (uint32_t)seam.len;
		return true;
	}
	return kernel->find_last(seam.bytes + CTPH_WINDOW,
				 end < seam.len ? end : seam.len, level, out);
}

/* ---- levels ---- */

static unsigned max_pieces(const struct ctph *c)
{
	return c->digests & CTPH_SISE ? CTPH_MAX_PIECES : SSDEEP_MAX_CHARS;
}

/* The first level that is needed. */
static unsigned low(const struct ctph *c)
{
	if (c->digests == CTPH_SISE)
		return c->sise_low;
	if (c->digests == CTPH_SSDEEP || c->ssdeep_low < c->sise_low)
		return c->ssdeep_low;
	return c->sise_low;
}

/* The first level whose triggers end pieces.  What has all its pieces has no
 * use for more of them. */
static unsigned first_growing(const struct ctph *c)
{
	unsigned level = low(c);

	while (level < CTPH_LEVELS && c->triggers[level] >= max_pieces(c))
		level++;
	return level;
}

/* Counts a span's triggers: for levels below the first they are some, not all.
 */
static void count_triggers(struct ctph *c, const struct span *s)
{
	uint64_t sum = 0, of_level[CTPH_ROWS] = { 0 };
	unsigned level;
	size_t i;

	for (i = 0; i < s->trigger_count; i++)
		of_level[s->triggers[i].level]++;
	for (level = CTPH_ROWS; level-- > 0;) {
		sum += of_level[level];
		c->triggers[level] = s->before[level] + sum;
	}
}

/*
 * SiSe's result is the highest level that has enough pieces, from the one where
 * the file's size starts the search, and the level below.  ssdeep's the same,
 * and the level above.  Once a level within reach of the search has enough,
 * later bytes can only move the result up.
 */
static void raise_low(struct ctph *c, uint64_t size)
{
	unsigned *level = &c->sise_low;

	while (*level < CTPH_LEVELS - 2 &&
	       c->triggers[*level + 2] + 1 >= SISE_MIN_PAIRS &&
	       ctph_sise_comes_by(c, size, *level + 2))
		++*level;
	level = &c->ssdeep_low;
	while (*level < CTPH_LEVELS - 1 &&
	       c->triggers[*level + 1] >= SSDEEP_HALF_CHARS &&
	       ctph_starts_at_or_above(size, *level + 1))
		++*level;
}

/* Where to look first: at a level that will do if triggers are as frequent as
 * random ones.  Later on what came before is the better guide. */
static unsigned likely_first(const struct ctph *c, size_t len)
{
	unsigned first = first_growing(c), level = first;

	if (len > c->size)
		while (ctph_starts_at_or_above(c->size + len, level + 3))
			level++;
	return level;
}

/* Levels below are not needed any more, and neither are triggers of nothing
 * else. */
static void raise_first(struct span *s, unsigned level)
{
	size_t i, kept = 0;

	for (i = 0; i < s->trigger_count; i++) {
		s->triggers[kept] = s->triggers[i];
		kept += s->triggers[i].level >= level;
	}
	s->trigger_count = kept;
	s->first = level;
}

/* Finds the triggers of all levels that are needed after the span. */
static void take_triggers(struct ctph *c, struct span *s)
{
	unsigned must = first_growing(c);
	size_t len = s->len;

	memcpy(s->before, c->triggers, sizeof(s->before));
	s->first = likely_first(c, len);
	s->trigger_count = 0;
	if (must == CTPH_LEVELS)
		return;
	for (;;) {
		find(c, s, s->first);
		count_triggers(c, s);
		raise_low(c, c->size + s->len);
		if (s->first <= must || s->first <= low(c))
			break;
		s->first = s->first < must + 3 ? must : s->first - 3;
		s->len = len;
	}
	if (s->first < low(c))
		raise_first(s, low(c));
}

/* ---- pieces ---- */

static uint16_t add_piece(struct span *s, struct start start, uint32_t end)
{
	s->pieces[s->piece_count] = (struct kernel_piece){
		.bytes = s->bytes + start.at,
		.len = end - start.at,
		.state = start.state,
	};
	return (uint16_t)s->piece_count++;
}

/* value is to become what hashing makes of a piece. */
static void await(struct span *s, uint16_t *value, uint16_t piece)
{
	*value = piece;
	s->values[s->value_count++] = value;
}

static bool same(struct start a, struct start b)
{
	return a.at == b.at && a.state == b.state;
}

/* Ends the pieces of a trigger.  Those that started together are one. */
static void end_pieces(struct ctph *c, struct span *s,
		       uint64_t counts[CTPH_ROWS],
		       const struct kernel_trigger *t)
{
	unsigned level, max = max_pieces(c);
	struct start *start, last = { UINT32_MAX, 0 };
	uint16_t piece = 0;

	for (level = s->first; level <= t->level && level <= c->top; level++) {
		start = &s->starts[level];
		if (counts[level] < max) {
			if (!same(*start, last))
				piece = add_piece(s, *start, t->end);
			last = *start;
			c->pieces[level][counts[level]] = piece;
		}
		counts[level]++;
		*start = (struct start){ t->end, FNV_START };
	}
}

static bool is_needed(const struct ctph *c, unsigned level)
{
	return level <= c->top || (level == WHOLE && c->sise_low == 0);
}

/* The piece that has not ended goes on to the end of the span. */
static void extend_pieces(struct ctph *c, struct span *s)
{
	struct start last = { UINT32_MAX, 0 };
	uint16_t piece = 0;
	unsigned level;

	for (level = s->first; level < CTPH_ROWS; level++) {
		if (!is_needed(c, level) || c->triggers[level] >= max_pieces(c))
			continue;
		if (!same(s->starts[level], last))
			piece = add_piece(s, s->starts[level],
					  (uint32_t)s->len);
		last = s->starts[level];
		await(s, &c->states[level], piece);
	}
}

static void plan_pieces(struct ctph *c, struct span *s)
{
	uint64_t counts[CTPH_ROWS];
	unsigned level;
	size_t i;

	for (level = s->first; level < CTPH_ROWS; level++)
		s->starts[level] = (struct start){ 0, c->states[level] };
	memcpy(counts, s->before, sizeof(counts));
	for (i = 0; i < s->trigger_count; i++)
		end_pieces(c, s, counts, &s->triggers[i]);
	extend_pieces(c, s);
}

/* ---- ssdeep's tails ---- */

/* Where the last trigger of each level ends, 0: there is none.  For levels that
 * ssdeep still needs. */
static void find_lasts(const struct ctph *c, const struct span *s,
		       uint32_t ends_out[CTPH_ROWS])
{
	struct kernel_trigger last = { (uint32_t)s->len, 0 };
	unsigned level = c->ssdeep_low;
	size_t i = s->trigger_count;

	memset(ends_out, 0, CTPH_ROWS * sizeof(ends_out[0]));
	while (level < s->first) {
		if (!find_last(c, s, last.end, level, &last))
			return;
		for (; level <= last.level; level++)
			ends_out[level] = last.end;
	}
	for (; i > 0; i--)
		for (; level <= s->triggers[i - 1].level; level++)
			ends_out[level] = s->triggers[i - 1].end;
}

/* The end of a level's trigger by its number in the file; it is in the span. */
static uint32_t numbered_end(const struct span *s, unsigned level,
			     uint64_t number)
{
	uint64_t count = s->before[level];
	size_t i;

	for (i = 0; i < s->trigger_count; i++) {
		count += s->triggers[i].level >= level;
		if (count == number)
			return s->triggers[i].end;
	}
	return 0;
}

/* The tail that starts at trigger number and differs from a piece that ends
 * from the next one on. */
static void plan_tail(struct ctph *c, struct span *s, unsigned level,
		      uint64_t number, struct ctph_tail *tail, uint32_t last)
{
	struct start start = { 0, tail->state };

	if (c->triggers[level] <= number)
		return;
	if (s->before[level] == number)
		start.state = c->states[level];
	else if (s->before[level] < number)
		start = (struct start){ numbered_end(s, level, number),
					FNV_START };
	if (last > 0)
		await(s, &tail->last, add_piece(s, start, last));
	await(s, &tail->state, add_piece(s, start, (uint32_t)s->len));
}

static void plan_tails(struct ctph *c, struct span *s)
{
	unsigned level = c->ssdeep_low;
	uint32_t lasts[CTPH_ROWS];

	if (!(c->digests & CTPH_SSDEEP) || c->triggers[level] <= HALF_PIECES)
		return;
	find_lasts(c, s, lasts);
	for (; level <= c->top && c->triggers[level] > HALF_PIECES; level++) {
		plan_tail(c, s, level, WHOLE_PIECES, &c->whole[level],
			  lasts[level]);
		if (level > c->ssdeep_low)
			plan_tail(c, s, level, HALF_PIECES, &c->half[level],
				  lasts[level]);
	}
}

/* ---- the stream ---- */

static void put_values(struct ctph *c, const struct span *s)
{
	uint64_t i, end, max = max_pieces(c);
	uint16_t *piece;
	unsigned level;
	size_t k;

	for (k = 0; k < s->value_count; k++)
		*s->values[k] = (uint16_t)s->pieces[*s->values[k]].state;
	for (level = s->first; level < CTPH_LEVELS && level <= c->top;
	     level++) {
		end = c->triggers[level] < max ? c->triggers[level] : max;
		for (i = s->before[level]; i < end; i++) {
			piece = &c->pieces[level][i];
			*piece = (uint16_t)s->pieces[*piece].state;
		}
	}
}

static void keep_last_bytes(struct ctph *c, const uint8_t *bytes, size_t len)
{
	if (len < CTPH_WINDOW) {
		memmove(c->last, c->last + len, CTPH_WINDOW - len);
		memcpy(c->last + CTPH_WINDOW - len, bytes, len);
	} else {
		memcpy(c->last, bytes + len - CTPH_WINDOW, CTPH_WINDOW);
	}
}

/* Takes a span from bytes on and returns its length. */
static size_t take_span(struct ctph *c, const uint8_t *bytes, size_t len)
{
	struct span s;

	s.bytes = bytes;
	s.len = len < SPAN ? len : SPAN;
	s.piece_count = 0;
	s.value_count = 0;
	take_triggers(c, &s);
	plan_tails(c, &s);
	plan_pieces(c, &s);
	kernel_best()->ctph->hash(s.pieces, s.piece_count);
	put_values(c, &s);
	keep_last_bytes(c, bytes, s.len);
	c->size += s.len;
	return s.len;
}

void ctph_init(struct ctph *c, unsigned digests)
{
	unsigned i;

	c->digests = digests;
	c->sise_low = 0;
	c->ssdeep_low = 0;
	c->top = WHOLE;
	c->sise_start = CTPH_BY_SIZE;
	c->size = 0;
	memset(c->last, 0, sizeof(c->last));
	memset(c->triggers, 0, sizeof(c->triggers));
	for (i = 0; i < CTPH_ROWS; i++)
		c->states[i] = FNV_START;
}

/* No more than size bytes will come: levels that only a larger file needs are
 * left out.  Called before the first update, if at all; it changes nothing but
 * the time it takes. */
static void ctph_expect(struct ctph *c, uint64_t size)
{
	unsigned level = CTPH_LEVELS - 1;

	while (!ctph_starts_at_or_above(size, level))
		level--;
	if (c->sise_start != CTPH_BY_SIZE && c->sise_start > level)
		level = c->sise_start;
	/* ssdeep's second part is of the level above. */
	c->top = level + 1;
}

void ctph_update(struct ctph *c, const void *data, size_t len)
{
	const uint8_t *bytes = data;
	size_t taken;

	for (; len > 0; bytes += taken, len -= taken)
		taken = take_span(c, bytes, len);
}

uint32_t ctph_rolling_value(const struct ctph *c)
{
	uint32_t sums = 0, shifted = 0, i;

	for (i = 0; i < CTPH_WINDOW; i++) {
		sums += (i + 2) * c->last[i];
		shifted = shifted << 5 ^ c->last[i];
	}
	return sums + shifted;
}

/* ---- the part of a fingerprint ---- */

static int part_begin(void *state, const struct digest_stream *stream)
{
	ctph_init(state, stream->set & (CTPH_SISE | CTPH_SSDEEP));
	ctph_expect(state, stream->size);
	return 0;
}

static int part_update(void *state, const void *data, size_t len)
{
	ctph_update(state, data, len);
	return 0;
}

/* Many take no longer than some. */
static int part_zeros(void *state, uint64_t len)
{
	static const uint8_t zeros[PRIME_ORDER + CTPH_WINDOW];
	uint64_t part = len < sizeof(zeros) ? len : sizeof(zeros);
	struct ctph *c = state;

	ctph_update(c, zeros, (size_t)part);
	len -= part;
	c->size += len - len % PRIME_ORDER;
	ctph_update(c, zeros, (size_t)(len % PRIME_ORDER));
	return 0;
}

const struct digest_part ctph_part = {
	.size = sizeof(struct ctph),
	.begin = part_begin,
	.update = part_update,
	.zeros = part_zeros,
};

/* ---- binary forms ---- */

unsigned ctph_level_of(uint64_t block_size)
{
	unsigned level;

	for (level = 0; level < CTPH_BLOCKS; level++)
		if (block_size == UINT64_C(3) << level)
			return level;
	return CTPH_FOREIGN;
}

int ctph_pack(const uint16_t *pieces, size_t count, unsigned bits,
	      struct buf *out)
{
	size_t bytes = (count * bits + 7) / 8, i;
	int err = buf_reserve(out, bytes + 1);
	uint32_t left = 0;
	unsigned left_bits = 0;
	uint8_t *at;

	if (err)
		return err;
	at = (uint8_t *)out->data + out->len;
	for (i = 0; i < count; i++) {
		left = left << bits | pieces[i];
		for (left_bits += bits; left_bits >= 8; left_bits -= 8)
			*at++ = (uint8_t)(left >> (left_bits - 8));
	}
	if (left_bits)
		*at++ = (uint8_t)(left << (8 - left_bits));
	*at = 0;
	out->len += bytes;
	return 0;
}

bool ctph_unpack(const uint8_t **at, const uint8_t *end, size_t count,
		 unsigned bits, uint16_t *out)
{
	uint32_t left = 0;
	unsigned left_bits = 0;
	size_t i;

	if ((size_t)(end - *at) < (count * bits + 7) / 8)
		return false;
	for (i = 0; i < count; i++) {
		for (; left_bits < bits; left_bits += 8)
			left = left << 8 | *(*at)++;
		left_bits -= bits;
		out[i] = (uint16_t)(left >> left_bits & ((1u << bits) - 1));
	}
	return !(left & ((1u << left_bits) - 1));
}
