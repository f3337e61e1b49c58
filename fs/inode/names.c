/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/inode/cache.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "core/base/buf.h"
#include "core/base/clock.h"
#include "core/base/thread.h"
#include "core/base/xxh3.h"
#include "fs/fs.h"
#include "fs/inode/inode.h"
#include "fs/loop/loop.h"

enum {
	/* A process that has got the answer to a lookup stores it within this
	 * time; see cache.h. */
	AGAIN_MS = 1000,
	/* Names that wait, each for AGAIN_MS at least: 6 MB.  If more change,
	 * all names expire. */
	JOBS_MAX = 65536,
	/* Bytes of names that were sent in CACHE_LONG_S: 700,000 names.  Further
	 * names are cached for -o timeout. */
	SENT_MAX = 16 << 20,
	/* Slots of a table of names that are stored already: 128 KB.  Without it
	 * a program that makes a few names again and again, 30,000 in a second,
	 * takes all of SENT_MAX within a minute. */
	RECENT = 16384,
};

/* A name that is to be expired. */
struct name_job {
	STAILQ_ENTRY(name_job) next;
	struct inode *dir; /* a reference */
	int64_t due_ms;
	bool again; /* it has been expired once */
	char name[];
};

STAILQ_HEAD(name_jobs, name_job);

struct names {
	pthread_mutex_t lock; /* everything up to stopped */
	pthread_cond_t work;
	struct name_jobs now, later; /* later: in the order of due_ms */
	size_t count;
	bool all; /* all names are to be expired */
	/* Names that were sent for long: since since_ms, and in the CACHE_LONG_S
	 * before.  Each is the id of its directory, and the name with its
	 * NUL. */
	struct buf sent[2];
	int64_t since_ms;
	uint64_t recent[RECENT]; /* hashes of names in sent[0] */
	bool stopped;

	/* Used by the thread only. */
	struct buf lost[2]; /* were sent, and expire once more */
	int64_t lost_ms;    /* at that time; INT64_MAX: there are none */
	pthread_t thread;
};

/* ---- what was sent ---- */

bool names_keep(struct fs *fs, struct inode *dir, const char *name)
{
	uint64_t id = atomic_load(&dir->watch_id);
	size_t len = strlen(name) + 1;
	uint64_t hash = XXH3_64bits_withSeed(name, len, id);
	struct names *n = fs->names;
	uint64_t *recent = &n->recent[hash % RECENT];
	int64_t now_ms = clock_now_ms();
	struct buf *sent = n->sent;
	bool kept;

	atomic_store(&dir->names_kept, true);
	pthread_mutex_lock(&n->lock);
	if (now_ms - n->since_ms >= CACHE_LONG_S * 1000) {
		buf_release(&sent[1]);
		sent[1] = sent[0];
		sent[0] = (struct buf){ 0 };
		memset(n->recent, 0, sizeof(n->recent));
		n->since_ms = now_ms;
	}
	kept = *recent == hash;
	if (!kept && sent->len < SENT_MAX &&
	    !buf_reserve(sent, sizeof(id) + len)) {
		(void)buf_append(sent, &id, sizeof(id));
		(void)buf_append(sent, name, len);
		*recent = hash;
		kept = true;
	}
	pthread_mutex_unlock(&n->lock);
	return kept;
}

static void expire_lost(struct fs *fs, const struct buf *lost)
{
	struct inode *dir = NULL;
	const char *name;
	uint64_t id;
	size_t at;

	for (at = 0; at < lost->len; at += strlen(name) + 1) {
		memcpy(&id, lost->data + at, sizeof(id));
		at += sizeof(id);
		name = lost->data + at;
		while ((dir = cache_next_watched(fs, id, dir)))
			protocol_expire_name(fs->session, node_of(fs, dir),
					     name);
	}
}

/* Expires the names in lost for the second time, and forgets them. */
static void finish_lost(struct fs *fs)
{
	struct names *n = fs->names;

	for (size_t i = 0; i < 2; i++) {
		expire_lost(fs, &n->lost[i]);
		buf_release(&n->lost[i]);
	}
	n->lost_ms = INT64_MAX;
}

static void expire_all(struct fs *fs)
{
	struct names *n = fs->names;

	finish_lost(fs);
	pthread_mutex_lock(&n->lock);
	n->all = false;
	memcpy(n->lost, n->sent, sizeof(n->lost));
	memset(n->sent, 0, sizeof(n->sent));
	memset(n->recent, 0, sizeof(n->recent));
	pthread_mutex_unlock(&n->lock);
	for (size_t i = 0; i < 2; i++)
		expire_lost(fs, &n->lost[i]);
	n->lost_ms = clock_now_ms() + AGAIN_MS;
}

/* ---- jobs ---- */

void names_expire_all(struct fs *fs)
{
	struct names *n = fs->names;

	pthread_mutex_lock(&n->lock);
	n->all = true;
	pthread_cond_signal(&n->work);
	pthread_mutex_unlock(&n->lock);
}

void names_expire(struct fs *fs, struct inode *dir, const char *name)
{
	size_t len = strlen(name) + 1;
	struct names *n = fs->names;
	struct name_job *job;

	if (!atomic_load(&dir->names_kept))
		return;
	job = malloc(sizeof(*job) + len);
	pthread_mutex_lock(&n->lock);
	if (job && n->count < JOBS_MAX) {
		inode_ref(dir);
		*job = (struct name_job){ .dir = dir };
		memcpy(job->name, name, len);
		STAILQ_INSERT_TAIL(&n->now, job, next);
		n->count++;
		job = NULL;
	} else {
		n->all = true;
	}
	pthread_cond_signal(&n->work);
	pthread_mutex_unlock(&n->lock);
	free(job);
}

/* With the lock.  NULL: none is due. */
static struct name_job *take_due(struct names *n)
{
	struct name_job *job = STAILQ_FIRST(&n->now);

	if (job) {
		STAILQ_REMOVE_HEAD(&n->now, next);
		return job;
	}
	job = STAILQ_FIRST(&n->later);
	if (!job || job->due_ms > clock_now_ms())
		return NULL;
	STAILQ_REMOVE_HEAD(&n->later, next);
	return job;
}

static void free_job(struct fs *fs, struct name_job *job)
{
	inode_unref(fs, job->dir);
	free(job);
}

static void do_job(struct fs *fs, struct name_job *job)
{
	struct names *n = fs->names;
	bool again = job->again;

	protocol_expire_name(fs->session, node_of(fs, job->dir), job->name);
	job->again = true;
	job->due_ms = clock_now_ms() + AGAIN_MS;
	pthread_mutex_lock(&n->lock);
	if (again)
		n->count--;
	else
		STAILQ_INSERT_TAIL(&n->later, job, next);
	pthread_mutex_unlock(&n->lock);
	if (again)
		free_job(fs, job);
}

/* ---- the thread ---- */

/* With the lock: waits until something is due. */
static void wait_due(struct names *n)
{
	const struct name_job *later = STAILQ_FIRST(&n->later);
	int64_t until_ms = later && later->due_ms < n->lost_ms ? later->due_ms :
								 n->lost_ms;

	if (!n->stopped && !n->all && STAILQ_EMPTY(&n->now))
		cond_wait_until(&n->work, &n->lock, until_ms);
}

static void *names_run(void *arg)
{
	struct fs *fs = arg;
	struct names *n = fs->names;
	struct name_job *job;
	bool stopped, all;

	thread_set_name("kinfs-names");
	do {
		pthread_mutex_lock(&n->lock);
		wait_due(n);
		stopped = n->stopped;
		all = n->all;
		job = stopped ? NULL : take_due(n);
		pthread_mutex_unlock(&n->lock);
		if (job)
			do_job(fs, job);
		if (all && !stopped)
			expire_all(fs);
		else if (n->lost_ms <= clock_now_ms())
			finish_lost(fs);
	} while (!stopped);
	return NULL;
}

/* ---- life ---- */

int names_start(struct fs *fs)
{
	struct names *n = calloc(1, sizeof(*n));
	int err = n ? cond_init_monotonic(&n->work) : -ENOMEM;

	if (err) {
		free(n);
		return err;
	}
	pthread_mutex_init(&n->lock, NULL);
	STAILQ_INIT(&n->now);
	STAILQ_INIT(&n->later);
	n->since_ms = clock_now_ms();
	n->lost_ms = INT64_MAX;
	fs->names = n;
	err = -pthread_create(&n->thread, NULL, names_run, fs);
	if (err) {
		fs->names = NULL;
		free(n);
	}
	return err;
}

void names_stop(struct fs *fs)
{
	struct names *n = fs->names;

	if (!n)
		return;
	pthread_mutex_lock(&n->lock);
	n->stopped = true;
	pthread_cond_signal(&n->work);
	pthread_mutex_unlock(&n->lock);
}

void names_free(struct fs *fs)
{
	struct names *n = fs->names;
	struct name_job *job;

	if (!n)
		return;
	pthread_join(n->thread, NULL);
	STAILQ_CONCAT(&n->now, &n->later);
	while ((job = STAILQ_FIRST(&n->now))) {
		STAILQ_REMOVE_HEAD(&n->now, next);
		free_job(fs, job);
	}
	for (size_t i = 0; i < 2; i++) {
		buf_release(&n->sent[i]);
		buf_release(&n->lost[i]);
	}
	pthread_cond_destroy(&n->work);
	pthread_mutex_destroy(&n->lock);
	free(n);
	fs->names = NULL;
}
