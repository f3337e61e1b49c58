/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/check/fixture.h"

/* What a check finds: digests, orphans, records. */

/* ---- digests ---- */

/* Of another content, though size and times are what they were. */
static void test_another_content_is_found(void **state)
{
	struct checked_tree *p = *state;
	struct file_key root, key;
	struct file_record r;
	struct catalog_txn *txn;
	struct digests d;
	struct check_counts n;
	char text[LEN];

	key_of(&p->f, ".", &root);
	take_over(p);
	find_a(p, &root, &key, &r);
	make_text(text, LEN, 3);
	digest_bytes(text, LEN, &d);
	assert_int_equal(catalog_write(p->catalog, &txn), 0);
	assert_int_equal(catalog_file_set_fresh(txn, &key, &r.identity, &d), 0);
	assert_int_equal(catalog_commit(txn, NULL), 0);
	digests_release(&d);
	check(p, &n);
	assert_int_equal(n.found[CHECK_DIGEST], 1);
	assert_told(p, "digest a not the content that was hashed");
	assert_told(p, "sise simhash rdc sif ssdeep xxh128");
	assert_int_equal(state_of(p, &key), FILE_FRESH);
	begin_anew(p);
}

static void test_a_wrong_digest_is_found_at_all_copies(void **state)
{
	struct checked_tree *p = *state;
	struct file_key root, key;
	struct file_record r;
	struct check_counts n;

	key_of(&p->f, ".", &root);
	take_over(p);
	find_a(p, &root, &key, &r);
	spoil_content(p, &r);
	check(p, &n);
	assert_int_equal(n.found[CHECK_DIGEST], 2);
	assert_told(p, "digest a digests are not those of its content; "
		       "differing: simhash\n");
	assert_told(p, "digest d/copy digests are not");
	begin_anew(p);
}

static bool says_used(void *arg, const struct stat *st)
{
	(void)arg;
	(void)st;
	return true;
}

static void test_a_file_in_use_is_not_judged(void **state)
{
	struct checked_tree *p = *state;
	struct check_options options;
	struct file_key root, key;
	struct file_record r;
	struct check_counts n;

	key_of(&p->f, ".", &root);
	take_over(p);
	find_a(p, &root, &key, &r);
	spoil_content(p, &r);
	options = options_of(p);
	options.in_use = says_used;
	assert_int_equal(check_run(&options, &n), 0);
	assert_int_equal(check_count_findings(&n), 0);
	assert_int_equal(n.read, 0);
	assert_int_equal(n.stale, 4);
}

/* ---- orphans ---- */

static void test_orphans_are_found(void **state)
{
	struct checked_tree *p = *state;
	struct check_counts n;
	uint64_t i;

	take_over(p);
	for (i = 0; i < CHECK_TOLD + 7; i++)
		add_orphan(p, UINT64_C(1) << 60 | i);
	check(p, &n);
	assert_int_equal(n.found[CHECK_ORPHAN], CHECK_TOLD + 7);
	assert_told(p, "orphan - file 0:1152921504606846976:0: no name leads "
		       "to it\n");
	assert_null(strstr(p->told.data, ":1152921504606847976:"));
	begin_anew(p);
}

/* settle gives it a name, as a record that is under way gets one. */
static int name_it(void *arg)
{
	struct checked_tree *p = arg;
	struct file_key root, key = { .inode = UINT64_C(1) << 60 };
	struct catalog_name name = { "b", 1 };
	struct catalog_txn *txn;

	root = *(struct file_key *)p->f.options.host.ctx;
	assert_int_equal(catalog_write(p->catalog, &txn), 0);
	assert_int_equal(catalog_name_set(txn, &root, name, &key), 0);
	return catalog_commit(txn, NULL);
}

static void test_a_name_that_comes_late_is_waited_for(void **state)
{
	struct checked_tree *p = *state;
	struct check_options options;
	struct check_counts n;
	struct file_key root;

	key_of(&p->f, ".", &root);
	take_over(p);
	add_orphan(p, UINT64_C(1) << 60);
	p->f.options.host.ctx = &root;
	options = options_of(p);
	options.settle = name_it;
	assert_int_equal(check_run(&options, &n), 0);
	assert_int_equal(check_count_findings(&n), 0);
	assert_int_equal(n.gone, 1);
}

/* ---- records ---- */

static void test_contradictions_are_found(void **state)
{
	struct checked_tree *p = *state;
	struct file_key none = { .inode = UINT64_C(1) << 60 };
	struct catalog_name name = { "none", 4 };
	struct catalog_txn *txn;
	struct file_key root;
	struct check_counts n;

	key_of(&p->f, ".", &root);
	take_over(p);
	assert_int_equal(catalog_write(p->catalog, &txn), 0);
	assert_int_equal(catalog_name_set(txn, &root, name, &none), 0);
	assert_int_equal(catalog_commit(txn, NULL), 0);
	check(p, &n);
	assert_int_equal(n.found[CHECK_RECORD], 1);
	assert_told(p, "record - file 0:1152921504606846976:0: has a name and "
		       "no record\n");
	begin_anew(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		tree_test(test_another_content_is_found),
		tree_test(test_a_wrong_digest_is_found_at_all_copies),
		tree_test(test_a_file_in_use_is_not_judged),
		tree_test(test_orphans_are_found),
		tree_test(test_a_name_that_comes_late_is_waited_for),
		tree_test(test_contradictions_are_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
