/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/catalog_fixture.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "core/commit/commit.h"
#include "core/queue/queue.h"

/*
 * The committer without an engine: what becomes of events in the catalog and
 * the index, and what the committer asks for, a word each in `said`: "tree",
 * "scan N", "below N", "unknown N", "new N", "pending", "result N", "damaged";
 * "[" and "]" are the begin and the end of a batch.  N is an inode number.
 */
struct recorder {
	struct fixture f;
	struct source source;
	struct index *index;
	struct logger log;
	struct throttle throttle;
	struct committer c;

	pthread_mutex_t lock; /* everything below */
	pthread_cond_t more;
	struct buf said;
	uint64_t attempted;
	int lines; /* of the log */
};

static void say(struct recorder *r, const char *word,
		const struct file_key *key)
{
	pthread_mutex_lock(&r->lock);
	assert_int_equal(buf_append_text(&r->said, word), 0);
	if (key)
		assert_int_equal(buf_append_format(&r->said, " %d",
						   file_key_equal(key, &ROOT) ?
							   0 :
							   (int)key->inode),
				 0);
	assert_int_equal(buf_append_text(&r->said, "\n"), 0);
	pthread_mutex_unlock(&r->lock);
}

static void rescan_tree(void *ctx)
{
	say(ctx, "tree", NULL);
}

static void rescan(void *ctx, const struct file_key *key, bool deep)
{
	say(ctx, deep ? "below" : "scan", key);
}

static void rescan_unknown(void *ctx, const struct file_key *key)
{
	say(ctx, "unknown", key);
}

static void batch(void *ctx, bool begins)
{
	say(ctx, begins ? "[" : "]", NULL);
}

static void pending_added(void *ctx)
{
	say(ctx, "pending", NULL);
}

static void result_committed(void *ctx, struct result *result)
{
	say(ctx, "result", &result->key);
}

static void attempted(void *ctx, uint64_t number)
{
	struct recorder *r = ctx;

	pthread_mutex_lock(&r->lock);
	r->attempted = number;
	pthread_cond_broadcast(&r->more);
	pthread_mutex_unlock(&r->lock);
}

static void damaged(void *ctx)
{
	say(ctx, "damaged", NULL);
}

static void print_line(void *ctx, const char *line)
{
	struct recorder *r = ctx;

	(void)line;
	pthread_mutex_lock(&r->lock);
	r->lines++;
	pthread_mutex_unlock(&r->lock);
}

static bool is_always_busy(void *ctx)
{
	(void)ctx;
	return true;
}

static int set_up(void **state)
{
	static const struct throttle_context busy = {
		.workers = 1,
		.had_requests = is_always_busy,
	};
	struct recorder *r = calloc(1, sizeof(*r));
	struct commit_context context = {
		.source = &r->source,
		.throttle = &r->throttle,
		.log = &r->log,
		.ctx = r,
		.rescan_tree = rescan_tree,
		.rescan = rescan,
		.rescan_unknown = rescan_unknown,
		.batch = batch,
		.pending_added = pending_added,
		.result_committed = result_committed,
		.attempted = attempted,
		.damaged = damaged,
	};

	assert_non_null(r);
	fixture_init(&r->f);
	fixture_open(&r->f);
	r->source.root = ROOT;
	r->log = (struct logger){ r, print_line };
	assert_int_equal(index_new(&r->index), 0);
	assert_int_equal(throttle_init(&r->throttle, &busy), 0);
	assert_int_equal(pthread_mutex_init(&r->lock, NULL), 0);
	assert_int_equal(pthread_cond_init(&r->more, NULL), 0);
	context.catalog = r->f.c;
	context.index = r->index;
	assert_int_equal(commit_init(&r->c, &context), 0);
	assert_int_equal(commit_start(&r->c), 0);
	*state = r;
	return 0;
}

static int tear_down(void **state)
{
	struct recorder *r = *state;

	commit_unblock(&r->c);
	commit_stop(&r->c);
	commit_release(&r->c);
	throttle_release(&r->throttle);
	index_free(r->index);
	fixture_release(&r->f);
	buf_release(&r->said);
	pthread_cond_destroy(&r->more);
	pthread_mutex_destroy(&r->lock);
	free(r);
	return 0;
}

/* ---- events ---- */

static struct event *new_event(enum event_kind kind, uint64_t inode)
{
	struct event *ev = event_new(kind);

	assert_non_null(ev);
	ev->key = key_of(inode);
	return ev;
}

/* The name of inode in the directory parent; 0 is the root. */
static struct event *new_name(enum event_kind kind, uint64_t parent,
			      const char *name, uint64_t inode)
{
	struct event *ev = new_event(kind, inode);

	ev->parent = parent ? key_of(parent) : ROOT;
	ev->name = strdup(name);
	assert_non_null(ev->name);
	return ev;
}

static struct event *new_move(uint64_t from, const char *name, uint64_t to,
			      const char *new_name_)
{
	struct event *ev = new_name(EVENT_NAME_MOVED, from, name, 0);

	ev->new_parent = to ? key_of(to) : ROOT;
	ev->new_name = strdup(new_name_);
	assert_non_null(ev->new_name);
	return ev;
}

static struct event *new_result(uint64_t inode, uint64_t content)
{
	struct event *ev = event_new(EVENT_RESULT);
	struct digests made;
	char text[64];

	assert_non_null(ev);
	ev->result = calloc(1, sizeof(*ev->result));
	assert_non_null(ev->result);
	ev->result->key = key_of(inode);
	ev->result->identity = identity_of(content);
	made = digests_of(content, text, sizeof(text));
	assert_int_equal(digests_copy(&made, &ev->result->digests), 0);
	return ev;
}

static void post(struct recorder *r, struct event *ev)
{
	assert_int_equal(commit_post(&r->c, ev), 0);
}

static void add_name(struct recorder *r, uint64_t parent, const char *name,
		     uint64_t inode, bool directory)
{
	struct event *ev = new_name(EVENT_NAME_ADDED, parent, name, inode);

	ev->directory = directory;
	post(r, ev);
}

/* Commits all, and forgets what was said until then. */
static void settle(struct recorder *r)
{
	assert_int_equal(commit_settle(&r->c), 0);
	pthread_mutex_lock(&r->lock);
	r->said.len = 0;
	pthread_mutex_unlock(&r->lock);
}

static bool has_said(struct recorder *r, const char *word)
{
	char line[64];
	bool has;

	(void)snprintf(line, sizeof(line), "%s\n", word);
	pthread_mutex_lock(&r->lock);
	has = r->said.len && strstr(r->said.data, line);
	pthread_mutex_unlock(&r->lock);
	return has;
}

static void expect_said(struct recorder *r, const char *word)
{
	assert_int_equal(commit_settle(&r->c), 0);
	if (!has_said(r, word))
		fail_msg("not said: %s", word);
}

static int get_file(struct recorder *r, uint64_t inode, struct file_record *out)
{
	struct catalog_txn *txn = begin_read(&r->f);
	struct file_key key = key_of(inode);
	int err = catalog_file_get(txn, &key, out);

	catalog_abort(txn);
	return err;
}

static void expect_paths(struct recorder *r, uint64_t inode, const char *want)
{
	struct catalog_txn *txn;

	assert_int_equal(commit_settle(&r->c), 0);
	txn = begin_read(&r->f);
	assert_paths(txn, inode, want);
	catalog_abort(txn);
}

/* ---- what becomes of an event ---- */

static void test_a_result_is_in_the_catalog_and_the_index(void **state)
{
	struct recorder *r = *state;
	struct file_record rec;

	add_name(r, 0, "a", 1, false);
	post(r, new_result(1, 77));
	expect_said(r, "result 1");
	assert_true(has_said(r, "pending"));
	assert_int_equal(get_file(r, 1, &rec), 0);
	assert_int_equal(rec.state, FILE_FRESH);
	assert_int_equal(index_count(r->index), 1);
	post(r, new_event(EVENT_FORGET, 1));
	settle(r);
	assert_int_equal(get_file(r, 1, &rec), -ENOENT);
	assert_int_equal(index_count(r->index), 0);
}

static void test_a_file_that_cannot_be_read(void **state)
{
	struct recorder *r = *state;
	struct event *ev = new_result(1, 77);
	struct file_record rec;

	add_name(r, 0, "a", 1, false);
	ev->result->error = EIO;
	post(r, ev);
	settle(r);
	assert_int_equal(get_file(r, 1, &rec), 0);
	assert_int_equal(rec.state, FILE_FAILED);
	assert_int_equal(rec.error, EIO);
}

static void test_what_is_not_known_is_looked_for(void **state)
{
	struct recorder *r = *state;
	struct file_record rec;

	post(r, new_result(1, 77));
	post(r, new_event(EVENT_PENDING, 2));
	add_name(r, 3, "a", 4, false);
	expect_said(r, "unknown 1");
	expect_said(r, "unknown 2");
	expect_said(r, "unknown 3");
	assert_int_equal(get_file(r, 1, &rec), -ENOENT);
	assert_int_equal(get_file(r, 2, &rec), -ENOENT);
	assert_int_equal(get_file(r, 4, &rec), -ENOENT);
}

static void test_what_a_batch_asks_for_is_asked_within_it(void **state)
{
	struct recorder *r = *state;

	post(r, new_event(EVENT_PENDING, 2));
	assert_int_equal(commit_settle(&r->c), 0);
	pthread_mutex_lock(&r->lock);
	assert_string_equal(r->said.data, "[\nunknown 2\n]\npending\n");
	pthread_mutex_unlock(&r->lock);
}

static void test_a_learned_directory_is_read(void **state)
{
	struct recorder *r = *state;
	struct event *ev = new_name(EVENT_NAME_ADDED, 0, "d", 5);

	ev->directory = ev->learned = true;
	ev->version = commit_names_version(&r->c, &ROOT);
	post(r, ev);
	expect_said(r, "scan 5");
}

static void test_a_missing_file_is_looked_for_where_it_was(void **state)
{
	struct recorder *r = *state;
	struct file_record rec;

	add_name(r, 0, "d", 5, true);
	add_name(r, 5, "a", 1, false);
	post(r, new_event(EVENT_MISSED, 1));
	expect_said(r, "scan 5");
	assert_int_equal(get_file(r, 1, &rec), -ENOENT);
}

static void test_moves(void **state)
{
	struct recorder *r = *state;
	struct event *ev;

	add_name(r, 0, "d", 5, true);
	add_name(r, 0, "a", 1, false);
	post(r, new_move(0, "a", 5, "b"));
	expect_paths(r, 1, "d/b\n");
	/* Of what is not known, a file is entered and a directory is read. */
	ev = new_move(0, "x", 5, "y");
	ev->known = true;
	ev->key = key_of(2);
	post(r, ev);
	expect_paths(r, 2, "d/y\n");
	ev = new_move(0, "x", 5, "z");
	ev->known = ev->directory = true;
	ev->key = key_of(6);
	post(r, ev);
	expect_said(r, "scan 6");
	expect_paths(r, 6, "d/z\n");
	post(r, new_move(0, "x", 5, "z"));
	expect_said(r, "scan 5");
	/* To where nothing is known, a name is lost. */
	post(r, new_move(5, "b", 9, "b"));
	expect_said(r, "unknown 9");
	expect_paths(r, 1, "");
}

static struct event *new_known_move(uint64_t key, uint64_t from,
				    const char *name, uint64_t to,
				    const char *new_name_, bool directory)
{
	struct event *ev = new_move(from, name, to, new_name_);

	ev->known = true;
	ev->key = key_of(key);
	ev->directory = directory;
	return ev;
}

/* Nothing of it is dropped and hashed again. */
static void test_a_move_that_the_scan_has_seen(void **state)
{
	struct recorder *r = *state;

	add_name(r, 0, "d", 5, true);
	add_name(r, 5, "a", 1, false);
	add_name(r, 0, "b", 2, false);
	post(r, new_known_move(5, 0, "c", 0, "d", true));
	expect_paths(r, 1, "d/a\n");
	expect_paths(r, 5, "d\n");
	assert_false(has_said(r, "scan 5"));
}

/* What the catalog has by that name is not what moved. */
static void test_a_move_that_contradicts_the_catalog(void **state)
{
	struct recorder *r = *state;

	add_name(r, 0, "d", 5, true);
	add_name(r, 5, "a", 1, false);
	add_name(r, 0, "e", 6, true);
	post(r, new_known_move(7, 0, "d", 6, "f", true));
	expect_said(r, "scan 0");
	expect_said(r, "scan 7");
	expect_paths(r, 7, "e/f\n");
	expect_paths(r, 1, "d/a\n");
	/* Two names of a file: of a link, or one that is gone. */
	add_name(r, 6, "b", 1, false);
	post(r, new_known_move(1, 5, "a", 6, "b", false));
	expect_said(r, "scan 5");
}

static struct event *new_exchange(uint64_t key, const char *name,
				  const char *new_name_)
{
	struct event *ev = new_known_move(key, 0, name, 0, new_name_, false);

	ev->exchange = true;
	return ev;
}

static void test_an_exchange(void **state)
{
	struct recorder *r = *state;

	add_name(r, 0, "a", 1, false);
	add_name(r, 0, "b", 2, false);
	post(r, new_exchange(1, "a", "b"));
	expect_paths(r, 1, "b\n");
	expect_paths(r, 2, "a\n");
	assert_false(has_said(r, "scan 0"));
	/* The scan has seen it already: it is not done again. */
	post(r, new_exchange(1, "a", "b"));
	expect_said(r, "scan 0");
	expect_paths(r, 1, "b\n");
	expect_paths(r, 2, "a\n");
}

/* The scan has seen one end of it, so the file that was there has no name. */
static void test_an_exchange_that_was_seen_in_part(void **state)
{
	struct recorder *r = *state;

	add_name(r, 0, "a", 2, false);
	add_name(r, 0, "b", 2, false);
	post(r, new_exchange(1, "a", "b"));
	expect_said(r, "scan 0");
}

static void test_a_moved_directory_is_read_for_what_is_excluded(void **state)
{
	struct recorder *r = *state;
	struct event *ev = new_move(0, "d", 0, "e");

	r->source.rules.exclude_count = 1;
	add_name(r, 0, "d", 5, true);
	ev->known = ev->directory = true;
	ev->key = key_of(5);
	post(r, ev);
	expect_said(r, "below 5");
}

static void test_an_impossible_event_holds_up_no_other(void **state)
{
	struct recorder *r = *state;

	add_name(r, 0, "d", 5, true);
	post(r, new_move(0, "d", 5, "itself"));
	add_name(r, 0, "a", 1, false);
	expect_said(r, "tree");
	expect_paths(r, 1, "a\n");
}

/* Directory 6 is in 5 as far as the catalog knows.  On disk it was moved to the
 * root, and then 5 into it, but the first of the two events was lost. */
static void lose_a_move(struct recorder *r)
{
	add_name(r, 0, "d", 5, true);
	add_name(r, 5, "e", 6, true);
	add_name(r, 6, "f", 1, false);
	settle(r);
}

static void test_a_directory_is_never_below_itself(void **state)
{
	struct recorder *r = *state;

	lose_a_move(r);
	post(r, new_move(0, "d", 6, "d"));
	expect_said(r, "tree");
	expect_paths(r, 1, "d/e/f\n");
	add_name(r, 6, "d", 5, true);
	expect_said(r, "tree");
	expect_paths(r, 1, "d/e/f\n");
}

static void test_a_metadata_change_keeps_the_digests(void **state)
{
	struct recorder *r = *state;
	struct event *ev = new_event(EVENT_METADATA, 1);
	struct file_record rec;

	add_name(r, 0, "a", 1, false);
	post(r, new_result(1, 77));
	ev->before = ev->identity = identity_of(77);
	ev->identity.ctime_ns = 5;
	post(r, ev);
	settle(r);
	assert_int_equal(get_file(r, 1, &rec), 0);
	assert_int_equal(rec.state, FILE_FRESH);
	assert_true(file_identity_equal(&rec.identity,
					&(struct file_identity){ 77, 77, 5 }));
}

/* ---- what was read from disk ---- */

static struct source_listing *new_listing(struct recorder *r, const char *names)
{
	struct source_listing *l = calloc(1, sizeof(*l));

	assert_non_null(l);
	l->directory = ROOT;
	l->version = commit_names_version(&r->c, &ROOT);
	for (; *names; names++) {
		char name[2] = { *names, '\0' };
		struct source_entry entry = {
			.key = key_of((uint64_t)*names),
			.identity = identity_of(1),
			.directory = *names < 'a',
			.name = strdup(name),
		};

		assert_int_equal(source_listing_add(l, &entry), 0);
	}
	source_listing_sort(l);
	return l;
}

static int post_listing(struct recorder *r, struct source_listing *l)
{
	struct event *ev = event_new(EVENT_LISTING);

	assert_non_null(ev);
	ev->listing = l;
	return commit_post(&r->c, ev);
}

/* As above, and the scan lists 6 before it lists the root. */
static void test_a_listing_that_contradicts_names_is_used_all_the_same(
	void **state)
{
	struct recorder *r = *state;
	struct source_listing *l;
	struct file_record rec;

	add_name(r, 0, "d", 'D', true);
	add_name(r, 'D', "e", 'E', true);
	settle(r);
	l = new_listing(r, "DFgh");
	l->directory = key_of('E');
	l->version = commit_names_version(&r->c, &l->directory);
	assert_int_equal(post_listing(r, l), 0);
	expect_said(r, "tree");
	expect_paths(r, 'g', "d/e/g\n");
	expect_paths(r, 'h', "d/e/h\n");
	assert_int_equal(get_file(r, 'F', &rec), 0);
	assert_int_equal(post_listing(r, new_listing(r, "E")), 0);
	l = new_listing(r, "DFgh");
	l->directory = key_of('E');
	l->version = commit_names_version(&r->c, &l->directory);
	assert_int_equal(post_listing(r, l), 0);
	settle(r);
	expect_paths(r, 'g', "E/g\n");
	assert_int_equal(get_file(r, 'D', &rec), 0);
}

static void test_a_listing_is_compared_with_the_catalog(void **state)
{
	struct recorder *r = *state;
	struct source_listing *l;
	struct file_record rec;

	assert_int_equal(post_listing(r, new_listing(r, "Dabc")), 0);
	expect_said(r, "pending");
	assert_int_equal(get_file(r, 'b', &rec), 0);
	assert_int_equal(rec.state, FILE_PENDING);
	l = new_listing(r, "DEac");
	l->shallow = true;
	assert_int_equal(post_listing(r, l), 0);
	expect_said(r, "scan 69");
	assert_int_equal(get_file(r, 'b', &rec), -ENOENT);
	assert_int_equal(get_file(r, 'c', &rec), 0);
}

static void test_what_is_older_than_a_change_of_names_is_refused(void **state)
{
	struct recorder *r = *state;
	struct source_listing *l = new_listing(r, "ab");
	struct event *ev = new_name(EVENT_NAME_ADDED, 0, "a", 'a');

	ev->learned = true;
	ev->version = commit_names_version(&r->c, &ROOT);
	commit_names_changed(&r->c, &ROOT);
	post(r, new_name(EVENT_NAME_REMOVED, 0, "a", 'a'));
	assert_int_equal(post_listing(r, l), -ESTALE);
	assert_int_equal(l->count, 2); /* still the caller's */
	source_listing_free(l);
	assert_int_equal(commit_post(&r->c, ev), -ESTALE);
}

/* ---- a catalog that cannot be written ---- */

static atomic_bool disk_full;

/* These stand before the C library's, with which LMDB writes. */
ssize_t pwrite(int fd, const void *data, size_t len, off_t offset)
{
	if (!atomic_load(&disk_full))
		return syscall(SYS_pwrite64, fd, data, len, offset);
	errno = ENOSPC;
	return -1;
}

ssize_t writev(int fd, const struct iovec *parts, int count)
{
	if (!atomic_load(&disk_full))
		return syscall(SYS_writev, fd, parts, count);
	errno = ENOSPC;
	return -1;
}

static void wait_settled(struct recorder *r)
{
	struct commit_counts counts;

	pthread_mutex_lock(&r->lock);
	for (commit_counts(&r->c, &counts); counts.events || counts.error;
	     commit_counts(&r->c, &counts))
		pthread_cond_wait(&r->more, &r->lock);
	pthread_mutex_unlock(&r->lock);
}

enum { STUCK = 4096 }; /* so many results are kept */

static void test_results_are_kept_while_nothing_can_be_written(void **state)
{
	struct recorder *r = *state;
	struct event *ev = new_result(1, 77);
	struct result *result = ev->result;
	int i;

	add_name(r, 0, "a", 1, false);
	settle(r);
	atomic_store(&disk_full, true);
	for (i = 0; i < STUCK; i++)
		post(r, new_result(1, 1000 + (uint64_t)i));
	assert_int_equal(commit_settle(&r->c), -ENOSPC);
	assert_int_equal(commit_post(&r->c, ev), -ENOSPC);
	assert_int_equal(result->key.inode, 1); /* still the caller's */
	result_free(result);
	assert_false(has_said(r, "result 1"));
	atomic_store(&disk_full, false);
	wait_settled(r);
	expect_said(r, "result 1");
	/* What was refused is hashed again. */
	assert_true(has_said(r, "pending"));
	assert_true(has_said(r, "tree"));
	assert_int_equal(r->lines, 2);
}

/* ---- more events than are written, in a host that is always busy ---- */

enum {
	MANY = 100000, /* of these none may be lost */
	TOO_MANY = 262144,
};

static bool gate_is_open(struct recorder *r)
{
	return atomic_load(&r->c.gate.open);
}

static size_t waiting(struct recorder *r)
{
	struct commit_counts counts;

	commit_counts(&r->c, &counts);
	return counts.events;
}

static void post_one(struct recorder *r)
{
	post(r, new_event(EVENT_FORGET, 1000001));
}

/* Nothing is left to be written, and what comes now may wait.  Each batch begins
 * with the question whether somebody waits for it. */
static void wait_closed(struct recorder *r)
{
	do {
		post_one(r);
		while (waiting(r))
			sched_yield();
	} while (gate_is_open(r));
}

static void test_many_events_are_written_at_once(void **state)
{
	struct recorder *r = *state;
	struct catalog_txn *txn;
	int i;

	wait_closed(r);
	txn = begin_write(&r->f);
	post_one(r);
	assert_false(gate_is_open(r));
	for (i = 0; i < MANY; i++)
		post_one(r);
	assert_true(gate_is_open(r));
	catalog_abort(txn);
	assert_int_equal(commit_settle(&r->c), 0);
	wait_closed(r);
}

static void test_too_many_events_become_a_scan(void **state)
{
	struct recorder *r = *state;
	struct catalog_txn *txn;
	struct event *ev;
	int i, err = 0;

	txn = begin_write(&r->f);
	for (i = 0; i <= TOO_MANY && !err; i++)
		err = commit_post(&r->c, new_event(EVENT_FORGET, 1));
	assert_int_equal(err, -ENOBUFS);
	assert_true(has_said(r, "tree"));
	ev = new_result(1, 77);
	post(r, ev);
	catalog_abort(txn);
	expect_said(r, "result 1");
}

struct scan_thread {
	struct recorder *r;
	atomic_int thread;
	atomic_bool passed;
	size_t found; /* events when it passed */
};

static void *wait_room(void *arg)
{
	struct scan_thread *s = arg;

	atomic_store(&s->thread, (int)syscall(SYS_gettid));
	assert_true(commit_wait_room(&s->r->c));
	s->found = waiting(s->r);
	atomic_store(&s->passed, true);
	return NULL;
}

static bool is_asleep(int thread)
{
	char path[64], state = 0;
	FILE *file;

	(void)snprintf(path, sizeof(path), "/proc/self/task/%d/stat", thread);
	file = thread ? fopen(path, "r") : NULL;
	if (!file)
		return false;
	if (fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
		state = 0;
	fclose(file);
	return state == 'S';
}

static void test_the_scan_waits_for_room(void **state)
{
	struct recorder *r = *state;
	struct scan_thread s = { .r = r };
	struct catalog_txn *txn;
	pthread_t thread;
	int i;

	txn = begin_write(&r->f);
	for (i = 0; i < MANY; i++)
		post_one(r);
	assert_int_equal(pthread_create(&thread, NULL, wait_room, &s), 0);
	while (!atomic_load(&s.passed) && !is_asleep(atomic_load(&s.thread)))
		sched_yield();
	catalog_abort(txn);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_in_range(s.found, 0, MANY / 2);
}

/* ---- the end ---- */

static void test_what_was_posted_is_written_at_the_end(void **state)
{
	struct recorder *r = *state;
	struct file_record rec;

	add_name(r, 0, "a", 1, false);
	commit_unblock(&r->c);
	assert_int_equal(commit_settle(&r->c), -ECANCELED);
	assert_false(commit_wait_room(&r->c));
	commit_stop(&r->c);
	assert_int_equal(get_file(r, 1, &rec), 0);
	assert_int_equal(commit_post(&r->c, new_event(EVENT_FORGET, 1)),
			 -ECANCELED);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_a_result_is_in_the_catalog_and_the_index),
		TEST(test_a_file_that_cannot_be_read),
		TEST(test_what_is_not_known_is_looked_for),
		TEST(test_what_a_batch_asks_for_is_asked_within_it),
		TEST(test_a_learned_directory_is_read),
		TEST(test_a_missing_file_is_looked_for_where_it_was),
		TEST(test_moves),
		TEST(test_a_move_that_the_scan_has_seen),
		TEST(test_a_move_that_contradicts_the_catalog),
		TEST(test_an_exchange),
		TEST(test_an_exchange_that_was_seen_in_part),
		TEST(test_a_moved_directory_is_read_for_what_is_excluded),
		TEST(test_an_impossible_event_holds_up_no_other),
		TEST(test_a_directory_is_never_below_itself),
		TEST(test_a_listing_that_contradicts_names_is_used_all_the_same),
		TEST(test_a_metadata_change_keeps_the_digests),
		TEST(test_a_listing_is_compared_with_the_catalog),
		TEST(test_what_is_older_than_a_change_of_names_is_refused),
		TEST(test_results_are_kept_while_nothing_can_be_written),
		TEST(test_many_events_are_written_at_once),
		TEST(test_too_many_events_become_a_scan),
		TEST(test_the_scan_waits_for_room),
		TEST(test_what_was_posted_is_written_at_the_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
