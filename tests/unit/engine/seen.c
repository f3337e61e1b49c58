/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/engine/fixture.h"

/* Files that the host came across: only those are opened that the catalog does
 * not know as they are. */

static atomic_int opened;

static int open_counted(void *ctx, dev_t device, ino_t number)
{
	atomic_fetch_add(&opened, 1);
	return find_by_number(ctx, device, number);
}

static int make(void **state)
{
	struct fixture *f = malloc(sizeof(*f));

	assert_non_null(f);
	fixture_make(f);
	f->blind = true; /* for this function instead: */
	f->options.host.open_known = open_counted;
	write_text(f, "file", 5000);
	fixture_open(f);
	wait_idle(f);
	atomic_store(&opened, 0);
	*state = f;
	return 0;
}

static int remove_all(void **state)
{
	fixture_remove(*state);
	free(*state);
	return 0;
}

static void see_often(struct fixture *f, const char *name, int times)
{
	int fd = open_file(f, name);
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	close(fd);
	while (times--)
		(void)engine_file_seen(f->engine, &st);
	wait_idle(f);
}

static void see(struct fixture *f, const char *name)
{
	see_often(f, name, 1);
}

#define WITH_FIXTURE(name) TEST_WITH(name, make, remove_all)

WITH_FIXTURE(known_files_are_left_alone)
{
	json_int_t files = hashed_files(*state);

	see(*state, "file");
	assert_int_equal(atomic_load(&opened), 0);
	assert_int_equal(hashed_files(*state), files);
}

WITH_FIXTURE(unknown_files_are_hashed)
{
	json_int_t files = hashed_files(*state);

	write_text(*state, "another", 6000);
	see(*state, "another");
	assert_true(atomic_load(&opened) > 0);
	assert_int_equal(hashed_files(*state), files + 1);
}

WITH_FIXTURE(changed_files_are_hashed)
{
	json_int_t files = hashed_files(*state);

	write_text(*state, "file", 5001);
	see(*state, "file");
	assert_true(atomic_load(&opened) > 0);
	assert_int_equal(hashed_files(*state), files + 1);
}

WITH_FIXTURE(many_known_files_are_left_alone)
{
	see_often(*state, "file", 5000);
	assert_int_equal(atomic_load(&opened), 0);
}
