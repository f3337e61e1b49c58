/* SPDX-License-Identifier: Apache-2.0 */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/engine/engine.h"
#include "core/engine/file.h"

/* Files may have any time at all; what is made of it must not be undefined,
 * which the run with -fsanitize=undefined sees. */
static void test_any_time(void **state)
{
	static const time_t seconds[] = {
		0,          1,           INT32_MAX,   (time_t)INT32_MAX + 1,
		9223372036, 10000000000, 15032385535, -2147483648,
		LONG_MAX,   LONG_MIN,
	};
	struct file_identity id, last = { .mtime_ns = -1 };
	int64_t wait_ms;

	(void)state;
	for (size_t i = 0; i < sizeof(seconds) / sizeof(seconds[0]); i++) {
		struct stat st = {
			.st_size = 1,
			.st_mtim = { .tv_sec = seconds[i], .tv_nsec = 5 },
			.st_ctim = { .tv_sec = seconds[i], .tv_nsec = 5 },
		};

		engine_file_identity(&st, &id);
		assert_true(id.mtime_ns != last.mtime_ns);
		(void)file_is_unsettled(&id, &wait_ms);
		last = id;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_any_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
