/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/engine/fixture.h"

#include "core/engine/engine_impl.h"

/* Events were lost, or came in an order in which nothing could be made of
 * them; all files are known in the end, without a scan of the tree. */

static int make(void **state)
{
	struct fixture *f = malloc(sizeof(*f));

	assert_non_null(f);
	fixture_make(f);
	*state = f;
	return 0;
}

static int remove_all(void **state)
{
	fixture_remove(*state);
	free(*state);
	return 0;
}

static void make_directory(struct fixture *f, const char *path)
{
	char full[512];

	(void)snprintf(full, sizeof(full), "%s/%s", f->source, path);
	assert_int_equal(mkdir(full, 0700), 0);
}

static void move(struct fixture *f, const char *from, const char *to)
{
	char old[512], new[512];

	(void)snprintf(old, sizeof(old), "%s/%s", f->source, from);
	(void)snprintf(new, sizeof(new), "%s/%s", f->source, to);
	assert_int_equal(rename(old, new), 0);
}

/* Opens the engine on what is there, and waits until that is known. */
static void begin(struct fixture *f, int files)
{
	fixture_open(f);
	wait_idle(f);
	assert_int_equal(status_number(f, "files"), files);
}

static void assert_known(struct fixture *f, int files)
{
	wait_idle(f);
	assert_int_equal(status_number(f, "files"), files);
	assert_int_equal(status_number(f, "fresh"), files);
	assert_int_equal(atomic_load(&f->engine->scan.walks), 1);
}

static void make_tree(struct fixture *f)
{
	make_directory(f, "tree");
	make_directory(f, "tree/below");
	write_text(f, "tree/one", 1000);
	write_text(f, "tree/below/two", 1001);
}

#define WITH_FIXTURE(name) TEST_WITH(name, make, remove_all)

WITH_FIXTURE(test_a_name_in_an_unknown_directory)
{
	struct fixture *f = *state;
	struct file_key tree, one;

	begin(f, 0);
	make_tree(f);
	key_of(f, "tree", &tree);
	key_of(f, "tree/one", &one);
	engine_name_added(f->engine, &tree, "one", &one, false);
	assert_known(f, 2);
}

WITH_FIXTURE(test_a_closed_file_without_a_name)
{
	struct fixture *f = *state;
	int fd;

	begin(f, 0);
	make_tree(f);
	fd = open_file(f, "tree/below/two");
	tell_closed(f, fd);
	close(fd);
	assert_known(f, 2);
}

static void tell_moved(struct fixture *f, const char *name,
		       const struct file_key *key, bool directory)
{
	struct file_key from, to;

	key_of(f, "from", &from);
	key_of(f, "to", &to);
	engine_name_moved(f->engine, &(struct engine_move){
					     .parent = &from,
					     .name = name,
					     .new_parent = &to,
					     .new_name = name,
					     .key = key,
					     .directory = directory,
				     });
}

WITH_FIXTURE(test_an_unknown_file_moves)
{
	struct fixture *f = *state;
	struct file_key key;

	make_directory(f, "from");
	make_directory(f, "to");
	begin(f, 0);
	write_text(f, "to/file", 1000);
	key_of(f, "to/file", &key);
	tell_moved(f, "file", &key, false);
	assert_known(f, 1);
	write_text(f, "to/other", 1001);
	tell_moved(f, "other", NULL, false);
	assert_known(f, 2);
}

WITH_FIXTURE(test_an_unknown_directory_moves)
{
	struct fixture *f = *state;
	struct file_key key;

	make_directory(f, "from");
	make_directory(f, "to");
	begin(f, 0);
	make_tree(f);
	move(f, "tree", "to/tree");
	key_of(f, "to/tree", &key);
	tell_moved(f, "tree", &key, true);
	assert_known(f, 2);
}

WITH_FIXTURE(test_what_cannot_be_found_is_looked_for)
{
	struct fixture *f = *state;
	struct file_identity other = { .size = 1 };
	struct file_key key, root;

	f->blind = true;
	make_directory(f, "from");
	make_directory(f, "from/sub");
	write_text(f, "from/sub/file", 1000);
	begin(f, 1);
	key_of(f, "", &root);
	key_of(f, "from/sub/file", &key);
	/* The worker looks where the file was by the catalog; the news of
	 * where it is comes while it does. */
	move(f, "from", "to");
	engine_file_closed(f->engine, &key, &other);
	engine_name_moved(f->engine, &(struct engine_move){
					     .parent = &root,
					     .name = "from",
					     .new_parent = &root,
					     .new_name = "to",
				     });
	assert_known(f, 1);
}
