/* SPDX-License-Identifier: Apache-2.0 */
#include "core/queue/hash.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/err.h"
#include "core/base/file.h"
#include "core/base/thread.h"
#include "core/digest/fingerprint.h"
#include "core/extract/client.h"
#include "core/extract/sniff.h"
#include "core/queue/event.h"
#include "core/queue/queue_impl.h"
#include "core/source/file.h"

/* A worker takes a job, finds the file, decides whether to read it, reads it and
 * ends the job. */

enum { HASH_CHUNK = 256 * 1024 };

struct hash_worker {
	struct hasher *h;
	const struct engine_parts *context; /* of h */
	enum worker_kind kind;
	struct fingerprint *fp;
	char *chunk;                    /* of HASH_CHUNK bytes */
	struct extract_client *extract; /* of a worker for texts; or NULL */
	bool extracts_idly;             /* it is one of the background */
	struct gate gate;
};

/* One file on its way through a worker. */
struct hash_task {
	struct hash_worker *w;
	const struct engine_parts *c; /* of w */
	struct job *job;
	struct source_found found; /* fd: to read, or -1 */
	struct fingerprint *fp;    /* the worker's, or owned */
	struct file_identity identity;
	uint64_t done;    /* bytes read */
	uint64_t end;     /* of the data or hole that is being digested */
	uint64_t checked; /* done at the last check of the identity */
	int64_t wait_ms;  /* END_LATER only */
	bool is_lacking;  /* END_LATER only: it is not known until when */
	bool is_document; /* as its first bytes look */
};

/* How a job ends that has no result.  0 and errors of reading are results. */
enum task_end {
	END_NOTHING = 1, /* the file need not be read, or the daemon stops */
	END_LATER,       /* it is to be looked at again in wait_ms */
	END_CHANGED,     /* it changed while it was hashed */
	END_OTHER,       /* another worker is to hash it */
};

enum {
	CHECK_BYTES = 16 << 20, /* the identity is compared this often */
	HOLE_BYTES = 256 << 20, /* of a hole between two checks */
	SDHASH_MOST = 65536,    /* bytes of the text: those of an attribute */
	/* Delays until the job is queued again. */
	RETRY_MAX_MS = 30000,
	LACKING_MS = 1000, /* the file cannot be opened now */
	FULL_MS = 100,     /* there is no room to feed the queue */
	CLOSING_MS = 2,    /* SOURCE_CLOSING */
};

/* The file name in an sdhash.  The caller may not know all names of the file,
 * and the one that it used is not known here; so this is sdhash's name for
 * standard input. */
#define SDHASH_NAME "stdin"

/* ---- reading ---- */

static void add_done(struct hash_task *t, uint64_t bytes)
{
	t->done += bytes;
	queue_note_left(t->c->queue, t->job, t->identity.size - t->done);
}

bool hash_has_identity(int fd, const struct file_identity *identity)
{
	struct file_identity now;
	struct stat st;

	if (fstat(fd, &st))
		return false;
	source_get_identity(&st, &now);
	return file_identity_equal(&now, identity);
}

/* Whether the identity of the file has changed since the task began. */
static bool task_is_changed(const struct hash_task *t)
{
	return !hash_has_identity(t->found.fd, &t->identity);
}

static int open_to_read(struct source_found *f)
{
	int fd = f->readable ? f->fd : file_reopen(f->fd);

	if (fd < 0)
		return fd;
	if (fd != f->fd)
		close(f->fd);
	f->fd = fd;
	f->readable = true;
	return 0;
}

int hash_open_same(const struct engine_parts *c, const struct file_key *key,
		   const struct file_identity *identity,
		   struct source_found *out)
{
	if (source_find(c->source, c->catalog, key, SOURCE_FILE, out))
		return -EAGAIN;
	if (!open_to_read(out) && !source_get_use(c->source, &out->st) &&
	    hash_has_identity(out->fd, identity))
		return 0;
	source_found_close(out);
	return -EAGAIN;
}

/* Whether to stop early.  Meanwhile a pause is sat out: the file is not open
 * then, so it may be deleted, or its filesystem unmounted. */
static int check_interrupt(struct hash_task *t)
{
	const struct engine_parts *c = t->c;

	if (atomic_load(c->stopping))
		return END_NOTHING;
	switch (queue_order(c->queue, t->job, t->identity.size - t->done)) {
	case QUEUE_HAND_OVER:
		return END_OTHER;
	case QUEUE_SUSPEND:
		source_found_close(&t->found);
		queue_sit_out_pause(c->queue, t->job);
		return hash_open_same(c, &t->job->key, &t->identity,
				      &t->found) ?
			       END_CHANGED :
			       0;
	case QUEUE_GO_ON:
		break;
	}
	if (t->done - t->checked < CHECK_BYTES)
		return 0;
	t->checked = t->done;
	return task_is_changed(t) ? END_CHANGED : 0;
}

/* Digests the bytes up to t->end. */
static int digest_data(struct hash_task *t)
{
	struct gate *gate = &t->w->gate;
	char *chunk = t->w->chunk;
	uint64_t left;
	ssize_t n;
	int err = 0;

	while (!err && (left = t->end - t->done) > 0) {
		gate_pass_read(gate);
		err = check_interrupt(t);
		if (err)
			return err;
		n = file_pread(t->found.fd, chunk,
			       left < HASH_CHUNK ? (size_t)left : HASH_CHUNK,
			       t->done, atomic_load(&gate->open));
		if (n < 0)
			return (int)n;
		if (n == 0) /* it was truncated, or tells a wrong size */
			return task_is_changed(t) ? END_CHANGED : -ENODATA;
		gate_charge_read(gate, (size_t)n);
		if (!t->done)
			t->is_document = sniff_is_document(
				(const uint8_t *)chunk,
				n < SNIFF_BYTES ? (size_t)n : SNIFF_BYTES);
		add_done(t, (uint64_t)n);
		err = fingerprint_update(t->fp, chunk, (size_t)n);
	}
	return err;
}

/* Digests a hole without reading it. */
static int digest_hole(struct hash_task *t)
{
	uint64_t left;
	int err = 0;

	while (!err && (left = t->end - t->done) > 0) {
		gate_pass(&t->w->gate);
		err = check_interrupt(t);
		if (err)
			return err;
		if (left > HOLE_BYTES)
			left = HOLE_BYTES;
		err = fingerprint_update_zeros(t->fp, left);
		add_done(t, left);
	}
	return err;
}

/* Reads the file and digests it.  -ENODATA: the content ends before the size
 * that the file tells; -EFBIG: it goes on after that. */
static int task_digest(struct hash_task *t, struct digests *out)
{
	struct hole_part part;
	int err = fingerprint_begin_file(t->fp, SDHASH_NAME, t->identity.size,
					 SDHASH_MOST);

	while (!err && t->done < t->identity.size) {
		hole_find(t->found.fd, t->done, t->identity.size, &part);
		t->end = part.end;
		err = part.hole ? digest_hole(t) : digest_data(t);
	}
	if (!err)
		err = told_size_check(t->found.fd, t->identity.size);
	if (err == -ESTALE || (err == -EFBIG && task_is_changed(t)))
		return END_CHANGED;
	if (!err)
		err = fingerprint_final(t->fp, out);
	if (err)
		return err;
	out->is_document = t->is_document;
	if ((!t->job->demanded && source_get_use(t->c->source, &t->found.st)) ||
	    task_is_changed(t)) {
		digests_release(out);
		return END_CHANGED;
	}
	return 0;
}

/* ---- deciding whether to read the file ---- */

static bool get_record(const struct engine_parts *c, const struct file_key *key,
		       struct file_record *out)
{
	struct digests digests = { 0 };
	struct catalog_txn *txn;
	bool known;

	if (catalog_read(c->catalog, &txn))
		return false;
	known = !catalog_file_get(txn, key, out) &&
		(out->state == FILE_FAILED ||
		 (out->state == FILE_FRESH &&
		  !catalog_content_get(txn, out->content, CONTENT_ALL,
				       &digests)));
	catalog_abort(txn);
	digests_release(&digests);
	return known;
}

/* Whether metadata changes were posted and are not committed. */
static bool have_metadata_changes(struct event_list *events)
{
	struct event_counts counts;

	events_counts(events, &counts);
	return counts.metadata_changes && !counts.error;
}

/* Whether the catalog knows what would be read.  If only the ctime differs, the
 * change of metadata may be still to be committed. */
static bool is_recorded(struct hash_task *t)
{
	const struct engine_parts *c = t->c;
	struct file_record rec;
	bool known = !queue_doubts_file(c->queue, &t->job->key) &&
		     get_record(c, &t->job->key, &rec);

	if (known && rec.identity.ctime_ns != t->identity.ctime_ns &&
	    rec.identity.size == t->identity.size &&
	    rec.identity.mtime_ns == t->identity.mtime_ns &&
	    have_metadata_changes(c->events) && !events_settle(c->events))
		known = get_record(c, &t->job->key, &rec);
	return known && file_identity_equal(&rec.identity, &t->identity);
}

/* SOURCE_CLOSING ends when the host has caught up.  If it does not, another
 * descriptor is still open for writing. */
static enum source_use get_use(const struct hash_task *t)
{
	const struct source *source = t->c->source;
	enum source_use use = source_get_use(source, &t->found.st);

	if (use != SOURCE_CLOSING || !source_catch_up(source))
		return use;
	use = source_get_use(source, &t->found.st);
	return use == SOURCE_CLOSING ? SOURCE_WRITTEN : use;
}

/* 0: the file is to be read. */
static int look_at_file(struct hash_task *t)
{
	const struct engine_parts *c = t->c;
	const enum source_use use = get_use(t);
	struct job *job = t->job;

	if (source_skip_rule_at(c->source, t->found.fd, &t->found.st)) {
		(void)events_post(c->events,
				  event_new(EVENT_FORGET, &job->key));
		return END_NOTHING;
	}
	if (use == SOURCE_WRITTEN || (use == SOURCE_UNUSED && is_recorded(t)))
		return END_NOTHING;
	t->wait_ms = CLOSING_MS;
	if (use == SOURCE_CLOSING ||
	    times_are_too_young(source_get_times(c->source, &job->key),
				&t->identity, job->reported,
				clock_now_ms() - job->seen_ms, &t->wait_ms))
		return END_LATER;
	return 0;
}

/* Whether the file may be opened in a moment, because the process lacks something,
 * or the catalog is damaged.  Else returns the error. */
static int or_later(struct hash_task *t, int err)
{
	t->wait_ms = LACKING_MS;
	t->is_lacking = true;
	return err_is_lack(err) || err == -EWOULDBLOCK || err == -EUCLEAN ||
			       err == -ECANCELED ?
		       END_LATER :
		       err;
}

/* Decides whether to read the file that was found, and makes it ready for that. */
static int begin_file(struct hash_task *t)
{
	const struct engine_parts *c = t->c;
	struct job *job = t->job;
	int err;

	source_get_identity(&t->found.st, &t->identity);
	queue_identify(c->queue, job, &t->identity);
	err = job->demanded ? 0 : look_at_file(t);
	if (err)
		return err;
	if (job_is_large(job) && t->w->kind != WORKER_LARGE)
		return END_OTHER;
	if (!job->scanned) /* else the scan has posted the name */
		c->up->report_path(c->up->ctx, t->found.fd, &job->key);
	err = open_to_read(&t->found);
	if (!err && job->demanded)
		err = fingerprint_new(job->demanded, &t->fp);
	if (err)
		return or_later(t, err);
	file_write_out(t->found.fd, &t->identity);
	if (t->identity.size > HASH_CHUNK)
		(void)posix_fadvise(t->found.fd, 0, 0, POSIX_FADV_SEQUENTIAL);
	return 0;
}

/* ---- a job ---- */

/* Gives the committer a reference.  It does not get the result of a file
 * without a name, nor of a digest on demand. */
static bool post_result(const struct hash_task *t, struct result *r)
{
	struct event *ev = NULL;

	if (!r->demanded &&
	    !source_is_removed(t->c->source, t->found.fd, &t->found.st))
		ev = event_new(EVENT_RESULT, NULL);
	if (!ev)
		return false;
	ev->result = r;
	atomic_fetch_add(&r->shared, 1);
	if (!events_post(t->c->events, ev))
		return true;
	result_free(r);
	return false;
}

/* error: a negative errno, and no digests; or 0.  Takes the digests. */
static void end_with_result(struct hash_task *t, int error,
			    struct digests *digests)
{
	struct result *r = calloc(1, sizeof(*r));

	if (!r) {
		if (!error)
			digests_release(digests);
		queue_delay(t->c->queue, t->job, RETRY_MAX_MS, false);
		return;
	}
	r->key = t->job->key;
	r->identity = t->identity;
	r->demanded = t->job->demanded;
	r->error = -error;
	if (!error)
		r->digests = *digests;
	queue_done(t->c->queue, t->job, r, post_result(t, r));
}

/* Ends the job with the outcome (enum task_end, 0, or an error). */
static void end_job(struct hash_task *t, int outcome, struct digests *digests)
{
	struct queue *queue = t->c->queue;
	const unsigned tries = t->job->tries;

	if (outcome == END_CHANGED && t->job->demanded)
		outcome = END_NOTHING; /* requests look again */
	if (outcome > 0)
		source_found_close(&t->found);
	switch (outcome) {
	case END_NOTHING:
		queue_done(queue, t->job, NULL, false);
		break;
	case END_LATER:
		queue_delay(queue, t->job, t->wait_ms, t->is_lacking);
		break;
	case END_CHANGED:
		queue_delay(queue, t->job,
			    tries < 8 ? INT64_C(100) << tries : RETRY_MAX_MS,
			    true);
		break;
	case END_OTHER:
		queue_hand_over(queue, t->job);
		break;
	case -ENOMEM:
		queue_delay(queue, t->job, RETRY_MAX_MS, false);
		break;
	default:
		end_with_result(t, outcome, digests);
	}
}

static void do_job(struct hash_worker *w, struct job *job)
{
	const struct engine_parts *c = w->context;
	struct hash_task t = {
		.w = w, .c = c, .job = job, .fp = w->fp, .found.fd = -1
	};
	struct digests digests;
	int err = source_find(c->source, c->catalog, &job->key, SOURCE_FILE,
			      &t.found);

	if (err == -ENOENT) {
		(void)events_post(c->events,
				  event_new(EVENT_MISSED, &job->key));
		err = END_NOTHING;
	} else if (err) {
		err = or_later(&t, err);
	} else {
		err = begin_file(&t);
	}
	if (!err)
		err = task_digest(&t, &digests);
	if (!err && !job->demanded) {
		atomic_fetch_add(&w->h->files, 1);
		atomic_fetch_add(&w->h->bytes, t.identity.size);
	}
	end_job(&t, err, &digests);
	source_found_close(&t.found);
	if (t.fp != w->fp)
		fingerprint_free(t.fp);
}

/* ---- feeding the queue ---- */

/* How many files are pushed at a time. */
enum { FEED_COUNT = 4096 };

/* Pushes the next files of the catalog's pending list, FEED_COUNT at most. */
static void feed_queue(struct hasher *h, struct job *job)
{
	const struct engine_parts *c = &h->context;
	struct catalog_txn *txn = NULL;
	struct file_record rec;
	struct file_key key;
	int i, err = catalog_read(c->catalog, &txn);

	for (i = 0; i < FEED_COUNT && !err; i++) {
		err = catalog_pending_next(txn, h->feeds ? &h->fed : NULL, &key,
					   &rec);
		if (!err)
			err = queue_push(c->queue, &key, JOB_SCAN, NULL);
		if (!err) {
			h->fed = key;
			h->feeds = true;
		}
	}
	if (txn)
		catalog_abort(txn);
	if (!err) {
		queue_hand_over(c->queue, job);
	} else if (err == -ENOBUFS) {
		queue_delay(c->queue, job, FULL_MS, false);
	} else {
		if (err != -ENOENT && err != -ECANCELED)
			logger_print(c->log, "catalog: %s", err_text(err));
		h->feeds = false;
		queue_done(c->queue, job, NULL, false);
	}
}

/* ---- one worker ---- */

/* Has kin-extract run in the class that is right for the job. */
static void make_text(struct hash_worker *w, struct job *job)
{
	const bool idly = !job->key.inode;
	int err = 0;

	gate_pass(&w->gate);
	if (!w->extract || w->extracts_idly != idly) {
		extract_free(w->extract);
		w->extract = NULL;
		err = extract_open_more(w->context->extract, idly, &w->extract);
	}
	w->extracts_idly = idly;
	if (err)
		queue_delay(w->context->queue, job, RETRY_MAX_MS, false);
	else
		hash_make_text(w->h, w->extract, job);
}

static void worker_free(struct hash_worker *w)
{
	extract_free(w->extract);
	fingerprint_free(w->fp);
	free(w->chunk);
	free(w);
}

static void *worker_run(void *arg)
{
	static const char *const names[WORKER_KINDS] = {
		"kinfs-hash",
		"kinfs-hash-idle",
		"kinfs-hash-big",
		"kinfs-text",
	};
	struct hash_worker *w = arg;
	struct queue *queue = w->context->queue;
	struct job *job;

	thread_set_name(names[w->kind]);
	if (w->kind == WORKER_BACKGROUND)
		thread_enter_background();
	else if (w->kind == WORKER_LARGE)
		thread_lower_io();
	for (;;) {
		if (w->kind == WORKER_BACKGROUND) {
			events_wait_writable(w->context->events);
			gate_set(&w->gate, false);
			gate_pass(&w->gate);
		}
		job = queue_take(queue, w->kind, &w->gate);
		if (!job)
			break;
		if (job->demanded == QUEUE_TEXT)
			make_text(w, job);
		else if (job->demanded == QUEUE_FEED)
			feed_queue(w->h, job);
		else
			do_job(w, job);
	}
	worker_free(w);
	return NULL;
}

static int worker_start(struct crew *crew)
{
	struct hasher *h = crew->arg;
	struct hash_worker *w = calloc(1, sizeof(*w));
	int err;

	if (!w)
		return -ENOMEM;
	w->h = h;
	w->context = &h->context;
	w->kind = (enum worker_kind)(crew - h->context.queue->workers);
	w->gate.throttle = h->context.throttle;
	w->gate.is_idle = w->kind == WORKER_BACKGROUND;
	w->chunk = malloc(HASH_CHUNK);
	err = w->chunk ? fingerprint_new(h->context.digest_set |
						 DIGEST_BIT(DIGEST_IDENTITY),
					 &w->fp) :
			 -ENOMEM;
	if (!err)
		fingerprint_set_key(w->fp, catalog_key(h->context.catalog));
	if (!err)
		err = crew_thread(worker_run, w);
	if (err)
		worker_free(w);
	return err;
}

/* ---- all of them ---- */

void hash_init(struct hasher *h, const struct engine_parts *context)
{
	const unsigned workers = context->workers;
	const unsigned most[WORKER_KINDS] = {
		[WORKER_SERVING] = workers + QUEUE_SPARE,
		[WORKER_BACKGROUND] = workers,
		[WORKER_LARGE] = workers + QUEUE_LARGE_USERS,
		[WORKER_TEXT] =
			context->extract ? workers + QUEUE_SPARE + 1 : 0,
	};
	int kind;

	h->context = *context;
	for (kind = 0; kind < WORKER_KINDS; kind++) {
		struct crew *crew = &context->queue->workers[kind];

		crew->start = worker_start;
		crew->arg = h;
		crew->most = most[kind];
	}
}

void hash_stop(struct hasher *h)
{
	int kind;

	for (kind = 0; kind < WORKER_KINDS && h->context.queue; kind++)
		crew_stop(&h->context.queue->workers[kind]);
}
