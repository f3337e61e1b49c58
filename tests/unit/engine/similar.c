/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/engine/fixture.h"
#include "tests/support/mapped.h"

/* Listings of near-duplicates agree with the disk at the moment of asking. */

enum { LEN = 30000 };

struct tree {
	struct fixture f;
	char text[LEN];
};

/* a and its copy are identical, edited has 5 % replaced, other is unrelated,
 * two directories, one of them with nothing alike. */
static int set_up(void **state)
{
	struct tree *t = calloc(1, sizeof(*t));
	char path[128], other[LEN];

	assert_non_null(t);
	fixture_make(&t->f);
	(void)snprintf(path, sizeof(path), "%s/dir", t->f.source);
	assert_int_equal(mkdir(path, 0700), 0);
	(void)snprintf(path, sizeof(path), "%s/lone", t->f.source);
	assert_int_equal(mkdir(path, 0700), 0);
	make_text(t->text, LEN, 1);
	write_file(&t->f, "a", t->text, LEN);
	write_file(&t->f, "dir/copy", t->text, LEN);
	memcpy(other, t->text, LEN);
	make_text(other + 10000, LEN / 20, 99);
	write_file(&t->f, "dir/edited", other, LEN);
	make_text(other, LEN, 2);
	write_file(&t->f, "lone/other", other, LEN);
	write_file(&t->f, "empty1", "", 0);
	write_file(&t->f, "empty2", "", 0);
	fixture_open(&t->f);
	wait_idle(&t->f);
	*state = t;
	return 0;
}

static int tear_down(void **state)
{
	struct tree *t = *state;

	fixture_remove(&t->f);
	free(t);
	return 0;
}

static void test_finds_copy_and_edit_and_nothing_else(void **state)
{
	struct tree *t = *state;
	struct search_hits hits;

	find_similar(&t->f, "a", &hits);
	assert_int_equal(hits.count, 2);
	assert_string_equal(hits.hits[0].path, "dir/copy");
	assert_int_equal(hits.hits[0].verdict.score, 100);
	assert_string_equal(hits.hits[1].path, "dir/edited");
	assert_in_range(hits.hits[1].verdict.score, 85, 99);
	assert_false(hits.cut);
	search_hits_release(&hits);
	find_similar(&t->f, "lone/other", &hits);
	assert_int_equal(hits.count, 0);
	find_similar(&t->f, "empty1", &hits);
	assert_int_equal(hits.count, 0);
}

static void test_limit_cuts_near_ones_only(void **state)
{
	struct tree *t = *state;
	struct search_hits hits;
	char text[LEN], name[32];
	int i;

	fixture_close(&t->f);
	for (i = 0; i < 6; i++) {
		memcpy(text, t->text, LEN);
		make_text(text + 1000 * i, 300, (uint64_t)i + 50);
		(void)snprintf(name, sizeof(name), "near%d", i);
		write_file(&t->f, name, text, LEN);
		(void)snprintf(name, sizeof(name), "same%d", i);
		write_file(&t->f, name, t->text, LEN);
	}
	t->f.options.limit = 3;
	fixture_open(&t->f);
	wait_idle(&t->f);
	find_similar(&t->f, "a", &hits);
	assert_int_equal(hits.count, 7 + 3);
	assert_int_equal(hits.hits[6].verdict.score, 100);
	assert_in_range(hits.hits[7].verdict.score, 60, 99);
	assert_true(hits.cut);
	search_hits_release(&hits);
}

static void test_what_is_gone_or_changed_is_not_listed(void **state)
{
	struct tree *t = *state;
	struct search_hits hits;
	char path[128];

	(void)snprintf(path, sizeof(path), "%s/dir/copy", t->f.source);
	assert_int_equal(unlink(path), 0);
	find_similar(&t->f, "a", &hits);
	assert_null(find_hit(&hits, "dir/copy"));
	assert_non_null(find_hit(&hits, "dir/edited"));
	search_hits_release(&hits);
	write_file(&t->f, "dir/edited", "something else", 14);
	find_similar(&t->f, "a", &hits);
	assert_int_equal(hits.count, 0);
	search_hits_release(&hits);
}

static void test_names_follow_what_the_host_tells(void **state)
{
	struct tree *t = *state;
	struct search_hits hits;
	struct file_key root, dir;
	char from[128], to[128];

	key_of(&t->f, "", &root);
	key_of(&t->f, "dir", &dir);
	(void)snprintf(from, sizeof(from), "%s/dir", t->f.source);
	(void)snprintf(to, sizeof(to), "%s/moved", t->f.source);
	assert_int_equal(rename(from, to), 0);
	engine_name_moved(t->f.engine, &(struct engine_move){
					       .parent = &root,
					       .name = "dir",
					       .new_parent = &root,
					       .new_name = "moved",
				       });
	(void)snprintf(from, sizeof(from), "%s/moved/edited", t->f.source);
	assert_int_equal(unlink(from), 0);
	engine_name_removed(t->f.engine, &dir, "edited");
	find_similar(&t->f, "a", &hits);
	assert_int_equal(hits.count, 1);
	assert_string_equal(hits.hits[0].path, "moved/copy");
	search_hits_release(&hits);
}

static void test_a_rescan_finds_what_moved_unseen(void **state)
{
	struct tree *t = *state;
	struct search_hits hits;
	char from[128], to[128];

	(void)snprintf(from, sizeof(from), "%s/dir", t->f.source);
	(void)snprintf(to, sizeof(to), "%s/lone/moved", t->f.source);
	assert_int_equal(rename(from, to), 0);
	engine_rescan(t->f.engine);
	wait_idle(&t->f);
	find_similar(&t->f, "a", &hits);
	assert_int_equal(hits.count, 2);
	assert_string_equal(hits.hits[0].path, "lone/moved/copy");
	search_hits_release(&hits);
}

static void browse(struct tree *t, const char *path, struct outcome *o)
{
	struct search_caller caller = { .trusted = true };
	int fd = open_file(&t->f, path);

	assert_int_equal(search_browse(engine_searcher(t->f.engine), fd,
				       &caller, on_entries, o),
			 0);
	assert_int_equal(outcome_wait(o), 0);
	close(fd);
}

static void test_browse_shows_what_has_something_similar(void **state)
{
	struct tree *t = *state;
	struct outcome o = OUTCOME_INIT;

	browse(t, "", &o);
	assert_int_equal(o.entries.count, 2);
	assert_string_equal(o.entries.entries[0].name, "a");
	assert_false(o.entries.entries[0].directory);
	assert_string_equal(o.entries.entries[1].name, "dir");
	assert_true(o.entries.entries[1].directory);
	search_entries_release(&o.entries);
	/* A second time, from memory, and after a change. */
	write_file(&t->f, "lone/late", t->text, LEN);
	engine_rescan(t->f.engine);
	wait_idle(&t->f);
	browse(t, "", &o);
	assert_int_equal(o.entries.count, 3);
	assert_string_equal(o.entries.entries[2].name, "lone");
	search_entries_release(&o.entries);
}

static void test_a_listing_waits_for_the_file_and_for_the_commit(void **state)
{
	struct tree *t = *state;
	struct search_hits hits;
	int fd;

	write_file(&t->f, "late", t->text, LEN);
	fd = open_file(&t->f, "late");
	tell_closed(&t->f, fd);
	close(fd);
	find_similar(&t->f, "late", &hits);
	assert_int_equal(hits.count, 3);
	search_hits_release(&hits);
	find_similar(&t->f, "a", &hits);
	assert_non_null(find_hit(&hits, "late"));
	search_hits_release(&hits);
}

static void test_answers_leave_the_memory_to_others(void **state)
{
	struct tree *t = *state;
	const struct timespec pause = { 0, 2000000 };
	struct search_hits hits;
	char data[128];
	int polls = 0;

	(void)snprintf(data, sizeof(data), "%s/data.mdb", t->f.catalog);
	do {
		find_similar(&t->f, "a", &hits);
		search_hits_release(&hits);
	} while (mapped_kib(data) == 0);
	while (mapped_kib(data) > 0) {
		assert_true(polls++ < DEADLINE_S * 500);
		nanosleep(&pause, NULL);
	}
	find_similar(&t->f, "a", &hits);
	assert_int_equal(hits.count, 2);
	search_hits_release(&hits);
}

#define WITH_TREE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_TREE(test_finds_copy_and_edit_and_nothing_else),
		WITH_TREE(test_limit_cuts_near_ones_only),
		WITH_TREE(test_what_is_gone_or_changed_is_not_listed),
		WITH_TREE(test_names_follow_what_the_host_tells),
		WITH_TREE(test_a_rescan_finds_what_moved_unseen),
		WITH_TREE(test_browse_shows_what_has_something_similar),
		WITH_TREE(test_a_listing_waits_for_the_file_and_for_the_commit),
		WITH_TREE(test_answers_leave_the_memory_to_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
