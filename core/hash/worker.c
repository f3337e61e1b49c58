/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/digest/team.h"
#include "core/engine/engine_impl.h"
#include "core/source/file.h"
#include "core/source/source.h"
#include "core/hash/task.h"
#include "core/source/times.h"

enum {
	RETRY_MAX_MS = 30000,
	CLOSING_MS = 2,
	TOUCHED_MS = 5,
	UNHURRIED_MS = 500,
};

/* ---- what becomes of a job ---- */

static int post_result(void *arg, struct result *r)
{
	struct engine *e = arg;
	struct event *ev = event_new(EVENT_RESULT);

	if (!ev)
		return -ENOMEM;
	ev->result = r;
	return commit_post(&e->commit, ev);
}

/* For a file that has no name any more: who waits gets the result, and nobody
 * will ever ask for it again. */
static int keep_nothing(void *arg, struct result *r)
{
	(void)arg;
	(void)r;
	return -ENOENT;
}

/* Takes digests (NULL with an error). */
static void end_with_result(struct task *t, int error, struct digests *digests)
{
	struct engine *e = t->w->e;
	struct result *r = calloc(1, sizeof(*r));

	if (!r) {
		if (digests)
			digests_release(digests);
		queue_delay(&e->queue, t->job, RETRY_MAX_MS, false);
		return;
	}
	r->key = t->job->key;
	r->identity = t->identity;
	r->error = error;
	if (digests)
		r->digests = *digests;
	queue_done(&e->queue, t->job, r,
		   t->st->st_nlink ? post_result : keep_nothing, e);
}

static void end_unsteady(struct task *t)
{
	unsigned tries = t->job->tries;
	int64_t delay_ms = tries < 8 ? INT64_C(100) << tries : RETRY_MAX_MS;

	queue_delay(&t->w->e->queue, t->job, delay_ms, true);
}

static void forget(struct engine *e, const struct file_key *key,
		   enum event_kind kind)
{
	struct event *ev = calloc(1, sizeof(*ev));

	if (!ev)
		return; /* stays pending: the next scan finds it again */
	ev->kind = kind;
	ev->key = *key;
	(void)commit_post(&e->commit, ev);
}

/* What is done of a large file is not to be done once more. */
static void hand_over(struct task *t)
{
	struct kept *kept = NULL;
	struct fingerprint *fresh;

	if (t->stop && t->done && t->identity.size >= QUEUE_LARGE &&
	    !fingerprint_new(t->w->e->options.digest_set, &fresh)) {
		kept = malloc(sizeof(*kept));
		if (kept) {
			*kept = (struct kept){ t->w->fp, t->identity, t->done };
			t->w->fp = fresh;
		} else {
			fingerprint_free(fresh);
		}
	}
	queue_hand_over(&t->w->e->queue, t->job, kept);
}

/* Goes on with what was done before.  Takes kept. */
static void resume(struct task *t, struct kept *kept)
{
	struct fingerprint *fp = t->w->fp;

	if (kept && file_identity_equal(&kept->identity, &t->identity)) {
		t->w->fp = kept->fp;
		kept->fp = fp;
		t->from = t->done = t->checked = kept->done;
	}
	kept_free(kept);
}

static void hash_file(struct task *t)
{
	struct engine *e = t->w->e;
	struct digests digests;
	int err = task_digest(t, &digests);

	if (!err && (source_get_use(&e->source, t->st) || task_is_changed(t))) {
		digests_release(&digests);
		err = -EAGAIN;
	}
	if (!err) {
		atomic_fetch_add(&e->hashed_files, 1);
		atomic_fetch_add(&e->hashed_bytes, t->identity.size);
		end_with_result(t, 0, &digests);
	} else if (err == -EAGAIN) {
		end_unsteady(t);
	} else if (err == -EINTR) {
		hand_over(t);
	} else if (err == -ECANCELED) {
		queue_finish(&e->queue, t->job);
	} else if (err == -ENOMEM) {
		queue_delay(&e->queue, t->job, RETRY_MAX_MS, false);
	} else {
		end_with_result(t, -err, NULL);
	}
}

/* ---- deciding whether to hash ---- */

/* What the catalog can spare a worker. */
enum knowledge { UNKNOWN, TOUCHED, KNOWN };

/* Whether the digests are there as well. */
static int is_readable(struct catalog_txn *txn, uint32_t content)
{
	struct digests d = { 0 };
	int err = catalog_content_get(txn, content, &d);

	if (!err)
		digests_release(&d);
	return err;
}

static enum knowledge look_up(struct engine *e, const struct file_key *key,
			      const struct file_identity *identity)
{
	struct commit_counts counts;
	struct catalog_txn *txn;
	struct file_record rec;
	int err;

	if (catalog_read(e->catalog, &txn))
		return UNKNOWN;
	err = catalog_file_get(txn, key, &rec);
	if (!err && rec.state == FILE_FRESH)
		err = is_readable(txn, rec.content);
	catalog_abort(txn);
	if (err || (rec.state != FILE_FRESH && rec.state != FILE_FAILED))
		return UNKNOWN;
	if (file_identity_equal(&rec.identity, identity))
		return KNOWN;
	if (rec.identity.size != identity->size ||
	    rec.identity.mtime_ns != identity->mtime_ns)
		return UNKNOWN;
	/* Perhaps the news that only its ctime moved is on its way. */
	commit_counts(&e->commit, &counts);
	return counts.metadata_changes && !counts.error ? TOUCHED : UNKNOWN;
}

/* A closing writer that is still there when the host has caught up did not
 * close. */
static enum source_use use_for_sure(struct task *t)
{
	enum source_use use = source_get_use(&t->w->e->source, t->st);

	if (use != SOURCE_CLOSING || !host_catch_up(t->w->e))
		return use;
	use = source_get_use(&t->w->e->source, t->st);
	return use == SOURCE_CLOSING ? SOURCE_WRITTEN : use;
}

static enum knowledge what_is_known(struct task *t)
{
	struct engine *e = t->w->e;

	return queue_is_changed(&e->queue, t->job) ?
		       UNKNOWN :
		       look_up(e, &t->job->key, &t->identity);
}

static bool is_unsettled(const struct task *t, int64_t *wait_ms_out)
{
	return times_are_too_young(
		source_get_times(&t->w->e->source, &t->job->key), &t->identity,
		clock_now_ms() - t->job->seen_ms, wait_ms_out);
}

/* True when the job was ended without reading the file. */
static bool ends_early(struct task *t, int path_fd)
{
	struct engine *e = t->w->e;
	enum source_use use = use_for_sure(t);
	enum knowledge known = what_is_known(t);
	int64_t wait_ms;

	if (source_skip_rule(&e->source, path_fd, t->st)) {
		forget(e, &t->job->key, EVENT_FORGET);
		queue_finish(&e->queue, t->job);
	} else if (use == SOURCE_CLOSING) {
		queue_delay(&e->queue, t->job, CLOSING_MS, false);
	} else if (known == KNOWN) {
		queue_finish(&e->queue, t->job);
	} else if (use == SOURCE_WRITTEN) {
		queue_give_up(&e->queue, t->job);
	} else if (known == TOUCHED && t->w->idle) {
		queue_delay(&e->queue, t->job, UNHURRIED_MS, false);
	} else if (known == TOUCHED) {
		commit_hurry(&e->commit);
		queue_delay(&e->queue, t->job, TOUCHED_MS, false);
	} else if (is_unsettled(t, &wait_ms)) {
		queue_delay(&e->queue, t->job, wait_ms, false);
	} else {
		return false;
	}
	return true;
}

static void work_on_file(struct worker *w, struct job *job, int path_fd,
			 const struct stat *st)
{
	struct task t = {
		.w = w,
		.job = job,
		.st = st,
	};
	struct kept *kept = job->kept;
	enum job_level level;

	job->kept = NULL;
	source_get_identity(st, &t.identity);
	level = queue_identify(&w->e->queue, job, &t.identity);
	if (ends_early(&t, path_fd)) {
		kept_free(kept);
		return;
	}
	if (!queue_admit(&w->e->queue, job)) {
		queue_hand_over(&w->e->queue, job, kept);
		return;
	}
	resume(&t, kept);
	if (level != JOB_SCAN)
		scan_report_path(&w->e->scan, path_fd, &job->key);
	t.fd = file_reopen(path_fd);
	if (t.fd == -EMFILE || t.fd == -ENFILE || t.fd == -EWOULDBLOCK) {
		queue_delay(&w->e->queue, job, 1000, true);
		return;
	}
	if (t.fd < 0) {
		end_with_result(&t, -t.fd, NULL);
	} else {
		file_write_out(t.fd, &t.identity);
		(void)posix_fadvise(t.fd, 0, 0, POSIX_FADV_SEQUENTIAL);
		hash_file(&t);
		close(t.fd);
	}
}

static void work_on(struct worker *w, struct job *job)
{
	struct stat st;
	int fd, err;

	err = source_find_file(&w->e->source, w->e->catalog, &job->key, &fd,
			       &st);
	if (err) {
		kept_free(job->kept);
		job->kept = NULL;
	}
	if (err == -ENOENT) {
		forget(w->e, &job->key, EVENT_MISSED);
		queue_finish(&w->e->queue, job);
		return;
	}
	if (err) {
		queue_delay(&w->e->queue, job, 1000, true);
		return;
	}
	work_on_file(w, job, fd, &st);
	close(fd);
}

/* ---- threads ---- */

static void worker_free(struct worker *w)
{
	fingerprint_free(w->fp);
	free(w->chunk);
	free(w);
}

static void *worker_run(void *arg)
{
	struct worker *w = arg;
	struct engine *e = w->e;

	thread_set_name(w->idle ? "kinfs-hash-idle" : "kinfs-hash");
	if (w->idle)
		thread_enter_background();
	while (!atomic_load(&e->stopping)) {
		struct job *job;

		if (w->idle) {
			commit_wait_writable(&e->commit);
			(void)throttle_wait(&e->throttle, NULL, &w->since_ns);
		}
		job = queue_take(&e->queue, w->idle);
		if (job)
			work_on(w, job);
		else if (!atomic_load(&e->stopping))
			workers_feed(e);
	}
	worker_free(w);
	return NULL;
}

static int worker_start(struct engine *e, bool idle)
{
	struct worker *w = calloc(1, sizeof(*w));
	int err;

	if (!w)
		return -ENOMEM;
	w->e = e;
	w->idle = idle;
	w->chunk = malloc(TASK_CHUNK);
	err = w->chunk ? fingerprint_new(e->options.digest_set, &w->fp) :
			 -ENOMEM;
	if (!err)
		err = -pthread_create(&e->workers[e->worker_count], NULL,
				      worker_run, w);
	if (err)
		worker_free(w);
	else
		e->worker_count++;
	return err;
}

int workers_start(struct engine *e)
{
	unsigned count = e->options.workers, i;
	int err = 0;

	e->workers = calloc((size_t)count * 2 + QUEUE_SPARE + 1,
			    sizeof(*e->workers));
	if (!e->workers)
		return -ENOMEM;
	for (i = 0; i < count * 2 && !err; i++)
		err = worker_start(e, i % 2);
	for (i = 0; i < QUEUE_SPARE && !err; i++)
		err = worker_start(e, false);
	if (!err)
		err = worker_start(e, true);
	return err;
}

void workers_join(struct engine *e)
{
	size_t i;

	for (i = 0; i < e->worker_count; i++)
		pthread_join(e->workers[i], NULL);
	for (i = 0; i < 2; i++) {
		team_free(e->crews[i].team);
		e->crews[i].team = NULL;
	}
	e->worker_count = 0;
	free(e->workers);
	e->workers = NULL;
}
