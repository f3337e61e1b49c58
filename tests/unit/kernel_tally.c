/* SPDX-License-Identifier: Apache-2.0 */
#include <stdbool.h>

#include <xxhash.h>

#include "tests/unit/window_fixture.h"

struct tally_room {
	uint8_t *bytes_end, *bytes_front;
	uint16_t *table_end;
	uint64_t *rest_end;
};

static struct tally_room tally_room_new(void)
{
	return (struct tally_room){
		.bytes_end = guarded_new(MOST + 7),
		.bytes_front = guarded_front_new(MOST + 7),
		.table_end = guarded_new(((1 << 13) + 1) * sizeof(uint16_t)),
		.rest_end = guarded_new(MOST * sizeof(uint64_t)),
	};
}

static struct window_tally tally_of(const struct kernel_window *ops,
				    const uint8_t *bytes, size_t count,
				    unsigned place_bits,
				    const struct tally_room *room)
{
	const size_t entries = ((size_t)1 << place_bits) + 1;
	struct window_tally t = { .table = room->table_end - entries,
				  .place_bits = place_bits,
				  .rest = room->rest_end - count };

	memset(t.table, 0, entries * sizeof(t.table[0]));
	ops->tally(bytes, count, &t);
	return t;
}

static bool equal_tallies(const struct window_tally *a,
			  const struct window_tally *b)
{
	return a->count == b->count && a->rest_count == b->rest_count &&
	       memcmp(a->rest, b->rest, a->rest_count * sizeof(a->rest[0])) ==
		       0 &&
	       memcmp(a->sums, b->sums, sizeof(a->sums)) == 0;
}

static void check_tally(const struct kernel_ops *ops)
{
	struct tally_room rooms[2] = { tally_room_new(), tally_room_new() };
	struct window_tally want, have;
	const uint8_t *bytes;
	struct bytes b;
	size_t count;
	uint64_t seed;
	unsigned bits;

	for (seed = 0; seed < 4; seed++) {
		b = input_of(seed, MOST + 7);
		memcpy(rooms[0].bytes_front, b.data, b.len);
		for (count = 0; count <= MOST; count++) {
			bits = (unsigned)(1 + count % 13);
			bytes = rooms[0].bytes_end - (count ? count + 7 : 0);
			memcpy((void *)bytes, b.data, count ? count + 7 : 0);
			bytes = count / 16 % 2 ? bytes : rooms[0].bytes_front;
			want = tally_of(&window_scalar, bytes, count, bits,
					&rooms[0]);
			have = tally_of(ops->window, bytes, count, bits,
					&rooms[1]);
			if (!equal_tallies(&want, &have))
				fail_of(ops, seed, count);
		}
		free(b.data);
	}
}

static void tallies_are_the_same(void **state)
{
	(void)state;
	each_variant(check_tally);
}

/* The largest tally there can be, of few values and of many. */
static void check_large_tally(const struct kernel_ops *ops)
{
	const size_t count = WINDOW_TALLY_MOST;
	static uint16_t table[(1 << 17) + 1];
	static uint64_t rest[2][WINDOW_TALLY_MOST];
	struct tally_room rooms[2] = {
		{ .table_end = table + (1 << 17) + 1,
		  .rest_end = rest[0] + count },
		{ .table_end = table + (1 << 17) + 1,
		  .rest_end = rest[1] + count },
	};
	struct window_tally want, have;
	struct bytes b;
	uint64_t seed;

	for (seed = 0; seed < 4; seed++) {
		b = input_of(seed, count + 7);
		want = tally_of(&window_scalar, b.data, count, 17, &rooms[0]);
		have = tally_of(ops->window, b.data, count, 17, &rooms[1]);
		if (!equal_tallies(&want, &have))
			fail_of(ops, seed, count);
		free(b.data);
	}
}

static void large_tallies_are_the_same(void **state)
{
	(void)state;
	each_variant(check_large_tally);
}

/* The values of the distinct windows, in order; count > 0. */
static size_t distinct_values(const uint8_t *bytes, size_t count,
			      uint64_t *values)
{
	size_t i, n = 0;

	for (i = 0; i < count; i++)
		values[i] = XXH3_64bits(bytes + i, 8);
	qsort(values, count, sizeof(*values), by_value);
	for (i = 0; i < count; i++)
		if (i == 0 || values[i] != values[i - 1])
			values[n++] = values[i];
	return n;
}

/* What is counted and what is left make each distinct window once. */
static void the_scalar_tally_counts_each_window_once(void **state)
{
	struct tally_room room = tally_room_new();
	static uint64_t values[MOST];
	uint32_t want[64], have[64];
	struct window_tally t;
	struct draws d = draws_of(8);
	struct bytes b;
	size_t i, n, rest, count;

	(void)state;
	for (i = 0; i < 200; i++) {
		count = 1 + draw(&d) % MOST;
		b = input_of(i, count + 7);
		memset(want, 0, sizeof(want));
		n = distinct_values(b.data, count, values);
		window_scalar.sum(values, n, want);
		t = tally_of(&window_scalar, b.data, count,
			     (unsigned)(1 + draw(&d) % 13), &room);
		memcpy(have, t.sums, sizeof(have));
		rest = sort_unique(t.rest, t.rest_count);
		window_scalar.sum(t.rest, rest, have);
		assert_int_equal(t.count + rest, n);
		assert_memory_equal(want, have, sizeof(want));
		free(b.data);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tallies_are_the_same),
		cmocka_unit_test(large_tallies_are_the_same),
		cmocka_unit_test(the_scalar_tally_counts_each_window_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
