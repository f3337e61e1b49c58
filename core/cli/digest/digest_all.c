/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/cli/digest/digest_job.h"

/*
 * All files, by threads that each take the next one, under the lock, and digest
 * it.  Whoever is done with the file that is next in the output prints it, and
 * what was done before it was.
 */

/* Files between the one that is next in the output and the last that was taken. */
enum { SLOTS = 1024 };

struct slot {
	char *path; /* owned; NULL: no memory */
	bool follow, done;
	int err;
	struct buf output;
};

struct files {
	struct digest_job *job;
	pthread_mutex_t lock;   /* everything below */
	pthread_cond_t printed; /* there may be a free slot */
	char **paths;           /* the next operand */
	FTS *fts;               /* of the last one, if it is a directory */
	uint64_t taken, told;
	struct slot slots[SLOTS];
};

/* Directories come by themselves; the rest has no content.  NULL: the end. */
static FTSENT *next_entry(struct files *f)
{
	FTSENT *entry;
	int err;

	while (f->fts) {
		entry = cli_walk_next(f->fts);
		if (entry && entry->fts_info == FTS_F)
			return entry;
		if (entry && cli_walk_failed(entry))
			digest_fail(f->job, entry->fts_path, -entry->fts_errno);
		if (entry)
			continue;
		err = cli_walk_end(f->fts);
		if (err)
			digest_fail(f->job, f->paths[-1], err);
		f->fts = NULL;
	}
	return NULL;
}

/* False: there are no more. */
static bool next_file(struct files *f, struct slot *out)
{
	FTSENT *entry;
	struct stat st;
	char *path;

	while (!(entry = next_entry(f)) && (path = *f->paths)) {
		f->paths++;
		if (!f->job->recursive || !strcmp(path, "-") ||
		    stat(path, &st) || !S_ISDIR(st.st_mode)) {
			*out = (struct slot){ strdup(path), .follow = true };
			return true;
		}
		f->fts = cli_walk_begin(path, FTS_COMFOLLOW);
		if (!f->fts)
			digest_fail(f->job, path, -errno);
	}
	if (entry)
		*out = (struct slot){ .path = strdup(entry->fts_path) };
	return entry;
}

static void print_done(struct files *f)
{
	struct slot *s;

	while ((s = &f->slots[f->told % SLOTS])->done) {
		digest_tell(f->job, s->path, s->err, &s->output);
		free(s->path);
		buf_release(&s->output);
		*s = (struct slot){ 0 };
		f->told++;
		pthread_cond_broadcast(&f->printed);
	}
}

static void *work(void *arg)
{
	struct files *f = arg;
	struct reader reader;
	struct slot *s;
	const bool ready = !reader_init(&reader, f->job->digest_set);

	pthread_mutex_lock(&f->lock);
	for (;;) {
		while (f->taken - f->told == SLOTS)
			pthread_cond_wait(&f->printed, &f->lock);
		s = &f->slots[f->taken % SLOTS];
		if (!next_file(f, s))
			break;
		f->taken++;
		pthread_mutex_unlock(&f->lock);
		s->err = ready && s->path ?
				 digest_file(f->job, &reader, s->path,
					     s->follow, &s->output) :
				 -ENOMEM;
		pthread_mutex_lock(&f->lock);
		s->done = true;
		print_done(f);
	}
	pthread_mutex_unlock(&f->lock);
	reader_release(&reader);
	return NULL;
}

int digest_all(struct digest_job *job, char **paths)
{
	struct files *f = calloc(1, sizeof(*f));
	pthread_t *threads = calloc(job->threads, sizeof(*threads));
	uint64_t started = 0;
	int err = f && threads ? 0 : -ENOMEM;

	if (!err) {
		f->job = job;
		f->paths = paths;
		pthread_mutex_init(&f->lock, NULL);
		pthread_cond_init(&f->printed, NULL);
		/* This thread is one of them; with fewer it takes longer. */
		while (started + 1 < job->threads &&
		       !pthread_create(&threads[started], NULL, work, f))
			started++;
		(void)work(f);
		while (started)
			pthread_join(threads[--started], NULL);
		pthread_cond_destroy(&f->printed);
		pthread_mutex_destroy(&f->lock);
	}
	free(threads);
	free(f);
	return err;
}
