/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/logger.h"
#include "core/queue/event.h"
#include "core/scan/scan.h"
#include "tests/support/temp_tree.h"
#include "tests/support/test.h"
#include "tests/support/catalog_set.h"

/*
 * The scan without an engine: the test takes the place of the committer and
 * writes down what it is told, a line each: "list DIRECTORY: NAME NAME ...",
 * "name DIRECTORY/NAME", "changed NAME", "done".
 */
struct recorder {
	struct temp_tree t;
	struct logger log;
	atomic_bool stopping;
	struct scanner *scanner;
	atomic_int refusals; /* so many listings are refused as stale */
	int held;            /* a directory that the host knows */
	atomic_bool forgets; /* the host knows no file any more */
	atomic_bool lacks;   /* the host has no descriptor for one */
	atomic_int logged;   /* lines */
	atomic_bool settled; /* the catalog was to be brought up to date */
	/* Done by that, or NULL: the news that were on their way. */
	void (*news)(struct recorder *r);
};

/* The path below the top of the file or directory with that inode number;
 * "." is the top. */
static bool find_inode(const char *directory, ino_t inode, char *out,
		       size_t size)
{
	DIR *dir = opendir(directory);
	struct dirent *d;
	struct stat st;
	char path[1024];
	bool found = false;

	assert_non_null(dir);
	while (!found && (d = readdir(dir)) != NULL) {
		if (!strcmp(d->d_name, "..") || !strcmp(d->d_name, "."))
			continue;
		(void)snprintf(path, sizeof(path), "%s/%s", directory,
			       d->d_name);
		assert_int_equal(lstat(path, &st), 0);
		found = st.st_ino == inode;
		if (found)
			(void)snprintf(out, size, "%s", d->d_name);
		else if (S_ISDIR(st.st_mode))
			found = find_inode(path, inode, out, size);
	}
	closedir(dir);
	return found;
}

static void name_of_key(const struct recorder *r, const struct file_key *key,
			char *out, size_t size)
{
	(void)snprintf(out, size, ".");
	if (!file_key_equal(key, &r->t.source.root))
		(void)find_inode(r->t.top, key->inode, out, size);
}

static void set_unread(struct catalog_txn *txn, const struct source_listing *l,
		       const char *name, int error)
{
	struct catalog_name n = { name, strlen(name) };

	if (error)
		assert_int_equal(
			catalog_unread_set(txn, &l->directory, n, error), 0);
}

/* As the committer does. */
static void keep_unread(struct recorder *r, const struct source_listing *l)
{
	struct catalog_txn *txn;
	size_t i;

	assert_int_equal(catalog_write(r->t.catalog, &txn), 0);
	assert_int_equal(catalog_unread_clear(txn, &l->directory), 0);
	set_unread(txn, l, "", l->error);
	for (i = 0; i < l->count; i++)
		set_unread(txn, l, l->entries[i].name, l->entries[i].error);
	assert_int_equal(catalog_commit(txn, NULL), 0);
}

static int post_listing(struct recorder *r, const struct source_listing *l)
{
	struct buf line = { 0 };
	char name[256];
	size_t i;

	if (atomic_load(&r->refusals) > 0) {
		atomic_fetch_sub(&r->refusals, 1);
		return -ESTALE;
	}
	keep_unread(r, l);
	name_of_key(r, &l->directory, name, sizeof(name));
	assert_int_equal(buf_append_format(&line, "list %s:", name), 0);
	if (l->error)
		assert_int_equal(
			buf_append_format(&line, " %s", err_name(l->error)), 0);
	for (i = 0; i < l->count; i++)
		assert_int_equal(
			buf_append_format(&line, " %s%s", l->entries[i].name,
					  l->entries[i].directory ? "/" : ""),
			0);
	record(&r->t, line.data);
	buf_release(&line);
	return 0;
}

static void post_name(struct recorder *r, const struct event *ev)
{
	char dir[256], line[600];

	name_of_key(r, &ev->parent, dir, sizeof(dir));
	(void)snprintf(line, sizeof(line), "name %s/%s", dir, ev->name);
	record(&r->t, line);
}

/* In place of the list of events, and of the queue. */
static struct recorder *current;

int events_post(struct event_list *l, struct event *ev)
{
	int err = 0;

	(void)l;
	if (ev->listing)
		err = post_listing(current, ev->listing);
	else
		post_name(current, ev);
	if (err == -ESTALE)
		ev->listing = NULL; /* stays the scan's */
	event_free(ev);
	return err;
}

unsigned events_names_version(struct event_list *l,
			      const struct file_key *directory)
{
	(void)l;
	(void)directory;
	return 0;
}

int events_settle(struct event_list *l)
{
	struct recorder *r = current;

	(void)l;
	if (r->news)
		r->news(r);
	r->news = NULL;
	atomic_store(&r->settled, true);
	return 0;
}

bool events_wait_room(struct event_list *l)
{
	(void)l;
	return true;
}

void hash_file_closed(struct hasher *h, const struct file_key *key,
		      const struct file_identity *identity)
{
	struct recorder *r = current;
	char name[256], line[300];

	(void)h;
	(void)identity;
	name_of_key(r, key, name, sizeof(name));
	(void)snprintf(line, sizeof(line), "changed %s", name);
	record(&r->t, line);
}

/* The last thing that a walk does. */
void events_hurry(struct event_list *l)
{
	(void)l;
	record(&current->t, "done");
}

/* ---- a tree: a (file), b/ with c (file) and d/ with e (file) ---- */

static const char *const directories[] = { "b", "b/d" };
static const char *const files[] = { "a", "b/c", "b/d/e", "b/skipped.tmp" };

static int open_known(void *ctx, dev_t device, ino_t inode)
{
	const struct recorder *r = ctx;
	char path[300];
	struct stat st;
	size_t i;

	if (atomic_load(&r->forgets))
		return -ENOENT;
	if (atomic_load(&r->lacks))
		return -EMFILE;
	if (r->held > 0 && !fstat(r->held, &st) && st.st_ino == inode)
		return fcntl(r->held, F_DUPFD_CLOEXEC, 0);
	for (i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		path_in(&r->t, files[i], path, sizeof(path));
		if (!lstat(path, &st) && st.st_ino == inode &&
		    st.st_dev == device)
			return open(path, O_PATH | O_CLOEXEC);
	}
	return -ENOENT;
}

static void make_files(struct recorder *r)
{
	size_t i;

	for (i = 0; i < sizeof(directories) / sizeof(directories[0]); i++)
		make_directory(&r->t, directories[i]);
	for (i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		make_file(&r->t, files[i], "", 0);
}

static void count_line(void *ctx, const char *line)
{
	struct recorder *r = ctx;

	(void)line;
	atomic_fetch_add(&r->logged, 1);
}

static int set_up(void **state)
{
	struct recorder *r = calloc(1, sizeof(*r));
	struct engine_parts context = {
		.source = &r->t.source,
		.log = &r->log,
		.stopping = &r->stopping,
	};

	current = r;

	temp_tree_make(&r->t);
	make_files(r);
	r->log = (struct logger){ r, count_line };
	r->t.source.ctx = r;
	r->t.source.open_known = open_known;
	context.catalog = r->t.catalog;
	r->scanner = calloc(1, sizeof(*r->scanner));
	assert_int_equal(scan_init(r->scanner, &context), 0);
	*state = r;
	return 0;
}

static int tear_down(void **state)
{
	struct recorder *r = *state;

	atomic_store(&r->stopping, true);
	scan_stop(r->scanner);
	scan_release(r->scanner);
	free(r->scanner);
	if (r->held > 0)
		close(r->held);
	temp_tree_remove(&r->t);
	free(r);
	return 0;
}

/* ---- tests ---- */

#define WITH_TREE(name) TEST_WITH(name, set_up, tear_down)

WITH_TREE(test_a_walk_lists_every_directory_once)
{
	struct recorder *r = *state;

	scan_request_tree(r->scanner);
	assert_int_equal(scan_start(r->scanner), 0);
	expect(&r->t, "list .: a b/\nlist b: c d/\nlist d: e\ndone\n");
	assert_int_equal(atomic_load(&r->scanner->files), 3);
	assert_int_equal(atomic_load(&r->scanner->skipped), 1);
}

WITH_TREE(test_a_refused_listing_is_told_by_name_and_read_again)
{
	struct recorder *r = *state;

	r->refusals = 1;
	scan_request_tree(r->scanner);
	assert_int_equal(scan_start(r->scanner), 0);
	expect(&r->t, "name ./a\nname ./b\nlist b: c d/\nlist d: e\ndone\n"
		      "list .: a b/\n");
}

/* They are read again, but the rest of the tree is not. */
WITH_TREE(test_a_walk_past_many_busy_directories_is_not_repeated)
{
	enum { BUSY = 300 };
	struct recorder *r = *state;
	char name[16];
	int i;

	for (i = 0; i < BUSY; i++) {
		(void)snprintf(name, sizeof(name), "busy%d", i);
		make_directory(&r->t, name);
	}
	r->refusals = BUSY;
	scan_request_tree(r->scanner);
	assert_int_equal(scan_start(r->scanner), 0);
	while (!atomic_load(&r->scanner->walks) || scan_is_running(r->scanner))
		sched_yield();
	assert_int_equal(atomic_load(&r->scanner->walks), 1);
}

WITH_TREE(test_a_requested_file_is_told_by_name)
{
	struct recorder *r = *state;
	struct file_key key;

	get_key(&r->t, "b/c", &key);
	scan_request(r->scanner, &key, false);
	assert_int_equal(scan_start(r->scanner), 0);
	expect(&r->t, "name ./b\nname b/c\n");
}

WITH_TREE(test_a_deep_request_reads_all_below)
{
	struct recorder *r = *state;

	scan_request(r->scanner, &r->t.source.root, true);
	assert_int_equal(scan_start(r->scanner), 0);
	expect(&r->t, "list .: a b/\nlist b: c d/\nlist d: e\n");
}

WITH_TREE(test_deferred_requests_wait)
{
	struct recorder *r = *state;

	scan_request(r->scanner, &r->t.source.root, false);
	scan_defer_requests(r->scanner, true);
	scan_request_tree(r->scanner);
	assert_int_equal(scan_start(r->scanner), 0);
	expect(&r->t, "list .: a b/\nlist b: c d/\nlist d: e\ndone\n");
	assert_false(scan_is_idle(r->scanner));
	scan_defer_requests(r->scanner, false);
	expect(&r->t, "list .: a b/\n");
}

WITH_TREE(test_too_many_requests_become_a_walk)
{
	struct recorder *r = *state;
	struct file_key key = r->t.source.root;
	int i;

	for (i = 0; i <= REQUESTS_MAX; i++) {
		key.inode++;
		scan_request(r->scanner, &key, false);
	}
	assert_true(scan_is_running(r->scanner));
}

WITH_TREE(test_many_deep_requests_become_a_walk)
{
	struct recorder *r = *state;
	struct file_key key = r->t.source.root;
	int i;

	for (i = 0; i < DEEP_MAX; i++) {
		key.inode++;
		scan_request(r->scanner, &key, true);
		scan_request(r->scanner, &key, true);
	}
	assert_false(scan_is_running(r->scanner));
	scan_request(r->scanner, &r->t.source.root, true);
	assert_true(scan_is_running(r->scanner));
}

WITH_TREE(test_what_the_host_does_not_know_is_not_requested)
{
	struct recorder *r = *state;
	struct file_key key = r->t.source.root;

	key.inode += 1000000;
	scan_request_unknown(r->scanner, &key);
	assert_true(scan_is_idle(r->scanner));
	get_key(&r->t, "a", &key);
	scan_request_unknown(r->scanner, &key);
	assert_false(scan_is_idle(r->scanner));
}

static void record_in_catalog(struct recorder *r, const char *name)
{
	struct file_identity identity;
	struct catalog_txn *txn;
	struct file_key key;
	char path[300];
	struct stat st;

	get_key(&r->t, name, &key);
	path_in(&r->t, name, path, sizeof(path));
	assert_int_equal(stat(path, &st), 0);
	source_get_identity(&st, &identity);
	assert_int_equal(catalog_write(r->t.catalog, &txn), 0);
	assert_int_equal(catalog_file_set_failed(txn, &key, &identity, EIO), 0);
	assert_int_equal(catalog_commit(txn, NULL), 0);
}

static void add_seen(struct recorder *r, const char *name)
{
	char path[300];
	struct stat st;

	path_in(&r->t, name, path, sizeof(path));
	assert_int_equal(stat(path, &st), 0);
	assert_true(scan_add_seen(r->scanner, &st));
}

WITH_TREE(test_a_seen_file_is_reported_if_it_is_not_as_recorded)
{
	struct recorder *r = *state;
	char path[300];
	int fd;

	record_in_catalog(r, "a");
	record_in_catalog(r, "b/c");
	path_in(&r->t, "b/c", path, sizeof(path));
	fd = open(path, O_WRONLY | O_CLOEXEC);
	assert_int_equal(write(fd, "more", 4), 4);
	close(fd);
	add_seen(r, "a");
	add_seen(r, "b/c");
	add_seen(r, "b/d/e");
	assert_int_equal(scan_start(r->scanner), 0);
	expect(&r->t, "changed c\nchanged e\n");
}

static void record_directory(struct recorder *r, const char *name)
{
	struct catalog_txn *txn;
	struct file_key key;

	get_key(&r->t, name, &key);
	assert_int_equal(catalog_write(r->t.catalog, &txn), 0);
	assert_int_equal(catalog_directory_set(txn, &key), 0);
	assert_int_equal(
		catalog_name_set(txn, &r->t.source.root,
				 (struct catalog_name){ name, strlen(name) },
				 &key),
		0);
	assert_int_equal(catalog_commit(txn, NULL), 0);
}

/* The directory b/d has that name in the catalog, in the directory b. */
static void name_in_catalog(struct recorder *r, const char *name)
{
	struct catalog_txn *txn;
	struct file_key b, d;

	record_directory(r, "b");
	get_key(&r->t, "b", &b);
	get_key(&r->t, "b/d", &d);
	assert_int_equal(catalog_write(r->t.catalog, &txn), 0);
	assert_int_equal(catalog_directory_set(txn, &d), 0);
	assert_int_equal(
		catalog_name_set(txn, &b,
				 (struct catalog_name){ name, strlen(name) },
				 &d),
		0);
	assert_int_equal(catalog_commit(txn, NULL), 0);
}

static void tell_name(struct recorder *r)
{
	name_in_catalog(r, "d");
}

static void request_moved(struct recorder *r)
{
	struct file_key key;

	name_in_catalog(r, "former");
	get_key(&r->t, "b/d", &key);
	scan_request(r->scanner, &key, false);
}

WITH_TREE(test_a_directory_is_found_when_the_catalog_is_up_to_date)
{
	struct recorder *r = *state;

	r->news = tell_name;
	request_moved(r);
	assert_int_equal(scan_start(r->scanner), 0);
	expect(&r->t, "list d: e\n");
}

WITH_TREE(test_a_directory_that_is_not_found_lets_the_tree_be_walked)
{
	struct recorder *r = *state;

	request_moved(r);
	assert_int_equal(scan_start(r->scanner), 0);
	expect(&r->t, "list .: a b/\nlist b: c d/\nlist d: e\ndone\n");
}

WITH_TREE(test_a_directory_without_a_record_is_gone)
{
	struct recorder *r = *state;
	struct file_key key;

	get_key(&r->t, "b/d", &key);
	scan_request(r->scanner, &key, false);
	assert_int_equal(scan_start(r->scanner), 0);
	while (!scan_is_idle(r->scanner))
		(void)sched_yield();
	assert_true(atomic_load(&r->settled));
	assert_int_equal(r->t.line_count, 0);
}

WITH_TREE(test_the_host_may_forget_what_was_requested)
{
	struct recorder *r = *state;
	struct file_key key;

	get_key(&r->t, "b/c", &key);
	scan_request_unknown(r->scanner, &key);
	atomic_store(&r->forgets, true);
	assert_int_equal(scan_start(r->scanner), 0);
	expect(&r->t, "name ./b\nname b/c\n");
}

WITH_TREE(test_a_second_request_keeps_what_the_host_may_forget)
{
	struct recorder *r = *state;
	struct file_key key;

	get_key(&r->t, "b/c", &key);
	scan_request_unknown(r->scanner, &key);
	atomic_store(&r->forgets, true);
	scan_request(r->scanner, &key, false);
	assert_int_equal(scan_start(r->scanner), 0);
	expect(&r->t, "name ./b\nname b/c\n");
}

WITH_TREE(test_a_walk_drops_no_retry)
{
	struct recorder *r = *state;

	r->refusals = 1;
	scan_request(r->scanner, &r->t.source.root, false);
	assert_int_equal(scan_start(r->scanner), 0);
	wait_lines(&r->t, 2); /* the names */
	scan_request_tree(r->scanner);
	wait_lines(&r->t, 2 + 4 + 1);
}

/* ---- a passing lack ---- */

/* The stat of the entry of that name fails. */
static struct {
	const char *name;
	_Atomic int error;
} faulty;

int fstatat(int dir, const char *restrict path, struct stat *restrict st,
	    int flags)
{
	const int error = atomic_load(&faulty.error);

	if (!error || strcmp(path, faulty.name) != 0)
		return (int)syscall(SYS_newfstatat, dir, path, st, flags);
	errno = error;
	return -1;
}

/* no descriptor is left: the process has one for each below the limit. */
static void limit_descriptors(bool none_left)
{
	static struct rlimit before;
	struct rlimit now;
	int next;

	if (!none_left) {
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
		return;
	}
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	next = open("/", O_PATH | O_CLOEXEC);
	assert_true(next >= 0);
	close(next);
	now = (struct rlimit){ (rlim_t)next, before.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &now), 0);
}

/* How often the idle scan has tried in vain; 0: nothing is left to be tried.  Each
 * try doubles the pause before the next one. */
static unsigned tries_in_vain(struct recorder *r)
{
	unsigned tries;

	while (!scan_is_idle(r->scanner))
		(void)sched_yield();
	pthread_mutex_lock(&r->scanner->lock);
	tries = r->scanner->again_tries;
	pthread_mutex_unlock(&r->scanner->lock);
	return tries;
}

/* It does so now. */
static void let_try(struct recorder *r)
{
	struct scanner *s = r->scanner;
	bool tried = false;

	pthread_mutex_lock(&s->lock);
	s->again_ms = 0;
	pthread_cond_signal(&s->work);
	pthread_mutex_unlock(&s->lock);
	while (!tried) {
		(void)sched_yield();
		pthread_mutex_lock(&s->lock);
		tried = s->again_ms && !s->serving;
		pthread_mutex_unlock(&s->lock);
	}
}

WITH_TREE(test_a_directory_for_which_a_descriptor_lacked_is_read_again)
{
	struct recorder *r = *state;
	unsigned before;

	limit_descriptors(true);
	scan_request_tree(r->scanner);
	assert_int_equal(scan_start(r->scanner), 0);
	expect(&r->t, "list .: EMFILE\ndone\n");
	before = tries_in_vain(r);
	assert_true(before > 0);
	let_try(r);
	assert_true(tries_in_vain(r) > before);
	limit_descriptors(false);
	let_try(r);
	expect(&r->t, "list .: a b/\nlist b: c d/\nlist d: e\n");
	assert_int_equal(tries_in_vain(r), 0);
	assert_int_equal(atomic_load(&r->scanner->walks), 1);
	assert_int_equal(atomic_load(&r->logged), 1);
}

/* Another error is one of the entry, which the next scan meets again. */
WITH_TREE(
	test_an_entry_that_could_not_be_looked_at_for_a_lack_is_looked_at_again)
{
	struct recorder *r = *state;

	faulty.name = "d";
	atomic_store(&faulty.error, EIO);
	scan_request_tree(r->scanner);
	assert_int_equal(scan_start(r->scanner), 0);
	expect(&r->t, "list .: a b/\nlist b: c d\ndone\n");
	assert_int_equal(tries_in_vain(r), 0);
	atomic_store(&faulty.error, EINTR);
	scan_request_tree(r->scanner);
	expect(&r->t, "list .: a b/\nlist b: c d\ndone\n");
	atomic_store(&faulty.error, 0);
	record_directory(r, "b");
	assert_true(tries_in_vain(r) > 0);
	let_try(r);
	expect(&r->t, "list b: c d/\nlist d: e\n");
}

WITH_TREE(test_a_request_that_meets_a_lack_is_kept)
{
	struct recorder *r = *state;
	struct scan_request *kept;
	struct file_key key;

	get_key(&r->t, "b/c", &key);
	atomic_store(&r->lacks, true);
	scan_request_unknown(r->scanner, &key);
	assert_int_equal(scan_start(r->scanner), 0);
	while (!scan_count_lacks(r->scanner))
		(void)sched_yield();
	assert_true(scan_is_idle(r->scanner));
	atomic_store(&r->lacks, false);
	pthread_mutex_lock(&r->scanner->lock);
	kept = r->scanner->requests;
	assert_true(kept->lacks);
	kept->due_ms = 0;
	pthread_cond_signal(&r->scanner->work);
	pthread_mutex_unlock(&r->scanner->lock);
	expect(&r->t, "name ./b\nname b/c\n");
	while (scan_count_lacks(r->scanner))
		(void)sched_yield();
	assert_int_equal(atomic_load(&r->scanner->walks), 0);
}

/* Mounts are seen by this process alone. */
static bool is_private;

/* The path of a directory leads to another one: it moved after the look, or as
 * here, a mount covers it. */
WITH_TREE(test_a_path_that_leads_elsewhere)
{
	struct recorder *r = *state;
	struct file_key key;
	char path[300];

	get_key(&r->t, "b/d", &key);
	path_in(&r->t, "b/d", path, sizeof(path));
	r->held = open(path, O_PATH | O_CLOEXEC);
	assert_true(r->held >= 0);
	if (!is_private || mount("none", path, "tmpfs", 0, NULL))
		skip(); /* without the privilege to mount */
	scan_request(r->scanner, &key, false);
	assert_int_equal(scan_start(r->scanner), 0);
	while (atomic_load(&r->scanner->walks) < 1)
		(void)sched_yield();
	while (!scan_is_idle(r->scanner))
		(void)sched_yield();
	assert_int_equal(umount(path), 0);
}

/* It may be where the walk has been by now. */
WITH_TREE(test_a_directory_that_moves_during_a_walk_is_read)
{
	struct recorder *r = *state;
	struct file_key key;

	get_key(&r->t, "b", &key);
	scan_directory_moved(r->scanner, &key);
	assert_true(scan_is_idle(r->scanner));
	atomic_store(&r->scanner->running, true);
	scan_directory_moved(r->scanner, &key);
	name_in_catalog(r, "d");
	assert_int_equal(scan_start(r->scanner), 0);
	expect(&r->t, "list b: c d/\nlist d: e\n");
}

WITH_TREE(test_a_directory_that_moves_during_a_deep_request_is_read)
{
	struct recorder *r = *state;
	struct file_key key;

	get_key(&r->t, "b", &key);
	scan_defer_requests(r->scanner, true);
	scan_request(r->scanner, &r->t.source.root, false);
	scan_directory_moved(r->scanner, &key);
	assert_null(r->scanner->requests->next);
	scan_request(r->scanner, &r->t.source.root, true);
	scan_directory_moved(r->scanner, &key);
	assert_non_null(r->scanner->requests->next);
}

int main(void)
{
	is_private = !unshare(CLONE_NEWNS) &&
		     !mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL);
	return test_run(NULL, NULL);
}
