/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/source/file.h"
#include "core/source/source.h"
#include "tests/support/temp_tree.h"
#include "tests/support/test.h"
#include "tests/support/catalog_set.h"

static void add_to_catalog(struct temp_tree *t, const char *name,
			   struct file_key *key_out)
{
	struct file_identity identity;
	struct catalog_txn *txn;

	get_state(t, name, key_out, &identity);
	assert_int_equal(catalog_write(t->catalog, &txn), 0);
	assert_int_equal(catalog_file_set_pending(txn, key_out, &identity), 0);
	assert_int_equal(
		catalog_name_set(txn, &t->source.root,
				 (struct catalog_name){ name, strlen(name) },
				 key_out),
		0);
	assert_int_equal(catalog_commit(txn, NULL), 0);
}

static int find(struct temp_tree *t, const struct file_key *key,
		struct source_found *out)
{
	return source_find(&t->source, t->catalog, key, SOURCE_FILE, out);
}

/* The tree has the file "x", which the catalog knows. */
static void set_up(struct temp_tree *t, struct file_key *key_out)
{
	*t = (struct temp_tree){ 0 };
	temp_tree_make(t);
	make_file(t, "x", "content", 7);
	add_to_catalog(t, "x", key_out);
}

TEST(test_a_recorded_file_is_opened_once)
{
	struct source_found found;
	struct file_key key;
	struct temp_tree t;
	char buf[8];

	set_up(&t, &key);
	assert_int_equal(find(&t, &key, &found), 0);
	assert_true(found.readable);
	assert_int_equal(found.st.st_size, 7);
	assert_int_equal(read(found.fd, buf, sizeof(buf)), 7);
	assert_memory_equal(buf, "content", 7);
	close(found.fd);
	temp_tree_remove(&t);
}

TEST(test_a_changed_file_is_found_by_its_handle)
{
	struct source_found found;
	struct file_key key;
	struct temp_tree t;

	set_up(&t, &key);
	make_file(&t, "x", "longer content", 14);
	assert_int_equal(find(&t, &key, &found), 0);
	assert_false(found.readable);
	assert_int_equal(found.st.st_size, 14);
	close(found.fd);
	temp_tree_remove(&t);
}

/* Something else has the name now, of which no reader may know. */
static void check_not_opened(struct temp_tree *t, const struct file_key *key)
{
	char event[sizeof(struct inotify_event) + NAME_MAX + 1];
	int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	struct source_found found;

	assert_true(watch >= 0);
	assert_true(inotify_add_watch(watch, t->top, IN_OPEN) >= 0);
	assert_int_equal(find(t, key, &found), -ENOENT);
	assert_int_equal(read(watch, event, sizeof(event)), -1);
	assert_int_equal(errno, EAGAIN);
	close(watch);
}

TEST(test_what_took_the_name_is_not_opened)
{
	static const mode_t types[] = { S_IFIFO, S_IFCHR, S_IFSOCK, S_IFREG };
	char x[300], other[300];
	struct file_key key;
	struct temp_tree t;
	size_t i;

	set_up(&t, &key);
	path_in(&t, "x", x, sizeof(x));
	path_in(&t, "other", other, sizeof(other));
	for (i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		if (mknod(other, types[i] | 0600, 0) && errno == EPERM)
			continue; /* a device, without privileges */
		assert_int_equal(rename(other, x), 0);
		check_not_opened(&t, &key);
	}
	temp_tree_remove(&t);
}

/* Waiting for the holder of a lease takes up to 45 s. */
TEST(test_a_lease_is_not_waited_for)
{
	struct source_found found;
	struct file_key key;
	struct temp_tree t;
	char path[300];
	int holder;

	set_up(&t, &key);
	path_in(&t, "x", path, sizeof(path));
	holder = open(path, O_RDWR | O_CLOEXEC);
	assert_true(holder >= 0);
	assert_true(signal(SIGIO, SIG_IGN) != SIG_ERR);
	if (fcntl(holder, F_SETLEASE, F_WRLCK))
		skip(); /* not on this filesystem */
	assert_int_equal(find(&t, &key, &found), 0);
	assert_false(found.readable);
	assert_int_equal(file_reopen(found.fd), -EWOULDBLOCK);
	close(found.fd);
	close(holder);
	temp_tree_remove(&t);
}

TEST(test_a_file_that_may_not_be_read_is_found)
{
	struct source_found found;
	struct file_key key;
	struct temp_tree t;
	char path[300];

	set_up(&t, &key);
	path_in(&t, "x", path, sizeof(path));
	assert_int_equal(chmod(path, 0), 0);
	add_to_catalog(&t, "x", &key);
	assert_int_equal(chmod(t.base, 0755), 0);
	if (!geteuid())
		assert_int_equal(seteuid(65534), 0);
	assert_int_equal(find(&t, &key, &found), 0);
	assert_false(found.readable);
	assert_int_equal(file_reopen(found.fd), -EACCES);
	if (!getuid())
		assert_int_equal(seteuid(0), 0);
	close(found.fd);
	temp_tree_remove(&t);
}
