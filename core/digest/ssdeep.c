/* SPDX-License-Identifier: Apache-2.0 */
#include "core/digest/ssdeep.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#define FNV_START 0x27 /* the low 6 bits of 0x28021967 */
/* Those of 0x01000193, and 3 more: the compiler would take 0x13 apart into
 * shifts and additions, and the next byte would wait longer for them. */
#define FNV_PRIME 0x193
#define CHAR_MASK 0x3f

/* ---- the states of all levels, side by side ---- */

#define VECTOR_LANES 8

typedef uint16_t vector __attribute__((vector_size(2 * VECTOR_LANES)));

/*
 * States that are equal are stepped once.  Levels that never triggered share
 * one state, and a level's two states differ only after SSDEEP_HALF_CHARS
 * triggers: nearly always two vectors and one, from level low on, are enough.
 * These are the narrow states.
 */
#define NARROW_WHOLE (2 * VECTOR_LANES)
#define NARROW_HALF VECTOR_LANES

struct states {
	vector whole0, whole1, half0; /* the narrow ones */
	vector whole2, whole3, half1, half2, half3;
};

/* Counts never rise from a level to the next. */
static bool narrow_is_enough(const struct ssdeep *s)
{
	const uint8_t *counts = s->counts + s->low;

	return counts[NARROW_HALF] < SSDEEP_HALF_CHARS &&
	       counts[NARROW_WHOLE - 1] == 0;
}

static inline vector step(vector v, uint8_t byte)
{
	return (v * FNV_PRIME) ^ ((vector){ 0 } + byte);
}

static inline void step_states(struct states *f, uint8_t byte, bool narrow)
{
	f->whole0 = step(f->whole0, byte);
	f->whole1 = step(f->whole1, byte);
	f->half0 = step(f->half0, byte);
	if (narrow)
		return;
	f->whole2 = step(f->whole2, byte);
	f->whole3 = step(f->whole3, byte);
	f->half1 = step(f->half1, byte);
	f->half2 = step(f->half2, byte);
	f->half3 = step(f->half3, byte);
}

static inline vector load(const uint16_t *lanes, unsigned number)
{
	vector v;

	memcpy(&v, lanes + (size_t)number * VECTOR_LANES, sizeof(v));
	return v;
}

static inline void store(uint16_t *lanes, unsigned number, vector v)
{
	memcpy(lanes + (size_t)number * VECTOR_LANES, &v, sizeof(v));
}

static inline struct states load_states(const struct ssdeep *s, unsigned base)
{
	return (struct states){
		.whole0 = load(s->whole + base, 0),
		.whole1 = load(s->whole + base, 1),
		.half0 = load(s->half + base, 0),
		.whole2 = load(s->whole, 2),
		.whole3 = load(s->whole, 3),
		.half1 = load(s->half, 1),
		.half2 = load(s->half, 2),
		.half3 = load(s->half, 3),
	};
}

static inline void store_states(struct ssdeep *s, unsigned base, bool narrow,
				const struct states *f)
{
	store(s->whole + base, 0, f->whole0);
	store(s->whole + base, 1, f->whole1);
	store(s->half + base, 0, f->half0);
	if (narrow)
		return;
	store(s->whole, 2, f->whole2);
	store(s->whole, 3, f->whole3);
	store(s->half, 1, f->half1);
	store(s->half, 2, f->half2);
	store(s->half, 3, f->half3);
}

/* Gives the lanes that the narrow states leave out their values. */
static void spread_states(struct ssdeep *s, unsigned base)
{
	unsigned i, top = base + NARROW_WHOLE;

	for (i = top; i < SSDEEP_ROWS; i++)
		s->whole[i] = s->whole[top - 1];
	for (i = base + NARROW_HALF; i < SSDEEP_ROWS; i++)
		s->half[i] = s->whole[i];
}

/* ---- the stream ---- */

/*
 * Level k triggers at rolling value r when r mod 3 * 2^k = 3 * 2^k - 1: when
 * 3 * 2^k divides r + 1 without overflow.  The multiplication by the inverse
 * of 3 takes exactly the multiples of 3 to the lowest third of all numbers.
 */
static inline bool triggers(uint32_t next, uint32_t low_mask)
{
	if (__builtin_expect((next & low_mask) != 0, 1))
		return false;
	return next * UINT32_C(0xaaaaaaab) <= UINT32_C(0x55555555) && next != 0;
}

/* The next rolling value + 1.  leaving is the byte SSDEEP_WINDOW back. */
static inline uint32_t roll(struct ssdeep_rolling *r, uint8_t byte,
			    uint8_t leaving)
{
	r->h2 += SSDEEP_WINDOW * (uint32_t)byte - r->h1;
	r->h1 += (uint32_t)byte - leaving;
	r->h3 = r->h3 << 5 ^ byte;
	return r->h1 + r->h2 + r->h3 + 1;
}

/* What a piece leaves at a level that is full. */
static void replace_last(struct ssdeep *s, unsigned level)
{
	s->chars[level][SSDEEP_MAX_CHARS - 1] = s->whole[level] & CHAR_MASK;
	s->half_last[level] = s->half[level] & CHAR_MASK;
}

/*
 * Takes bytes up to and with the next trigger of level low, or all of them,
 * and returns their number.  *next_out is the trigger's rolling value + 1, or
 * 0 when there was none.
 *
 * Periodic data can trigger at every byte.  Once level low is full, a trigger
 * of that level alone starts nothing anew, and is dealt with in passing.
 */
/* Inlined for the sake of narrow, which must be a constant. */
__attribute__((always_inline)) static inline size_t scan(struct ssdeep *s,
							 const uint8_t *bytes,
							 size_t len,
							 bool narrow,
							 uint32_t *next_out)
{
	const uint8_t *leaving = bytes - SSDEEP_WINDOW;
	unsigned base = narrow ? s->low : 0;
	bool full = s->counts[s->low] == SSDEEP_MAX_CHARS;
	uint32_t low_bit = UINT32_C(1) << s->low;
	struct ssdeep_rolling r = s->rolling;
	struct states f = load_states(s, base);
	uint32_t next;
	size_t i = 0;

	*next_out = 0;
	while (i < len) {
		step_states(&f, bytes[i], narrow);
		next = roll(&r, bytes[i], leaving[i]);
		i++;
		if (!triggers(next, low_bit - 1))
			continue;
		if (!full || !(next & low_bit)) {
			*next_out = next;
			break;
		}
		store_states(s, base, narrow, &f);
		replace_last(s, s->low);
	}
	store_states(s, base, narrow, &f);
	s->rolling = r;
	s->size += i;
	return i;
}

static size_t scan_narrow(struct ssdeep *s, const uint8_t *bytes, size_t len,
			  uint32_t *next_out)
{
	size_t used = scan(s, bytes, len, true, next_out);

	spread_states(s, s->low);
	return used;
}

static size_t scan_all(struct ssdeep *s, const uint8_t *bytes, size_t len,
		       uint32_t *next_out)
{
	return scan(s, bytes, len, false, next_out);
}

/* Ends the piece of a level.  A part that is full goes on with the piece, so
 * its last character comes to stand for all that follows. */
static void end_piece(struct ssdeep *s, unsigned level)
{
	uint8_t count = s->counts[level];

	if (count >= SSDEEP_MAX_CHARS - 1) {
		replace_last(s, level);
		s->counts[level] = SSDEEP_MAX_CHARS;
		return;
	}
	s->chars[level][count] = s->whole[level] & CHAR_MASK;
	s->half_last[level] = s->half[level] & CHAR_MASK;
	s->counts[level] = ++count;
	s->whole[level] = FNV_START;
	if (count < SSDEEP_HALF_CHARS)
		s->half[level] = FNV_START;
}

/*
 * The search for the result starts at the first level whose block size, times
 * SSDEEP_MAX_CHARS, covers the file, and goes down to one with enough
 * characters.  A file too large for level low never gets there once the level
 * above has enough.
 */
static void raise_low(struct ssdeep *s)
{
	while (s->low + 2 < SSDEEP_ROWS && s->size > UINT64_C(192) << s->low &&
	       s->counts[s->low + 1] >= SSDEEP_HALF_CHARS)
		s->low++;
}

static void take_trigger(struct ssdeep *s, uint32_t next)
{
	/* next is a multiple of 3, so this is below SSDEEP_LEVELS. */
	unsigned highest = (unsigned)__builtin_ctz(next);
	unsigned level;

	for (level = s->low; level <= highest; level++)
		end_piece(s, level);
	raise_low(s);
}

/* The bytes before these must be readable, as many as the window has. */
static void take_bytes(struct ssdeep *s, const uint8_t *bytes, size_t len)
{
	uint32_t next;
	size_t used;

	while (len > 0) {
		if (narrow_is_enough(s))
			used = scan_narrow(s, bytes, len, &next);
		else
			used = scan_all(s, bytes, len, &next);
		if (next)
			take_trigger(s, next);
		bytes += used;
		len -= used;
	}
}

void ssdeep_init(struct ssdeep *s)
{
	unsigned i;

	s->size = 0;
	s->rolling = (struct ssdeep_rolling){ 0 };
	s->low = 0;
	for (i = 0; i < SSDEEP_LANES; i++) {
		s->whole[i] = FNV_START;
		s->half[i] = FNV_START;
	}
	memset(s->last, 0, sizeof(s->last));
	memset(s->counts, 0, sizeof(s->counts));
}

void ssdeep_update(struct ssdeep *s, const void *data, size_t len)
{
	const uint8_t *bytes = data;
	uint8_t seam[2 * SSDEEP_WINDOW];
	size_t head = len < SSDEEP_WINDOW ? len : SSDEEP_WINDOW;

	if (len == 0)
		return;
	/* The first bytes follow those of the update before. */
	memcpy(seam, s->last, SSDEEP_WINDOW);
	memcpy(seam + SSDEEP_WINDOW, bytes, head);
	take_bytes(s, seam + SSDEEP_WINDOW, head);
	take_bytes(s, bytes + head, len - head);
	if (len < SSDEEP_WINDOW)
		memcpy(s->last, seam + head, SSDEEP_WINDOW);
	else
		memcpy(s->last, bytes + len - SSDEEP_WINDOW, SSDEEP_WINDOW);
}

/* ---- the result ---- */

/*
 * The characters of a level, at most max.  The last is of the piece that the
 * end of the file cuts off.  Where the rolling value is 0, ssdeep takes this
 * for no piece at all, and a full part ends with the one before.
 */
static void copy_level(const struct ssdeep *s, unsigned level, bool second,
		       struct ssdeep_part *out)
{
	const struct ssdeep_rolling *r = &s->rolling;
	size_t max = second ? SSDEEP_HALF_CHARS : SSDEEP_MAX_CHARS;
	size_t count = s->counts[level];
	bool full = count >= max;

	count = full ? max - 1 : count;
	memcpy(out->chars, s->chars[level], count);
	if (r->h1 + r->h2 + r->h3 != 0)
		out->chars[count++] =
			(second ? s->half : s->whole)[level] & CHAR_MASK;
	else if (full)
		out->chars[count++] =
			second ? s->half_last[level] : s->chars[level][max - 1];
	out->count = count;
}

int ssdeep_final(const struct ssdeep *s, struct ssdeep_signature *out)
{
	unsigned level = s->low;

	if (s->size > SSDEEP_MAX_SIZE)
		return -EOVERFLOW;
	while (UINT64_C(192) << level < s->size)
		level++;
	while (level > s->low && s->counts[level] < SSDEEP_HALF_CHARS)
		level--;
	out->block_size = UINT64_C(3) << level;
	copy_level(s, level, false, &out->leading);
	copy_level(s, level + 1, true, &out->secondary);
	return 0;
}

/* ---- text ---- */

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
			       "abcdefghijklmnopqrstuvwxyz0123456789+/";

static int format_part(const struct ssdeep_part *part, struct buf *out)
{
	char text[SSDEEP_MAX_CHARS];
	size_t i;

	for (i = 0; i < part->count; i++)
		text[i] = alphabet[part->chars[i]];
	return buf_append(out, text, part->count);
}

int ssdeep_format(const struct ssdeep_signature *sig, struct buf *out)
{
	int err;

	err = buf_append_format(out, "%" PRIu64 ":", sig->block_size);
	if (!err)
		err = format_part(&sig->leading, out);
	if (!err)
		err = buf_append_text(out, ":");
	if (!err)
		err = format_part(&sig->secondary, out);
	return err;
}

/* A number as it is printed, and a colon: no sign, no leading zeros.  Returns
 * what follows, NULL when it is something else. */
static const char *read_number(const char *at, const char *end, uint64_t *out)
{
	const char *start = at;
	uint64_t value = 0;
	unsigned digit;

	while (at < end && *at >= '0' && *at <= '9') {
		digit = (unsigned)(*at++ - '0');
		if (value > (UINT64_MAX - digit) / 10)
			return NULL;
		value = value * 10 + digit;
	}
	if (at == start || *start == '0' || at == end || *at != ':')
		return NULL;
	*out = value;
	return at + 1;
}

/* Characters up to end. */
static bool read_part(const char *at, const char *end, struct ssdeep_part *out)
{
	const char *c;

	out->count = 0;
	if (end - at > SSDEEP_MAX_CHARS)
		return false;
	for (; at < end; at++) {
		c = memchr(alphabet, *at, sizeof(alphabet) - 1);
		if (!c)
			return false;
		out->chars[out->count++] = (uint8_t)(c - alphabet);
	}
	return true;
}

int ssdeep_parse(const char *text, size_t len, struct ssdeep_signature *out)
{
	const char *end = text + len;
	const char *colon;

	text = read_number(text, end, &out->block_size);
	if (!text)
		return -EINVAL;
	colon = memchr(text, ':', (size_t)(end - text));
	if (!colon || !read_part(text, colon, &out->leading) ||
	    !read_part(colon + 1, end, &out->secondary))
		return -EINVAL;
	return 0;
}
