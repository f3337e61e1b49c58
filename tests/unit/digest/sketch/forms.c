/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "tests/support/sketch_model.h"

/* The binary form and the text of sketches, and what is refused. */

static void check_forms(const struct sketch *sketch)
{
	static uint8_t bytes[SKETCH_PACKED_MAX], again[SKETCH_PACKED_MAX];
	static struct sketch out;
	struct buf text = { 0 };
	size_t len = sketch_pack(sketch, bytes);
	uint8_t *copy = malloc(len);

	/* Just as long, so that a byte read behind it does not go unseen. */
	assert_non_null(copy);
	memcpy(copy, bytes, len);
	assert_int_equal(sketch_unpack(copy, len, &out), 0);
	assert_true(sketches_are_same(&out, sketch));
	assert_int_equal(sketch_pack(&out, again), len);
	assert_memory_equal(again, bytes, len);
	free(copy);

	assert_int_equal(sketch_format(sketch, &text), 0);
	assert_memory_equal(text.data, "sif5:", 5);
	assert_int_equal(text.len, 5 + (4 * len + 2) / 3);
	assert_int_equal(sketch_parse(text.data, text.len, &out), 0);
	assert_true(sketches_are_same(&out, sketch));
	buf_release(&text);
}

TEST(sketches_come_back)
{
	static struct sketch s;
	struct bytes b;
	uint64_t seed;

	for (seed = 0; seed < 300; seed++) {
		b = seed % 3 == 0 ? recipe_odd(seed + 1) :
		    seed % 3 == 1 ? recipe_text(seed, seed * seed * 5) :
				    recipe_random(seed, seed * seed * 5);
		sketch_of(b, &s);
		check_forms(&s);
		sketch_cut(&s, 100);
		check_forms(&s);
		s.is_placed = false;
		check_forms(&s);
		free(b.data);
	}
}

/* Values that are far apart, or as near as can be, at every level. */
TEST(made_sketches_come_back)
{
	static struct sketch s;
	struct draws d = draws_of(2);
	uint64_t bound, seed;
	size_t i;

	for (seed = 0; seed < 49 * 8; seed++) {
		s = (struct sketch){ .folded = 1 << 20,
				     .windows = 1 << 20,
				     .level = (unsigned)(seed % 49) };
		s.windows -= 15;
		s.is_placed = seed & 1;
		bound = sketch_bound(s.level);
		for (i = 0; i < SKETCH_MOST; i++) {
			uint64_t v = seed & 2 ? i : (uint64_t)(i == 1);

			if (seed & 4 || i == SKETCH_MOST - 1)
				v = bound - SKETCH_MOST + i;
			v = model_round(v, 24);
			if (v >= bound ||
			    (s.count && v <= s.values[s.count - 1]))
				continue;
			s.values[s.count] = v;
			s.times[s.count] =
				(uint32_t)model_round(1 + draw(&d) % 500, 5);
			s.places[s.count++] = draw(&d) % 64;
		}
		s.is_placed &= s.count > 0;
		check_forms(&s);
		s.windows = 0;
		s.is_placed = false;
		check_forms(&s);
	}
}

/* Every byte changed, dropped or added: refused, or the form of another
 * sketch. */
static void check_damage(const struct sketch *sketch, struct draws *d)
{
	static uint8_t bytes[SKETCH_PACKED_MAX], again[SKETCH_PACKED_MAX];
	static struct sketch out;
	size_t i, len = sketch_pack(sketch, bytes);
	uint8_t old;

	for (i = 0; i < len; i++) {
		old = bytes[i];
		bytes[i] ^= (uint8_t)(1 + draw(d) % 255);
		if (!sketch_unpack(bytes, len, &out)) {
			assert_int_equal(sketch_pack(&out, again), len);
			assert_memory_equal(again, bytes, len);
		}
		bytes[i] = old;
		assert_int_equal(sketch_unpack(bytes, i, &out), -EINVAL);
	}
	bytes[len] = 0;
	assert_int_equal(sketch_unpack(bytes, len + 1, &out), -EINVAL);
}

TEST(damaged_forms_are_refused_or_others)
{
	static struct sketch s, both;
	struct draws d = draws_of(8);
	struct bytes b;
	uint64_t seed;

	for (seed = 1; seed < 120; seed++) {
		b = seed % 2 ? recipe_odd(seed) :
			       recipe_random(seed, seed * 80);
		sketch_of(b, &s);
		check_damage(&s, &d);
		sketch_merge(&both, &s);
		check_damage(&both, &d);
		free(b.data);
	}
}

TEST(impossible_sketches_are_refused)
{
	/* level, folded, repeats, count, bits */
	static const struct {
		const char *why;
		uint8_t bytes[8];
		size_t len;
	} bad[] = {
		{ "nothing", { 0 }, 0 },
		{ "level 49", { 49, 0, 0, 0 }, 4 },
		{ "more repeats than windows", { 0, 16, 2, 0 }, 4 },
		{ "windows, but no values at level 0", { 0, 16, 0, 0 }, 4 },
		{ "a value, but no windows", { 0, 16, 1, 1, 1, 0, 0, 0 }, 8 },
		{ "more values than windows", { 0, 16, 0, 2, 3, 0, 0, 1 }, 8 },
		{ "a union without values", { 0x80, 32, 0 }, 3 },
		{ "a union with places", { 0xc0, 128, 128, 1, 1, 1, 0 }, 7 },
		{ "places without values", { 0x41, 128, 64, 0, 0 }, 5 },
		{ "a long number", { 0, 128, 0, 0, 0 }, 5 },
		{ "a byte too much", { 0, 0, 0, 0, 0 }, 5 },
	};
	static struct sketch out;
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (sketch_unpack(bad[i].bytes, bad[i].len, &out) != -EINVAL)
			fail_msg("%s", bad[i].why);
}

TEST(other_texts_are_refused)
{
	static struct sketch s, out;
	struct bytes b = recipe_text(4, 900);
	struct buf text = { 0 };
	size_t i;
	char old;

	do { /* whose last characters have bits that are left over */
		sketch_of(b, &s);
		buf_clear(&text);
		assert_int_equal(sketch_format(&s, &text), 0);
	} while (b.len-- && (text.len - 5) % 4 == 0);
	for (i = 0; i < text.len; i++)
		assert_int_equal(sketch_parse(text.data, i, &out), -EINVAL);
	for (i = 0; i < 5; i++) {
		old = text.data[i]++;
		assert_int_equal(sketch_parse(text.data, text.len, &out),
				 -EINVAL);
		text.data[i] = old;
	}
	assert_int_equal(buf_append_text(&text, "="), 0);
	assert_int_equal(sketch_parse(text.data, text.len, &out), -EINVAL);
	text.data[text.len - 2]++;
	assert_int_equal(sketch_parse(text.data, text.len - 1, &out), -EINVAL);
	text.data[20] = '\n';
	assert_int_equal(sketch_parse(text.data, text.len - 1, &out), -EINVAL);
	buf_release(&text);
	free(b.data);
}

TEST(an_empty_content_has_a_form)
{
	static const struct sketch empty;
	struct buf text = { 0 };

	check_forms(&empty);
	assert_int_equal(sketch_format(&empty, &text), 0);
	assert_string_equal(text.data, "sif5:AAAAAA");
	buf_release(&text);
}

TEST(earlier_forms_are_known)
{
	struct sketch out;

	assert_int_equal(sketch_parse("sif4:AAAAAA", 11, &out),
			 -EPROTONOSUPPORT);
	assert_int_equal(sketch_parse("sif1:", 5, &out), -EPROTONOSUPPORT);
	assert_int_equal(sketch_parse("sif0:AAAAAA", 11, &out), -EINVAL);
	assert_int_equal(sketch_parse("sif6:AAAAAA", 11, &out), -EINVAL);
	assert_int_equal(sketch_parse("sif4", 4, &out), -EINVAL);
}
