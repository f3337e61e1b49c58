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
	struct job *job;
	struct source_found *found; /* fd: to read, or -1 */
	struct fingerprint *fp;     /* the worker's, or owned */
	struct file_identity identity;
	uint64_t done;    /* bytes read */
	uint64_t end;     /* of the data or hole that is being digested */
	uint64_t checked; /* done at the last check of the identity */
	int stop;         /* why to stop early, see check_interrupt() */
	bool is_document; /* as its first bytes look */
};

enum {
	CHECK_BYTES = 16 << 20, /* the identity is compared this often */
	HOLE_BYTES = 256 << 20, /* of a hole between two checks */
	SDHASH_MOST = 65536,    /* bytes of the text: those of an attribute */
};

/* The file name in an sdhash.  The caller may not know all names of the file,
 * and the one that it used is not known here; so this is sdhash's name for
 * standard input. */
#define SDHASH_NAME "stdin"

/* ---- reading ---- */

static void add_done(struct hash_task *t, uint64_t bytes)
{
	t->done += bytes;
	queue_note_left(t->w->context->queue, t->job,
			t->identity.size - t->done);
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
	return !hash_has_identity(t->found->fd, &t->identity);
}

static int open_to_read(struct source_found *f)
{
	int fd;

	if (f->readable)
		return 0;
	fd = file_reopen(f->fd);
	if (fd < 0)
		return fd;
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
	close(out->fd);
	out->fd = -1;
	return -EAGAIN;
}

/* Meanwhile the file is not open: it may be deleted, or its filesystem
 * unmounted. */
static int sit_out_pause(struct hash_task *t)
{
	const struct engine_parts *c = t->w->context;

	close(t->found->fd);
	t->found->fd = -1;
	queue_sit_out_pause(c->queue, t->job);
	return hash_open_same(c, &t->job->key, &t->identity, t->found);
}

/* Why to stop early: -EAGAIN, the file changed; -EINTR, another worker is to
 * hash it; -ECANCELED, all workers end. */
static int check_interrupt(struct hash_task *t)
{
	uint64_t left = t->identity.size - t->done;

	if (atomic_load(t->w->context->stopping))
		return -ECANCELED;
	switch (queue_order(t->w->context->queue, t->job, left)) {
	case QUEUE_HAND_OVER:
		return -EINTR;
	case QUEUE_SUSPEND:
		return sit_out_pause(t);
	case QUEUE_GO_ON:
		break;
	}
	if (t->done - t->checked < CHECK_BYTES)
		return 0;
	t->checked = t->done;
	return task_is_changed(t) ? -EAGAIN : 0;
}

static ssize_t read_in_turn(struct hash_task *t, void *buffer, size_t len)
{
	struct gate *gate = &t->w->gate;
	ssize_t n;

	gate_pass_read(gate);
	t->stop = check_interrupt(t);
	if (t->stop)
		return 0;
	if (!atomic_load(&gate->open)) {
		n = file_read_uncached(t->found->fd, buffer, len, t->done);
	} else {
		n = pread(t->found->fd, buffer, len, (off_t)t->done);
		n = n < 0 ? -errno : n;
	}
	if (n == 0) /* the file was truncated, or tells a wrong size */
		return task_is_changed(t) ? -EAGAIN : -ENODATA;
	if (n > 0)
		gate_charge_read(gate, (size_t)n);
	return n;
}

/* Digests the bytes up to t->end; when t->stop is set, those read before. */
static int digest_data(struct hash_task *t)
{
	uint64_t left;
	ssize_t n;
	int err = 0;

	while (!err && (left = t->end - t->done) > 0) {
		n = read_in_turn(t, t->w->chunk,
				 left < HASH_CHUNK ? (size_t)left : HASH_CHUNK);
		if (n <= 0)
			return (int)n;
		if (!t->done)
			t->is_document = sniff_is_document(
				(const uint8_t *)t->w->chunk,
				n < SNIFF_BYTES ? (size_t)n : SNIFF_BYTES);
		add_done(t, (uint64_t)n);
		err = fingerprint_update(t->fp, t->w->chunk, (size_t)n);
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
		t->stop = check_interrupt(t);
		if (t->stop)
			break;
		if (left > HOLE_BYTES)
			left = HOLE_BYTES;
		err = fingerprint_update_zeros(t->fp, left);
		add_done(t, left);
	}
	return err;
}

/*
 * Reads the file and digests it.  -ENODATA: the content ends before the size
 * that the file tells; -EFBIG: it goes on after that; else see
 * check_interrupt(), or the error of reading.
 */
static int task_digest(struct hash_task *t, struct digests *out)
{
	struct hole_part part;
	int err = fingerprint_begin_file(t->fp, SDHASH_NAME, t->identity.size,
					 SDHASH_MOST);

	if (err)
		return err;
	while (!err && !t->stop && t->done < t->identity.size) {
		hole_find(t->found->fd, t->done, t->identity.size, &part);
		t->end = part.end;
		err = part.hole ? digest_hole(t) : digest_data(t);
	}
	if (!err)
		err = t->stop;
	if (!err)
		err = told_size_check(t->found->fd, t->identity.size);
	if (!err)
		err = fingerprint_final(t->fp, out);
	return err == -ESTALE ? -EAGAIN : err;
}

/* Delays until the job is queued again. */
enum {
	RETRY_MAX_MS = 30000,
	NO_DESCRIPTOR_MS = 1000, /* the file cannot be opened now */
	FULL_MS = 100,           /* there is no room to feed the queue */
	CLOSING_MS = 2,          /* SOURCE_CLOSING */
};

/* ---- the end of a job ---- */

/* Gives the committer a reference.  It does not get the result of a file
 * without a name, nor of a digest on demand. */
static bool post_result(const struct hash_task *t, struct result *r)
{
	struct event *ev = NULL;

	if (!r->demanded && !source_is_removed(t->w->context->source,
					       t->found->fd, &t->found->st))
		ev = event_new(EVENT_RESULT);
	if (!ev)
		return false;
	ev->result = r;
	atomic_fetch_add(&r->shared, 1);
	if (!events_post(t->w->context->events, ev))
		return true;
	result_free(r);
	return false;
}

/* error: positive errno, digests are NULL; or 0.  Takes digests. */
static void end_with_result(struct hash_task *t, int error,
			    struct digests *digests)
{
	const struct engine_parts *c = t->w->context;
	struct result *r = calloc(1, sizeof(*r));

	if (!r) {
		if (digests)
			digests_release(digests);
		queue_delay(c->queue, t->job, RETRY_MAX_MS, false);
		return;
	}
	r->key = t->job->key;
	r->identity = t->identity;
	r->demanded = t->job->demanded;
	r->error = error;
	if (digests)
		r->digests = *digests;
	queue_done(c->queue, t->job, r, post_result(t, r));
}

static void hash_file(struct hash_task *t)
{
	const struct engine_parts *c = t->w->context;
	unsigned tries = t->job->tries;
	struct digests digests;
	int err = task_digest(t, &digests);

	if (err == -EFBIG && task_is_changed(t))
		err = -EAGAIN; /* it has grown */
	if (!err)
		digests.is_document = t->is_document;
	if (!err &&
	    ((!t->job->demanded && source_get_use(c->source, &t->found->st)) ||
	     task_is_changed(t))) {
		digests_release(&digests);
		err = -EAGAIN;
	}
	if (!err && !t->job->demanded) {
		atomic_fetch_add(&t->w->h->files, 1);
		atomic_fetch_add(&t->w->h->bytes, t->identity.size);
	}
	if (!err) {
		end_with_result(t, 0, &digests);
	} else if (err == -EAGAIN && t->job->demanded) {
		queue_done(c->queue, t->job, NULL, false); /* look again */
	} else if (err == -EAGAIN) {
		queue_delay(c->queue, t->job,
			    tries < 8 ? INT64_C(100) << tries : RETRY_MAX_MS,
			    true);
	} else if (err == -EINTR) {
		queue_hand_over(c->queue, t->job);
	} else if (err == -ECANCELED) {
		queue_done(c->queue, t->job, NULL, false);
	} else if (err == -ENOMEM) {
		queue_delay(c->queue, t->job, RETRY_MAX_MS, false);
	} else {
		end_with_result(t, -err, NULL);
	}
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
	const struct engine_parts *c = t->w->context;
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
	const struct engine_parts *c = t->w->context;
	enum source_use use = source_get_use(c->source, &t->found->st);

	if (use != SOURCE_CLOSING || !source_catch_up(c->source))
		return use;
	use = source_get_use(c->source, &t->found->st);
	return use == SOURCE_CLOSING ? SOURCE_WRITTEN : use;
}

/* True when the job was ended without reading the file. */
static bool ends_early(struct hash_task *t)
{
	const struct engine_parts *c = t->w->context;
	const enum source_use use = get_use(t);
	int64_t wait_ms = CLOSING_MS;

	if (source_skip_rule_at(c->source, t->found->fd, &t->found->st)) {
		(void)events_post(c->events,
				  event_new_key(EVENT_FORGET, &t->job->key));
		queue_done(c->queue, t->job, NULL, false);
	} else if (use == SOURCE_WRITTEN ||
		   (use == SOURCE_UNUSED && is_recorded(t))) {
		queue_done(c->queue, t->job, NULL, false);
	} else if (use == SOURCE_CLOSING ||
		   times_are_too_young(
			   source_get_times(c->source, &t->job->key),
			   &t->identity, t->job->reported,
			   clock_now_ms() - t->job->seen_ms, &wait_ms)) {
		queue_delay(c->queue, t->job, wait_ms, false);
	} else {
		return false;
	}
	return true;
}

/* ---- a job ---- */

/* Whether the file may be opened in a moment: the process lacks something, or the
 * catalog is damaged. */
static bool is_passing(int err)
{
	return err_is_lack(err) || err == -EWOULDBLOCK || err == -EUCLEAN ||
	       err == -ECANCELED;
}

static void do_file(struct hash_task *t)
{
	const struct engine_parts *c = t->w->context;
	struct job *job = t->job;
	int err;

	source_get_identity(&t->found->st, &t->identity);
	queue_identify(c->queue, job, &t->identity);
	if (!job->demanded && ends_early(t))
		return;
	if (job_is_large(job) && t->w->kind != WORKER_LARGE) {
		close(t->found->fd); /* a pause may begin when it is handed over */
		t->found->fd = -1;
		queue_hand_over(c->queue, job);
		return;
	}
	if (!job->scanned) /* else the scan has posted the name */
		c->up->report_path(c->up->ctx, t->found->fd, &job->key);
	err = open_to_read(t->found);
	if (!err && job->demanded)
		err = fingerprint_new(job->demanded, &t->fp);
	if (is_passing(err)) {
		queue_delay(c->queue, job, NO_DESCRIPTOR_MS, true);
	} else if (err) {
		end_with_result(t, -err, NULL);
	} else {
		file_write_out(t->found->fd, &t->identity);
		if (t->identity.size > HASH_CHUNK)
			(void)posix_fadvise(t->found->fd, 0, 0,
					    POSIX_FADV_SEQUENTIAL);
		hash_file(t);
	}
	if (t->fp != t->w->fp)
		fingerprint_free(t->fp);
}

static void do_job(struct hash_worker *w, struct job *job)
{
	const struct engine_parts *c = w->context;
	struct source_found found = { .fd = -1 };
	struct hash_task t = {
		.w = w, .job = job, .found = &found, .fp = w->fp
	};
	int err = source_find(c->source, c->catalog, &job->key, SOURCE_FILE,
			      &found);

	if (!err) {
		do_file(&t);
		if (found.fd >= 0)
			close(found.fd);
	} else if (err == -ENOENT) {
		(void)events_post(c->events,
				  event_new_key(EVENT_MISSED, &job->key));
		queue_done(c->queue, job, NULL, false);
	} else if (is_passing(err)) {
		queue_delay(c->queue, job, NO_DESCRIPTOR_MS, true);
	} else {
		end_with_result(&t, -err, NULL);
	}
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
