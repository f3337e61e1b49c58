/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/check/fixture.h"

/* The check that an engine makes by itself. */

static json_t *checked(struct fixture *f, json_int_t number)
{
	struct timespec pause = { 0, 2000000 };
	json_t *status, *check;
	int polls;

	for (polls = 0; polls < DEADLINE_S * 500; polls++) {
		assert_int_equal(engine_status(f->engine, &status), 0);
		check = json_object_get(status, "check");
		if (json_integer_value(json_object_get(check, "finished")) >=
		    number) {
			check = json_incref(json_object_get(check, "result"));
			json_decref(status);
			return check;
		}
		json_decref(status);
		nanosleep(&pause, NULL);
	}
	fail_msg("not checked after %d s", DEADLINE_S);
	return NULL;
}

static void test_an_engine_checks_itself(void **state)
{
	struct checked_tree *p = *state;
	struct check_counts n;
	json_t *result;

	engine_check(p->f.engine, true);
	result = checked(&p->f, 1);
	check_counts_from_json(result, &n);
	assert_int_equal(check_count_findings(&n), 0);
	assert_int_equal(n.read, 4);
	assert_true(json_is_null(json_object_get(result, "error")));
	json_decref(result);
	engine_check(p->f.engine, false);
	engine_check(p->f.engine, false);
	result = checked(&p->f, 3);
	check_counts_from_json(result, &n);
	assert_int_equal(n.read, 0);
	assert_int_equal(n.files, 4);
	json_decref(result);
}

static void test_an_engine_finds_what_is_wrong(void **state)
{
	struct checked_tree *p = *state;
	struct file_key root, key;
	struct file_record r;
	struct check_counts n;
	json_t *result;

	key_of(&p->f, ".", &root);
	take_over(p);
	find_a(p, &root, &key, &r);
	spoil_content(p, &r);
	add_orphan(p, UINT64_C(1) << 60);
	catalog_free(p->catalog);
	p->catalog = NULL;
	fixture_open(&p->f);
	wait_idle(&p->f);
	engine_check(p->f.engine, true);
	result = checked(&p->f, 1);
	check_counts_from_json(result, &n);
	assert_int_equal(n.found[CHECK_ORPHAN], 1);
	assert_int_equal(n.found[CHECK_DIGEST], 2);
	assert_int_equal(json_array_size(json_object_get(result, "findings")),
			 check_count_findings(&n));
	json_decref(result);
	take_over(p);
	begin_anew(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		tree_test(test_an_engine_checks_itself),
		tree_test(test_an_engine_finds_what_is_wrong),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
