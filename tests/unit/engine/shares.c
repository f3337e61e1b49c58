/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What one user can ask of the searcher is bounded, and does not keep another
 * waiting.  The engine is opened and not started while queries come in, so that
 * none is served meanwhile.
 */
#include "tests/unit/engine/fixture.h"

#include <sys/resource.h>

#include "core/engine/engine_impl.h"

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

/* ---- the crowd ---- */

static void crowd_make(struct crowd *c)
{
	struct rlimit limit;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	limit.rlim_cur = limit.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	memset(c, 0, sizeof(*c));
	pthread_mutex_init(&c->lock, NULL);
	pthread_cond_init(&c->all, NULL);
	fixture_make(&c->f);
	c->f.options.workers = 1;
	c->f.options.host.ctx = &c->f;
	c->f.options.host.open_known = find_by_number;
	c->f.options.source_fd = c->f.source_fd;
	c->f.options.source = c->f.source;
	c->f.options.catalog_dir = c->f.catalog;
	assert_int_equal(engine_open(&c->f.options, &c->f.engine), 0);
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

static int ask(struct crowd *c, struct voice *v)
{
	static const struct search_caller callers[] = {
		{ .trusted = true, .credentials = { .uid = GREEDY } },
		{ .trusted = true, .credentials = { .uid = MODEST } },
	};
	int err = search_start_job(engine_searcher(c->f.engine),
				   &callers[v->uid == MODEST], browse, v);

	c->asked += !err;
	return err;
}

static void crowd_ask(struct crowd *c)
{
	size_t i;

	greedy.slow = true;
	for (i = 0; i < CROWD; i++)
		assert_int_equal(ask(c, &greedy), 0);
}

/* ---- tests ---- */

TEST(test_queries_are_bounded)
{
	struct crowd c;
	int err = 0;

	crowd_make(&c);
	while (!err && c.asked < TOO_MANY)
		err = ask(&c, &greedy);
	assert_int_equal(err, -EAGAIN);
	assert_true(c.asked >= 500);
	assert_int_equal(ask(&c, &modest), 0);
	assert_int_equal(ask(&c, &greedy), -EAGAIN);
	fixture_close(&c.f);
	assert_int_equal(c.answered, c.asked);
	assert_int_equal(c.result, -ECANCELED);
	fixture_remove(&c.f);
}

/* GREEDY came first, with a hundred, and keeps every thread that has an answer;
 * MODEST came last. */
TEST(test_queries_are_fair)
{
	struct crowd c;

	crowd_make(&c);
	crowd_ask(&c);
	assert_int_equal(ask(&c, &modest), 0);
	assert_int_equal(engine_start(c.f.engine), 0);
	crowd_wait(&c, &c.answered, c.asked);
	assert_int_equal(c.modest_at, 1);
	fixture_remove(&c.f);
}

/* The same for MODEST when all threads could be taken already. */
TEST(test_one_user_does_not_take_all_threads)
{
	struct crowd c;

	crowd_make(&c);
	crowd_ask(&c);
	assert_int_equal(engine_start(c.f.engine), 0);
	crowd_wait(&c, &c.kept, 1);
	assert_int_equal(ask(&c, &modest), 0);
	crowd_wait(&c, &c.answered, c.asked);
	assert_int_equal(c.modest_at, 1);
	fixture_remove(&c.f);
}
