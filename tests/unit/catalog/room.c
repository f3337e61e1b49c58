/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/catalog/fixture.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>

/*
 * Running out of room: the map, the disk, the address space.  What runs in
 * children and threads does not assert; it returns the line that failed.
 */
#define fail_unless(condition)           \
	do {                             \
		if (!(condition))        \
			return __LINE__; \
	} while (0)

static uint64_t files_of(struct catalog *c)
{
	struct catalog_txn *txn;
	struct catalog_counts n;

	if (catalog_read(c, &txn))
		return UINT64_MAX;
	(void)catalog_counts(txn, &n);
	catalog_abort(txn);
	return n.files;
}

static bool is_sound(struct catalog *c)
{
	struct catalog_txn *txn;
	const char *wrong;

	if (catalog_read(c, &txn))
		return false;
	wrong = oracle_find(txn, &ROOT);
	catalog_abort(txn);
	return !wrong;
}

/* ---- the map ---- */

/* The memory of a sanitizer alone takes more address space. */
#if defined(__has_feature)
#define SANITIZED \
	(__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

/* Less address space than the map of a process without limits takes. */
static int open_in_little_space(struct fixture *f)
{
	struct rlimit limit = { (rlim_t)8 << 30, (rlim_t)8 << 30 };

	fail_unless(setrlimit(RLIMIT_AS, &limit) == 0);
	fail_unless(catalog_open(&f->options, &f->c) == 0);
	fail_unless(add_many(f->c, 0, 500) == 0);
	fail_unless(files_of(f->c) == 500 && is_sound(f->c));
	catalog_free(f->c);
	return 0;
}

WITH_FOLDER(test_a_limited_address_space_will_do)
{
	struct fixture *f = *state;
	pid_t child;

	if (SANITIZED) {
		print_message("skipped: a sanitizer takes more than that\n");
		skip();
	}
	child = fork();
	if (child == 0)
		_exit(open_in_little_space(f) != 0);
	assert_int_equal(child_result(child), 0);
	fixture_open(f);
	assert_int_equal(count_files(f), 500);
}

/* ---- threads ---- */

struct crowd {
	struct catalog *c;
	atomic_bool done;
};

static int look(struct catalog_txn *txn)
{
	struct catalog_counts n;
	struct file_key key;
	struct file_record r;
	uint64_t i;

	fail_unless(catalog_counts(txn, &n) == 0);
	fail_unless(n.files == n.fresh && n.contents == n.files);
	/* Batches are whole: all files of the last one are there. */
	fail_unless(n.files % 100 == 0);
	for (i = n.files; i > 0 && i > n.files - 100; i--) {
		key = key_of(i - 1);
		fail_unless(catalog_file_get(txn, &key, &r) == 0);
	}
	return 0;
}

static void *reader(void *arg)
{
	struct crowd *crowd = arg;
	struct catalog_txn *txn;
	intptr_t line = 0;

	while (!line && !atomic_load(&crowd->done)) {
		if (catalog_read(crowd->c, &txn))
			return (void *)(intptr_t)__LINE__;
		line = look(txn);
		catalog_abort(txn);
	}
	return (void *)line;
}

WITH_CATALOG(test_readers_see_whole_commits)
{
	struct fixture *f = *state;
	struct crowd crowd = { .c = f->c };
	pthread_t threads[3];
	void *line;
	int err = 0;
	uint64_t n;
	size_t i;

	for (i = 0; i < 3; i++)
		assert_int_equal(
			pthread_create(&threads[i], NULL, reader, &crowd), 0);
	for (n = 0; !err && n < 100; n++)
		err = add_many(f->c, n * 100, 100);
	atomic_store(&crowd.done, true);
	for (i = 0; i < 3; i++) {
		assert_int_equal(pthread_join(threads[i], &line), 0);
		assert_int_equal((intptr_t)line, 0);
	}
	assert_int_equal(err, 0);
	check_clean(f);
}

struct writer {
	struct catalog *c;
	uint64_t first;
	int err;
};

static void *writer(void *arg)
{
	struct writer *w = arg;
	uint64_t i;

	for (i = 0; !w->err && i < 50; i++)
		w->err = add_many(w->c, w->first + i * 40, 40);
	return NULL;
}

WITH_CATALOG(test_writers_wait_for_each_other)
{
	struct fixture *f = *state;
	struct writer writers[3];
	pthread_t threads[3];
	size_t i;

	for (i = 0; i < 3; i++) {
		writers[i] = (struct writer){ f->c, 10000 * i, 0 };
		assert_int_equal(
			pthread_create(&threads[i], NULL, writer, &writers[i]),
			0);
	}
	for (i = 0; i < 3; i++) {
		assert_int_equal(pthread_join(threads[i], NULL), 0);
		assert_int_equal(writers[i].err, 0);
	}
	assert_int_equal(count_files(f), 6000);
	check_clean(f);
}

/* ---- the disk ---- */

/* Fills what holds the catalog until a commit fails; how it failed. */
static int fill(struct catalog *c, uint64_t *written)
{
	int err;

	while ((err = add_many(c, *written, 200)) == 0)
		*written += 200;
	return err;
}

/* A transaction that is longer than the room there is: written in part. */
static int add_long(struct catalog *c, uint64_t files)
{
	struct catalog_changes changes = { .added_end = 4711 };
	struct catalog_txn *txn;
	uint64_t i;
	int err = catalog_write(c, &txn);

	for (i = 0; !err && i < files; i++)
		err = set_fresh(txn, (1 << 20) + i, (1 << 20) + i);
	if (!err)
		err = catalog_commit(txn, &changes);
	/* A commit that failed reports nothing. */
	return changes.added_end == 4711 ? err : -EPROTO;
}

static int full_then_room(struct fixture *f, int (*shrink)(struct fixture *f),
			  int (*widen)(struct fixture *f), int want_err)
{
	uint64_t written = 500;
	int err;

	fail_unless(catalog_open(&f->options, &f->c) == 0);
	fail_unless(add_many(f->c, 0, 500) == 0);
	fail_unless(shrink(f) == 0);
	err = add_long(f->c, 20000);
	fail_unless(want_err ? err == want_err : err < 0 && err != -EPROTO);
	err = fill(f->c, &written);
	fail_unless(want_err ? err == want_err : err < 0);
	fail_unless(files_of(f->c) == written);
	fail_unless(is_sound(f->c));
	/* And again, and by the next process, all the same. */
	fail_unless(add_many(f->c, written, 5000) < 0);
	catalog_free(f->c);
	fail_unless(catalog_open(&f->options, &f->c) == 0);
	fail_unless(files_of(f->c) == written && is_sound(f->c));
	fail_unless(widen(f) == 0);
	fail_unless(add_many(f->c, written, 5000) == 0);
	fail_unless(files_of(f->c) == written + 5000 && is_sound(f->c));
	catalog_free(f->c);
	fail_unless(catalog_open(&f->options, &f->c) == 0);
	fail_unless(files_of(f->c) == written + 5000 && is_sound(f->c));
	catalog_free(f->c);
	f->c = NULL;
	return 0;
}

static int limit_file_size(struct fixture *f)
{
	struct rlimit limit;

	fail_unless(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
	fail_unless(getrlimit(RLIMIT_FSIZE, &limit) == 0);
	limit.rlim_cur = catalog_bytes(f->c) + 300 * 1024 + 100;
	return setrlimit(RLIMIT_FSIZE, &limit);
}

static int unlimit_file_size(struct fixture *f)
{
	struct rlimit limit;

	(void)f;
	fail_unless(getrlimit(RLIMIT_FSIZE, &limit) == 0);
	limit.rlim_cur = limit.rlim_max;
	return setrlimit(RLIMIT_FSIZE, &limit);
}

WITH_FOLDER(test_a_file_that_cannot_grow_keeps_what_it_had)
{
	struct fixture *f = *state;
	pid_t child;

	child = fork();
	if (child == 0)
		_exit(full_then_room(f, limit_file_size, unlimit_file_size,
				     0) != 0);
	assert_int_equal(child_result(child), 0);
}

static int nothing(struct fixture *f)
{
	(void)f;
	return 0;
}

static int enlarge_disk(struct fixture *f)
{
	return mount("tmpfs", f->directory, "tmpfs", MS_REMOUNT, "size=64m");
}

enum { CANNOT_MOUNT = 77 };

/* In a mount namespace of its own, which ends with the process. */
static int full_disk(struct fixture *f)
{
	if (unshare(CLONE_NEWNS) != 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
	    mount("tmpfs", f->directory, "tmpfs", 0, "size=1m") != 0)
		return CANNOT_MOUNT;
	return full_then_room(f, nothing, enlarge_disk, -ENOSPC) != 0;
}

WITH_FOLDER(test_a_full_disk_is_said_and_survived)
{
	struct fixture *f = *state;
	pid_t child;
	int result;

	child = fork();
	if (child == 0)
		_exit(full_disk(f));
	result = child_result(child);
	if (result == CANNOT_MOUNT) {
		print_message("skipped: no right to mount a tmpfs\n");
		skip();
	}
	assert_int_equal(result, 0);
}

/* A first start on a full disk leaves nothing that looks damaged. */
static int first_start(struct fixture *f, uint64_t limit_bytes)
{
	struct rlimit limit;

	fail_unless(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
	fail_unless(getrlimit(RLIMIT_FSIZE, &limit) == 0);
	limit.rlim_cur = limit_bytes;
	fail_unless(setrlimit(RLIMIT_FSIZE, &limit) == 0);
	fail_unless(catalog_open(&f->options, &f->c) < 0);
	fail_unless(unlimit_file_size(f) == 0);
	fail_unless(catalog_open(&f->options, &f->c) == 0);
	fail_unless(is_sound(f->c));
	return 0;
}

WITH_CATALOG(test_a_first_start_on_a_full_disk_can_be_repeated)
{
	struct fixture *f = *state;
	static const uint64_t limits[] = { 0, 100, 4096, 8192, 12288 };
	char path[128];
	pid_t child;
	size_t i;

	fixture_close(f);
	fixture_data_path(f, path, sizeof(path));
	for (i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		assert_int_equal(unlink(path), 0);
		child = fork();
		if (child == 0)
			_exit(first_start(f, limits[i]) != 0);
		assert_int_equal(child_result(child), 0);
	}
}
