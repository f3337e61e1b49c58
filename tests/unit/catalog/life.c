/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/catalog/fixture.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "core/catalog/catalog_impl.h"

static void add_file(struct fixture *f, uint64_t inode, uint64_t content)
{
	struct catalog_txn *txn = begin_write(f);

	assert_int_equal(set_fresh(txn, inode, content), 0);
	commit(txn);
}

/* ---- opening ---- */

WITH_CATALOG(test_what_was_committed_is_there_after_reopening)
{
	struct fixture *f = *state;
	struct file_key key = key_of(5);
	struct catalog_txn *txn;
	struct file_record r;

	add_file(f, 5, 77);
	fixture_close(f);
	fixture_open(f);
	txn = begin_read(f);
	assert_int_equal(catalog_file_get(txn, &key, &r), 0);
	assert_int_equal(r.state, FILE_FRESH);
	assert_int_equal(r.identity.size, 77);
	catalog_abort(txn);
	check_clean(f);
}

WITH_CATALOG(test_an_abort_leaves_nothing)
{
	struct fixture *f = *state;
	struct catalog_txn *txn = begin_write(f);

	assert_int_equal(set_fresh(txn, 5, 77), 0);
	catalog_abort(txn);
	assert_int_equal(count_files(f), 0);
	check_clean(f);
}

static mode_t mode_of(const struct fixture *f, const char *name)
{
	char path[128];
	struct stat st;

	(void)snprintf(path, sizeof(path), "%s/%s", f->directory, name);
	assert_int_equal(stat(path, &st), 0);
	return st.st_mode & 07777;
}

WITH_CATALOG(test_other_users_cannot_read_it)
{
	struct fixture *f = *state;
	char inner[96];
	struct catalog_options options = f->options;
	struct catalog *c = NULL;

	(void)snprintf(inner, sizeof(inner), "%s/a/b", f->directory);
	options.directory = inner;
	assert_int_equal(catalog_open(&options, &c), 0);
	catalog_free(c);
	assert_int_equal(mode_of(f, "a"), 0700);
	assert_int_equal(mode_of(f, "a/b"), 0700);
	assert_int_equal(mode_of(f, "a/b/data.mdb"), 0600);
	assert_int_equal(mode_of(f, "a/b/lock"), 0600);
	fixture_remove(inner);
	(void)snprintf(inner, sizeof(inner), "%s/a", f->directory);
	fixture_remove(inner);
}

WITH_CATALOG(test_a_second_opening_is_busy)
{
	struct fixture *f = *state;
	struct catalog *second = NULL;

	assert_int_equal(catalog_open(&f->options, &second), -EBUSY);
	assert_int_equal(catalog_begin(&f->options, &second), -EBUSY);
	assert_null(second);
	fixture_close(f);
	assert_int_equal(catalog_open(&f->options, &second), 0);
	catalog_free(second);
}

WITH_CATALOG(test_a_second_process_is_told_busy)
{
	struct fixture *f = *state;
	struct catalog *second;
	pid_t child = fork();

	if (child == 0)
		_exit(catalog_open(&f->options, &second) == -EBUSY ? 0 : 1);
	assert_int_equal(child_result(child), 0);
}

/* The lock belongs to the catalog, not to a process that inherited a
 * descriptor. */
WITH_CATALOG(test_a_leftover_child_does_not_keep_the_lock)
{
	struct fixture *f = *state;
	int gone[2];
	char byte;
	pid_t child;

	assert_int_equal(pipe2(gone, O_CLOEXEC), 0);
	child = fork();
	if (child == 0) {
		(void)close(gone[1]);
		_exit(read(gone[0], &byte, 1) != 0);
	}
	fixture_close(f);
	fixture_open(f);
	(void)close(gone[1]);
	(void)close(gone[0]);
	assert_int_equal(child_result(child), 0);
}

/* Opens, forks, dies; what is left goes on with the catalog.  Each end of
 * alive belongs to one of the two, so reading ends with the parent. */
static void daemonize(struct fixture *f, const int *alive, int done)
{
	struct catalog_txn *txn;
	char byte;
	int err;

	if (catalog_open(&f->options, &f->c) || add_many(f->c, 1, 50) ||
	    catalog_read(f->c, &txn))
		_exit(1);
	catalog_abort(txn);
	if (fork() != 0)
		_exit(0);
	(void)close(alive[1]);
	if (read(alive[0], &byte, 1) != 0)
		_exit(1);
	err = add_many(f->c, 1000, 50);
	if (!err)
		err = catalog_read(f->c, &txn);
	if (!err) {
		catalog_abort(txn);
		err = add_many(f->c, 2000, 50);
	}
	catalog_free(f->c);
	byte = err == 0 ? 'y' : 'n';
	_exit(write(done, &byte, 1) == 1 ? 0 : 1);
}

WITH_CATALOG(test_an_open_catalog_survives_the_fork_of_a_daemon)
{
	struct fixture *f = *state;
	int alive[2], done[2];
	char byte = '?';
	pid_t child;

	assert_int_equal(pipe2(alive, O_CLOEXEC), 0);
	assert_int_equal(pipe2(done, O_CLOEXEC), 0);
	fixture_close(f);
	child = fork();
	if (child == 0)
		daemonize(f, alive, done[1]);
	(void)close(alive[0]);
	(void)close(alive[1]);
	(void)close(done[1]);
	assert_int_equal(child_result(child), 0);
	assert_int_equal(read(done[0], &byte, 1), 1);
	assert_int_equal(byte, 'y');
	/* Ends with the daemon. */
	assert_int_equal(read(done[0], &byte, 1), 0);
	(void)close(done[0]);
	fixture_open(f);
	assert_int_equal(count_files(f), 150);
	check_clean(f);
}

/* ---- kill -9 ---- */

/* Batch n: files n * 100 and up, of a size that changes, over and over. */
static void write_forever(struct fixture *f, int committed)
{
	uint64_t n;

	if (catalog_open(&f->options, &f->c))
		_exit(1);
	for (n = 0;; n++)
		if (add_many(f->c, 100 * (n % 7), 20 + n * 13 % 80) ||
		    write(committed, "", 1) != 1)
			_exit(1);
}

static void kill_after(struct fixture *f, int commits)
{
	int status, pipe_ends[2];
	pid_t child;
	char byte;

	assert_int_equal(pipe2(pipe_ends, O_CLOEXEC), 0);
	child = fork();
	if (child == 0)
		write_forever(f, pipe_ends[1]);
	(void)close(pipe_ends[1]);
	while (commits-- > 0)
		assert_int_equal(read(pipe_ends[0], &byte, 1), 1);
	assert_int_equal(kill(child, SIGKILL), 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status));
	(void)close(pipe_ends[0]);
}

WITH_CATALOG(test_a_killed_writer_leaves_a_sound_catalog)
{
	struct fixture *f = *state;
	int round;

	fixture_close(f);
	for (round = 0; round < 40; round++) {
		kill_after(f, round % 9);
		fixture_open(f);
		check_clean(f);
		if (round % 9 > 0)
			assert_true(count_files(f) >= 20);
		fixture_close(f);
	}
}

WITH_CATALOG(test_a_stale_lock_file_of_any_bytes_is_no_obstacle)
{
	struct fixture *f = *state;
	char path[128], garbage[9000];

	add_file(f, 5, 77);
	fixture_close(f);
	memset(garbage, 0xa5, sizeof(garbage));
	(void)snprintf(path, sizeof(path), "%s/lock.mdb", f->directory);
	write_whole(path, garbage, sizeof(garbage));
	fixture_open(f);
	add_file(f, 6, 78);
	assert_int_equal(count_files(f), 2);
}

/* ---- what the header promises of opening ---- */

WITH_CATALOG(test_with_another_digest_set_it_begins_anew)
{
	struct fixture *f = *state;
	char seal[128];
	int sealed;

	for (sealed = 0; sealed < 2; sealed++) {
		assert_int_equal(add_many(f->c, 10, 1000), 0);
		fixture_close(f);
		(void)snprintf(seal, sizeof(seal), "%s/sealed", f->directory);
		assert_int_equal(sealed ? access(seal, F_OK) : unlink(seal), 0);
		f->options.digest_set ^= DIGEST_BIT(DIGEST_TLSH);
		fixture_open(f);
		assert_int_equal(count_files(f), 0);
		check_clean(f);
		add_file(f, 10, 10);
		fixture_close(f);
		fixture_open(f);
		assert_int_equal(count_files(f), 1);
	}
}

WITH_CATALOG(test_content_ids_end_and_never_return)
{
	struct fixture *f = *state;
	struct catalog_changes changes;
	struct catalog_txn *txn = begin_write(f);
	struct file_key key = key_of(5);

	txn->meta.next_content = UINT32_MAX;
	assert_int_equal(set_fresh(txn, 5, 1), 0);
	assert_int_equal(catalog_commit(txn, &changes), 0);
	assert_int_equal(changes.added_end, UINT64_C(1) << 32);
	catalog_changes_release(&changes);

	txn = begin_write(f);
	assert_int_equal(catalog_file_remove(txn, &key), 0);
	commit(txn);
	txn = begin_write(f);
	assert_int_equal(set_fresh(txn, 5, 2), -EOVERFLOW);
	catalog_abort(txn);
	check_clean(f);
}

WITH_CATALOG(test_a_content_that_came_and_went_is_no_change)
{
	struct fixture *f = *state;
	struct catalog_changes changes;
	struct catalog_txn *txn = begin_write(f);

	assert_int_equal(set_fresh(txn, 5, 1), 0);
	assert_int_equal(set_fresh(txn, 5, 2), 0);
	assert_int_equal(set_fresh(txn, 5, 3), 0);
	assert_int_equal(catalog_commit(txn, &changes), 0);
	assert_int_equal(changes.added_begin, 1);
	assert_int_equal(changes.added_end, 4);
	assert_int_equal(changes.removed_count, 0);
	catalog_changes_release(&changes);
}

WITH_CATALOG(test_equal_hashes_of_other_sizes_are_other_contents)
{
	struct fixture *f = *state;
	struct catalog_txn *txn = begin_write(f);
	struct file_key a = key_of(1), b = key_of(2);
	struct file_identity id = { .size = 8 };
	char text[128];
	struct digests d = digests_of(8, text, sizeof(text));
	struct catalog_counts n;

	assert_int_equal(catalog_file_set_fresh(txn, &a, &id, &d), 0);
	d.size = id.size = 9;
	assert_int_equal(catalog_file_set_fresh(txn, &b, &id, &d), 0);
	assert_int_equal(catalog_counts(txn, &n), 0);
	assert_int_equal(n.contents, 2);
	assert_int_equal(n.content_bytes, 17);
	commit(txn);
	check_clean(f);
}

WITH_CATALOG(test_what_cannot_be_true_is_refused)
{
	struct fixture *f = *state;
	struct catalog_txn *txn = begin_write(f);
	struct file_key key = key_of(5);
	struct file_identity id = identity_of(8);
	char text[128];
	struct digests d = digests_of(9, text, sizeof(text));

	/* Digests of nine bytes are not those of a file of eight. */
	assert_int_equal(catalog_file_set_fresh(txn, &key, &id, &d), -EINVAL);
	d.size = 8;
	lend_digest(&d, DIGEST_SISE, NULL, 0);
	assert_int_equal(catalog_file_set_fresh(txn, &key, &id, &d), -EINVAL);
	assert_int_equal(catalog_file_set_failed(txn, &key, &id, 0), -EINVAL);
	commit(txn);
	assert_int_equal(count_files(f), 0);
}

/* ---- packing ---- */

enum { SCATTERED = 40000 };

/* In another order than that of the keys. */
static void add_scattered(struct fixture *f, uint64_t count)
{
	struct catalog_txn *txn = begin_write(f);
	uint64_t i;

	for (i = 0; i < count; i++)
		assert_int_equal(set_fresh(txn, i * 7919 % count, i), 0);
	commit(txn);
}

WITH_CATALOG(test_packing_keeps_everything_in_less_room)
{
	struct fixture *f = *state;
	uint64_t before, after;
	struct catalog_txn *txn;

	add_scattered(f, SCATTERED);
	before = catalog_bytes(f->c);
	assert_int_equal(catalog_pack(f->c), 0);
	after = catalog_bytes(f->c);
	assert_true(after < before - before / 16);
	assert_int_equal(count_files(f), SCATTERED);
	check_clean(f);
	/* A packed file is left alone; it can be written, and opened again. */
	txn = begin_read(f);
	assert_int_equal(catalog_pack(f->c), 0);
	catalog_abort(txn);
	assert_int_equal(add_many(f->c, SCATTERED, 10), 0);
	fixture_close(f);
	fixture_open(f);
	assert_int_equal(count_files(f), SCATTERED + 10);
	check_clean(f);
}

WITH_CATALOG(test_packing_gives_up_when_it_is_cancelled)
{
	struct fixture *f = *state;
	char path[128];

	add_scattered(f, SCATTERED);
	catalog_cancel(f->c);
	assert_int_equal(catalog_pack(f->c), -ECANCELED);
	(void)snprintf(path, sizeof(path), "%s/data.mdb.new", f->directory);
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(count_files(f), SCATTERED);
	check_clean(f);
}

struct writer {
	struct catalog *c;
	atomic_bool stop;
	uint64_t files;
	int err;
};

static void *write_on(void *arg)
{
	struct writer *w = arg;

	while (!w->err && !atomic_load(&w->stop))
		w->err = add_many(w->c, w->files++, 1);
	return NULL;
}

/* What another thread writes meanwhile is not lost. */
WITH_CATALOG(test_packing_beside_a_writer)
{
	struct fixture *f = *state;
	struct writer w = { .c = f->c, .files = SCATTERED };
	pthread_t thread;
	int i, err;

	add_scattered(f, SCATTERED);
	assert_int_equal(pthread_create(&thread, NULL, write_on, &w), 0);
	for (i = 0; i < 5; i++) {
		err = catalog_pack(f->c);
		assert_true(err == 0 || err == -EAGAIN);
	}
	atomic_store(&w.stop, true);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(w.err, 0);
	assert_int_equal(count_files(f), w.files);
	check_clean(f);
}

/* ---- the root and the key ---- */

static const struct file_key HOME = { .inode = 2 };

static void reopen_as(struct fixture *f, uint64_t filesystem,
		      struct file_key root)
{
	fixture_close(f);
	f->options.filesystem = filesystem;
	f->options.root = root;
	fixture_open(f);
}

static void add_named(struct fixture *f, const struct file_key *parent,
		      const char *name, uint64_t inode)
{
	struct catalog_txn *txn = begin_write(f);
	struct file_key key = { .inode = inode, .device = parent->device };
	char room[64];
	struct digests d = digests_of(inode, room, sizeof(room));
	struct file_identity id = identity_of(inode);

	assert_int_equal(catalog_file_set_fresh(txn, &key, &id, &d), 0);
	assert_int_equal(catalog_name_set(txn, parent, name_of(name), &key), 0);
	commit(txn);
}

WITH_CATALOG(test_another_filesystem_begins_anew)
{
	struct fixture *f = *state;

	reopen_as(f, 1, HOME);
	add_named(f, &HOME, "a", 5);
	reopen_as(f, 1, HOME);
	assert_int_equal(count_files(f), 1);
	reopen_as(f, 2, HOME);
	assert_int_equal(count_files(f), 0);
}

/* On one filesystem a file may be below both directories. */
WITH_CATALOG(test_another_root_of_one_filesystem)
{
	struct file_key other = { .inode = 3 };
	struct fixture *f = *state;
	struct catalog_txn *txn;

	reopen_as(f, 1, HOME);
	add_named(f, &HOME, "gone", 5);
	add_named(f, &HOME, "moved", 6);
	reopen_as(f, 1, other);
	assert_int_equal(count_files(f), 2);
	add_named(f, &other, "moved", 6);
	txn = begin_write(f);
	assert_int_equal(catalog_former_drop(txn, &other), 0);
	commit(txn);
	assert_int_equal(count_files(f), 1);
}

/* The numbers of everything are others; what has its name gets its record. */
WITH_CATALOG(test_made_up_numbers)
{
	struct file_key before = { .inode = 1, .device = 7 },
			now = { .inode = 1, .device = 8 }, former, root,
			file = { .inode = 9, .device = 8 };
	struct fixture *f = *state;
	struct file_record old, new;
	struct catalog_txn *txn;

	reopen_as(f, 1, before);
	add_named(f, &before, "a", 5);
	reopen_as(f, 2, now);
	txn = begin_write(f);
	assert_int_equal(catalog_root(txn, &root), 0);
	assert_true(file_key_equal(&root, &now));
	assert_int_equal(
		catalog_former_find(txn, &now, name_of("b"), &file, &former),
		-ENOENT);
	assert_int_equal(
		catalog_former_find(txn, &now, name_of("a"), &file, &former),
		0);
	assert_int_equal(catalog_file_get(txn, &former, &old), 0);
	assert_int_equal(catalog_file_adopt(txn, &file, &former), 0);
	assert_int_equal(catalog_file_adopt(txn, &file, &former), -EINVAL);
	assert_int_equal(catalog_name_set(txn, &now, name_of("a"), &file), 0);
	assert_int_equal(catalog_former_drop(txn, &now), 0);
	assert_int_equal(catalog_file_get(txn, &former, &new), -ENOENT);
	assert_int_equal(catalog_file_get(txn, &file, &new), 0);
	assert_memory_equal(&old, &new, sizeof(old));
	commit(txn);
	assert_int_equal(count_files(f), 1);
}

/* Whoever makes a content with the XXH128 and size of another one. */
WITH_CATALOG(test_contents_are_told_apart_by_their_identity)
{
	struct fixture *f = *state;
	struct catalog_txn *txn = begin_write(f);
	struct file_identity id = identity_of(77);
	uint32_t contents[3], public;
	char room[64];
	struct digests d = digests_of(77, room, sizeof(room));
	unsigned i;

	d.set |= DIGEST_BIT(DIGEST_IDENTITY);
	for (i = 0; i < 3; i++) {
		struct file_key key = key_of(5 + i);

		d.identity[15] = i == 1;
		assert_int_equal(catalog_file_set_fresh(txn, &key, &id, &d), 0);
		assert_int_equal(catalog_content_find(txn, &d, &contents[i]),
				 0);
	}
	assert_int_equal(contents[0], contents[2]);
	assert_int_not_equal(contents[0], contents[1]);
	d.identity[15] = 2;
	assert_int_equal(catalog_content_find(txn, &d, &public), -ENOENT);
	d.set &= ~DIGEST_BIT(DIGEST_IDENTITY);
	assert_int_equal(catalog_content_find(txn, &d, &public), 0);
	assert_int_equal(public, contents[0]);
	commit(txn);
}

WITH_CATALOG(test_without_its_key_it_begins_anew)
{
	struct fixture *f = *state;
	struct digest_key key = *catalog_key(f->c);
	char path[96];

	assert_int_equal(mode_of(f, KEY_FILE), 0600);
	add_file(f, 5, 77);
	fixture_close(f);
	fixture_open(f);
	assert_memory_equal(&key, catalog_key(f->c), sizeof(key));
	assert_int_equal(count_files(f), 1);
	fixture_close(f);
	(void)snprintf(path, sizeof(path), "%s/" KEY_FILE, f->directory);
	assert_int_equal(unlink(path), 0);
	fixture_open(f);
	assert_int_equal(count_files(f), 0);
}
