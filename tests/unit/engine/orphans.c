/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/engine/fixture.h"
#include "tests/support/catalog_each.h"

#include "core/catalog/catalog_impl.h"
#include "core/engine/engine_impl.h"

/*
 * After every event, in whatever order they come, a record has a name.  A
 * daemon that is killed leaves the catalog as it was after one of them.
 */

static struct event *event_of(enum event_kind kind, const struct file_key *key)
{
	struct event *ev = calloc(1, sizeof(*ev));

	assert_non_null(ev);
	ev->kind = kind;
	ev->key = *key;
	return ev;
}

static void post(struct fixture *f, struct event *ev)
{
	assert_int_equal(events_post(&f->engine->events, ev), 0);
	assert_int_equal(events_settle(&f->engine->events), 0);
}

static int is_path(void *arg, const char *path)
{
	(void)arg;
	(void)path;
	return 1;
}

static void assert_no_orphans(struct fixture *f, const char *what)
{
	const struct file_key *root = &f->engine->source.root;
	struct catalog_txn *txn;
	struct file_key key;
	struct catalog_walk *s;
	int found;

	assert_int_equal(catalog_read(f->engine->catalog, &txn), 0);
	assert_int_equal(walk_begin(txn, DB_FILES, ANY_KEY, &s), 0);
	while ((found = walk_next(s)) == 1) {
		assert_int_equal(file_key_decode(&s->key, &key), 0);
		if (catalog_path_each(txn, root, &key, is_path, NULL) != 1)
			fail_msg("%s: a record without a name, inode %llu",
				 what, (unsigned long long)key.inode);
	}
	assert_int_equal(found, 0);
	catalog_walk_end(s);
	catalog_abort(txn);
}

static void settle(struct fixture *f, const char *what)
{
	assert_int_equal(events_settle(&f->engine->events), 0);
	assert_no_orphans(f, what);
}

static const struct file_key gone = { .inode = 1000001, .generation = 1 };
static const struct file_key nowhere = { .inode = 1000002, .generation = 1 };

static void post_result(struct fixture *f, const struct file_key *key,
			int error)
{
	struct event *ev = event_of(EVENT_RESULT, key);

	ev->result = calloc(1, sizeof(*ev->result));
	assert_non_null(ev->result);
	ev->result->key = *key;
	ev->result->error = error;
	if (!error)
		digest_bytes("", 0, &ev->result->digests);
	post(f, ev);
}

static void test_what_is_unknown_gets_no_record(struct fixture *f)
{
	struct event *ev;

	post_result(f, &gone, 0);
	assert_no_orphans(f, "a result");
	post_result(f, &gone, EIO);
	assert_no_orphans(f, "a failure");
	post(f, event_of(EVENT_PENDING, &gone));
	assert_no_orphans(f, "a pending file");
	ev = event_of(EVENT_LISTING, &gone);
	ev->listing = calloc(1, sizeof(*ev->listing));
	assert_non_null(ev->listing);
	ev->listing->directory = gone;
	ev->listing->version = events_names_version(&f->engine->events, &gone);
	post(f, ev);
	assert_no_orphans(f, "a listing");
}

static void test_in_an_unknown_directory(struct fixture *f)
{
	engine_name_added(f->engine, &nowhere, "file", &gone, false);
	settle(f, "a name in an unknown directory");
	engine_name_added(f->engine, &f->engine->source.root, "file", &gone,
			  false);
	settle(f, "a name");
	engine_name_moved(f->engine, &(struct engine_move){
					     .parent = &f->engine->source.root,
					     .name = "file",
					     .new_parent = &nowhere,
					     .new_name = "file",
				     });
	settle(f, "moved to an unknown directory");
	assert_int_equal(status_number(f, "files"), 0);
}

static void test_what_is_known_is_kept(struct fixture *f)
{
	engine_name_added(f->engine, &f->engine->source.root, "file", &gone,
			  false);
	post_result(f, &gone, 0);
	settle(f, "a file");
	assert_int_equal(status_number(f, "fresh"), 1);
	engine_name_removed(f->engine, &f->engine->source.root, "file");
	settle(f, "removed");
	assert_int_equal(status_number(f, "files"), 0);
}

/* Of an engine that knows an empty tree. */
static void run(void (*test)(struct fixture *f))
{
	struct fixture f;

	fixture_make(&f);
	fixture_open(&f);
	wait_idle(&f);
	test(&f);
	fixture_remove(&f);
}

TEST(test_unknown)
{
	run(test_what_is_unknown_gets_no_record);
}

TEST(test_unknown_directory)
{
	run(test_in_an_unknown_directory);
}

TEST(test_known)
{
	run(test_what_is_known_is_kept);
}
