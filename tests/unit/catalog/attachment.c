/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/catalog/fixture.h"

#include <sys/stat.h>

#include "core/catalog/attachment.h"
#include "core/catalog/catalog_impl.h"
#include "core/catalog/seal.h"

/*
 * An attachment of a catalog is there at the next opening.  The promise: it is
 * the one that was attached to the records that are there, or there is none.
 */

static void attach(struct fixture *f, const char *text)
{
	struct buf bytes = { 0 };

	assert_int_equal(buf_append_text(&bytes, text), 0);
	catalog_attach(f->c, &bytes);
	assert_null(bytes.data);
}

static int take(void *arg, const uint8_t *bytes, size_t len)
{
	return buf_append(arg, bytes, len) ?: 7;
}

/* Of the open catalog.  want NULL: nothing. */
static void assert_attached(struct fixture *f, const char *want)
{
	struct buf have = { 0 };

	assert_int_equal(catalog_attachment(f->c, take, &have),
			 want ? 7 : -ENOENT);
	if (want)
		assert_string_equal(have.data, want);
	buf_release(&have);
}

static void attachment_path(const struct fixture *f, char path[static 128])
{
	(void)snprintf(path, 128, "%s/" ATTACHMENT_FILE, f->directory);
}

static bool is_stored(const struct fixture *f)
{
	char path[128];

	attachment_path(f, path);
	return access(path, F_OK) == 0;
}

/* A catalog with a record and that attachment, closed. */
static void make(struct fixture *f, const char *text)
{
	assert_int_equal(add_many(f->c, 1, 1), 0);
	attach(f, text);
	fixture_close(f);
}

static void test_it_is_there_after_reopening(void **state)
{
	struct fixture *f = *state;
	struct stat st;
	char path[128];

	assert_attached(f, NULL);
	make(f, "abc");
	attachment_path(f, path);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	fixture_open(f);
	assert_attached(f, "abc");
	assert_attached(f, "abc");
}

static void test_it_stays_while_nothing_changes(void **state)
{
	struct fixture *f = *state;
	struct stat before, after;
	char path[128];

	make(f, "abc");
	attachment_path(f, path);
	assert_int_equal(stat(path, &before), 0);
	fixture_open(f);
	attach(f, "abc");
	fixture_close(f);
	assert_int_equal(stat(path, &after), 0);
	assert_int_equal(before.st_ino, after.st_ino);
	fixture_open(f);
	fixture_close(f);
	fixture_open(f);
	assert_attached(f, "abc");
}

/* Also where there was none, as with a catalog of an earlier version. */
static void test_it_may_be_attached_without_a_change(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(add_many(f->c, 1, 1), 0);
	fixture_close(f);
	assert_false(is_stored(f));
	fixture_open(f);
	attach(f, "first");
	fixture_close(f);
	fixture_open(f);
	assert_attached(f, "first");
	attach(f, "second");
	fixture_close(f);
	fixture_open(f);
	assert_attached(f, "second");
}

static void test_a_change_removes_it(void **state)
{
	struct fixture *f = *state;
	struct catalog_txn *txn;

	make(f, "abc");
	fixture_open(f);
	txn = begin_write(f);
	assert_false(is_stored(f));
	catalog_abort(txn);
	assert_attached(f, NULL);
	fixture_close(f);
	fixture_open(f);
	assert_attached(f, NULL);
}

/* A version that does not know of it leaves it where it is. */
static void test_it_is_not_valid_after_a_change_by_others(void **state)
{
	struct fixture *f = *state;
	char path[128];
	uint8_t *bytes;
	size_t len;

	make(f, "abc");
	attachment_path(f, path);
	bytes = read_whole(path, &len);
	fixture_open(f);
	assert_int_equal(add_many(f->c, 2, 1), 0);
	fixture_close(f);
	write_whole(path, bytes, len);
	fixture_open(f);
	assert_attached(f, NULL);
	free(bytes);
}

static void test_it_is_not_valid_after_a_kill(void **state)
{
	struct fixture *f = *state;
	char seal[128], path[128];
	uint8_t *bytes;
	size_t len;

	make(f, "abc");
	attachment_path(f, path);
	bytes = read_whole(path, &len);
	(void)snprintf(seal, sizeof(seal), "%s/" SEAL_FILE, f->directory);
	assert_int_equal(unlink(seal), 0);
	fixture_open(f);
	assert_attached(f, NULL);
	fixture_close(f);
	write_whole(path, bytes, len);
	fixture_open(f);
	assert_attached(f, NULL);
	free(bytes);
}

static void test_a_damaged_one_is_none(void **state)
{
	struct fixture *f = *state;
	char path[128];
	uint8_t *bytes;
	size_t len, i;

	make(f, "abc");
	attachment_path(f, path);
	bytes = read_whole(path, &len);
	for (i = 0; i < len; i++) {
		write_whole(path, bytes, i);
		fixture_open(f);
		assert_attached(f, NULL);
		fixture_close(f);
		bytes[i] ^= 1;
		write_whole(path, bytes, len);
		bytes[i] ^= 1;
		fixture_open(f);
		assert_attached(f, NULL);
		fixture_close(f);
	}
	write_whole(path, bytes, len);
	fixture_open(f);
	assert_attached(f, "abc");
	free(bytes);
}

static void test_what_is_no_file_is_none(void **state)
{
	struct fixture *f = *state;
	struct buf have = { 0 };
	char path[128];

	make(f, "abc");
	attachment_path(f, path);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkfifo(path, 0600), 0);
	fixture_open(f);
	assert_attached(f, NULL);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(symlink("sealed", path), 0);
	assert_true(catalog_attachment(f->c, take, &have) < 0);
	assert_null(have.data);
}

static void test_a_replaced_catalog_has_none(void **state)
{
	struct fixture *f = *state;
	struct buf aside = { 0 };
	char path[128];

	make(f, "abc");
	fixture_data_path(f, path, sizeof(path));
	write_whole(path, (const uint8_t *)"no catalog", 10);
	assert_int_equal(catalog_begin(&f->options, &f->c), 0);
	assert_int_equal(catalog_finish(f->c), -EUCLEAN);
	assert_int_equal(catalog_replace(f->c, &aside), 0);
	catalog_admit(f->c, 0);
	assert_false(is_stored(f));
	assert_attached(f, NULL);
	fixture_close(f);
	buf_release(&aside);
}

#define open_test(name)                                           \
	cmocka_unit_test_setup_teardown(name, fixture_setup_open, \
					fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		open_test(test_it_is_there_after_reopening),
		open_test(test_it_stays_while_nothing_changes),
		open_test(test_it_may_be_attached_without_a_change),
		open_test(test_a_change_removes_it),
		open_test(test_it_is_not_valid_after_a_change_by_others),
		open_test(test_it_is_not_valid_after_a_kill),
		open_test(test_a_damaged_one_is_none),
		open_test(test_what_is_no_file_is_none),
		open_test(test_a_replaced_catalog_has_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
