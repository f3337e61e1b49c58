/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/catalog/fixture.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "core/catalog/catalog_impl.h"

/* Another program cuts the data file of an open catalog, so that the kernel
 * cannot read its pages any more: SIGBUS.  The promise: the call returns
 * -EUCLEAN, all later ones do, and another catalog can take its place. */

enum { FILES = 3000, THREADS = 4, SEED = 17 };

/* cmocka has a handler of its own during each test. */
static void open_with_handler(struct fixture *f)
{
	(void)signal(SIGBUS, SIG_DFL);
	fixture_open(f);
}

static void fill(struct fixture *f)
{
	if (!f->c)
		open_with_handler(f);
	assert_int_equal(add_many(f->c, 1, FILES), 0);
}

static void cut(struct fixture *f, const char *name, off_t len)
{
	char path[128];

	(void)snprintf(path, sizeof(path), "%s/%s", f->directory, name);
	assert_int_equal(truncate(path, len), 0);
}

static void cut_data(struct fixture *f)
{
	cut(f, "data.mdb", 8192);
}

static int get_file(struct catalog_txn *txn, uint64_t inode)
{
	struct file_key key = key_of(inode);
	struct file_record r;

	return catalog_file_get(txn, &key, &r);
}

static void assert_lost(struct fixture *f)
{
	struct catalog_txn *txn;

	assert_false(catalog_is_open(f->c));
	assert_int_equal(catalog_read(f->c, &txn), -EUCLEAN);
	assert_int_equal(catalog_write(f->c, &txn), -EUCLEAN);
	assert_int_equal(catalog_trim_rss(f->c), -EUCLEAN);
}

static void replace(struct fixture *f)
{
	struct buf aside = { 0 };

	assert_int_equal(catalog_await_damage(f->c), 0);
	assert_false(catalog_is_open(f->c));
	assert_int_equal(catalog_replace(f->c, &aside), 0);
	catalog_admit(f->c, 0);
	assert_true(catalog_is_open(f->c));
	assert_int_equal(access(aside.data, F_OK), 0);
	buf_release(&aside);
}

/* ---- what is under way ---- */

WITH_FOLDER(test_a_read_ends)
{
	struct fixture *f = *state;
	struct catalog_txn *txn;

	fill(f);
	txn = begin_read(f);
	assert_int_equal(get_file(txn, 1), 0);
	cut_data(f);
	assert_int_equal(get_file(txn, FILES), -EUCLEAN);
	assert_int_equal(get_file(txn, 1), -EUCLEAN);
	catalog_abort(txn);
	assert_lost(f);
}

struct walk {
	struct fixture *f;
	pthread_mutex_t lock;
	uint32_t seen;
};

static int see_content(void *arg, uint32_t content, const struct digests *d)
{
	struct walk *w = arg;

	(void)d;
	if (content == 1)
		cut_data(w->f);
	assert_int_equal(pthread_mutex_lock(&w->lock), 0);
	w->seen++;
	assert_int_equal(pthread_mutex_unlock(&w->lock), 0);
	return 0;
}

WITH_FOLDER(test_a_walk_ends_between_two_records)
{
	struct walk w = { .f = *state, .lock = PTHREAD_MUTEX_INITIALIZER };
	struct catalog_txn *txn;

	fill(w.f);
	txn = begin_read(w.f);
	assert_int_equal(catalog_content_each(txn, see_content, &w), -EUCLEAN);
	assert_in_range(w.seen, 1, FILES - 1);
	assert_int_equal(pthread_mutex_trylock(&w.lock), 0);
	catalog_abort(txn);
	assert_lost(w.f);
}

WITH_FOLDER(test_a_write_ends)
{
	struct fixture *f = *state;
	struct catalog_txn *txn;
	int err = 0;
	uint64_t i;

	fill(f);
	txn = begin_write(f);
	assert_int_equal(set_fresh(txn, FILES + 1, FILES + 1), 0);
	cut_data(f);
	for (i = 1; !err && i <= FILES; i++)
		err = set_fresh(txn, i, FILES + 2);
	assert_int_equal(err, -EUCLEAN);
	assert_int_equal(catalog_commit(txn, NULL), -EUCLEAN);
	assert_lost(f);
}

/* LMDB would write behind the end, and what is between would be zeros. */
WITH_FOLDER(test_a_file_that_was_cut_is_not_written)
{
	struct fixture *f = *state;
	struct catalog_txn *txn;
	char path[128];
	size_t len;

	fill(f);
	fixture_data_path(f, path, sizeof(path));
	free(read_whole(path, &len));
	cut(f, "data.mdb", (off_t)len - 4096);
	assert_int_equal(catalog_write(f->c, &txn), -EUCLEAN);
	assert_lost(f);
}

static int lose_readers(struct fixture *f)
{
	struct catalog_txn *txn;
	struct buf aside = { 0 };

	fill(f);
	cut(f, "lock.mdb", 0);
	if (catalog_read(f->c, &txn) != -EUCLEAN)
		return 1;
	if (catalog_await_damage(f->c) || catalog_replace(f->c, &aside))
		return 2;
	catalog_admit(f->c, 0);
	return add_many(f->c, 1, FILES) ? 3 : 0;
}

/* In a child, because LMDB's own memory is lost at this place. */
WITH_FOLDER(test_the_table_of_readers_is_cut)
{
	struct fixture *f = *state;
	pid_t child = fork();

	if (child == 0)
		_exit(lose_readers(f));
	assert_int_equal(child_result(child), 0);
}

/* ---- another one ---- */

static int note_last(void *arg, uint32_t content, const struct digests *d)
{
	(void)d;
	*(uint32_t *)arg = content;
	return 0;
}

static uint32_t last_content(struct fixture *f)
{
	struct catalog_txn *txn = begin_read(f);
	uint32_t last = 0;

	assert_int_equal(catalog_content_each(txn, note_last, &last), 0);
	catalog_abort(txn);
	return last;
}

static uint64_t snapshot_of(struct fixture *f)
{
	struct catalog_txn *txn = begin_read(f);
	uint64_t snapshot = catalog_snapshot(txn);

	catalog_abort(txn);
	return snapshot;
}

WITH_FOLDER(test_another_one_takes_its_place)
{
	struct fixture *f = *state;
	struct catalog_txn *txn;
	uint64_t snapshot;
	uint32_t last;
	int i;

	for (i = 0; i < 3; i++) {
		fill(f);
		last = last_content(f);
		snapshot = snapshot_of(f);
		cut_data(f);
		assert_int_equal(catalog_write(f->c, &txn), -EUCLEAN);
		replace(f);
		assert_int_equal(count_files(f), 0);
		assert_true(snapshot_of(f) > snapshot);
		fill(f);
		assert_int_equal(count_files(f), FILES);
		assert_int_equal(last_content(f), last + FILES);
		check_clean(f);
	}
	fixture_close(f);
	fixture_open(f);
	assert_int_equal(count_files(f), FILES);
}

WITH_FOLDER(test_the_file_is_deleted_as_well)
{
	struct fixture *f = *state;
	struct catalog_txn *txn;
	struct buf aside = { 0 };
	char path[128];

	fill(f);
	cut_data(f);
	fixture_data_path(f, path, sizeof(path));
	assert_int_equal(unlink(path), 0);
	assert_int_equal(catalog_write(f->c, &txn), -EUCLEAN);
	assert_int_equal(catalog_await_damage(f->c), 0);
	assert_int_equal(catalog_replace(f->c, &aside), 0);
	catalog_admit(f->c, 0);
	assert_int_equal(aside.len, 0);
	buf_release(&aside);
	fill(f);
}

/* A catalog that was lost is not sealed. */
WITH_FOLDER(test_the_next_opening_refuses_what_was_lost)
{
	struct fixture *f = *state;
	struct catalog_txn *txn;

	fill(f);
	cut_data(f);
	assert_int_equal(catalog_write(f->c, &txn), -EUCLEAN);
	fixture_close(f);
	assert_int_equal(catalog_open(&f->options, &f->c), -EUCLEAN);
}

/* ---- many threads ---- */

struct crowd {
	struct fixture *f;
	atomic_bool cut;
	atomic_int inside;
};

static void *read_on(void *arg)
{
	struct crowd *crowd = arg;
	struct catalog_txn *txn;
	uint64_t i = 0;
	int err = 0;

	atomic_fetch_add(&crowd->inside, 1);
	while (!err) {
		err = catalog_read(crowd->f->c, &txn);
		if (err)
			break;
		for (i = 1; !err && i <= FILES; i++)
			err = get_file(txn, i);
		catalog_abort(txn);
	}
	return (void *)(intptr_t)err;
}

WITH_FOLDER(test_all_threads_end)
{
	struct crowd crowd = { .f = *state };
	pthread_t threads[THREADS];
	struct catalog_txn *txn;
	void *result;
	int i;

	fill(crowd.f);
	for (i = 0; i < THREADS; i++)
		assert_int_equal(
			pthread_create(&threads[i], NULL, read_on, &crowd), 0);
	while (atomic_load(&crowd.inside) < THREADS)
		(void)sched_yield();
	cut_data(crowd.f);
	assert_int_equal(catalog_write(crowd.f->c, &txn), -EUCLEAN);
	for (i = 0; i < THREADS; i++) {
		assert_int_equal(pthread_join(threads[i], &result), 0);
		assert_int_equal((intptr_t)result, -EUCLEAN);
	}
	replace(crowd.f);
	fill(crowd.f);
}

/* ---- other errors of the bus ---- */

static int signal_of_child(void (*run)(struct fixture *f), struct fixture *f)
{
	const struct rlimit no_core = { 0 };
	pid_t child = fork();
	int status;

	if (child == 0) {
		(void)setrlimit(RLIMIT_CORE, &no_core);
		run(f);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void read_cut_mapping(struct fixture *f)
{
	char path[128];
	const char *p;
	int fd;

	(void)snprintf(path, sizeof(path), "%s/other", f->directory);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	p = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
	_exit(*(const volatile char *)p);
}

static void get_a_signal(struct fixture *f)
{
	(void)f;
	(void)raise(SIGBUS);
}

WITH_FOLDER(test_other_mappings_stay_fatal)
{
	struct fixture *f = *state;
	struct catalog_txn *txn;

	fill(f);
	assert_int_equal(signal_of_child(read_cut_mapping, f), SIGBUS);
	assert_int_equal(signal_of_child(get_a_signal, f), SIGBUS);
	txn = begin_read(f);
	assert_int_equal(get_file(txn, 1), 0);
	assert_int_equal(signal_of_child(read_cut_mapping, f), SIGBUS);
	catalog_abort(txn);
	cut_data(f);
	assert_int_equal(catalog_write(f->c, &txn), -EUCLEAN);
	assert_int_equal(signal_of_child(read_cut_mapping, f), SIGBUS);
	assert_int_equal(signal_of_child(get_a_signal, f), SIGBUS);
}

/* ---- what is overwritten ---- */

static void overwrite(struct fixture *f, uint64_t *random)
{
	static const uint8_t wrong = 0xff;
	char path[128];
	off_t size;
	int fd, i;

	fixture_data_path(f, path, sizeof(path));
	fd = open(path, O_WRONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	size = lseek(fd, 0, SEEK_END);
	for (i = 0; i < 200; i++)
		assert_int_equal(
			pwrite(fd, &wrong, 1,
			       (off_t)random_below(random, (uint64_t)size)),
			1);
	(void)close(fd);
}

/* Everything that LMDB finds by wrong offsets, and where it finds nothing. */
static void read_all(struct catalog *c)
{
	struct catalog_txn *txn;
	uint32_t last;
	uint64_t i;

	for (i = 1; i <= 400; i++) {
		if (catalog_read(c, &txn))
			return;
		(void)get_file(txn, i);
		if (i % 40 == 0)
			(void)catalog_content_each(txn, note_last, &last);
		catalog_abort(txn);
	}
}

WITH_FOLDER(test_reads_of_overwritten_pages_end)
{
	struct fixture *f = *state;
	uint64_t random = SEED;
	int i, lost = 0;

	for (i = 0; i < 40; i++) {
		(void)signal(SIGSEGV, SIG_DFL);
		open_with_handler(f);
		assert_int_equal(add_many(f->c, 1, 400), 0);
		overwrite(f, &random);
		read_all(f->c);
		lost += !catalog_is_open(f->c);
		fixture_close(f);
		fixture_remove(f->directory);
		assert_int_equal(mkdir(f->directory, 0700), 0);
	}
	assert_true(lost > 0);
}
