/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/dedup/fixture.h"

static void expect_kept(const struct dedup_rules *rules, const char *keep)
{
	struct dedup_plan p = { 0 };
	size_t i;

	plan_names(&p, rules, all, 3);
	assert_int_equal(step_count(&p), 2);
	for (i = 0; i < 2; i++)
		assert_string_equal(step_of(&p, i)->keep->found.names[0],
				    at(keep));
	leave_plan(&p);
}

IN_TREE(test_the_rule_says_which_file_is_kept)
{
	write_file("bb", text, 500);
	expect_kept(&(struct dedup_rules){ .keep = KEEP_OLDEST }, "bb");
	expect_kept(&(struct dedup_rules){ .keep = KEEP_NEWEST }, "c/d");
	expect_kept(&(struct dedup_rules){ .keep = KEEP_SHORTEST }, "a");
}

IN_TREE(test_protected_files_are_kept_and_never_replaced)
{
	char directory[128];
	const char *directories[] = { directory };
	bool used = false;
	const struct dedup_rules rules = { .directories = { directories, 1 },
					   .used = &used };
	const char *const both[] = { "c/d", "c/e" };
	struct dedup_plan p = { 0 };

	(void)snprintf(directory, sizeof(directory), "%s", at("c"));
	expect_kept(&rules, "c/d");
	assert_true(used);
	write_file("c/e", text, 1);
	plan_names(&p, &rules, both, 2);
	assert_int_equal(step_count(&p), 0);
	leave_plan(&p);
}

IN_TREE(test_hard_links_and_other_sizes_are_left_alone)
{
	const struct dedup_rules rules = { .keep = KEEP_OLDEST };
	const char *const names[] = { "a", "link", "bb", "longer", "c", "no" };
	struct dedup_plan p = { 0 };

	assert_int_equal(link(at("a"), at("link")), 0);
	write_file("longer", "another size, and so another content", 1);
	plan_names(&p, &rules, names, 6);
	assert_int_equal(step_count(&p), 1);
	assert_string_equal(step_of(&p, 0)->found.names[0], at("bb"));
	assert_non_null(strstr(skipped, "another size"));
	assert_non_null(strstr(skipped, "not a regular file"));
	assert_non_null(strstr(skipped, "No such file"));
	leave_plan(&p);
}

IN_TREE(test_all_names_of_a_copy_are_one_step)
{
	const struct dedup_rules rules = { .keep = KEEP_OLDEST };
	const char *const names[] = { "a", "link", "bb" };
	struct dedup_plan p = { 0 };

	assert_int_equal(link(at("bb"), at("link")), 0);
	plan_names(&p, &rules, names, 3);
	assert_int_equal(step_count(&p), 1);
	assert_int_equal(step_of(&p, 0)->found.name_count, 2);
	assert_string_equal(step_of(&p, 0)->found.names[0], at("link"));
	leave_plan(&p);
}

IN_TREE(test_a_set_that_comes_twice_counts_once)
{
	const struct dedup_rules rules = { .keep = KEEP_OLDEST };
	struct dedup_plan p = { 0 };

	plan_names(&p, &rules, all, 3);
	plan_names(&p, &rules, all, 3);
	assert_int_equal(step_count(&p), 2);
	assert_int_equal(p.linked_count, 0);
	leave_plan(&p);
}

/* Undo would not read a journal with such a path. */
IN_TREE(test_a_root_must_be_a_plain_path)
{
	const char *names[] = { "a", "bb" };
	struct found_file files[2] = { { .names = names, .name_count = 1 },
				       { .names = names + 1,
					 .name_count = 1 } };
	struct found_member member = { .files = files, .file_count = 2 };
	const struct found_group group = { .members = &member, .count = 1 };
	const char *const roots[] = { at("c/.."), at("c//.."), "tmp" };
	struct dedup_plan p = { 0 };
	size_t i;

	for (i = 0; i < sizeof(roots) / sizeof(roots[0]); i++)
		assert_int_equal(dedup_plan_add(&p, roots[i], &group), -EXDEV);
	assert_int_equal(p.file_count, 0);
	leave_plan(&p);
}

IN_TREE(test_absolute_paths_lie_below_a_root_with_a_slash)
{
	char root[128], a[128], bb[128];
	const char *names[] = { a, bb };
	struct found_file files[2] = { { .names = names, .name_count = 1 },
				       { .names = names + 1,
					 .name_count = 1 } };
	struct found_member member = { .files = files, .file_count = 2 };
	const struct found_group group = { .members = &member, .count = 1 };
	struct dedup_plan p = { 0 };

	(void)snprintf(root, sizeof(root), "%s/", top);
	(void)snprintf(a, sizeof(a), "%s", at("a"));
	(void)snprintf(bb, sizeof(bb), "%s", at("bb"));
	assert_int_equal(dedup_plan_add(&p, root, &group), 0);
	assert_int_equal(p.file_count, 2);
	leave_plan(&p);
}
