/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/catalog/fixture.h"

#include "core/catalog/catalog_impl.h"

/* What changed since a share published it, and a second reader. */

static void change(struct fixture *f, uint64_t inode, uint64_t content)
{
	struct catalog_txn *txn = begin_write(f);

	assert_int_equal(set_fresh(txn, inode, content), 0);
	commit(txn);
}

struct seen {
	uint64_t inodes[16];
	size_t count;
};

static struct dirty_mark look(struct catalog *c, uint64_t after,
			      struct seen *out)
{
	struct dirty_mark mark;
	struct catalog_walk *walk;
	struct catalog_txn *txn;
	struct file_key key;
	int found;

	*out = (struct seen){ 0 };
	assert_int_equal(catalog_read(c, &txn), 0);
	assert_int_equal(dirty_get_mark(txn, &mark), 0);
	assert_int_equal(dirty_begin(txn, NULL, &walk), 0);
	while ((found = dirty_next(walk, after, &key)) == 1)
		out->inodes[out->count++] = key.inode;
	assert_int_equal(found, 0);
	catalog_walk_end(walk);
	catalog_abort(txn);
	return mark;
}

static int teardown(void **state);
#define WITH_FIXTURE(name) TEST_WITH(name, fixture_setup_open, teardown)

WITH_FIXTURE(test_nothing_is_recorded_without_a_share)
{
	struct fixture *f = *state;
	struct dirty_mark mark;
	struct seen seen;

	change(f, 1, 10);
	mark = look(f->c, 0, &seen);
	assert_int_equal(seen.count, 0);
	assert_int_equal(mark.incarnation, 0);
}

WITH_FIXTURE(test_a_file_has_one_entry_with_its_last_change)
{
	struct fixture *f = *state;
	struct dirty_mark first, last;
	struct seen seen;
	uint64_t i;

	assert_int_equal(dirty_register(f->c), 0);
	change(f, 1, 10);
	change(f, 2, 20);
	first = look(f->c, 0, &seen);
	assert_int_not_equal(first.incarnation, 0);
	assert_int_equal(seen.count, 2);
	for (i = 11; i < 20; i++)
		change(f, 1, i);
	last = look(f->c, first.change, &seen);
	assert_int_equal(last.incarnation, first.incarnation);
	assert_int_equal(seen.count, 1);
	assert_int_equal(seen.inodes[0], 1);
	look(f->c, 0, &seen);
	assert_int_equal(seen.count, 2);
}

WITH_FIXTURE(test_an_aborted_change_is_no_change)
{
	struct fixture *f = *state;
	struct catalog_txn *txn;
	struct seen seen;

	assert_int_equal(dirty_register(f->c), 0);
	txn = begin_write(f);
	assert_int_equal(set_fresh(txn, 1, 10), 0);
	catalog_abort(txn);
	look(f->c, 0, &seen);
	assert_int_equal(seen.count, 0);
}

WITH_FIXTURE(test_names_and_removals_are_changes)
{
	struct fixture *f = *state;
	struct file_key directory = key_of(5), file = key_of(6);
	struct dirty_mark mark;
	struct catalog_txn *txn;
	struct seen seen;

	assert_int_equal(dirty_register(f->c), 0);
	txn = begin_write(f);
	assert_int_equal(catalog_directory_set(txn, &ROOT), 0);
	assert_int_equal(catalog_name_set(txn, &ROOT, name_of("d"), &directory),
			 0);
	assert_int_equal(catalog_directory_set(txn, &directory), 0);
	assert_int_equal(set_fresh(txn, 6, 60), 0);
	assert_int_equal(catalog_name_set(txn, &directory, name_of("f"), &file),
			 0);
	commit(txn);
	mark = look(f->c, 0, &seen);

	txn = begin_write(f);
	assert_int_equal(catalog_name_move(txn, &ROOT, name_of("d"), &ROOT,
					   name_of("e"), false),
			 0);
	commit(txn);
	mark = look(f->c, mark.change, &seen);
	assert_int_equal(seen.count, 1);
	assert_int_equal(seen.inodes[0], 5);

	txn = begin_write(f);
	assert_int_equal(catalog_file_remove(txn, &directory), 0);
	commit(txn);
	look(f->c, mark.change, &seen);
	assert_int_equal(seen.count, 2);
}

WITH_FIXTURE(test_acknowledged_entries_are_removed)
{
	struct fixture *f = *state;
	struct dirty_mark mark, other;
	struct seen seen;

	assert_int_equal(dirty_register(f->c), 0);
	change(f, 1, 10);
	mark = look(f->c, 0, &seen);
	change(f, 2, 20);
	other = (struct dirty_mark){ mark.incarnation + 1, mark.change };
	assert_int_equal(dirty_acknowledge(f->c, &other), 0);
	change(f, 3, 30);
	look(f->c, 0, &seen);
	assert_int_equal(seen.count, 3);
	assert_int_equal(dirty_acknowledge(f->c, &mark), 0);
	change(f, 3, 31);
	look(f->c, 0, &seen);
	assert_int_equal(seen.count, 2);
	assert_int_equal(seen.inodes[0], 2);
}

/* The second reader is another process, as LMDB opens a file once in one. */
static void follow_in_child(struct fixture *f, size_t want)
{
	struct catalog *c;
	struct seen seen;
	int status;
	pid_t child = fork();

	if (!child) {
		if (catalog_follow(f->directory, &c))
			_exit(2);
		look(c, 0, &seen);
		_exit(seen.count == want && catalog_follow_holds(c) ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

WITH_FIXTURE(test_another_process_sees_what_was_committed)
{
	struct fixture *f = *state;

	assert_int_equal(dirty_register(f->c), 0);
	change(f, 1, 10);
	follow_in_child(f, 1);
	change(f, 2, 20);
	follow_in_child(f, 2);
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	char path[128];

	(void)snprintf(path, sizeof(path), "%s/share", f->directory);
	fixture_remove(path);
	return fixture_teardown(state);
}
