/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNIT_ENGINE_FIXTURE_H
#define TESTS_UNIT_ENGINE_FIXTURE_H

#include "tests/support/test.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <jansson.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/digest/fingerprint.h"
#include "core/base/clock.h"
#include "core/engine/engine.h"
#include "tests/support/digest_values.h"
#include "tests/support/remove_tree.h"

/*
 * A tree in a temporary directory and an engine over it, without a mount.
 * Waiting is always for something that must come, at most DEADLINE_S.
 */
enum { DEADLINE_S = 600 };

struct fixture {
	char base[64];
	char source[80];
	char catalog[80];
	int source_fd;
	struct engine_options options;
	struct engine *engine;
	bool blind; /* the host knows no files */
};

/* The host's part: finds a file by its number wherever it is. */
static inline int find_by_number(void *ctx, dev_t device, ino_t number)
{
	struct fixture *f = ctx;
	char *const roots[] = { f->source, NULL };
	FTS *walk = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
	FTSENT *entry;
	int fd = -ENOENT;

	while (walk && fd < 0 && (entry = fts_read(walk)))
		if ((entry->fts_info == FTS_F || entry->fts_info == FTS_D) &&
		    entry->fts_statp->st_ino == number &&
		    entry->fts_statp->st_dev == device)
			fd = open(entry->fts_path, O_PATH | O_NOFOLLOW);
	if (walk)
		fts_close(walk);
	return fd;
}

/* The host's part: somebody works in it all the time. */
static inline bool is_always_busy(void *ctx)
{
	(void)ctx;
	return true;
}

static inline void fixture_open(struct fixture *f)
{
	f->options.host.ctx = f;
	if (!f->blind)
		f->options.host.open_known = find_by_number;
	f->options.source_fd = f->source_fd;
	f->options.source = f->source;
	f->options.catalog_dir = f->catalog;
	assert_int_equal(engine_open(&f->options, &f->engine), 0);
	assert_int_equal(engine_start(f->engine), 0);
}

static inline void fixture_close(struct fixture *f)
{
	engine_free(f->engine);
	f->engine = NULL;
}

static inline void fixture_make(struct fixture *f)
{
	memset(f, 0, sizeof(*f));
	(void)snprintf(f->base, sizeof(f->base), "/tmp/kinfs-engine-XXXXXX");
	assert_non_null(mkdtemp(f->base));
	(void)snprintf(f->source, sizeof(f->source), "%s/s", f->base);
	(void)snprintf(f->catalog, sizeof(f->catalog), "%s/c", f->base);
	assert_int_equal(mkdir(f->source, 0700), 0);
	f->source_fd = open(f->source, O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_true(f->source_fd >= 0);
	f->options = (struct engine_options){
		.digest_set = DIGEST_DEFAULT,
		.workers = 2,
		.threshold = 60,
		.limit = 256,
	};
}

static inline void fixture_remove(struct fixture *f)
{
	fixture_close(f);
	close(f->source_fd);
	assert_int_equal(nftw(f->base, remove_one, 16, FTW_DEPTH | FTW_PHYS),
			 0);
}

/* Text from a seeded stream; files with different seeds have nothing in
 * common. */
static inline void make_text(char *out, size_t len, uint64_t seed)
{
	uint64_t s = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
	size_t i;

	for (i = 0; i < len; i++) {
		s ^= s << 13;
		s ^= s >> 7;
		s ^= s << 17;
		out[i] =
			(s >> 40) % 7 == 0 ? ' ' : (char)('a' + (s >> 32) % 26);
	}
}

static inline void write_file(struct fixture *f, const char *path,
			      const char *data, size_t len)
{
	char full[512];
	FILE *out;

	(void)snprintf(full, sizeof(full), "%s/%s", f->source, path);
	out = fopen(full, "w");
	assert_non_null(out);
	assert_int_equal(fwrite(data, 1, len, out), len);
	assert_int_equal(fclose(out), 0);
}

/* Of text; the same for the same length. */
static inline void write_text(struct fixture *f, const char *name, size_t len)
{
	char *data = malloc(len);

	assert_non_null(data);
	make_text(data, len, len);
	write_file(f, name, data, len);
	free(data);
}

static inline int open_file(struct fixture *f, const char *path)
{
	char full[512];
	int fd;

	(void)snprintf(full, sizeof(full), "%s/%s", f->source, path);
	fd = open(full, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	assert_true(fd >= 0);
	return fd;
}

static inline void key_of(struct fixture *f, const char *path,
			  struct file_key *out)
{
	int fd = open_file(f, path);
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	engine_file_key(f->engine, fd, &st, out);
	close(fd);
}

static inline void tell_closed(struct fixture *f, int fd)
{
	struct file_identity identity;
	struct file_key key;
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	engine_file_key(f->engine, fd, &st, &key);
	source_get_identity(&st, &identity);
	engine_file_closed(f->engine, &key, &identity);
}

/* ---- waiting ---- */

struct outcome {
	pthread_mutex_t lock;
	pthread_cond_t cond;
	bool done;
	int calls;
	int result;
	struct file_digests answer;
	struct parked_request parked; /* the request, of tests of the queue */
};

#define OUTCOME_INIT                               \
	{                                          \
		.lock = PTHREAD_MUTEX_INITIALIZER, \
		.cond = PTHREAD_COND_INITIALIZER   \
	}

static inline void outcome_set(struct outcome *o, int result)
{
	o->done = true;
	o->calls++;
	o->result = result;
	pthread_cond_signal(&o->cond);
	pthread_mutex_unlock(&o->lock);
}

static inline void on_answer(void *arg, int result, struct file_digests *answer)
{
	struct outcome *o = arg;

	pthread_mutex_lock(&o->lock);
	if (answer)
		o->answer = *answer;
	outcome_set(o, result);
}

static inline int outcome_wait(struct outcome *o)
{
	struct timespec until;
	int result;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += DEADLINE_S;
	pthread_mutex_lock(&o->lock);
	while (!o->done)
		assert_int_equal(
			pthread_cond_timedwait(&o->cond, &o->lock, &until), 0);
	o->done = false;
	result = o->result;
	pthread_mutex_unlock(&o->lock);
	return result;
}

static inline json_int_t status_number(struct fixture *f, const char *name)
{
	json_t *status;
	json_int_t value;

	assert_int_equal(engine_status(f->engine, &status), 0);
	value = json_integer_value(json_object_get(status, name));
	json_decref(status);
	return value;
}

/* Files read since the engine was opened. */
static inline json_int_t hashed_files(struct fixture *f)
{
	json_t *status;
	json_int_t files;

	assert_int_equal(engine_status(f->engine, &status), 0);
	files = json_integer_value(
		json_object_get(json_object_get(status, "hashed"), "files"));
	json_decref(status);
	return files;
}

static inline bool is_idle(struct fixture *f)
{
	json_t *status;
	bool idle;

	assert_int_equal(engine_status(f->engine, &status), 0);
	idle = json_is_true(json_object_get(status, "idle"));
	json_decref(status);
	return idle;
}

static inline void wait_idle(struct fixture *f)
{
	struct timespec pause = { 0, 2000000 };
	int polls;

	for (polls = 0; polls < DEADLINE_S * 500; polls++) {
		if (is_idle(f))
			return;
		nanosleep(&pause, NULL);
	}
	fail_msg("not idle after %d s", DEADLINE_S);
}

/* A request for the digests of an open file. */
struct file_request {
	struct digests_wait wait;
	struct outcome outcome;
	int fd;
	atomic_int opened; /* how often it was examined */
	/* Called when it is examined; or NULL. */
	void (*on_open)(struct file_request *r);
};

static inline int file_request_open(void *arg)
{
	struct file_request *r = arg;

	atomic_fetch_add(&r->opened, 1);
	if (r->on_open)
		r->on_open(r);
	return r->fd;
}

static inline void file_request_close(void *arg)
{
	(void)arg;
}

static inline void on_file_answer(void *arg, int err,
				  struct file_digests *answer)
{
	struct file_request *r = arg;

	on_answer(&r->outcome, err, answer);
}

static inline void file_request_init(struct file_request *r, int fd,
				     int64_t timeout_ms)
{
	*r = (struct file_request){
		.outcome = OUTCOME_INIT,
		.fd = fd,
		.wait = { .wanted = DIGEST_ALL,
			  .deadline_ms = clock_now_ms() + timeout_ms,
			  .open = file_request_open,
			  .close = file_request_close,
			  .done = on_file_answer,
			  .arg = r },
	};
}

/* The answer that a reader of the file's attributes gets. */
static inline void ask_waiting(struct fixture *f, const char *path,
			       struct file_digests *out)
{
	struct file_request r;
	int fd = open_file(f, path);

	file_request_init(&r, fd, DEADLINE_S * 1000);
	assert_int_equal(engine_wait(f->engine, &r.wait), 0);
	assert_int_equal(outcome_wait(&r.outcome), 0);
	*out = r.outcome.answer;
	close(fd);
}

/* That answer for a file that has digests. */
static inline void ask_fresh(struct fixture *f, const char *path,
			     struct file_digests *out)
{
	ask_waiting(f, path, out);
	assert_int_equal(out->state, DIGESTS_FRESH);
}

static inline void digest_bytes(const char *data, size_t len,
				struct digests *out)
{
	struct fingerprint *fp;

	assert_int_equal(fingerprint_new(DIGEST_DEFAULT, &fp), 0);
	assert_int_equal(fingerprint_begin(fp), 0);
	assert_int_equal(fingerprint_update(fp, data, len), 0);
	assert_int_equal(fingerprint_final(fp, out), 0);
	fingerprint_free(fp);
}

static inline void assert_digests_of(const struct digests *have,
				     const char *data, size_t len)
{
	struct digests want;
	int id;

	digest_bytes(data, len, &want);
	assert_int_equal(have->size, want.size);
	for (id = 0; id < DIGEST_COUNT; id++)
		if (want.set & DIGEST_BIT(id))
			assert_true(digest_is_equal(have, &want, id));
	digests_release(&want);
}

/* ---- queries ---- */

struct query_run {
	struct outcome o;
	int (*ask)(void *arg, struct search_job *job);
	void *arg;
};

static inline void query_run(void *arg, struct search_job *job)
{
	struct query_run *r = arg;
	int result = r->ask(r->arg, job);

	pthread_mutex_lock(&r->o.lock);
	outcome_set(&r->o, result);
}

/* Has a thread of the engine call ask(), and waits for it. */
static inline int query(struct fixture *f, const struct search_caller *caller,
			int (*ask)(void *arg, struct search_job *job),
			void *arg)
{
	struct query_run r = { .o = OUTCOME_INIT, .ask = ask, .arg = arg };

	assert_int_equal(search_start_job(engine_searcher(f->engine), caller,
					  query_run, &r),
			 0);
	return outcome_wait(&r.o);
}

struct similar_query {
	struct search_file_query q;
	struct search_hits *out;
};

static inline int ask_similar(void *arg, struct search_job *job)
{
	struct similar_query *s = arg;

	return search_file(job, &s->q, s->out);
}

static inline void find_similar(struct fixture *f, const char *path,
				struct search_hits *out)
{
	static const struct search_caller caller = { .trusted = true };
	struct similar_query s = { .q = { .fd = open_file(f, path),
					  .timeout_ms = DEADLINE_S * 1000 },
				   .out = out };

	assert_int_equal(query(f, &caller, ask_similar, &s), 0);
	close(s.q.fd);
}

static inline const struct search_hit *find_hit(const struct search_hits *hits,
						const char *path)
{
	size_t i;

	for (i = 0; i < hits->count; i++)
		if (strcmp(hits->hits[i].path, path) == 0)
			return &hits->hits[i];
	return NULL;
}

#endif
