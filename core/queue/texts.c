/* SPDX-License-Identifier: Apache-2.0 */
#include "core/queue/texts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/err.h"
#include "core/base/thread.h"
#include "core/extract/sketch.h"
#include "core/queue/event.h"
#include "core/queue/hash_impl.h"

enum {
	BUSY_MS = 200,     /* until it is looked again whether all is hashed */
	AGAIN_MS = 2000,   /* until the next pass, doubled */
	AGAIN_DOUBLED = 5, /* ... so often */
	BROKEN_MS = 60000, /* kin-extract cannot be started */
	COPIES_TRIED = 16, /* files of one content */
};

/* ---- one file ---- */

static enum text_state state_of(const struct extract_result *r, bool has_text)
{
	switch (r->status) {
	case EXTRACT_OK:
		return has_text ? TEXT_YES : TEXT_NONE;
	case EXTRACT_NO_TEXT:
		return TEXT_NONE;
	case EXTRACT_ENCRYPTED:
		return TEXT_ENCRYPTED;
	case EXTRACT_UNSUPPORTED:
		/* It was no document after all. */
		return r->kind == EXTRACT_UNKNOWN ? TEXT_NONE : TEXT_FAILED;
	default:
		return TEXT_FAILED;
	}
}

/* Has the committer write what became of it. */
static int post(struct text_reader *t, const struct file_key *key,
		const struct file_identity *identity,
		const struct extract_result *r, const struct sketch *sketch)
{
	const struct engine_listener *up = t->hasher->context.up;
	struct event *ev = event_new(EVENT_TEXT);
	uint8_t packed[SKETCH_PACKED_MAX];
	int err = 0;

	if (!ev)
		return -ENOMEM;
	ev->key = *key;
	ev->identity = *identity;
	ev->text = calloc(1, sizeof(*ev->text));
	if (ev->text && sketch)
		err = buf_append(&ev->text->sketch, packed,
				 sketch_pack(sketch, packed));
	if (!ev->text || err) {
		event_free(ev);
		return -ENOMEM;
	}
	ev->text->text = (struct content_text){
		.state = state_of(r, sketch != NULL),
		.why = r->status == EXTRACT_UNSUPPORTED ? TEXT_UNREADABLE :
							  (uint8_t)r->status,
		.date = r->date,
	};
	return up->post(up->ctx, ev);
}

/* -EAGAIN: the file is not what the catalog knows, or is being written. */
static int read_file(struct text_reader *t, const struct file_key *key,
		     const struct file_identity *identity)
{
	const struct hash_context *c = &t->hasher->context;
	const struct sketch *sketch = NULL;
	struct extract_result result;
	struct source_found found;
	int err = worker_open_same(c, key, identity, &found);

	if (err)
		return err;
	err = extract_sketch_read(t->sketch, t->client, found.fd,
				  found.st.st_uid, &sketch, &result);
	if (!err && (atomic_load(c->stopping) ||
		     !worker_has_identity(found.fd, identity)))
		err = -EAGAIN;
	if (!err)
		err = post(t, key, identity, &result, sketch);
	close(found.fd);
	return err;
}

/* ---- one content ---- */

/* The files with the content, and their identities: how many. */
static int find_copies(struct text_reader *t, uint32_t content,
		       struct file_key keys[COPIES_TRIED],
		       struct file_identity identities[COPIES_TRIED])
{
	struct catalog_txn *txn;
	struct file_record rec;
	int count = 0, err = catalog_read(t->hasher->context.catalog, &txn);

	if (err)
		return err;
	while (!err && count < COPIES_TRIED &&
	       !catalog_copy_after(txn, content,
				   count ? &keys[count - 1] : NULL,
				   &keys[count])) {
		err = catalog_file_get(txn, &keys[count], &rec);
		identities[count++] = rec.identity;
	}
	catalog_abort(txn);
	return err ? err : count;
}

/* -EAGAIN: none of its files can be read now. */
static int make_text(struct text_reader *t, uint32_t content)
{
	struct file_identity identities[COPIES_TRIED];
	struct file_key keys[COPIES_TRIED];
	int count = find_copies(t, content, keys, identities), i, err = -EAGAIN;

	for (i = 0; i < count && err == -EAGAIN; i++)
		err = read_file(t, &keys[i], &identities[i]);
	if (err == -EIO && !t->is_broken)
		logger_print(t->hasher->context.log,
			     "kin-extract cannot be started; texts of "
			     "documents have to wait");
	t->is_broken = err == -EIO;
	return count < 0 ? count : err;
}

/* Makes the next text.  0, -ENOENT: there is no other one; or why none can be
 * made. */
static int make_next(struct text_reader *t)
{
	struct catalog_txn *txn;
	uint32_t content;
	int err = catalog_read(t->hasher->context.catalog, &txn);

	if (err)
		return err;
	err = catalog_text_pending(txn, t->after, t->is_again, &content);
	catalog_abort(txn);
	if (err)
		return err;
	err = make_text(t, content);
	if (err == -EIO || err == -ECANCELED)
		return err;
	t->skipped += err != 0;
	t->after = content;
	return 0;
}

/* ---- those who wait ---- */

enum { GIVEN_UP_MS = 100 }; /* how often it is looked whether one has */

struct text_waiter {
	struct text_waiter *next;
	uint32_t content;
	bool is_done;
};

void text_reader_wait(struct text_reader *t, uint32_t content,
		      int64_t deadline_ms, const struct queue_ticket *ticket)
{
	struct text_waiter w = { .content = content }, **at;
	int64_t now;

	pthread_mutex_lock(&t->lock);
	w.next = t->waiters;
	t->waiters = &w;
	pthread_cond_signal(&t->work);
	crew_want(&t->crew);
	while (!w.is_done && !t->stopped &&
	       (now = clock_now_ms()) < deadline_ms &&
	       !(ticket && atomic_load(&ticket->given_up)))
		cond_wait_until(&t->made, &t->lock,
				now + GIVEN_UP_MS < deadline_ms ?
					now + GIVEN_UP_MS :
					deadline_ms);
	for (at = &t->waiters; *at != &w; at = &(*at)->next)
		;
	*at = w.next;
	pthread_mutex_unlock(&t->lock);
	if (w.is_done)
		(void)t->hasher->context.up->settle(t->hasher->context.up->ctx);
}

/* Makes the text that somebody waits for.  False: nobody does. */
static bool serve_waiter(struct text_reader *t)
{
	struct text_waiter *w = t->waiters;
	uint32_t content;

	while (w && w->is_done)
		w = w->next;
	if (!w)
		return false;
	content = w->content;
	pthread_mutex_unlock(&t->lock);
	(void)make_text(t, content);
	pthread_mutex_lock(&t->lock);
	for (w = t->waiters; w; w = w->next)
		w->is_done |= w->content == content;
	pthread_cond_broadcast(&t->made);
	return true;
}

/* ---- the thread ---- */

static bool all_is_hashed(struct text_reader *t)
{
	struct queue_counts counts;

	queue_counts(t->hasher->context.queue, &counts);
	return !counts.paused && !counts.queued && !counts.running &&
	       !hash_is_feeding(t->hasher);
}

/* Whether there may be a text to be made. */
static bool has_work(const struct text_reader *t)
{
	return t->is_again || catalog_pending_texts(t->hasher->context.catalog);
}

/* The end of a pass.  Returns when there is to be another one. */
static int64_t end_pass(struct text_reader *t)
{
	const unsigned doubled =
		t->passes < AGAIN_DOUBLED ? t->passes : AGAIN_DOUBLED;

	t->is_again = false;
	t->after = 0;
	atomic_store(&t->passed_over, t->skipped);
	t->skipped = 0;
	if (!catalog_pending_texts(t->hasher->context.catalog)) {
		t->passes = 0;
		return INT64_MAX;
	}
	t->passes++;
	return clock_now_ms() + ((int64_t)AGAIN_MS << doubled);
}

/* Does a piece of work.  Returns when to go on. */
static int64_t work(struct text_reader *t)
{
	int err;

	if (!has_work(t))
		return INT64_MAX;
	if (!all_is_hashed(t))
		return clock_now_ms() + BUSY_MS;
	gate_pass(&t->gate);
	err = make_next(t);
	if (err == -ENOENT)
		return end_pass(t);
	/* Nobody shall wait for them. */
	if (t->is_broken)
		atomic_store(&t->passed_over,
			     catalog_pending_texts(t->hasher->context.catalog));
	return err ? clock_now_ms() + BROKEN_MS : 0;
}

static void *reader_run(void *arg)
{
	struct text_reader *t = arg;
	int64_t due_ms = 0, idle_ms = 0;

	thread_set_name("kinfs-text");
	thread_enter_background();
	t->sketch = extract_sketch_new();
	pthread_mutex_lock(&t->lock);
	while (!t->stopped && t->sketch) {
		if (serve_waiter(t)) {
			idle_ms = clock_now_ms();
			continue;
		}
		if (t->wanted && due_ms > clock_now_ms() + BUSY_MS)
			due_ms = clock_now_ms() + BUSY_MS;
		t->wanted = false;
		if (due_ms <= clock_now_ms()) {
			pthread_mutex_unlock(&t->lock);
			due_ms = work(t);
			idle_ms = clock_now_ms();
			pthread_mutex_lock(&t->lock);
		} else if (due_ms < INT64_MAX) {
			cond_wait_until(&t->work, &t->lock, due_ms);
		} else if (!crew_wait(&t->crew, &t->work, due_ms, idle_ms)) {
			break;
		}
	}
	extract_sketch_free(t->sketch);
	t->sketch = NULL;
	crew_leave(&t->crew);
	pthread_mutex_unlock(&t->lock);
	return NULL;
}

void text_reader_wake(struct text_reader *t)
{
	if (!t->client || !catalog_pending_texts(t->hasher->context.catalog))
		return;
	pthread_mutex_lock(&t->lock);
	t->wanted = true;
	pthread_cond_signal(&t->work);
	crew_want(&t->crew);
	pthread_mutex_unlock(&t->lock);
}

bool text_reader_is_busy(struct text_reader *t)
{
	return t->client && catalog_pending_texts(t->hasher->context.catalog) >
				    atomic_load(&t->passed_over);
}

/* ---- life ---- */

int text_reader_init(struct text_reader *t, struct hasher *hasher,
		     struct extract_client *client)
{
	int err = -pthread_mutex_init(&t->lock, NULL);

	t->hasher = hasher;
	t->client = client;
	t->gate.throttle = hasher->context.throttle;
	t->gate.is_idle = true;
	t->is_again = true;
	if (!err)
		err = cond_init_monotonic(&t->work);
	if (!err)
		err = cond_init_monotonic(&t->made);
	return err;
}

static int start_reader(void *reader)
{
	return crew_thread(reader_run, reader);
}

void text_reader_start(struct text_reader *t)
{
	t->crew = (struct crew){ .queue = t->hasher->context.queue,
				 .lock = &t->lock,
				 .start = start_reader,
				 .arg = t,
				 .most = 1 };
	crew_init(&t->crew);
	if (!t->client)
		return;
	extract_stop_when(t->client, t->hasher->context.stopping);
	pthread_mutex_lock(&t->lock);
	t->wanted = true;
	crew_want(&t->crew);
	pthread_mutex_unlock(&t->lock);
}

void text_reader_stop(struct text_reader *t)
{
	pthread_mutex_lock(&t->lock);
	t->stopped = true;
	pthread_cond_signal(&t->work);
	pthread_cond_broadcast(&t->made);
	pthread_mutex_unlock(&t->lock);
	if (t->crew.lock)
		crew_stop(&t->crew);
}

void text_reader_release(struct text_reader *t)
{
	crew_release(&t->crew);
	pthread_cond_destroy(&t->made);
	pthread_cond_destroy(&t->work);
	pthread_mutex_destroy(&t->lock);
}
