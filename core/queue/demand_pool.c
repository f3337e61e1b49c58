/* SPDX-License-Identifier: Apache-2.0 */
#include "core/queue/demand_pool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/told_size.h"
#include "core/digest/fingerprint.h"
#include "core/base/thread.h"
#include "core/source/file.h"

enum { PIECE = 64 * 1024 };

/* The file name in an sdhash.  The caller may not know all names of the file,
 * and the one that it used is not known here; so this is sdhash's name for
 * standard input. */
#define SDHASH_NAME "stdin"

struct demand_request {
	struct demand_request *next;
	struct demand_query query; /* its fd is owned and O_PATH */
	uint64_t turn;             /* the list is in this order */
};

static void request_end(struct demand_request *r, int result,
			const struct buf *text)
{
	r->query.done(r->query.arg, result, text);
	close(r->query.fd);
	free(r);
}

/* ---- computing ---- */

static int read_file(struct demand_worker *w, int fd, uint64_t size)
{
	char piece[PIECE];
	uint64_t done = 0;
	ssize_t n;
	int err = 0;

	while (done < size && !err) {
		n = pread(fd, piece, sizeof(piece), (off_t)done);
		if (n == 0)
			return -ENODATA;
		if (n < 0)
			return -errno;
		done += (uint64_t)n;
		err = fingerprint_update(w->fp, piece, (size_t)n);
		if (atomic_load(w->pool->stopping))
			return -ECANCELED;
	}
	return err ? err : told_size_check(fd, size);
}

static int digest_file(struct demand_worker *w, int fd, uint64_t size,
		       size_t most)
{
	struct digests digests;
	int err;

	err = fingerprint_begin_file(w->fp, SDHASH_NAME, size, most);
	if (!err)
		err = read_file(w, fd, size);
	if (!err)
		err = fingerprint_final(w->fp, &digests);
	if (err)
		return err;
	err = digest_format(&digests, w->id, &w->text);
	digests_release(&digests);
	return err;
}

/* Makes the worker's fingerprint one of that digest alone. */
static int set_digest(struct demand_worker *w, enum digest_id id)
{
	if (w->fp && w->id == id)
		return 0;
	fingerprint_free(w->fp);
	w->fp = NULL;
	w->id = id;
	return fingerprint_new(DIGEST_BIT(id), &w->fp);
}

static int compute_digest(struct demand_worker *w,
			  const struct demand_request *r)
{
	int err, fd = file_reopen(r->query.fd);

	buf_clear(&w->text);
	err = fd < 0 ? fd : set_digest(w, r->query.id);
	if (!err)
		err = digest_file(w, fd, w->identity.size, r->query.most);
	if (fd >= 0)
		close(fd);
	return err == -ESTALE ? -EAGAIN : err;
}

static int stat_file(const struct source *s, int fd, struct file_key *key_out,
		     struct file_identity *identity_out)
{
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	source_get_key(s, fd, &st, key_out);
	source_get_identity(&st, identity_out);
	return 0;
}

/* Sets w->text, from the cache if the file has not changed. */
static int serve_request(struct demand_worker *w,
			 const struct demand_request *r)
{
	const struct source *source = w->pool->source;
	struct file_identity identity = { 0 };
	struct file_key key = { 0 };
	int err = stat_file(source, r->query.fd, &key, &identity);

	if (err)
		return err;
	if (!w->fp || w->id != r->query.id || !file_key_equal(&key, &w->key) ||
	    !file_identity_equal(&identity, &w->identity) ||
	    w->result == -EAGAIN) {
		w->key = key;
		w->identity = identity;
		w->result = compute_digest(w, r);
	}
	err = stat_file(source, r->query.fd, &key, &identity);
	if (!err && !file_identity_equal(&identity, &w->identity))
		err = w->result = -EAGAIN;
	return err ? err : w->result;
}

/* ---- the thread ---- */

/* Whether a worker serves the user. */
static bool is_served(const struct demand_pool *p, uid_t uid)
{
	size_t i;

	for (i = 0; i < DEMAND_WORKERS; i++)
		if (p->workers[i].busy && p->workers[i].uid == uid)
			return true;
	return false;
}

/* Waits for a request of a user that no worker serves; NULL: stopped, or none
 * has come for a while. */
static struct demand_request *take_request(struct demand_pool *p)
{
	int64_t idle_ms = clock_now_ms();
	struct demand_request **at, *r;

	while (!p->stopped) {
		for (at = &p->first; *at; at = &(*at)->next)
			if (!is_served(p, (*at)->query.uid))
				break;
		r = *at;
		if (r) {
			*at = r->next;
			share_serve(&p->share, r->turn);
			if (p->first)
				crew_want(&p->crew);
			return r;
		}
		if (!crew_wait(&p->crew, &p->work, INT64_MAX, idle_ms))
			break;
	}
	return NULL;
}

static void *worker_run(void *arg)
{
	struct demand_pool *p = arg;
	struct demand_worker *w = p->workers;
	struct demand_request *r;
	int result;

	thread_set_name("kinfs-demand");
	pthread_mutex_lock(&p->lock);
	while (w->taken)
		w++;
	w->taken = true;
	while ((r = take_request(p))) {
		w->busy = true;
		w->uid = r->query.uid;
		pthread_mutex_unlock(&p->lock);
		result = serve_request(w, r);
		request_end(r, result, &w->text);
		pthread_mutex_lock(&p->lock);
		w->busy = false;
		share_give(&p->share, w->uid);
	}
	w->taken = false;
	crew_leave(&p->crew);
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

static int insert_locked(struct demand_pool *p, struct demand_request *r)
{
	struct demand_request **at = &p->first;
	int err = p->stopped ? -ECANCELED :
			       share_take(&p->share, r->query.uid, &r->turn);

	if (err)
		return err;
	while (*at && (*at)->turn <= r->turn)
		at = &(*at)->next;
	r->next = *at;
	*at = r;
	pthread_cond_broadcast(&p->work);
	crew_want(&p->crew);
	return 0;
}

int demand_pool_post(struct demand_pool *p, const struct demand_query *q)
{
	struct demand_request *r = calloc(1, sizeof(*r));
	int err;

	if (!r)
		return -ENOMEM;
	r->query = *q;
	r->query.fd = fcntl(q->fd, F_DUPFD_CLOEXEC, 0);
	if (r->query.fd < 0) {
		err = -errno;
		free(r);
		return err;
	}
	pthread_mutex_lock(&p->lock);
	err = insert_locked(p, r);
	pthread_mutex_unlock(&p->lock);
	if (err) {
		close(r->query.fd);
		free(r);
	}
	return err;
}

/* ---- life ---- */

int demand_pool_init(struct demand_pool *p, const struct source *source,
		     const atomic_bool *stopping)
{
	int err = -pthread_mutex_init(&p->lock, NULL);
	size_t i;

	for (i = 0; i < DEMAND_WORKERS; i++)
		p->workers[i].pool = p;
	p->source = source;
	p->stopping = stopping;
	p->share.most = DEMAND_REQUESTS_MAX;
	if (!err)
		err = cond_init_monotonic(&p->work);
	return err;
}

static int start_worker(void *pool)
{
	return crew_thread(worker_run, pool);
}

void demand_pool_start(struct demand_pool *p, struct queue *queue)
{
	p->crew = (struct crew){ .queue = queue,
				 .lock = &p->lock,
				 .start = start_worker,
				 .arg = p,
				 .most = DEMAND_WORKERS };
	crew_init(&p->crew);
	pthread_mutex_lock(&p->lock);
	if (p->first)
		crew_want(&p->crew);
	pthread_mutex_unlock(&p->lock);
}

void demand_pool_stop(struct demand_pool *p)
{
	struct demand_request *r, *next;

	pthread_mutex_lock(&p->lock);
	p->stopped = true;
	r = p->first;
	p->first = NULL;
	pthread_cond_broadcast(&p->work);
	pthread_mutex_unlock(&p->lock);
	if (p->crew.lock)
		crew_stop(&p->crew);
	for (; r; r = next) {
		next = r->next;
		share_give(&p->share, r->query.uid);
		request_end(r, -ECANCELED, &(struct buf){ 0 });
	}
}

void demand_pool_release(struct demand_pool *p)
{
	size_t i;

	for (i = 0; i < DEMAND_WORKERS; i++) {
		fingerprint_free(p->workers[i].fp);
		buf_release(&p->workers[i].text);
	}
	crew_release(&p->crew);
	pthread_cond_destroy(&p->work);
	pthread_mutex_destroy(&p->lock);
}
