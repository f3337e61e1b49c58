/* SPDX-License-Identifier: Apache-2.0 */

/* The speed is that of the last seconds, and says nothing too early. */

#include "core/queue/meter.h"
#include "tests/support/test.h"

static void assert_speed(struct meter *m, int64_t now_ms, uint64_t speed)
{
	struct meter_figures f;

	meter_read(m, now_ms, &f);
	assert_int_equal(f.speed, speed);
}

TEST(test_bytes_of_files)
{
	struct meter_figures f;
	struct meter m;

	assert_int_equal(meter_init(&m), 0);
	meter_begin(&m, 1000);
	meter_begin(&m, 500);
	meter_add(&m, 100, 7000000);
	meter_read(&m, 7000000, &f);
	assert_int_equal(f.done, 100);
	assert_int_equal(f.size, 1500);
	meter_end(&m, 500, 0);
	meter_read(&m, 7000000, &f);
	assert_int_equal(f.done, 100);
	assert_int_equal(f.size, 1000);
	meter_release(&m);
}

TEST(test_speed)
{
	struct meter m;
	int64_t ms;

	assert_int_equal(meter_init(&m), 0);
	assert_speed(&m, 1000, 0);
	for (ms = 100000; ms < 101000; ms += 100)
		meter_add(&m, 50, ms);
	assert_speed(&m, 100400, 0);
	assert_speed(&m, 101000, 500);
	for (; ms < 120000; ms += 100)
		meter_add(&m, 200, ms);
	assert_speed(&m, 120000, 2000);
	assert_speed(&m, 130000, 0);

	/* What was before a pause does not count. */
	meter_add(&m, 3000, 200000);
	assert_speed(&m, 201000, 3000);
	meter_release(&m);
}
