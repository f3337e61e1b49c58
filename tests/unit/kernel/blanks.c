/* SPDX-License-Identifier: Apache-2.0 */
#include "core/kernel/blanks/blanks.h"
#include "core/kernel/kernel.h"
#include "tests/unit/kernel/fixture.h"

enum { LONGEST = 3000, AHEAD = KERNEL_BLANKS_AHEAD };

/* How many of the bytes at i are one blank. */
static size_t blank_length(const uint8_t *bytes, size_t i, size_t end)
{
	static const char *const blanks[] = { " ",        "\t",          "\n",
					      "\v",       "\f",          "\r",
					      ",",        ";",           "|",
					      "\302\240", "\357\273\277" };
	size_t k, len;

	for (k = 0; k < sizeof(blanks) / sizeof(blanks[0]); k++) {
		len = strlen(blanks[k]);
		if (i + len <= end && !memcmp(bytes + i, blanks[k], len))
			return len;
	}
	return 0;
}

/* As the definition reads: the blanks of the whole, of which count bytes from
 * AHEAD on are kept or dropped. */
static size_t model(const uint8_t *bytes, size_t count,
		    struct kernel_blanks_state *state, uint8_t *out)
{
	bool blank[LONGEST] = { false };
	size_t i, k, len, written = 0;

	for (i = 0; i < count + 2 * AHEAD; i++) {
		len = blank_length(bytes, i, count + 2 * AHEAD);
		for (k = 0; k < len; k++)
			blank[i + k] = true;
	}
	for (i = AHEAD; i < AHEAD + count; i++) {
		if (blank[i])
			continue;
		out[written++] = bytes[i];
		state->has_nul |= bytes[i] == 0;
		state->controls +=
			bytes[i] < 32 && bytes[i] != '\b' && bytes[i] != 27;
	}
	return written;
}

/* The bytes that matter, and others, in runs. */
static void fill_text(uint8_t *data, size_t len, uint64_t seed)
{
	static const uint8_t some[] = { ' ',  ' ',  '\t', '\n', '\r', ',',
					';',  '|',  0xc2, 0xa0, 0xef, 0xbb,
					0xbf, 'a',  'b',  0x1f, 0x00, '\b',
					0x1b, 0x0e, 0x08, 0xe0, '\v', '\f' };
	struct draws d = draws_of(seed);
	unsigned plain = (unsigned)(draw(&d) % 12);
	size_t i;

	for (i = 0; i < len; i++) {
		data[i] = some[draw(&d) % sizeof(some)];
		if (draw(&d) % 12 < plain)
			data[i] = (uint8_t)(seed % 3 ? 'a' + draw(&d) % 26 :
						       draw(&d) >> 32);
		if (i && draw(&d) % 4 == 0)
			data[i] = data[i - 1];
	}
}

/* bytes: count and AHEAD on both sides, and nothing around that may be read. */
static void try_drop(const uint8_t *bytes, size_t count, uint64_t seed)
{
	size_t i, variants, want_len, have_len;
	const struct kernel_ops *all = kernel_all(&variants);
	struct kernel_blanks_state want = { 0 }, have;
	uint8_t expected[LONGEST], out[LONGEST + KERNEL_BLANKS_SPARE];

	want_len = model(bytes, count, &want, expected);
	for (i = 0; i < variants; i++) {
		have = (struct kernel_blanks_state){ 0 };
		memset(out, 'x', sizeof(out));
		have_len =
			all[i].blanks->drop(bytes + AHEAD, count, &have, out);
		if (have_len != want_len || memcmp(out, expected, want_len) ||
		    have.has_nul != want.has_nul ||
		    have.controls != want.controls)
			fail_msg("%s: seed %llu, %zu bytes", all[i].name,
				 (unsigned long long)seed, count);
		for (have_len = count + KERNEL_BLANKS_SPARE;
		     have_len < sizeof(out); have_len++)
			assert_int_equal(out[have_len], 'x');
	}
}

static void test_every_length(void **state)
{
	struct guarded g = guarded_new(LONGEST);
	size_t len;

	(void)state;
	for (len = 2 * AHEAD; len < 300; len++) {
		/* nothing behind is read, and nothing before */
		fill_text(g.data + g.len - len, len, len);
		try_drop(g.data + g.len - len, len - 2 * AHEAD, len);
		fill_text(g.data, len, len + 1000);
		try_drop(g.data, len - 2 * AHEAD, len + 1000);
	}
	guarded_free(&g);
}

static void test_random_texts(void **state)
{
	struct guarded g = guarded_new(LONGEST);
	struct draws d = draws_of(11);
	uint64_t seed;
	size_t len;

	(void)state;
	for (seed = 0; seed < 2000; seed++) {
		len = 2 * AHEAD + draw(&d) % (LONGEST - 2 * AHEAD);
		fill_text(g.data + g.len - len, len, seed);
		try_drop(g.data + g.len - len, len - 2 * AHEAD, seed);
	}
	guarded_free(&g);
}

static void test_nothing_is_read_of_no_bytes(void **state)
{
	size_t i, variants;
	const struct kernel_ops *all = kernel_all(&variants);
	struct kernel_blanks_state fresh = { 0 };
	struct guarded g = guarded_new(1);

	(void)state;
	for (i = 0; i < variants; i++)
		assert_int_equal(all[i].blanks->drop(g.map, 0, &fresh, g.map),
				 0);
	guarded_free(&g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_length),
		cmocka_unit_test(test_random_texts),
		cmocka_unit_test(test_nothing_is_read_of_no_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
