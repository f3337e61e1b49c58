/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNIT_COMMIT_FIXTURE_H
#define TESTS_UNIT_COMMIT_FIXTURE_H

#include "tests/unit/catalog/fixture.h"

#include <pthread.h>
#include <stdatomic.h>

#include "core/commit/commit.h"
#include "core/queue/queue_impl.h"

/*
 * The committer without an engine: what becomes of events in the catalog and
 * the index, and what the committer asks for, a word each in `said`: "tree",
 * "scan N", "below N", "unknown N"; "[" and "]" are the begin and the end of a
 * batch.  N is an inode number.
 */
struct recorder {
	struct fixture f;
	struct source source;
	struct index *index;
	struct logger log;
	struct throttle throttle;
	struct engine_listener listener;
	struct queue queue;
	struct event_list events;
	struct committer c;
	struct result *last; /* that was posted; a reference */

	pthread_mutex_t lock; /* everything below */
	pthread_cond_t more;
	struct buf said;
	int lines; /* of the log */
};

static inline void say(struct recorder *r, const char *word,
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

/* ---- in place of the scan and the workers ---- */

static struct recorder *current;

void scan_request_tree(struct scanner *s)
{
	(void)s;
	say(current, "tree", NULL);
}

void scan_request(struct scanner *s, const struct file_key *key, bool deep)
{
	(void)s;
	say(current, deep ? "below" : "scan", key);
}

void scan_request_unknown(struct scanner *s, const struct file_key *key)
{
	(void)s;
	say(current, "unknown", key);
}

void scan_defer_requests(struct scanner *s, bool on)
{
	(void)s;
	say(current, on ? "[" : "]", NULL);
}

/* At the end of each batch. */
void hash_want_texts(struct hasher *h)
{
	(void)h;
	pthread_mutex_lock(&current->lock);
	pthread_cond_broadcast(&current->more);
	pthread_mutex_unlock(&current->lock);
}

static inline void print_line(void *ctx, const char *line)
{
	struct recorder *r = ctx;

	(void)line;
	pthread_mutex_lock(&r->lock);
	r->lines++;
	pthread_mutex_unlock(&r->lock);
}

static inline bool is_always_busy(void *ctx)
{
	(void)ctx;
	return true;
}

static inline int set_up(void **state)
{
	struct recorder *r = calloc(1, sizeof(*r));
	struct engine_parts context = {
		.source = &r->source,
		.events = &r->events,
		.log = &r->log,
		.queue = &r->queue,
		.up = &r->listener,
	};

	assert_non_null(r);
	current = r;
	r->throttle = (struct throttle){
		.workers = 1,
		.had_requests = is_always_busy,
	};
	r->listener = (struct engine_listener){
		.ctx = r,
	};
	assert_int_equal(queue_init(&r->queue, 1), 0);
	fixture_init(&r->f);
	fixture_open(&r->f);
	r->source.root = ROOT;
	r->log = (struct logger){ r, print_line };
	assert_int_equal(index_new(&r->index), 0);
	assert_int_equal(throttle_init(&r->throttle), 0);
	assert_int_equal(pthread_mutex_init(&r->lock, NULL), 0);
	assert_int_equal(pthread_cond_init(&r->more, NULL), 0);
	context.catalog = r->f.c;
	context.index = r->index;
	assert_int_equal(events_init(&r->events, &r->throttle), 0);
	commit_init(&r->c, &context);
	assert_int_equal(commit_start(&r->c), 0);
	*state = r;
	return 0;
}

static inline int tear_down(void **state)
{
	struct recorder *r = *state;

	events_unblock(&r->events);
	commit_stop(&r->c);
	events_release(&r->events);
	throttle_release(&r->throttle);
	result_free(r->last);
	queue_stop(&r->queue);
	queue_release(&r->queue);
	index_free(r->index);
	assert_true(catalog_is_open(r->f.c)); /* no damage was found */
	fixture_release(&r->f);
	buf_release(&r->said);
	pthread_cond_destroy(&r->more);
	pthread_mutex_destroy(&r->lock);
	free(r);
	return 0;
}

/* ---- events ---- */

static inline struct event *new_event(enum event_kind kind, uint64_t inode)
{
	struct event *ev = event_new(kind, NULL);

	assert_non_null(ev);
	ev->key = key_of(inode);
	return ev;
}

/* The name of inode in the directory parent; 0 is the root. */
static inline struct event *new_name(enum event_kind kind, uint64_t parent,
				     const char *name, uint64_t inode)
{
	struct event *ev = new_event(kind, inode);

	ev->parent = parent ? key_of(parent) : ROOT;
	ev->name = strdup(name);
	assert_non_null(ev->name);
	return ev;
}

static inline struct event *new_move(uint64_t from, const char *name,
				     uint64_t to, const char *new_name_)
{
	struct event *ev = new_name(EVENT_NAME_MOVED, from, name, 0);

	ev->new_parent = to ? key_of(to) : ROOT;
	ev->new_name = strdup(new_name_);
	assert_non_null(ev->new_name);
	return ev;
}

static inline struct event *new_result(uint64_t inode, uint64_t content)
{
	struct event *ev = event_new(EVENT_RESULT, NULL);
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

/* Keeps a reference to a result. */
static inline void post(struct recorder *r, struct event *ev)
{
	if (ev->result) {
		result_free(r->last);
		r->last = ev->result;
		atomic_fetch_add(&r->last->shared, 1);
	}
	assert_int_equal(events_post(&r->events, ev), 0);
}

/* Whether the queue was told that the last result is in the catalog. */
static inline bool is_committed(struct recorder *r)
{
	bool committed;

	pthread_mutex_lock(&r->queue.lock);
	committed = r->last->committed;
	pthread_mutex_unlock(&r->queue.lock);
	return committed;
}

static inline void expect_committed(struct recorder *r)
{
	assert_int_equal(events_settle(&r->events), 0);
	assert_true(is_committed(r));
}

static inline void add_name(struct recorder *r, uint64_t parent,
			    const char *name, uint64_t inode, bool directory)
{
	struct event *ev = new_name(EVENT_NAME_ADDED, parent, name, inode);

	ev->directory = directory;
	post(r, ev);
}

/* Commits all, and forgets what was said until then. */
static inline void settle(struct recorder *r)
{
	assert_int_equal(events_settle(&r->events), 0);
	pthread_mutex_lock(&r->lock);
	r->said.len = 0;
	pthread_mutex_unlock(&r->lock);
}

static inline bool has_said(struct recorder *r, const char *word)
{
	char line[64];
	bool has;

	(void)snprintf(line, sizeof(line), "%s\n", word);
	pthread_mutex_lock(&r->lock);
	has = r->said.len && strstr(r->said.data, line);
	pthread_mutex_unlock(&r->lock);
	return has;
}

/* Whether the pending list was to be read since the last call. */
static inline bool was_feed_wanted(struct recorder *r)
{
	static const struct file_key none;
	struct job *job;

	pthread_mutex_lock(&r->queue.lock);
	job = job_find(&r->queue, &none, QUEUE_FEED);
	if (job)
		job_drop(&r->queue, job);
	pthread_mutex_unlock(&r->queue.lock);
	return job;
}

static inline void expect_said(struct recorder *r, const char *word)
{
	assert_int_equal(events_settle(&r->events), 0);
	if (!has_said(r, word))
		fail_msg("not said: %s", word);
}

static inline int get_file(struct recorder *r, uint64_t inode,
			   struct file_record *out)
{
	struct catalog_txn *txn = begin_read(&r->f);
	struct file_key key = key_of(inode);
	int err = catalog_file_get(txn, &key, out);

	catalog_abort(txn);
	return err;
}

static inline void expect_paths(struct recorder *r, uint64_t inode,
				const char *want)
{
	struct catalog_txn *txn;

	assert_int_equal(events_settle(&r->events), 0);
	txn = begin_read(&r->f);
	assert_paths(txn, inode, want);
	catalog_abort(txn);
}

#endif
