/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <unistd.h>

#include "core/digest/fingerprint.h"
#include "core/digest/team.h"
#include "core/engine/engine_impl.h"
#include "core/engine/file.h"

#ifndef RWF_DONTCACHE
#define RWF_DONTCACHE 0x00000080 /* Linux 6.14 */
#endif

enum {
	CHUNK = 256 * 1024,
	CHECK_BYTES = 16 << 20, /* look for a change this often */
	HAND_OVER_BYTES = 8
			  << 20, /* less is quicker finished than begun anew */
	CREW_BYTES = 64 << 20,   /* from here on several threads do one file */
	RETRY_MAX_MS = 30000,
	CLOSING_MS = 2,
	TOUCHED_MS = 5,
	UNHURRIED_MS = 500,
	LEAST_READ = 4096, /* what reading less costs the disk */
	SPARE_WORKERS = 2, /* for users for whom none works, see queue.h */
};

struct worker {
	struct engine *e;
	bool idle; /* works in the background class */
	struct fingerprint *fp;
	char *chunk;
};

/* One file on its way through a worker. */
struct task {
	struct worker *w;
	struct job *job;
	int fd; /* for reading */
	struct file_identity identity;
	const struct stat *st;
	uint64_t done; /* bytes read */
};

/* ---- reading ---- */

/* Background reads leave the page cache as they found it, where the kernel
 * can do that (RWF_DONTCACHE keeps pages that were there before). */
static ssize_t read_chunk(struct task *t, void *buffer, size_t len)
{
	struct iovec iov = { buffer, len };
	off_t offset = (off_t)t->done;
	ssize_t n = -1;

	if (t->w->idle) {
		n = preadv2(t->fd, &iov, 1, offset, RWF_DONTCACHE);
		if (n >= 0 || (errno != EOPNOTSUPP && errno != EINVAL))
			return n < 0 ? -errno : n;
	}
	n = preadv(t->fd, &iov, 1, offset);
	return n < 0 ? -errno : n;
}

static int64_t pace_due_ms(struct pace *p)
{
	int64_t due_ns;

	pthread_mutex_lock(&p->lock);
	due_ns = bucket_due_ns(&p->bucket);
	pthread_mutex_unlock(&p->lock);
	return due_ns > 0 ? (due_ns + 999999) / 1000000 : 0;
}

/* Until the background may read again, unless the file has become one that
 * somebody waits for. */
static bool rest(struct task *t)
{
	struct engine *e = t->w->e;
	int64_t due_ms;

	while ((due_ms = pace_due_ms(&e->pace)) > engine_now_ms())
		if (!queue_rest(&e->queue, t->job, due_ms))
			return false;
	return true;
}

static void pay(struct pace *p, size_t bytes)
{
	if (bytes < LEAST_READ)
		bytes = LEAST_READ;
	pthread_mutex_lock(&p->lock);
	bucket_take(&p->bucket, bytes, engine_now_ns());
	pthread_mutex_unlock(&p->lock);
}

static bool is_changed(const struct task *t)
{
	struct file_identity now;
	struct stat st;

	if (fstat(t->fd, &st))
		return true;
	engine_file_identity(&st, &now);
	return !file_identity_equal(&now, &t->identity);
}

/* Somebody waits for the file, and the worker is slow; or none of its kind may
 * work now. */
static bool is_recalled(const struct task *t)
{
	uint64_t left = t->identity.size - t->done;

	if (!t->w->idle || !left)
		return false;
	switch (queue_recall(&t->w->e->queue, t->job)) {
	case QUEUE_WAITED:
		return left > HAND_OVER_BYTES;
	case QUEUE_PAUSED:
		return true;
	case QUEUE_GO_ON:
		break;
	}
	return false;
}

/* Why to stop in the middle: -EAGAIN the file changed, -EINTR hand it over,
 * -ECANCELED the engine ends. */
static int check_interrupt(struct task *t)
{
	if (atomic_load(&t->w->e->stopping))
		return -ECANCELED;
	if (is_recalled(t))
		return -EINTR;
	if (t->done % CHECK_BYTES == 0 && is_changed(t))
		return -EAGAIN;
	return 0;
}

static ssize_t read_paced(struct task *t, void *buffer, size_t len)
{
	struct engine *e = t->w->e;
	bool paced = t->w->idle && e->options.rate;
	ssize_t n;

	if (paced && !rest(t)) {
		int err = check_interrupt(t);

		if (err)
			return err;
		paced = false;
	}
	n = read_chunk(t, buffer, len);
	if (paced && n > 0)
		pay(&e->pace, (size_t)n);
	return n;
}

/* The next bytes of the file, 0 at its end. */
static ssize_t fill(void *arg, void *buffer, size_t len)
{
	struct task *t = arg;
	uint64_t left = t->identity.size - t->done;
	ssize_t n;
	int err;

	if (!left)
		return 0;
	n = read_paced(t, buffer, left < len ? (size_t)left : len);
	if (n == 0)
		return -EAGAIN; /* shorter than it was */
	if (n < 0)
		return n;
	t->done += (uint64_t)n;
	err = check_interrupt(t);
	return err ? err : n;
}

static int read_alone(struct task *t)
{
	ssize_t n;
	int err = 0;

	while (!err && (n = fill(t, t->w->chunk, CHUNK)) != 0)
		err = n < 0 ? (int)n :
			      fingerprint_update(t->w->fp, t->w->chunk,
						 (size_t)n);
	return err;
}

/* ---- large files ---- */

static void enter_background(void *arg)
{
	(void)arg;
	engine_enter_background();
}

/* The crew for the worker's kind of work; NULL: it is busy, or there are no
 * more threads to be had. */
static struct crew *crew_take(struct worker *w)
{
	struct crew *crew = &w->e->crews[w->idle];
	unsigned helpers = w->e->options.workers - 1;

	if (!helpers || atomic_exchange(&crew->taken, true))
		return NULL;
	if (helpers > FINGERPRINT_PARTS - 1)
		helpers = FINGERPRINT_PARTS - 1;
	if (!crew->team && team_new(helpers, w->idle ? enter_background : NULL,
				    NULL, &crew->team)) {
		atomic_store(&crew->taken, false);
		return NULL;
	}
	return crew;
}

static int digest_file(struct task *t, struct digests *out)
{
	struct crew *crew = NULL;
	int err = fingerprint_begin_file(t->w->fp, "", t->identity.size, 0);

	if (err)
		return err;
	if (t->identity.size >= CREW_BYTES)
		crew = crew_take(t->w);
	if (crew) {
		err = team_update(crew->team, t->w->fp, fill, t);
		atomic_store(&crew->taken, false);
	} else {
		err = read_alone(t);
	}
	return err ? err : fingerprint_final(t->w->fp, out);
}

/* ---- what becomes of a job ---- */

static int post_result(void *arg, struct result *r)
{
	struct event *ev = calloc(1, sizeof(*ev));

	if (!ev)
		return -ENOMEM;
	ev->kind = EVENT_RESULT;
	ev->result = r;
	return commit_post(arg, ev);
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

static void forget(struct engine *e, const struct file_key *key)
{
	struct event *ev = calloc(1, sizeof(*ev));

	if (!ev)
		return; /* stays pending: the next scan finds it again */
	ev->kind = EVENT_FORGET;
	ev->key = *key;
	(void)commit_post(e, ev);
}

static void hash_file(struct task *t)
{
	struct engine *e = t->w->e;
	struct digests digests;
	int err = digest_file(t, &digests);

	if (!err && (file_use(e, t->st) || is_changed(t))) {
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
		queue_hand_over(&e->queue, t->job);
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
	return counts.touches && !counts.error ? TOUCHED : UNKNOWN;
}

/* True when the job was ended without reading the file. */
static bool ends_early(struct task *t, int path_fd)
{
	struct engine *e = t->w->e;
	enum engine_use use = file_use(e, t->st);
	enum knowledge known = look_up(e, &t->job->key, &t->identity);
	int64_t wait_ms;

	if (file_skip_rule(e, path_fd, t->st)) {
		forget(e, &t->job->key);
		queue_finish(&e->queue, t->job);
	} else if (use == ENGINE_CLOSING) {
		queue_delay(&e->queue, t->job, CLOSING_MS, false);
	} else if (use == ENGINE_WRITTEN || known == KNOWN) {
		queue_finish(&e->queue, t->job);
	} else if (known == TOUCHED && t->w->idle) {
		queue_delay(&e->queue, t->job, UNHURRIED_MS, false);
	} else if (known == TOUCHED) {
		commit_hurry(e);
		queue_delay(&e->queue, t->job, TOUCHED_MS, false);
	} else if (file_is_unsettled(&t->identity, &wait_ms)) {
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
	enum job_level level;

	engine_file_identity(st, &t.identity);
	level = queue_identify(&w->e->queue, job, &t.identity);
	if (ends_early(&t, path_fd))
		return;
	if (level != JOB_SCAN)
		names_learn(w->e, path_fd, &job->key);
	t.fd = file_reopen(path_fd);
	if (t.fd == -EMFILE || t.fd == -ENFILE || t.fd == -EWOULDBLOCK) {
		queue_delay(&w->e->queue, job, 1000, true);
		return;
	}
	if (t.fd < 0) {
		end_with_result(&t, -t.fd, NULL);
	} else {
		(void)posix_fadvise(t.fd, 0, 0, POSIX_FADV_SEQUENTIAL);
		hash_file(&t);
		close(t.fd);
	}
}

static void work_on(struct worker *w, struct job *job)
{
	struct stat st;
	int fd, err;

	err = file_find(w->e, &job->key, &fd, &st);
	if (err == -ENOENT) {
		forget(w->e, &job->key);
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

	if (w->idle)
		engine_enter_background();
	while (!atomic_load(&e->stopping)) {
		struct job *job;

		if (w->idle)
			commit_wait_writable(e);
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
	w->chunk = malloc(CHUNK);
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

	e->workers =
		calloc((size_t)count * 2 + SPARE_WORKERS, sizeof(*e->workers));
	if (!e->workers)
		return -ENOMEM;
	for (i = 0; i < count * 2 && !err; i++)
		err = worker_start(e, i % 2);
	for (i = 0; i < SPARE_WORKERS && !err; i++)
		err = worker_start(e, false);
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
