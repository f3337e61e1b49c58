/* SPDX-License-Identifier: Apache-2.0 */
#include "core/kernel/ctph/ctph.h"
#include "tests/unit/kernel/fixture.h"

#define LONGEST 4096
#define WINDOW KERNEL_CTPH_WINDOW
#define MANY 1200

static struct kernel_trigger want[LONGEST];

/* ---- triggers ---- */

/* As the definition reads; returns how many of the first max there are. */
static size_t model_find(const uint8_t *bytes, size_t len, unsigned level,
			 size_t max)
{
	size_t i, k, count = 0;
	uint32_t r, shifted, top;

	for (i = 0; i < len && count < max; i++) {
		r = shifted = 0;
		for (k = 0; k < WINDOW; k++) {
			r += (uint32_t)(8 - k) * (bytes - k)[i];
			shifted ^= (uint32_t)(bytes - k)[i] << 5 * k;
		}
		r += shifted;
		if (r % (3u << level) != (3u << level) - 1)
			continue;
		for (top = level; top < KERNEL_CTPH_LEVELS - 1; top++)
			if (r % (3u << (top + 1)) != (3u << (top + 1)) - 1)
				break;
		want[count++] = (struct kernel_trigger){ (uint32_t)i + 1, top };
	}
	return count;
}

static int equal(struct kernel_trigger a, struct kernel_trigger b)
{
	return a.end == b.end && a.level == b.level;
}

static unsigned draw_level(struct draws *d, unsigned levels)
{
	return (unsigned)(draw(d) % levels);
}

static void try_find(const uint8_t *bytes, size_t len, unsigned level,
		     size_t max)
{
	static struct kernel_trigger have[LONGEST];
	size_t count = model_find(bytes, len, level, max), found, i, k,
	       variants;
	const struct kernel_ops *all = kernel_all(&variants);

	for (i = 0; i < variants; i++) {
		found = all[i].ctph->find(bytes, len, level, have, max);
		for (k = 0; k < count && k < found; k++)
			if (!equal(have[k], want[k]))
				break;
		if (found != count || k < count)
			fail_msg("%s, %zu bytes, level %u: want %zu triggers, "
				 "have %zu, %zu are equal",
				 all[i].name, len, level, count, found, k);
	}
}

static void try_find_last(const uint8_t *bytes, size_t len, unsigned level)
{
	size_t count = model_find(bytes, len, level, LONGEST), i, variants;
	const struct kernel_ops *all = kernel_all(&variants);
	struct kernel_trigger have;

	for (i = 0; i < variants; i++) {
		if (all[i].ctph->find_last(bytes, len, level, &have) !=
		    (count > 0))
			fail_msg("%s, %zu bytes, level %u: want %zu triggers",
				 all[i].name, len, level, count);
		if (count > 0 && !equal(have, want[count - 1]))
			fail_msg("%s, %zu bytes, level %u: want %u, have %u",
				 all[i].name, len, level, want[count - 1].end,
				 have.end);
	}
}

TEST(triggers_of_every_length_between_guards)
{
	struct guarded g = guarded_new(WINDOW + LONGEST);
	struct draws d = draws_of(1);
	size_t len;

	for (len = 0; len <= LONGEST; len++) {
		if (len % 16 == 0)
			fill(g.data, g.len, 1 + len);
		try_find(g.data + g.len - len, len, draw_level(&d, 10),
			 LONGEST);
		try_find(g.data + WINDOW, len, draw_level(&d, 20),
			 draw(&d) % LONGEST);
		try_find_last(g.data + g.len - len, len, draw_level(&d, 12));
		try_find_last(g.data + WINDOW, len, draw_level(&d, 12));
	}
	guarded_free(&g);
}

/* Constant, periodic, and at every level: 7 bytes that trigger level 30, in
 * all places. */
TEST(triggers_of_odd_bytes)
{
	static const uint8_t level30[WINDOW] = { 0x88, 0x5e, 0x3f, 0x1f,
						 0x1f, 0x55, 0x49 };
	static uint8_t bytes[WINDOW + 1000];
	struct draws d = draws_of(2);
	unsigned value, level;
	size_t i, period;

	for (value = 0; value < 256; value++) {
		memset(bytes, (int)value, sizeof(bytes));
		for (level = 0; level < KERNEL_CTPH_LEVELS; level += 3) {
			try_find(bytes + WINDOW, 1000, level, LONGEST);
			try_find_last(bytes + WINDOW, 1000, level);
		}
	}
	for (period = 1; period <= 64; period++) {
		for (i = 0; i < sizeof(bytes); i++)
			bytes[i] = i < period ? (uint8_t)(draw(&d) >> 32) :
						bytes[i - period];
		for (level = 0; level < 10; level++)
			try_find(bytes + WINDOW, 1000, level, LONGEST);
	}
	for (i = 0; i + WINDOW <= sizeof(bytes); i++) {
		fill(bytes, sizeof(bytes), i);
		memcpy(bytes + i, level30, WINDOW);
		try_find(bytes + WINDOW, 1000, 12 + (unsigned)i % 19, LONGEST);
		try_find_last(bytes + WINDOW, 1000, 12 + (unsigned)i % 19);
	}
}

/* Its successor, 0, is divisible by everything. */
TEST(the_largest_rolling_value_is_no_trigger)
{
	uint8_t bytes[] = { 0x06, 0x38, 0xfa, 0xbd, 0x5d, 0x3e, 0x02 };

	try_find(bytes + WINDOW - 1, 1, 0, 1);
	try_find_last(bytes + WINDOW - 1, 1, 0);
	assert_int_equal(model_find(bytes + WINDOW - 1, 1, 0, 1), 0);
}

/* ---- pieces ---- */

static uint32_t model_hash(const struct kernel_piece *p)
{
	uint32_t state = p->state;
	size_t i;

	for (i = 0; i < p->len; i++)
		state = state * 0x01000193 ^ p->bytes[i];
	return state % 4096;
}

static void try_hash(const struct kernel_piece *pieces, size_t count)
{
	static struct kernel_piece have[MANY];
	size_t i, k, variants;
	const struct kernel_ops *all = kernel_all(&variants);

	for (i = 0; i < variants; i++) {
		memcpy(have, pieces, count * sizeof(*have));
		all[i].ctph->hash(have, count);
		for (k = 0; k < count; k++)
			if (have[k].state != model_hash(&pieces[k]))
				fail_msg("%s: piece %zu of %zu, %u bytes",
					 all[i].name, k, count, pieces[k].len);
	}
}

TEST(pieces_of_every_length_between_guards)
{
	struct guarded g = guarded_new(LONGEST);
	struct draws d = draws_of(3);
	struct kernel_piece p;
	uint32_t len;

	for (len = 0; len <= LONGEST; len++) {
		if (len % 16 == 0)
			fill(g.data, g.len, 1 + len);
		p.len = len;
		p.state = draw(&d) % 4096;
		p.bytes = g.data + g.len - len;
		try_hash(&p, 1);
		p.bytes = g.data;
		try_hash(&p, 1);
	}
	guarded_free(&g);
}

/* Every state, with bytes that change every bit and none. */
TEST(pieces_from_every_state)
{
	static const uint8_t values[] = { 0, 0xff, 0x55, 0x80, 1 };
	static uint8_t bytes[1600];
	struct kernel_piece p[2] = { { bytes, 1600, 0 }, { bytes, 37, 0 } };
	size_t i;

	for (i = 0; i < sizeof(values); i++) {
		memset(bytes, values[i], sizeof(bytes));
		for (p[0].state = 0; p[0].state < 4096; p[0].state++) {
			p[1].state = p[0].state;
			try_hash(p, 2);
		}
	}
}

/* Any number, that start together or apart, all lengths among them. */
TEST(pieces_side_by_side)
{
	static struct kernel_piece pieces[MANY];
	struct guarded g = guarded_new(2 * LONGEST);
	struct draws d = draws_of(4);
	size_t round, count, i, start, longest;

	for (round = 0; round < 1500; round++) {
		if (round % 16 == 0)
			fill(g.data, g.len, 1 + round);
		count = draw(&d) % (round % 10 ? 30 : MANY);
		longest = 1 + (round % 3 ? draw(&d) % 600 : LONGEST);
		for (i = 0, start = 0; i < count; i++) {
			if (draw(&d) % 4 == 0)
				start = draw(&d) % (g.len - longest);
			pieces[i].len = (uint32_t)(draw(&d) % longest);
			if (draw(&d) % 2)
				pieces[i].len = (uint32_t)longest;
			pieces[i].bytes = g.data + start;
			pieces[i].state = draw(&d) % 4096;
		}
		try_hash(pieces, count);
	}
	guarded_free(&g);
}

/* More than one block of the widest vectors, and less than one more. */
TEST(pieces_of_several_blocks)
{
	struct guarded g = guarded_new(5 * LONGEST);
	struct kernel_piece pieces[10];
	struct draws d = draws_of(5);
	size_t round, count, i, len;

	for (round = 0; round < 400; round++) {
		if (round % 16 == 0)
			fill(g.data, g.len, 1 + round);
		count = 1 + draw(&d) % 10;
		len = 1 + draw(&d) % g.len;
		for (i = 0; i < count; i++) {
			pieces[i].bytes = g.data + g.len - len;
			pieces[i].len = (uint32_t)len;
			pieces[i].state = draw(&d) % 4096;
			if (draw(&d) % 2)
				pieces[i].len = (uint32_t)(draw(&d) % len);
		}
		try_hash(pieces, count);
	}
	guarded_free(&g);
}
