/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/catalog/fixture.h"

/* How much of its earlier content a file kept.  Content n has the values n to
 * n + 99, so contents n and n + 40 have 60 in common. */

static int set_content(struct catalog_txn *txn, uint64_t inode, uint64_t n)
{
	static uint8_t packed[SKETCH_PACKED_MAX];
	static struct sketch sketch;
	struct file_identity id = identity_of(n);
	struct file_key key = key_of(inode);
	struct digests d;
	char text[64];
	size_t i;

	id.ctime_ns = (int64_t)n;
	d = digests_of(n, text, sizeof(text));
	sketch = (struct sketch){ .folded = 1 << 20, .count = 100 };
	for (i = 0; i < 100; i++) {
		sketch.values[i] = (n + i + 1) << 24;
		sketch.times[i] = 1;
	}
	lend_digest(&d, DIGEST_SIF, packed, sketch_pack(&sketch, packed));
	return catalog_file_set_fresh(txn, &key, &id, &d);
}

static void set_pending(struct catalog_txn *txn, uint64_t inode)
{
	struct file_key key = key_of(inode);
	struct file_identity id = identity_of(5);

	assert_int_equal(catalog_file_set_pending(txn, &key, &id), 0);
}

static void set_name(struct catalog_txn *txn, const char *name, uint64_t inode)
{
	struct file_key key = key_of(inode);

	assert_int_equal(catalog_name_set(txn, &ROOT, name_of(name), &key), 0);
}

/* "60", "60 replaced", "-1" or "never". */
static void assert_change(struct catalog_txn *txn, uint64_t inode,
			  const char *want)
{
	struct file_key key = key_of(inode);
	struct catalog_change change;
	char have[32] = "never";
	int err = catalog_change_get(txn, &key, &change);

	assert_true(!err || err == -ENOENT);
	if (!err)
		(void)snprintf(have, sizeof(have), "%d%s", change.kept,
			       change.replaced ? " replaced" : "");
	assert_string_equal(have, want);
}

WITH_CATALOG(test_a_changed_file_tells_what_it_kept)
{
	struct catalog_txn *txn = begin_write(*state);
	struct catalog_change change;
	struct file_key key = key_of(1);

	assert_int_equal(set_content(txn, 1, 1000), 0);
	assert_change(txn, 1, "never");
	assert_int_equal(set_content(txn, 1, 1040), 0);
	assert_change(txn, 1, "60");
	assert_int_equal(set_content(txn, 1, 1050), 0);
	assert_change(txn, 1, "90");
	assert_int_equal(catalog_change_get(txn, &key, &change), 0);
	assert_int_equal(change.when_ns, 1050);
	assert_int_equal(set_content(txn, 1, 5000), 0);
	assert_change(txn, 1, "0");
	commit(txn);
	check_clean(*state);
}

WITH_CATALOG(test_the_content_before_outlives_a_pending_state)
{
	struct catalog_txn *txn = begin_write(*state);

	assert_int_equal(set_content(txn, 1, 1000), 0);
	set_pending(txn, 1);
	commit(txn);
	fixture_close(*state);
	fixture_open(*state);
	txn = begin_write(*state);
	set_pending(txn, 1);
	assert_change(txn, 1, "never");
	assert_int_equal(set_content(txn, 1, 1070), 0);
	assert_change(txn, 1, "30");
	set_pending(txn, 1);
	assert_change(txn, 1, "30");
	assert_int_equal(set_content(txn, 1, 1070), 0);
	assert_change(txn, 1, "30");
	commit(txn);
	check_clean(*state);
}

WITH_CATALOG(test_a_file_that_takes_a_name_over_changes_it)
{
	struct catalog_txn *txn = begin_write(*state);

	/* Written beside and renamed, hashed before that, */
	assert_int_equal(set_content(txn, 1, 1000), 0);
	set_name(txn, "a", 1);
	assert_int_equal(set_content(txn, 2, 1010), 0);
	set_name(txn, "a~", 2);
	assert_int_equal(catalog_name_move(txn, &ROOT, name_of("a~"), &ROOT,
					   name_of("a"), false),
			 0);
	assert_change(txn, 2, "90 replaced");
	/* and after it; */
	set_pending(txn, 3);
	set_name(txn, "a~", 3);
	assert_int_equal(catalog_name_move(txn, &ROOT, name_of("a~"), &ROOT,
					   name_of("a"), false),
			 0);
	assert_change(txn, 3, "never");
	assert_int_equal(set_content(txn, 3, 1030), 0);
	assert_change(txn, 3, "80 replaced");
	/* removed and made again, in two transactions. */
	assert_int_equal(catalog_name_remove(txn, &ROOT, name_of("a")), 0);
	commit(txn);
	txn = begin_write(*state);
	set_pending(txn, 4);
	set_name(txn, "a", 4);
	assert_int_equal(set_content(txn, 4, 1060), 0);
	assert_change(txn, 4, "70 replaced");
	/* A file that is back has changed nothing. */
	assert_int_equal(catalog_name_remove(txn, &ROOT, name_of("a")), 0);
	set_pending(txn, 5);
	set_name(txn, "a", 5);
	assert_int_equal(set_content(txn, 5, 1060), 0);
	assert_change(txn, 5, "never");
	commit(txn);
	check_clean(*state);
}

/* "new a, changed a b": the events of the transaction, which is committed. */
static void assert_events(struct catalog_txn *txn, const char *want)
{
	static const char *const kinds[] = { "named", "unnamed", "changed",
					     "moved" };
	struct catalog_changes changes = { 0 };
	const struct catalog_event *ev;
	struct buf have = { 0 };
	const char *path;
	size_t i;

	assert_int_equal(catalog_commit(txn, &changes), 0);
	assert_int_equal(buf_append_text(&have, ""), 0);
	for (i = 0; i < changes.event_count; i++) {
		ev = &changes.events[i];
		assert_int_equal(buf_append_format(&have, "%s%s %s",
						   i ? ", " : "",
						   kinds[ev->kind], ev->path),
				 0);
		path = ev->path + strlen(ev->path) + 1;
		for (; ev->kind == TREE_CHANGED && *path;
		     path += strlen(path) + 1)
			assert_int_equal(buf_append_format(&have, " %s", path),
					 0);
		if (ev->from)
			assert_int_equal(
				buf_append_format(&have, " from %s", ev->from),
				0);
	}
	assert_string_equal(have.data, want);
	buf_release(&have);
	catalog_changes_release(&changes);
}

static struct catalog_txn *begin_watched(struct fixture *f)
{
	struct catalog_txn *txn = begin_write(f);

	catalog_watch(txn, &ROOT, &(struct buf){ 0 });
	return txn;
}

WITH_CATALOG(test_a_watched_transaction_tells_its_events)
{
	struct catalog_txn *txn = begin_watched(*state);

	/* A file is told with all its names when its content is known. */
	set_pending(txn, 1);
	set_name(txn, "a", 1);
	set_name(txn, "b", 1);
	assert_int_equal(set_content(txn, 1, 1000), 0);
	assert_int_equal(set_content(txn, 1, 1025), 0);
	assert_int_equal(set_content(txn, 1, 1025), 0);
	assert_events(txn, "named a, named b, changed a b");
	txn = begin_watched(*state);
	set_pending(txn, 1);
	set_name(txn, "c", 1);
	assert_int_equal(catalog_name_remove(txn, &ROOT, name_of("a")), 0);
	assert_events(txn, "named c, unnamed a");
	/* Without a watcher there are none. */
	txn = begin_write(*state);
	assert_int_equal(set_content(txn, 1, 1000), 0);
	assert_events(txn, "");
}

WITH_CATALOG(test_directories_move_in_one_event)
{
	struct file_key p = key_of(10), q = key_of(11), x = key_of(1);
	struct catalog_txn *txn = begin_write(*state);

	assert_int_equal(catalog_directory_set(txn, &p), 0);
	assert_int_equal(catalog_directory_set(txn, &q), 0);
	set_name(txn, "p", 10);
	set_name(txn, "q", 11);
	assert_int_equal(set_content(txn, 1, 1000), 0);
	assert_int_equal(catalog_name_set(txn, &p, name_of("x"), &x), 0);
	commit(txn);
	txn = begin_watched(*state);
	assert_int_equal(catalog_name_move(txn, &ROOT, name_of("p"), &ROOT,
					   name_of("r"), false),
			 0);
	assert_events(txn, "moved r from p");
	txn = begin_watched(*state);
	assert_int_equal(catalog_name_move(txn, &ROOT, name_of("r"), &ROOT,
					   name_of("q"), true),
			 0);
	assert_events(txn,
		      "moved r~0 from r, moved r from q, moved q from r~0");
	txn = begin_watched(*state);
	assert_int_equal(catalog_name_remove(txn, &ROOT, name_of("q")), 0);
	assert_events(txn, "unnamed q/x");
}

WITH_CATALOG(test_a_removed_file_leaves_nothing)
{
	struct catalog_txn *txn = begin_write(*state);
	struct file_key key = key_of(1);

	assert_int_equal(set_content(txn, 1, 1000), 0);
	assert_int_equal(set_content(txn, 1, 1040), 0);
	assert_int_equal(catalog_file_remove(txn, &key), 0);
	assert_change(txn, 1, "never");
	commit(txn);
	check_clean(*state);
}
