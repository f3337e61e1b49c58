/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/inode/backing.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/queue.h>

#include "fs/fs.h"
#include "fs/inode/inode.h"

struct mapped_job {
	STAILQ_ENTRY(mapped_job) next;
	struct inode *inode;
	void (*done)(void *arg, int result);
	void *arg;
};

struct mapped {
	pthread_mutex_t gate; /* held while done() is called; before lock */
	pthread_mutex_t lock; /* everything below */
	pthread_cond_t work;
	STAILQ_HEAD(, mapped_job) jobs;
	bool stopped;
	pthread_t thread;
};

bool mapped_is_possible(struct fs *fs, struct inode *inode)
{
	const struct handle *h;
	bool found = false;

	if (!atomic_load(&inode->writers))
		return false;
	inode_lock(fs, inode);
	/* A handle that passes through maps the file below, see backing.h. */
	for (h = LIST_FIRST(&inode->handles); h; h = LIST_NEXT(h, entry))
		found |= (h->flags & O_ACCMODE) == O_RDWR;
	found = found && !inode->passing;
	inode_unlock(fs, inode);
	return found;
}

int mapped_write_out(struct fs *fs, struct inode *inode,
		     void (*done)(void *arg, int result), void *arg)
{
	struct mapped *m = fs->mapped;
	struct mapped_job *job = calloc(1, sizeof(*job));

	if (!job)
		return -ENOMEM;
	job->inode = inode;
	job->done = done;
	job->arg = arg;
	pthread_mutex_lock(&m->lock);
	STAILQ_INSERT_TAIL(&m->jobs, job, next);
	pthread_cond_signal(&m->work);
	pthread_mutex_unlock(&m->lock);
	return 0;
}

static void *mapped_run(void *arg)
{
	struct fs *fs = arg;
	struct mapped *m = fs->mapped;
	struct mapped_job *job;
	bool stopped;

	for (;;) {
		pthread_mutex_lock(&m->lock);
		while (STAILQ_EMPTY(&m->jobs) && !m->stopped)
			pthread_cond_wait(&m->work, &m->lock);
		job = STAILQ_FIRST(&m->jobs);
		if (job)
			STAILQ_REMOVE_HEAD(&m->jobs, next);
		stopped = m->stopped;
		pthread_mutex_unlock(&m->lock);
		if (!job)
			return NULL;
		/* The kernel writes dirty pages back before it drops them. */
		if (!stopped)
			(void)fuse_lowlevel_notify_inval_inode(
				fs->session, node_of(fs, job->inode), 0, 0);
		pthread_mutex_lock(&m->gate);
		pthread_mutex_lock(&m->lock);
		stopped = m->stopped;
		pthread_mutex_unlock(&m->lock);
		job->done(job->arg, stopped ? -ECANCELED : 0);
		pthread_mutex_unlock(&m->gate);
		free(job);
	}
}

int mapped_open(struct fs *fs)
{
	struct mapped *m = calloc(1, sizeof(*m));
	int err;

	if (!m)
		return -ENOMEM;
	pthread_mutex_init(&m->gate, NULL);
	pthread_mutex_init(&m->lock, NULL);
	pthread_cond_init(&m->work, NULL);
	STAILQ_INIT(&m->jobs);
	fs->mapped = m;
	err = -pthread_create(&m->thread, NULL, mapped_run, fs);
	if (err) {
		fs->mapped = NULL;
		free(m);
	}
	return err;
}

void mapped_stop(struct fs *fs)
{
	struct mapped *m = fs->mapped;

	if (!m)
		return;
	pthread_mutex_lock(&m->gate);
	pthread_mutex_lock(&m->lock);
	m->stopped = true;
	pthread_cond_signal(&m->work);
	pthread_mutex_unlock(&m->lock);
	pthread_mutex_unlock(&m->gate);
}

void mapped_free(struct fs *fs)
{
	struct mapped *m = fs->mapped;

	if (!m)
		return;
	pthread_join(m->thread, NULL);
	pthread_cond_destroy(&m->work);
	pthread_mutex_destroy(&m->lock);
	pthread_mutex_destroy(&m->gate);
	free(m);
	fs->mapped = NULL;
}
