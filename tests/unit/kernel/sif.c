/* SPDX-License-Identifier: Apache-2.0 */
#include <stdbool.h>

#include "core/kernel/kernel.h"
#include "core/kernel/sif/sif.h"
#include "tests/unit/kernel/fixture.h"

#define LONGEST 4096
#define WIDE 16 /* the window that has variants of its own */
#define BEFORE (KERNEL_SIF_MAX_WINDOW - 1)

static struct kernel_sif_table table;
static uint64_t values[256];
static uint64_t want[70000];

static int draw_values(void **state)
{
	struct draws d = draws_of(3);
	size_t i;

	(void)state;
	for (i = 0; i < 256; i++)
		values[i] = draw(&d);
	return 0;
}

static uint64_t rotate(uint64_t v, unsigned bits)
{
	return bits % 64 ? v << bits % 64 | v >> (64 - bits % 64) : v;
}

static bool repeats(const uint8_t *window, unsigned len)
{
	unsigned i;

	for (i = 1; i < len; i++)
		if (window[i] != window[0])
			return false;
	return true;
}

/* As the definition reads. */
static size_t model(const uint8_t *bytes, size_t count, unsigned window,
		    uint64_t bound)
{
	size_t i, picked = 0;
	uint64_t hash;
	unsigned k;

	for (i = 0; i < count; i++) {
		hash = 0;
		for (k = 0; k < window; k++)
			hash ^= rotate(values[bytes[i + k]], window - 1 - k);
		if (hash <= bound && !repeats(bytes + i, window))
			want[picked++] = hash;
	}
	return picked;
}

/* Says what was compared when it fails. */
struct attempt {
	const uint8_t *bytes;
	size_t count;
	uint64_t bound;
	uint64_t *out;
	uint64_t seed;
};

static void try_pick(const struct attempt *a)
{
	size_t i, variants, have;
	const struct kernel_ops *all = kernel_all(&variants);
	size_t n = model(a->bytes, a->count, table.window, a->bound);

	for (i = 0; i < variants; i++) {
		have = all[i].sif->pick(&table, a->bytes, a->count, a->bound,
					a->out);
		if (have != n || memcmp(a->out, want, n * sizeof(*want)) != 0)
			fail_msg("%s: seed %llu, %zu windows of %u, bound %llx",
				 all[i].name, (unsigned long long)a->seed,
				 a->count, table.window,
				 (unsigned long long)a->bound);
	}
}

static const uint64_t bounds[] = {
	UINT64_MAX,      UINT64_MAX / 2,    UINT64_MAX / 12,
	UINT64_MAX / 50, UINT64_MAX / 3000,
};

#define BOUNDS (sizeof(bounds) / sizeof(bounds[0]))

static void every_length_between_guards(void **state)
{
	struct guarded in = guarded_new(LONGEST + BEFORE);
	struct guarded out = guarded_new(LONGEST * sizeof(uint64_t));
	struct attempt a;
	size_t len;

	(void)state;
	kernel_sif_init(&table, values, WIDE);
	for (len = 0; len <= LONGEST; len++) {
		a.count = len;
		a.bound = bounds[len % BOUNDS];
		a.out = (uint64_t *)(out.data + out.len) - len;
		/* At the end, then at the start of what may be read. */
		a.bytes = in.data + in.len - (len ? len + WIDE - 1 : 0);
		a.seed = len + 1;
		fill((uint8_t *)a.bytes, (size_t)(in.data + in.len - a.bytes),
		     a.seed);
		try_pick(&a);
		a.bytes = in.data;
		fill(in.data, len + WIDE - 1, a.seed);
		try_pick(&a);
	}
	guarded_free(&in);
	guarded_free(&out);
}

static void every_offset_of_some_lengths(void **state)
{
	static const size_t lengths[] = { 1,  15,  48,   49,   50,   63,  64,
					  65, 128, 1000, 4081, 4082, 9000 };
	static uint8_t data[64 + 9000 + WIDE];
	static uint64_t out[9000];
	struct attempt a = { .out = out, .seed = 7 };
	size_t i, offset;

	(void)state;
	kernel_sif_init(&table, values, WIDE);
	fill(data, sizeof(data), 7);
	for (offset = 0; offset < 64; offset++)
		for (i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
			a.bytes = data + offset;
			a.count = lengths[i];
			a.bound = bounds[(offset + i) % BOUNDS];
			try_pick(&a);
		}
}

static void every_window(void **state)
{
	static uint8_t data[3000 + BEFORE];
	static uint64_t out[3000];
	struct attempt a = { .bytes = data, .out = out };
	unsigned window;

	(void)state;
	for (window = 2; window <= KERNEL_SIF_MAX_WINDOW; window++) {
		kernel_sif_init(&table, values, window);
		for (a.seed = 1; a.seed < 20; a.seed++) {
			fill(data, sizeof(data), a.seed);
			a.count = 3000 - a.seed;
			a.bound = bounds[a.seed % BOUNDS];
			try_pick(&a);
		}
	}
}

static void every_period(void **state)
{
	static uint8_t data[4200];
	static uint64_t out[4200];
	struct attempt a = { .bytes = data, .out = out, .count = 4180 };
	size_t i, k, period;

	(void)state;
	kernel_sif_init(&table, values, WIDE);
	for (period = 1; period <= 64; period++) {
		a.seed = period;
		fill(data, period, period);
		for (i = period; i < sizeof(data); i++)
			data[i] = data[i - period];
		for (k = 0; k < BOUNDS; k++) {
			a.bound = bounds[k];
			try_pick(&a);
		}
	}
}

/* Runs of every length around the window's, at every place in a vector. */
static void runs_of_one_byte(void **state)
{
	static uint8_t data[5000];
	static uint64_t out[5000];
	struct attempt a = { .bytes = data, .out = out, .count = 4900 };
	size_t i, len;
	unsigned window;

	(void)state;
	for (window = 2; window <= KERNEL_SIF_MAX_WINDOW; window += 7) {
		kernel_sif_init(&table, values, window);
		for (a.seed = 1; a.seed < 60; a.seed++) {
			fill(data, sizeof(data), 3 * a.seed);
			for (i = 0; i < 4500; i += len + a.seed % 9) {
				len = window - 1 + (i + a.seed) % 5;
				memset(data + i, (int)(i % 3), len);
			}
			a.bound = bounds[a.seed % BOUNDS];
			try_pick(&a);
		}
	}
}

/* Every window within the bound, or none, whatever the bytes: T is constant,
 * so that all hashes are equal. */
static void all_or_none(void **state)
{
	static uint8_t data[70000 + WIDE];
	static uint64_t out[70000];
	struct attempt a = { .bytes = data, .out = out, .count = 70000 };
	uint64_t same[256], hash = 0;
	unsigned i;

	(void)state;
	fill(data, sizeof(data), 6);
	for (i = 0; i < 256; i++)
		same[i] = UINT64_C(0x0123456789abcdef) >> 20;
	for (i = 0; i < WIDE; i++)
		hash = rotate(hash, 1) ^ same[0];
	kernel_sif_init(&table, same, WIDE);
	memcpy(values, same, sizeof(same));
	a.bound = hash;
	try_pick(&a);
	a.bound = hash - 1;
	try_pick(&a);
	draw_values(state);
}

static void long_runs(void **state)
{
	static uint8_t data[20000];
	static uint64_t out[20000];
	struct attempt a = { .bytes = data, .out = out, .count = 19000 };
	unsigned byte;

	(void)state;
	kernel_sif_init(&table, values, WIDE);
	for (byte = 0; byte < 256; byte++) {
		a.seed = byte;
		memset(data, (int)byte, sizeof(data));
		data[5000 + byte] ^= 1;
		a.bound = bounds[1 + byte % 4];
		try_pick(&a);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_length_between_guards),
		cmocka_unit_test(every_offset_of_some_lengths),
		cmocka_unit_test(every_window),
		cmocka_unit_test(every_period),
		cmocka_unit_test(runs_of_one_byte),
		cmocka_unit_test(all_or_none),
		cmocka_unit_test(long_runs),
	};

	return cmocka_run_group_tests(tests, draw_values, NULL);
}
