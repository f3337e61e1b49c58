/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/check/fixture.h"

/* A catalog in order is found to be so; other trees; the end of a check. */

static void test_what_an_engine_leaves_is_in_order(void **state)
{
	struct checked_tree *p = *state;
	struct check_counts n;

	take_over(p);
	check(p, &n);
	assert_in_order(p);
	assert_int_equal(n.directories, 2);
	assert_int_equal(n.files, 4);
	assert_int_equal(n.fresh, 4);
	assert_int_equal(n.read, 4);
	assert_int_equal(n.read_bytes, 3 * LEN);
	assert_int_equal(n.unknown + n.stale + n.gone + n.unread, 0);
}

static void test_news_are_counted(void **state)
{
	struct checked_tree *p = *state;
	struct check_counts n;
	char path[512];

	take_over(p);
	write_file(&p->f, "new", "new", 3);
	write_file(&p->f, "a", "changed", 7);
	(void)snprintf(path, sizeof(path), "%s/d/b", p->f.source);
	assert_int_equal(unlink(path), 0);
	check(p, &n);
	assert_int_equal(check_count_findings(&n), 0);
	assert_int_equal(n.unknown, 1);
	assert_int_equal(n.stale, 1);
	assert_int_equal(n.gone, 1);
	assert_int_equal(n.read, 2);
}

/* ---- another tree ---- */

static void test_another_directory_is_refused(void **state)
{
	struct checked_tree *p = *state;
	struct check_options options;
	struct check_counts n;
	char path[512];

	take_over(p);
	(void)snprintf(path, sizeof(path), "%s/new", p->f.source);
	assert_int_equal(mkdir(path, 0700), 0);
	options = options_of(p);
	options.source_fd = open_file(&p->f, "new");
	assert_int_equal(check_run(&options, &n), -EXDEV);
	close(options.source_fd);
	assert_in_order(p);
	check(p, &n);
	assert_int_equal(n.fresh, 4);
}

/* ---- the index ---- */

static uint64_t three(void *arg)
{
	(void)arg;
	return 3;
}

static uint64_t two(void *arg)
{
	(void)arg;
	return 2;
}

static void test_the_index_has_what_the_catalog_has(void **state)
{
	struct checked_tree *p = *state;
	struct check_options options;
	struct check_counts n;

	take_over(p);
	options = options_of(p);
	options.indexed = two; /* of three contents one is empty */
	assert_int_equal(check_run(&options, &n), 0);
	assert_int_equal(check_count_findings(&n), 0);
	options.indexed = three;
	assert_int_equal(check_run(&options, &n), 0);
	assert_int_equal(n.found[CHECK_INDEX], 1);
	assert_told(p, "index - 3 contents, the catalog has 2");
}

/* A file is forgotten and the index hears of it, while it is asked. */
static uint64_t one_less(void *arg)
{
	struct checked_tree *p = arg;
	struct file_key root = *(struct file_key *)p->f.options.host.ctx;
	struct catalog_name name = { "d", 1 };
	struct catalog_txn *txn;
	int err;

	assert_int_equal(catalog_write(p->catalog, &txn), 0);
	err = catalog_name_remove(txn, &root, name);
	assert_true(!err || err == -ENOENT);
	assert_int_equal(catalog_commit(txn, NULL), 0);
	return 1;
}

static void test_an_index_that_follows_is_in_order(void **state)
{
	struct checked_tree *p = *state;
	struct check_options options;
	struct check_counts n;
	struct file_key root;

	key_of(&p->f, ".", &root);
	take_over(p);
	p->f.options.host.ctx = &root;
	options = options_of(p);
	options.indexed = one_less;
	assert_int_equal(check_run(&options, &n), 0);
	assert_int_equal(n.found[CHECK_INDEX], 0);
	assert_int_equal(n.unknown, 2);
}

/* ---- the end ---- */

static void test_it_can_be_stopped(void **state)
{
	struct checked_tree *p = *state;
	atomic_bool stopping = true;
	struct check_options options;
	struct check_counts n;

	take_over(p);
	options = options_of(p);
	options.stopping = &stopping;
	assert_int_equal(check_run(&options, &n), -ECANCELED);
	assert_int_equal(n.files, 0);
}

/* ---- JSON ---- */

static void test_counts_survive_json(void **state)
{
	struct check_counts in, out;
	uint64_t *value = (uint64_t *)&in;
	json_t *o;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(in) / sizeof(*value); i++)
		value[i] = i + 1;
	o = check_counts_to_json(&in);
	check_counts_from_json(o, &out);
	json_decref(o);
	assert_memory_equal(&in, &out, sizeof(in));
	check_counts_from_json(NULL, &out);
	assert_int_equal(check_count_findings(&out), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		tree_test(test_what_an_engine_leaves_is_in_order),
		tree_test(test_news_are_counted),
		tree_test(test_another_directory_is_refused),
		tree_test(test_the_index_has_what_the_catalog_has),
		tree_test(test_an_index_that_follows_is_in_order),
		tree_test(test_it_can_be_stopped),
		cmocka_unit_test(test_counts_survive_json),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
