/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/engine/fixture.h"

#include "core/catalog/attachment.h"
#include "core/catalog/seal.h"
#include "core/engine/engine_impl.h"

/*
 * The counts of the indexes are kept with the catalog.  The promise: a start with
 * them and one without give equal indexes and answers.
 */
enum { FILES = 40, TEMPLATE = 4800, LENGTH = 6000 };

/* Most of each is a template. */
static void write_number(struct fixture *f, int number)
{
	char name[32], *data = malloc(LENGTH);

	assert_non_null(data);
	make_text(data, TEMPLATE, 1);
	make_text(data + TEMPLATE, LENGTH - TEMPLATE, 100 + (uint64_t)number);
	(void)snprintf(name, sizeof(name), "f%d", number);
	write_file(f, name, data, LENGTH);
	free(data);
}

/* Waits until all is hashed and in the index. */
static void open_keeping(struct fixture *f)
{
	fixture_open(f);
	wait_idle(f);
	f->engine->least_counts = 1;
}

static int set_up(void **state)
{
	struct fixture *f = malloc(sizeof(*f));
	int i;

	assert_non_null(f);
	fixture_make(f);
	for (i = 0; i < FILES; i++)
		write_number(f, i);
	open_keeping(f);
	fixture_close(f);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	fixture_remove(*state);
	free(*state);
	return 0;
}

static void path_of(const struct fixture *f, const char *name,
		    char path[static 128])
{
	(void)snprintf(path, 128, "%s/%s", f->catalog, name);
}

static bool is_kept(const struct fixture *f)
{
	char path[128];

	path_of(f, ATTACHMENT_FILE, path);
	return access(path, F_OK) == 0;
}

static void forget(const struct fixture *f, const char *name)
{
	char path[128];

	path_of(f, name, path);
	assert_int_equal(unlink(path), 0);
}

/* The counts of the index, then the hits of the first file as text. */
static void describe(struct fixture *f, struct buf *out)
{
	struct search_hits hits;
	size_t i;

	assert_int_equal(index_store_counts(f->engine->index, out), 1);
	find_related(f, "f0", INDEX_ALL, &hits);
	assert_in_range(hits.count, FILES - 1, FILES);
	for (i = 0; i < hits.count; i++)
		assert_int_equal(buf_append_format(out, "%d %s\n",
						   hits.hits[i].verdict.score,
						   hits.hits[i].path),
				 0);
	search_hits_release(&hits);
}

static void assert_described(struct fixture *f, const struct buf *want)
{
	struct buf have = { 0 };

	describe(f, &have);
	assert_int_equal(have.len, want->len);
	assert_memory_equal(have.data, want->data, want->len);
	buf_release(&have);
}

static void test_a_start_with_counts_is_as_one_without(void **state)
{
	struct fixture *f = *state;
	struct buf with = { 0 };

	assert_true(is_kept(f));
	open_keeping(f);
	describe(f, &with);
	fixture_close(f);
	assert_true(is_kept(f));
	forget(f, ATTACHMENT_FILE);
	open_keeping(f);
	assert_described(f, &with);
	fixture_close(f);
	assert_true(is_kept(f));
	/* After a kill. */
	forget(f, SEAL_FILE);
	open_keeping(f);
	assert_described(f, &with);
	buf_release(&with);
}

/* The tree has one more file: its content is counted when it is added, and the
 * others are not counted anew. */
static void test_later_contents_are_added_to_what_is_kept(void **state)
{
	struct fixture *f = *state;
	struct buf with = { 0 };

	open_keeping(f);
	write_number(f, FILES);
	engine_rescan(f->engine);
	wait_idle(f);
	assert_false(is_kept(f));
	fixture_close(f);
	assert_true(is_kept(f));
	open_keeping(f);
	describe(f, &with);
	fixture_close(f);
	forget(f, ATTACHMENT_FILE);
	open_keeping(f);
	assert_described(f, &with);
	buf_release(&with);
}

/* The number of removed contents, as it is stored; -1: nothing is. */
static int removed_counted(struct fixture *f)
{
	struct buf counts = { 0 };
	int kept = index_store_counts(f->engine->index, &counts);
	int removed = kept == 1 ? counts.data[1] : -1;

	assert_in_range(kept, 0, 1);
	buf_release(&counts);
	return removed;
}

static void remove_file(struct fixture *f, const char *name)
{
	assert_int_equal(unlinkat(f->source_fd, name, 0), 0);
	engine_rescan(f->engine);
	wait_idle(f);
}

/* They stay counted from start to start, until there are too many. */
static void test_removed_contents_are_remembered(void **state)
{
	struct fixture *f = *state;
	char name[32];
	int i;

	open_keeping(f);
	assert_int_equal(removed_counted(f), 0);
	for (i = 1; i <= FILES / (INDEX_REMOVED_PART + 1); i++) {
		(void)snprintf(name, sizeof(name), "f%d", i);
		remove_file(f, name);
		fixture_close(f);
		open_keeping(f);
		assert_int_equal(removed_counted(f), i);
	}
	(void)snprintf(name, sizeof(name), "f%d", i);
	remove_file(f, name);
	assert_int_equal(removed_counted(f), -1);
	fixture_close(f);
	open_keeping(f);
	assert_int_equal(removed_counted(f), 0);
}

/* The file is of the catalog, which did not change, and not of the index. */
static void test_a_start_that_was_given_up_changes_nothing(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(engine_open(&f->options, &f->engine), 0);
	f->engine->least_counts = 1;
	assert_int_equal(engine_start_loading(f->engine), 0);
	index_distrust_counts(f->engine->index);
	fixture_close(f);
	assert_true(is_kept(f));
}

static void test_counts_of_few_contents_are_not_kept(void **state)
{
	struct fixture *f = *state;

	open_keeping(f);
	remove_file(f, "f1");
	f->engine->least_counts = FILES;
	fixture_close(f);
	assert_false(is_kept(f));
	fixture_open(f);
	wait_idle(f);
	fixture_close(f);
	assert_false(is_kept(f));
}

#define with_files(name) \
	cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_files(test_a_start_with_counts_is_as_one_without),
		with_files(test_later_contents_are_added_to_what_is_kept),
		with_files(test_removed_contents_are_remembered),
		with_files(test_a_start_that_was_given_up_changes_nothing),
		with_files(test_counts_of_few_contents_are_not_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
