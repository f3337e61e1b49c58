/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/catalog/fixture.h"

#include "core/catalog/catalog_impl.h"

/* Promises that random programs (model.c) do not reach.  The inodes of a small
 * tree: /d/e/f, and a file x of its own. */
enum { D = 10, E = 11, F = 12, X = 13 };

static int set(struct catalog_txn *txn, uint64_t parent, const char *name,
	       uint64_t inode)
{
	struct file_key p = key_of(parent);
	struct file_key k = key_of(inode);

	return catalog_name_set(txn, &p, name_of(name), &k);
}

static int move(struct catalog_txn *txn, uint64_t parent, const char *name,
		uint64_t new_parent, const char *new_name)
{
	struct file_key a = key_of(parent);
	struct file_key b = key_of(new_parent);

	return catalog_name_move(txn, &a, name_of(name), &b, name_of(new_name),
				 false);
}

static int drop(struct catalog_txn *txn, uint64_t parent, const char *name)
{
	struct file_key p = key_of(parent);

	return catalog_name_remove(txn, &p, name_of(name));
}

static void directory(struct catalog_txn *txn, uint64_t inode)
{
	struct file_key key = key_of(inode);

	assert_int_equal(catalog_directory_set(txn, &key), 0);
}

static bool known(struct catalog_txn *txn, uint64_t inode)
{
	struct file_key key = key_of(inode);
	struct file_record r;

	return catalog_file_get(txn, &key, &r) == 0;
}

static int setup_tree(void **state)
{
	struct catalog_txn *txn;

	(void)fixture_setup_open(state);
	txn = begin_write(*state);
	directory(txn, ROOT.inode);
	directory(txn, D);
	directory(txn, E);
	assert_int_equal(set_fresh(txn, F, 1), 0);
	assert_int_equal(set_fresh(txn, X, 2), 0);
	assert_int_equal(set(txn, ROOT.inode, "d", D), 0);
	assert_int_equal(set(txn, D, "e", E), 0);
	assert_int_equal(set(txn, E, "f", F), 0);
	assert_int_equal(set(txn, ROOT.inode, "x", X), 0);
	commit(txn);
	return 0;
}

static int teardown_clean(void **state)
{
	check_clean(*state);
	return fixture_teardown(state);
}

#define WITH_FIXTURE(name) TEST_WITH(name, setup_tree, teardown_clean)

WITH_FIXTURE(test_any_bytes_make_a_name)
{
	char longest[256];
	struct catalog_txn *txn = begin_write(*state);

	memset(longest, 0xff, 255);
	longest[255] = '\0';
	assert_int_equal(set(txn, ROOT.inode, longest, X), 0);
	assert_int_equal(set(txn, ROOT.inode, "a\nb", X), 0);
	assert_int_equal(set(txn, ROOT.inode, "\x80\x01 '\"\\", X), 0);
	commit(txn);
	txn = begin_read(*state);
	/* Links are in the order of their bytes. */
	assert_int_equal(strlen(longest), 255);
	{
		struct buf want = { 0 };

		assert_int_equal(buf_append_format(&want, "a\nb\nx\n%s\n%s\n",
						   "\x80\x01 '\"\\", longest),
				 0);
		assert_paths(txn, X, want.data);
		buf_release(&want);
	}
	catalog_abort(txn);
}

WITH_FIXTURE(test_what_is_no_name_is_refused)
{
	struct catalog_txn *txn = begin_write(*state);
	struct file_key x = key_of(X);
	struct catalog_name nul = { "a\0b", 3 };
	struct file_key out;
	char long_name[257];

	memset(long_name, 'a', 256);
	long_name[256] = '\0';
	assert_int_equal(set(txn, ROOT.inode, "", X), -EINVAL);
	assert_int_equal(set(txn, ROOT.inode, "a/b", X), -EINVAL);
	assert_int_equal(set(txn, ROOT.inode, long_name, X), -EINVAL);
	assert_int_equal(catalog_name_set(txn, &ROOT, nul, &x), -EINVAL);
	assert_int_equal(catalog_name_get(txn, &ROOT, nul, &out), -EINVAL);
	assert_int_equal(drop(txn, ROOT.inode, "a/b"), -EINVAL);
	assert_int_equal(move(txn, ROOT.inode, "x", D, "/"), -EINVAL);
	assert_int_equal(set(txn, D, "self", D), -EINVAL);
	/* None of it spoils the transaction. */
	commit(txn);
}

WITH_FIXTURE(test_a_renamed_directory_takes_its_files_along)
{
	struct fixture *f = *state;
	struct catalog_txn *txn = begin_write(f);
	char name[32];
	MDB_stat before, after;
	MDB_dbi names = f->c->dbs[DB_NAMES];
	int i;

	for (i = 0; i < 500; i++) {
		(void)snprintf(name, sizeof(name), "file %d", i);
		assert_int_equal(set_fresh(txn, 100 + (uint64_t)i, 5), 0);
		assert_int_equal(set(txn, E, name, 100 + (uint64_t)i), 0);
	}
	assert_int_equal(mdb_stat(txn->mdb, names, &before), 0);
	assert_int_equal(move(txn, ROOT.inode, "d", ROOT.inode, "moved"), 0);
	assert_int_equal(mdb_stat(txn->mdb, names, &after), 0);
	assert_int_equal(before.ms_entries, after.ms_entries);
	assert_paths(txn, F, "moved/e/f\n");
	assert_paths(txn, 599, "moved/e/file 499\n");
	commit(txn);
}

WITH_FIXTURE(test_a_deep_tree_has_paths_and_goes)
{
	enum { DEPTH = 3000 };
	struct catalog_txn *txn = begin_write(*state);
	struct file_key top = key_of(1000);
	struct catalog_counts n;
	struct buf want = { 0 };
	uint64_t i;

	assert_int_equal(set(txn, ROOT.inode, "n", 1000), 0);
	assert_int_equal(buf_append_text(&want, "n"), 0);
	for (i = 1000; i < 1000 + DEPTH; i++) {
		assert_int_equal(set(txn, i, "n", i + 1), 0);
		assert_int_equal(buf_append_text(&want, "/n"), 0);
	}
	assert_int_equal(set_fresh(txn, 1000 + DEPTH, 3), 0);
	assert_int_equal(buf_append_text(&want, "\n"), 0);
	assert_paths(txn, 1000 + DEPTH, want.data);
	assert_int_equal(catalog_file_remove(txn, &top), 0);
	assert_int_equal(catalog_counts(txn, &n), 0);
	assert_int_equal(n.directories, 3);
	assert_int_equal(n.files, 2);
	commit(txn);
	buf_release(&want);
}

WITH_FIXTURE(test_names_never_make_a_circle)
{
	struct catalog_txn *txn = begin_write(*state);
	struct file_key e = key_of(E);

	assert_int_equal(set(txn, E, "d", D), -EINVAL);
	assert_int_equal(set(txn, D, "d", D), -EINVAL);
	assert_int_equal(catalog_name_move(txn, &ROOT, name_of("d"), &e,
					   name_of("d"), false),
			 -EINVAL);
	assert_true(known(txn, D));
	assert_true(known(txn, E));
	assert_true(known(txn, F));
	commit(txn);
}

WITH_FIXTURE(test_what_is_so_already_writes_nothing)
{
	struct fixture *f = *state;
	struct catalog_txn *txn;
	MDB_envinfo before, after;

	assert_int_equal(mdb_env_info(f->c->env, &before), 0);
	txn = begin_write(f);
	assert_int_equal(set(txn, E, "f", F), 0);
	assert_int_equal(set_fresh(txn, F, 1), 0);
	directory(txn, E);
	commit(txn);
	assert_int_equal(mdb_env_info(f->c->env, &after), 0);
	assert_int_equal(before.me_last_txnid, after.me_last_txnid);
}

static int stop_at_e(void *arg, struct catalog_name name,
		     const struct file_key *key)
{
	(void)key;
	++*(int *)arg;
	return name.len == 1 && name.bytes[0] == 'e' ? 7 : 0;
}

WITH_FIXTURE(test_a_listing_stops_when_told)
{
	struct catalog_txn *txn = begin_write(*state);
	struct file_key d = key_of(D);
	int calls = 0;

	assert_int_equal(set(txn, D, "a", X), 0);
	assert_int_equal(set(txn, D, "z", X), 0);
	assert_int_equal(catalog_entry_each(txn, &d, stop_at_e, &calls), 7);
	assert_int_equal(calls, 2);
	commit(txn);
}

/* ---- what could not be looked at ---- */

static void unread(struct catalog_txn *txn, uint64_t directory,
		   const char *name, int error)
{
	struct file_key key = key_of(directory);

	assert_int_equal(catalog_unread_set(txn, &key, name_of(name), error),
			 0);
}

static int why(struct catalog_txn *txn, uint64_t directory, const char *name)
{
	struct file_key key = key_of(directory);
	int error, err = catalog_unread_get(txn, &key, name_of(name), &error);

	assert_true(!err || err == -ENOENT);
	return err ? 0 : error;
}

static uint64_t count_unread(struct catalog_txn *txn)
{
	struct catalog_counts counts;

	assert_int_equal(catalog_counts(txn, &counts), 0);
	return counts.unread;
}

WITH_FIXTURE(test_a_name_that_cannot_be_looked_at_stays)
{
	struct catalog_txn *txn = begin_write(*state);
	struct file_key d = key_of(D);
	char longest[400] = "";

	memset(longest, 'n', sizeof(longest) - 1);
	unread(txn, D, "e", EIO);
	unread(txn, D, "new", ENOTCONN);
	unread(txn, D, "", EACCES);
	unread(txn, D, longest, ENAMETOOLONG);
	assert_int_equal(why(txn, D, "e"), EIO);
	assert_int_equal(why(txn, D, "new"), ENOTCONN);
	assert_int_equal(why(txn, D, ""), EACCES);
	assert_int_equal(why(txn, E, ""), 0);
	assert_true(known(txn, E) && known(txn, F));
	assert_int_equal(count_unread(txn), 4);
	assert_int_equal(catalog_unread_clear(txn, &d), 0);
	assert_int_equal(count_unread(txn), 0);
	commit(txn);
}

WITH_FIXTURE(test_a_name_that_changes_is_no_more_one_that_cannot_be_looked_at)
{
	struct catalog_txn *txn = begin_write(*state);

	assert_int_equal(set_fresh(txn, X, 2), 0);
	unread(txn, D, "e", EIO);
	unread(txn, D, "gone", EIO);
	unread(txn, D, "x", EIO);
	unread(txn, E, "below", EIO);
	assert_int_equal(drop(txn, D, "gone"), -ENOENT);
	assert_int_equal(set(txn, D, "x", X), 0);
	assert_int_equal(why(txn, D, "gone") + why(txn, D, "x"), 0);
	assert_int_equal(move(txn, D, "e", ROOT.inode, "moved"), 0);
	assert_int_equal(why(txn, D, "e"), 0);
	assert_int_equal(why(txn, E, "below"), EIO);
	assert_int_equal(drop(txn, ROOT.inode, "moved"), 0);
	assert_int_equal(count_unread(txn), 0);
	commit(txn);
}
