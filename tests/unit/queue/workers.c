/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/clock.h"
#include "core/digest/fingerprint.h"
#include "core/extract/client.h"
#include "core/queue/event.h"
#include "core/queue/hash.h"
#include "tests/support/digest_values.h"
#include "tests/support/temp_tree.h"
#include "tests/support/test.h"
#include "tests/support/catalog_set.h"

/*
 * The workers without an engine: the test takes the place of the committer and
 * the scan, and writes down what it is told, a line each: "result NAME SIZE",
 * "failed NAME ERRNO", "excluded NAME", "missing", "path NAME", "settle".
 */
enum { NAMES = 8, RESULTS = 16 };

struct recorder {
	struct temp_tree t;
	const char *names[NAMES]; /* of the files that the host knows */
	struct queue queue;
	struct logger log;
	atomic_bool stopping;
	struct engine_listener listener;
	struct hasher hasher;
	atomic_int use;       /* of all files: enum source_use */
	atomic_bool closes;   /* a closing file is closed when caught up */
	atomic_bool metadata; /* a metadata change is on its way */
	atomic_int error;     /* of the last commit */

	/* Under the lock of the tree: */
	struct result *results[RESULTS]; /* owned */
	size_t result_count;
	int refusals; /* so many results cannot be posted */
};

/* A file of those that the host knows. */
static int open_inode(const struct recorder *r, ino_t inode,
		      const char **name_out)
{
	char path[300];
	struct stat st;
	size_t i;

	for (i = 0; i < NAMES && r->names[i]; i++) {
		path_in(&r->t, r->names[i], path, sizeof(path));
		if (!lstat(path, &st) && st.st_ino == inode) {
			*name_out = r->names[i];
			return open(path, O_PATH | O_CLOEXEC);
		}
	}
	return -ENOENT;
}

static void record_key(struct recorder *r, const char *word,
		       const struct file_key *key, const char *rest)
{
	const char *name = "?";
	int fd = open_inode(r, key->inode, &name);
	char line[300];

	if (fd >= 0)
		close(fd);
	(void)snprintf(line, sizeof(line), "%s %s%s", word, name, rest);
	record(&r->t, line);
}

static int post_result(struct recorder *r, struct result *result)
{
	char rest[32];
	bool refused;

	pthread_mutex_lock(&r->t.lock);
	refused = r->refusals > 0;
	r->refusals -= refused;
	assert_true(r->result_count < RESULTS);
	if (!refused)
		r->results[r->result_count++] = result;
	pthread_mutex_unlock(&r->t.lock);
	if (refused)
		return -ENOSPC;
	(void)snprintf(rest, sizeof(rest), " %d",
		       result->error ? result->error :
				       (int)result->digests.size);
	record_key(r, result->error ? "failed" : "result", &result->key, rest);
	return 0;
}

/* In place of the list of events. */
static struct recorder *current;
int events_post(struct event_list *l, struct event *ev)
{
	struct recorder *r = current;
	int err = 0;

	(void)l;

	if (ev->kind == EVENT_RESULT)
		err = post_result(r, ev->result);
	else if (ev->kind == EVENT_FORGET)
		record_key(r, "excluded", &ev->key, "");
	else if (ev->kind == EVENT_MISSED)
		record(&r->t, "missing");
	ev->result = NULL;
	event_free(ev);
	return err;
}

static void report_path(void *ctx, int fd, const struct file_key *key)
{
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_ino, key->inode);
	record_key(ctx, "path", key, "");
}

void events_counts(struct event_list *l, struct event_counts *out)
{
	(void)l;
	*out = (struct event_counts){
		.metadata_changes = atomic_load(&current->metadata),
		.error = atomic_load(&current->error),
	};
}

void events_wait_writable(struct event_list *l)
{
	(void)l;
}

int events_settle(struct event_list *l)
{
	(void)l;
	record(&current->t, "settle");
	atomic_store(&current->metadata, false);
	return 0;
}

/* In place of kin-extract, which is never asked for a text here. */
struct extract_client {
	char unused;
};

int extract_open_more(const struct extract_client *c, bool background,
		      struct extract_client **out)
{
	(void)c;
	(void)background;
	*out = NULL;
	return 0;
}

void extract_free(struct extract_client *c)
{
	(void)c;
}

void extract_stop_when(struct extract_client *c, bool (*stop)(void *arg),
		       void *arg)
{
	(void)c;
	(void)stop;
	(void)arg;
}

int extract_begin(struct extract_client *c, int fd, uint32_t owner,
		  const struct extract_limits *limits)
{
	(void)c;
	(void)fd;
	(void)owner;
	(void)limits;
	return -EIO;
}

int extract_next(struct extract_client *c, struct extract_piece *out)
{
	(void)c;
	(void)out;
	return -EIO;
}

static bool catch_up(void *ctx)
{
	struct recorder *r = ctx;

	if (atomic_load(&r->closes))
		atomic_store(&r->use, SOURCE_UNUSED);
	return true;
}

static int open_known(void *ctx, dev_t device, ino_t inode)
{
	const char *name;

	(void)device;
	return open_inode(ctx, inode, &name);
}

static enum source_use get_use(void *ctx, dev_t device, ino_t inode)
{
	struct recorder *r = ctx;

	(void)device;
	(void)inode;
	return (enum source_use)atomic_load(&r->use);
}

/* ---- set up ---- */

static void init_hasher(struct recorder *r)
{
	static const struct extract_client extract;
	const struct engine_parts context = {
		.source = &r->t.source,
		.catalog = r->t.catalog,
		.queue = &r->queue,
		.log = &r->log,
		.stopping = &r->stopping,
		.digest_set = DIGEST_DEFAULT,
		.workers = 2,
		.extract = &extract,
		.up = &r->listener,
	};

	r->listener = (struct engine_listener){
		.ctx = r,
		.report_path = report_path,
	};
	assert_int_equal(queue_init(&r->queue, 2), 0);
	hash_init(&r->hasher, &context);
	assert_int_equal(queue_start(&r->queue), 0);
}

static int set_up(void **state)
{
	struct recorder *r = calloc(1, sizeof(*r));

	assert_non_null(r);
	current = r;
	temp_tree_make(&r->t);
	r->t.source.ctx = r;
	r->t.source.open_known = open_known;
	r->t.source.use = get_use;
	r->t.source.catch_up = catch_up;
	init_hasher(r);
	*state = r;
	return 0;
}

static int tear_down(void **state)
{
	struct recorder *r = *state;
	size_t i;

	atomic_store(&r->stopping, true);
	queue_stop(&r->queue);
	hash_stop(&r->hasher);
	for (i = 0; i < r->result_count; i++) {
		queue_committed(&r->queue, r->results[i]);
		result_free(r->results[i]);
	}
	queue_release(&r->queue);
	temp_tree_remove(&r->t);
	free(r);
	return 0;
}

static void make_known(struct recorder *r, const char *name, const char *data,
		       size_t len)
{
	size_t i = 0;

	make_file(&r->t, name, data, len);
	while (r->names[i])
		i++;
	assert_true(i < NAMES);
	r->names[i] = name;
}

/* ---- waiting ---- */

struct answer {
	struct recorder *r;
	bool given, found;
	int result, error;
};

static void answer(void *arg, int result, const struct result *found)
{
	struct answer *a = arg;

	pthread_mutex_lock(&a->r->t.lock);
	a->given = true;
	a->result = result;
	if (found)
		a->error = found->error;
	a->found = found != NULL;
	pthread_cond_broadcast(&a->r->t.more);
	pthread_mutex_unlock(&a->r->t.lock);
}

/* As the reader of an attribute does. */
static void wait_for_key(struct recorder *r, const struct file_key *key)
{
	struct answer a = { .r = r };
	struct parked_request parked = { .deadline_ms = INT64_MAX,
					 .done = answer,
					 .arg = &a };

	assert_int_equal(queue_park(&r->queue, key, &parked), 0);
	pthread_mutex_lock(&r->t.lock);
	while (!a.given)
		pthread_cond_wait(&r->t.more, &r->t.lock);
	pthread_mutex_unlock(&r->t.lock);
	assert_int_equal(a.result, 0);
}

static void wait_for(struct recorder *r, const char *name)
{
	struct file_identity identity;
	struct file_key key;

	get_state(&r->t, name, &key, &identity);
	wait_for_key(r, &key);
}

static void expect_nothing(struct recorder *r)
{
	pthread_mutex_lock(&r->t.lock);
	assert_int_equal(r->t.lines.len, 0);
	pthread_mutex_unlock(&r->t.lock);
}

/* ---- which files are hashed ---- */

#define WITH_FIXTURE(name) TEST_WITH(name, set_up, tear_down)

WITH_FIXTURE(test_a_file_that_is_waited_for)
{
	struct recorder *r = *state;
	struct fingerprint *fp;
	struct digests want;

	make_known(r, "a", "some text", 9);
	wait_for(r, "a");
	expect(&r->t, "path a\nresult a 9\n");
	assert_int_equal(fingerprint_new(DIGEST_DEFAULT, &fp), 0);
	assert_int_equal(fingerprint_begin(fp), 0);
	assert_int_equal(fingerprint_update(fp, "some text", 9), 0);
	assert_int_equal(fingerprint_final(fp, &want), 0);
	assert_memory_equal(r->results[0]->digests.xxh128, want.xxh128, 16);
	digests_release(&want);
	fingerprint_free(fp);
	assert_int_equal(atomic_load(&r->hasher.files), 1);
	assert_int_equal(atomic_load(&r->hasher.bytes), 9);
}

WITH_FIXTURE(test_a_file_of_the_scan)
{
	struct recorder *r = *state;
	struct file_identity identity;
	struct file_key key;

	make_known(r, "a", "some text", 9);
	get_state(&r->t, "a", &key, &identity);
	assert_int_equal(queue_push(&r->queue, &key, JOB_SCAN, NULL), 0);
	expect(&r->t, "result a 9\n");
}

WITH_FIXTURE(test_a_file_that_is_not_there)
{
	struct recorder *r = *state;
	struct file_key key = r->t.source.root;

	key.inode += 1000000;
	wait_for_key(r, &key);
	expect(&r->t, "missing\n");
}

WITH_FIXTURE(test_a_file_that_a_rule_excludes)
{
	struct recorder *r = *state;

	make_known(r, "a.tmp", "some text", 9);
	wait_for(r, "a.tmp");
	expect(&r->t, "excluded a.tmp\n");
	assert_int_equal(atomic_load(&r->hasher.files), 0);
}

static void record_state(struct recorder *r, const struct file_key *key,
			 const struct file_identity *identity)
{
	struct catalog_txn *txn;

	assert_int_equal(catalog_write(r->t.catalog, &txn), 0);
	assert_int_equal(catalog_file_set_failed(txn, key, identity, EIO), 0);
	assert_int_equal(catalog_commit(txn, NULL), 0);
}

WITH_FIXTURE(test_a_recorded_file_is_not_read)
{
	struct recorder *r = *state;
	struct file_identity identity;
	struct file_key key;

	make_known(r, "a", "some text", 9);
	get_state(&r->t, "a", &key, &identity);
	record_state(r, &key, &identity);
	wait_for(r, "a");
	expect_nothing(r);
	/* Unless it may have changed unseen. */
	assert_int_equal(queue_push_changed(&r->queue, &key, &identity), 0);
	expect(&r->t, "path a\nresult a 9\n");
}

WITH_FIXTURE(test_a_metadata_change_is_waited_for)
{
	struct recorder *r = *state;
	struct file_identity identity;
	struct file_key key;

	make_known(r, "a", "some text", 9);
	get_state(&r->t, "a", &key, &identity);
	identity.ctime_ns--;
	record_state(r, &key, &identity);
	atomic_store(&r->metadata, true);
	wait_for(r, "a");
	expect(&r->t, "settle\npath a\nresult a 9\n");
}

WITH_FIXTURE(test_a_file_that_is_written)
{
	struct recorder *r = *state;

	make_known(r, "a", "some text", 9);
	atomic_store(&r->use, SOURCE_WRITTEN);
	wait_for(r, "a");
	expect_nothing(r);
	atomic_store(&r->use, SOURCE_CLOSING); /* and stays so */
	wait_for(r, "a");
	expect_nothing(r);
	atomic_store(&r->use, SOURCE_CLOSING);
	atomic_store(&r->closes, true);
	wait_for(r, "a");
	expect(&r->t, "path a\nresult a 9\n");
}

WITH_FIXTURE(test_a_result_that_cannot_be_posted)
{
	struct recorder *r = *state;

	make_known(r, "a", "some text", 9);
	r->refusals = 1;
	wait_for(r, "a");
	expect(&r->t, "path a\n");
	wait_for(r, "a");
	expect(&r->t, "path a\nresult a 9\n");
}

/* A hole, then bytes, larger than what one thread does alone. */
static void make_large(struct recorder *r, const char *name,
		       struct digests *digests_out)
{
	enum { MIB = 1 << 20, HOLE = 70, ALL = 80 };
	char *data = calloc(1, MIB), path[300];
	struct fingerprint *fp;
	FILE *out;
	int i;

	assert_non_null(data);
	make_known(r, name, "", 0);
	path_in(&r->t, name, path, sizeof(path));
	assert_int_equal(truncate(path, HOLE * MIB), 0);
	out = fopen(path, "a");
	assert_non_null(out);
	assert_int_equal(
		fingerprint_new(DIGEST_DEFAULT | DIGEST_BIT(DIGEST_IDENTITY),
				&fp),
		0);
	fingerprint_set_key(fp, catalog_key(r->t.catalog));
	assert_int_equal(fingerprint_begin_file(fp, "", ALL * MIB, 0), 0);
	for (i = 0; i < ALL; i++) {
		memset(data, i < HOLE ? 0 : i, MIB);
		assert_int_equal(fingerprint_update(fp, data, MIB), 0);
		if (i >= HOLE)
			assert_int_equal(fwrite(data, 1, MIB, out), MIB);
	}
	assert_int_equal(fclose(out), 0);
	assert_int_equal(fingerprint_final(fp, digests_out), 0);
	fingerprint_free(fp);
	free(data);
}

WITH_FIXTURE(test_a_large_file_with_a_hole)
{
	struct recorder *r = *state;
	struct digests want;

	make_large(r, "a", &want);
	wait_for(r, "a");
	expect(&r->t, "path a\nresult a 83886080\n");
	assert_true(digests_are_equal(&r->results[0]->digests, &want));
	digests_release(&want);
}

/* ---- the pending list ---- */

WITH_FIXTURE(test_pending_files_are_given_to_the_queue)
{
	struct recorder *r = *state;
	struct file_identity identity;
	struct queue_counts counts;
	struct catalog_txn *txn;
	struct file_key key;

	make_known(r, "a", "some text", 9);
	get_state(&r->t, "a", &key, &identity);
	assert_int_equal(catalog_write(r->t.catalog, &txn), 0);
	assert_int_equal(catalog_file_set_pending(txn, &key, &identity), 0);
	assert_int_equal(catalog_commit(txn, NULL), 0);
	queue_want(&r->queue, QUEUE_FEED, 0);
	expect(&r->t, "result a 9\n");
	do {
		sched_yield();
		queue_counts(&r->queue, &counts);
	} while (counts.feeding);
}

/* Waits until the job for texts has run: true: there is a later one. */
static bool texts_are_delayed(struct queue *q)
{
	const uint64_t now = (uint64_t)clock_now_ms();
	bool ended = false, delayed = false;
	struct job *job;

	while (!ended && !delayed) {
		sched_yield();
		pthread_mutex_lock(&q->lock);
		ended = !q->jobs;
		job = TAILQ_FIRST(&q->delayed.jobs);
		delayed = job && job->order > now + 1000;
		pthread_mutex_unlock(&q->lock);
	}
	return delayed;
}

/* They would stay in memory, and be made again in each pass. */
WITH_FIXTURE(test_no_texts_are_made_while_commits_fail)
{
	struct recorder *r = *state;

	atomic_store(&r->error, -ENOSPC);
	queue_want(&r->queue, QUEUE_TEXT, 0);
	assert_true(texts_are_delayed(&r->queue));
	atomic_store(&r->error, 0);
	queue_want(&r->queue, QUEUE_TEXT, 0);
	assert_false(texts_are_delayed(&r->queue));
}
