/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What one user can ask for is bounded, and does not keep another waiting.
 * The engine is opened and not started while requests come in, so that none is
 * served meanwhile.
 */
#include "tests/unit/engine/fixture.h"

#include <sys/resource.h>

#include "core/digest/fingerprint.h"
#include "core/engine/engine_impl.h"
#include "core/source/times.h"

#define HUGE ((off_t)1 << 40)

enum { GREEDY = 1000, MODEST = 1001, TOO_MANY = 100000, CROWD = 100 };

struct crowd {
	struct fixture f;
	pthread_mutex_t lock;
	pthread_cond_t all;
	size_t asked, answered, modest_at; /* the place of MODEST, from 1 on */
	size_t kept;                       /* threads that wait for that */
	int result;                        /* of the last one */
};

struct voice {
	struct crowd *crowd;
	uid_t uid;
	bool slow; /* to take answers, until MODEST has one */
};

static struct voice greedy, modest;

static void answered(struct voice *v, int result)
{
	struct crowd *c = v->crowd;

	pthread_mutex_lock(&c->lock);
	c->answered++;
	c->result = result;
	if (v->uid == MODEST)
		c->modest_at = c->answered;
	pthread_cond_broadcast(&c->all);
	pthread_mutex_unlock(&c->lock);
}

static void crowd_wait(struct crowd *c, const size_t *number, size_t least);

/* Keeps the engine's thread. */
static void dawdle(struct voice *v)
{
	if (!v->slow)
		return;
	pthread_mutex_lock(&v->crowd->lock);
	v->crowd->kept++;
	pthread_cond_broadcast(&v->crowd->all);
	pthread_mutex_unlock(&v->crowd->lock);
	crowd_wait(v->crowd, &v->crowd->modest_at, 1);
}

/* A wait for the digests of a file, with a descriptor of its own. */
struct shared_request {
	struct digests_wait wait;
	struct voice *voice;
	int fd;
};

static int open_shared(void *arg)
{
	const struct shared_request *r = arg;

	return r->fd;
}

static void close_shared(void *arg)
{
	(void)arg;
}

static void shared_request_free(struct shared_request *r)
{
	close(r->fd);
	free(r);
}

static void on_wait(void *arg, int result, struct file_digests *digests)
{
	struct shared_request *r = arg;
	struct voice *v = r->voice;

	if (digests)
		file_digests_release(digests);
	shared_request_free(r);
	dawdle(v);
	answered(v, result);
}

/* ---- the two things to ask for ---- */

static int ask_wait(struct engine *e, int fd, struct voice *v)
{
	struct shared_request *r = calloc(1, sizeof(*r));
	int err;

	assert_non_null(r);
	r->voice = v;
	r->fd = dup(fd);
	assert_true(r->fd >= 0);
	r->wait = (struct digests_wait){
		.uid = v->uid,
		.wanted = DIGEST_ALL,
		.deadline_ms = clock_now_ms() + DEADLINE_S * 1000,
		.open = open_shared,
		.close = close_shared,
		.done = on_wait,
		.arg = r,
	};
	err = engine_wait(e, &r->wait);
	if (err)
		shared_request_free(r);
	return err;
}

static void browse(void *arg, struct search_job *job)
{
	struct search_paths entries;
	struct voice *v = arg;
	int result = search_browse(job, v->crowd->f.source_fd, &entries);

	if (!result)
		search_paths_release(&entries);
	dawdle(v);
	answered(v, result);
}

static int ask_browse(struct engine *e, int fd, struct voice *v)
{
	static const struct search_caller callers[] = {
		{ .trusted = true, .credentials = { .uid = GREEDY } },
		{ .trusted = true, .credentials = { .uid = MODEST } },
	};

	(void)fd;
	return search_start_job(engine_searcher(e), &callers[v->uid == MODEST],
				browse, v);
}

typedef int ask(struct engine *e, int fd, struct voice *v);

/* ---- the crowd ---- */

static void make_file(struct crowd *c, const char *prefix, size_t number)
{
	static char text[8192];
	char name[32];

	(void)snprintf(name, sizeof(name), "%s%zu", prefix, number);
	make_text(text, sizeof(text), number + (*prefix == 'b' ? 5000 : 1));
	write_file(&c->f, name, text, sizeof(text));
}

/* Until no file is too young to be hashed. */
static void wait_until_settled(struct crowd *c)
{
	struct file_identity identity;
	struct stat st;
	int64_t wait_ms;

	assert_int_equal(stat(c->f.source, &st), 0);
	source_get_identity(&st, &identity);
	while (times_are_too_young(TIMES_OWN, &identity, false, 0, &wait_ms))
		;
}

static void crowd_make(struct crowd *c)
{
	struct rlimit limit;
	size_t i;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	limit.rlim_cur = limit.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	memset(c, 0, sizeof(*c));
	pthread_mutex_init(&c->lock, NULL);
	pthread_cond_init(&c->all, NULL);
	fixture_make(&c->f);
	make_file(c, "b", 0);
	for (i = 0; i < CROWD; i++)
		make_file(c, "a", i);
	c->f.options.workers = 1;
	c->f.options.host.ctx = &c->f;
	c->f.options.host.open_known = find_by_number;
	c->f.options.source_fd = c->f.source_fd;
	c->f.options.source = c->f.source;
	c->f.options.catalog_dir = c->f.catalog;
	assert_int_equal(engine_open(&c->f.options, &c->f.engine), 0);
	wait_until_settled(c);
	greedy = (struct voice){ c, GREEDY, false };
	modest = (struct voice){ c, MODEST, false };
}

/* Until one of the crowd's numbers is that high. */
static void crowd_wait(struct crowd *c, const size_t *number, size_t least)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += DEADLINE_S;
	pthread_mutex_lock(&c->lock);
	while (*number < least)
		assert_int_equal(
			pthread_cond_timedwait(&c->all, &c->lock, &until), 0);
	pthread_mutex_unlock(&c->lock);
}

static int ask_for(struct crowd *c, ask *what, const char *name,
		   struct voice *v)
{
	int fd = open_file(&c->f, name);
	int err = what(c->f.engine, fd, v);

	close(fd);
	c->asked += !err;
	return err;
}

static void assert_bounded(ask *what)
{
	struct crowd c;
	int err = 0;

	crowd_make(&c);
	while (!err && c.asked < TOO_MANY)
		err = ask_for(&c, what, "a0", &greedy);
	assert_int_equal(err, -EAGAIN);
	assert_true(c.asked >= 500);
	assert_int_equal(ask_for(&c, what, "a0", &modest), 0);
	assert_int_equal(ask_for(&c, what, "a0", &greedy), -EAGAIN);
	fixture_close(&c.f);
	assert_int_equal(c.answered, c.asked);
	assert_int_equal(c.result, -ECANCELED);
	fixture_remove(&c.f);
}

/* Who came first, with a hundred, and keeps every thread that has an answer,
 * does not keep who came last. */
static void assert_fair(ask *what)
{
	struct crowd c;
	char name[32];
	size_t i;

	crowd_make(&c);
	greedy.slow = true;
	for (i = 0; i < CROWD; i++) {
		(void)snprintf(name, sizeof(name), "a%zu", i);
		assert_int_equal(ask_for(&c, what, name, &greedy), 0);
	}
	assert_int_equal(ask_for(&c, what, "b0", &modest), 0);
	assert_int_equal(engine_start(c.f.engine), 0);
	crowd_wait(&c, &c.answered, c.asked);
	assert_int_equal(c.modest_at, 1);
	fixture_remove(&c.f);
}

/* ---- tests ---- */

TEST(test_waits_are_bounded)
{
	assert_bounded(ask_wait);
}

TEST(test_queries_are_bounded)
{
	assert_bounded(ask_browse);
}

TEST(test_waits_are_fair)
{
	assert_fair(ask_wait);
}

/* The same for who comes when all threads could be taken already. */
static void assert_fair_later(ask *what)
{
	struct crowd c;
	size_t i;

	crowd_make(&c);
	greedy.slow = true;
	for (i = 0; i < CROWD; i++)
		assert_int_equal(ask_for(&c, what, "a0", &greedy), 0);
	assert_int_equal(engine_start(c.f.engine), 0);
	crowd_wait(&c, &c.kept, 1);
	assert_int_equal(ask_for(&c, what, "b0", &modest), 0);
	crowd_wait(&c, &c.answered, c.asked);
	assert_int_equal(c.modest_at, 1);
	fixture_remove(&c.f);
}

TEST(test_one_user_does_not_take_all_threads)
{
	assert_fair_later(ask_browse);
}

TEST(test_queries_are_fair)
{
	assert_fair(ask_browse);
}

/* A file for which two wait is as urgent as for the first of them. */
TEST(test_a_shared_file_keeps_the_better_turn)
{
	struct crowd c;
	struct voice patient;
	char name[32];
	size_t i;

	crowd_make(&c);
	patient = greedy;
	greedy.slow = true;
	for (i = 0; i < CROWD; i++) {
		(void)snprintf(name, sizeof(name), "a%zu", i);
		assert_int_equal(ask_for(&c, ask_wait, name, &greedy), 0);
	}
	assert_int_equal(ask_for(&c, ask_wait, "b0", &patient), 0);
	assert_int_equal(ask_for(&c, ask_wait, "b0", &modest), 0);
	assert_int_equal(engine_start(c.f.engine), 0);
	crowd_wait(&c, &c.answered, c.asked);
	assert_in_range(c.modest_at, 1, 2);
	fixture_remove(&c.f);
}

/* As many large files as workers, and more, do not keep a small one waiting. */
TEST(test_large_files_leave_a_worker)
{
	struct crowd c;
	char name[32];
	size_t i;

	crowd_make(&c);
	for (i = 0; i < 5; i++) {
		char path[128];

		(void)snprintf(name, sizeof(name), "a%zu", i);
		(void)snprintf(path, sizeof(path), "%s/%s", c.f.source, name);
		assert_int_equal(truncate(path, HUGE), 0);
		assert_int_equal(ask_for(&c, ask_wait, name, &greedy), 0);
	}
	assert_int_equal(engine_start(c.f.engine), 0);
	while (!status_number(&c.f, "hashing"))
		;
	assert_int_equal(ask_for(&c, ask_wait, "b0", &modest), 0);
	crowd_wait(&c, &c.modest_at, 1);
	assert_int_equal(c.modest_at, 1);
	fixture_close(&c.f);
	assert_int_equal(c.answered, c.asked);
	fixture_remove(&c.f);
}

/* ---- large files ---- */

enum { USERS = 4, LARGE_BYTES = QUEUE_LARGE + 1000003 };

static void write_large(struct crowd *c, const char *name, size_t seed)
{
	char *text = malloc(LARGE_BYTES);

	assert_non_null(text);
	make_text(text, LARGE_BYTES, seed);
	write_file(&c->f, name, text, LARGE_BYTES);
	free(text);
}

static void assert_digests(struct crowd *c, const char *name, size_t seed)
{
	char *text = malloc(LARGE_BYTES);
	struct file_digests answer;
	struct digests want;
	struct fingerprint *fp;
	int fd = open_file(&c->f, name);

	assert_non_null(text);
	make_text(text, LARGE_BYTES, seed);
	assert_int_equal(fingerprint_new(c->f.options.digest_set, &fp), 0);
	assert_int_equal(fingerprint_begin_file(fp, "", LARGE_BYTES, 0), 0);
	assert_int_equal(fingerprint_update(fp, text, LARGE_BYTES), 0);
	assert_int_equal(fingerprint_final(fp, &want), 0);
	assert_int_equal(engine_ask(c->f.engine, fd, DIGEST_ALL, &answer), 0);
	assert_int_equal(answer.state, DIGESTS_FRESH);
	assert_true(digests_are_equal(&answer.digests, &want));
	file_digests_release(&answer);
	digests_release(&want);
	fingerprint_free(fp);
	free(text);
	close(fd);
}

/* Each has a worker, with as many users as there are large files. */
TEST(test_large_files_of_users)
{
	static const char *const names[USERS] = { "l0", "l1", "l2", "l3" };
	struct voice voices[USERS];
	struct crowd c;
	size_t i;

	crowd_make(&c);
	for (i = 0; i < USERS; i++)
		write_large(&c, names[i], 900 + i);
	wait_until_settled(&c);
	for (i = 0; i < USERS; i++) {
		voices[i] = (struct voice){ &c, GREEDY + (uid_t)i, false };
		assert_int_equal(ask_for(&c, ask_wait, names[i], &voices[i]),
				 0);
	}
	assert_int_equal(engine_start(c.f.engine), 0);
	crowd_wait(&c, &c.answered, USERS);
	for (i = 0; i < USERS; i++)
		assert_digests(&c, names[i], 900 + i);
	fixture_remove(&c.f);
}
