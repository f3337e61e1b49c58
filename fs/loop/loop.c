/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/loop/loop.h"

#include <errno.h>
#include <fcntl.h>
#include <fuse_lowlevel.h>
#include <linux/fuse.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "core/base/processors.h"
#include "fs/fs.h"
#include "fs/loop/wake.h"

#define STUCK_NS 1000000L            /* work on a request; then it is stuck */
#define KEEP_NS INT64_C(10000000000) /* until surplus threads end */
#define MOST_THREADS 10

struct loop {
	struct fs *fs;
	struct fuse_session *session;
	unsigned rest; /* threads wanted that are not stuck */
	unsigned most; /* most threads */
	int timer;     /* wakes the main thread */
	atomic_bool running;

	atomic_uint free;         /* threads that wait for a request */
	atomic_bool watched;      /* the timer is set */
	_Atomic int64_t stuck_ns; /* when a thread was stuck last */
	atomic_int error;

	pthread_mutex_t lock;
	struct loop_thread *threads; /* under lock */
	atomic_uint count;           /* of them; changed under lock */
};

struct loop_thread {
	struct loop *loop;
	struct loop_thread *next;
	pthread_t id;
	struct fuse_buf buf;
	atomic_uint turn;   /* incremented before and after each request: odd
			     * while the thread works on one */
	unsigned seen;      /* turn at the last check_stuck() */
	atomic_uint opcode; /* of the present request */
	atomic_int tid;     /* 0: the thread has not begun */
	int64_t free_ns;    /* when it was last seen free; under lock */
	atomic_bool ended;
};

/* ---- waking the main thread ---- */

static void wake_after(struct loop *l, long ns)
{
	const struct itimerspec in = { .it_value.tv_nsec = ns };

	(void)timerfd_settime(l->timer, 0, &in, NULL);
}

/* Called when no thread waits for a request.  Has the main thread check soon
 * whether threads are stuck, unless there can be no more threads. */
static void schedule_check(struct loop *l)
{
	if (atomic_load(&l->count) < l->most &&
	    !atomic_exchange(&l->watched, true))
		wake_after(l, STUCK_NS);
}

/* ---- one thread ---- */

/* Waits for a request.  Its length; 0: the session has ended; or a negative
 * errno. */
static int receive_request(struct fuse_session *session, struct fuse_buf *buf)
{
	int r;

	do
		r = fuse_session_exited(session) ?
			    0 :
			    fuse_session_receive_buf(session, buf);
	while (r == -EINTR);
	return r;
}

static uint32_t opcode_of(const struct fuse_buf *buf)
{
	const struct fuse_in_header *header = buf->mem;

	/* Only a long request is in a pipe: a write. */
	return buf->flags & FUSE_BUF_IS_FD ? FUSE_WRITE : header->opcode;
}

void loop_answer(struct fs *fs, struct fuse_buf *request)
{
	if (!atomic_load_explicit(&fs->had_requests, memory_order_relaxed))
		atomic_store_explicit(&fs->had_requests, true,
				      memory_order_relaxed);
	fuse_session_process_buf(fs->session, request);
}

static void answer_request(struct loop *l, struct loop_thread *t)
{
	atomic_store_explicit(&t->opcode, opcode_of(&t->buf),
			      memory_order_relaxed);
	atomic_fetch_add(&t->turn, 1);
	if (atomic_fetch_sub(&l->free, 1) == 1)
		schedule_check(l);
	loop_answer(l->fs, &t->buf);
	atomic_fetch_add(&l->free, 1);
	atomic_fetch_add(&t->turn, 1);
}

static bool is_too_many(struct loop *l)
{
	return atomic_load(&l->count) > l->rest &&
	       clock_ns(CLOCK_MONOTONIC_COARSE) - atomic_load(&l->stuck_ns) >
		       KEEP_NS;
}

static void drop_thread(struct loop *l, struct loop_thread *t)
{
	struct loop_thread **at = &l->threads;

	while (*at != t)
		at = &(*at)->next;
	*at = t->next;
	atomic_fetch_sub(&l->count, 1);
	atomic_fetch_sub(&l->free, 1);
}

static void free_thread(struct loop_thread *t)
{
	free(t->buf.mem);
	free(t);
}

/* Whether the calling thread is surplus and has to return; it is detached and
 * freed then. */
static bool end_if_surplus(struct loop *l, struct loop_thread *t)
{
	bool ends;

	if (!is_too_many(l))
		return false;
	pthread_mutex_lock(&l->lock);
	ends = is_too_many(l) && !fuse_session_exited(l->session);
	if (ends)
		drop_thread(l, t);
	pthread_mutex_unlock(&l->lock);
	if (ends) {
		pthread_detach(pthread_self());
		free_thread(t);
	}
	return ends;
}

static void *thread_run(void *arg)
{
	struct loop_thread *t = arg;
	struct loop *l = t->loop;
	int r;

	atomic_store(&t->tid, gettid());
	while ((r = receive_request(l->session, &t->buf)) > 0) {
		answer_request(l, t);
		if (end_if_surplus(l, t))
			return NULL;
	}
	if (r < 0)
		atomic_store(&l->error, r);
	fuse_session_exit(l->session);
	wake_after(l, 1);
	atomic_store(&t->ended, true);
	return NULL;
}

/* The caller holds the lock. */
static int start_thread(struct loop *l)
{
	struct loop_thread *t = calloc(1, sizeof(*t));
	int err;

	if (!t)
		return -ENOMEM;
	t->loop = l;
	t->next = l->threads;
	l->threads = t;
	atomic_fetch_add(&l->count, 1);
	atomic_fetch_add(&l->free, 1);
	err = -pthread_create(&t->id, NULL, thread_run, t);
	if (err) {
		drop_thread(l, t);
		free_thread(t);
	}
	return err;
}

/* ---- the main thread ---- */

/* Answers requests until init() was called.  That request sets the size of
 * buffers, so the first ones have a buffer of their own. */
static int answer_first(struct fs *fs)
{
	struct fuse_session *session = fs->session;
	struct fuse_buf buf = { .mem = NULL };
	int r = 1;

	while (r > 0 && !atomic_load(&fs->ready)) {
		r = receive_request(session, &buf);
		if (r > 0)
			fuse_session_process_buf(session, &buf);
		if (r > 0 && fuse_session_exited(session))
			r = -EPROTO; /* libfuse has logged why */
	}
	free(buf.mem);
	return r < 0 ? r : 0;
}

/* The number of threads that are at the same request as at the last call.  The
 * caller holds the lock. */
static unsigned count_stuck(struct loop *l)
{
	unsigned stuck = 0;

	for (struct loop_thread *t = l->threads; t; t = t->next) {
		unsigned turn = atomic_load(&t->turn);

		stuck += turn % 2 && turn == t->seen;
		t->seen = turn;
	}
	return stuck;
}

/* Starts a thread for each stuck one.  Called when the timer expires. */
static void check_stuck(struct loop *l)
{
	unsigned stuck;
	uint64_t times;

	(void)!read(l->timer, &times, sizeof(times));
	pthread_mutex_lock(&l->lock);
	stuck = count_stuck(l);
	if (stuck)
		atomic_store(&l->stuck_ns, clock_ns(CLOCK_MONOTONIC_COARSE));
	/* A thread that cannot be started is tried again at the next check. */
	while (atomic_load(&l->count) < l->most &&
	       atomic_load(&l->count) < l->rest + stuck && !start_thread(l))
		;
	pthread_mutex_unlock(&l->lock);
	atomic_store(&l->watched, false);
	if (!atomic_load(&l->free))
		schedule_check(l);
}

static void wait_for_end(struct loop *l, const sigset_t *while_waiting)
{
	struct pollfd timer = { .fd = l->timer, .events = POLLIN };

	while (!fuse_session_exited(l->session))
		if (ppoll(&timer, 1, NULL, while_waiting) == 1)
			check_stuck(l);
}

static int start_all(struct loop *l)
{
	int err = 0;

	pthread_mutex_lock(&l->lock);
	while (!err && atomic_load(&l->count) < l->rest)
		err = start_thread(l);
	pthread_mutex_unlock(&l->lock);
	return err;
}

/* Wakes the thread until it ends, see wake.h; but not while it works on a
 * request. */
static void end_thread(struct loop_thread *t)
{
	while (!atomic_load(&t->ended)) {
		if (atomic_load(&t->turn) % 2 == 0)
			wake_thread(t->id);
		wake_pause();
	}
	pthread_join(t->id, NULL);
	free_thread(t);
}

/* The session has ended, so no thread retires any more. */
static void end_all(struct loop *l)
{
	struct loop_thread *t, *next;

	pthread_mutex_lock(&l->lock);
	t = l->threads;
	l->threads = NULL;
	pthread_mutex_unlock(&l->lock);
	for (; t; t = next) {
		next = t->next;
		end_thread(t);
	}
}

static void choose_counts(struct loop *l, const struct options *o)
{
	unsigned processors = processors_usable();

	l->most = o->single_thread ? 1 : MOST_THREADS;
	l->rest = processors == 1 ? 2 : processors + 4;
	if (l->rest > l->most)
		l->rest = l->most;
}

int loop_run(struct fs *fs, const sigset_t *while_waiting)
{
	struct loop *l = fs->loop;
	int err = answer_first(fs);

	if (err || fuse_session_exited(l->session))
		return err;
	choose_counts(l, &fs->options);
	l->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (l->timer < 0)
		return -errno;
	atomic_store(&l->running, true);
	err = start_all(l);
	if (err)
		fuse_session_exit(l->session);
	wait_for_end(l, while_waiting);
	end_all(l);
	close(l->timer);
	return err ? err : atomic_load(&l->error);
}

int loop_open(struct fs *fs)
{
	struct loop *l = calloc(1, sizeof(*l));

	if (!l)
		return -ENOMEM;
	l->fs = fs;
	l->session = fs->session;
	pthread_mutex_init(&l->lock, NULL);
	fs->loop = l;
	return 0;
}

void loop_free(struct fs *fs)
{
	if (!fs->loop)
		return;
	pthread_mutex_destroy(&fs->loop->lock);
	free(fs->loop);
	fs->loop = NULL;
}

/* ---- loop_caught_up() ---- */

static bool is_asleep(const struct loop_thread *t)
{
	char path[64], text[128];
	const char *end;
	ssize_t len;
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/self/task/%d/stat",
		       atomic_load(&t->tid));
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return true; /* not known without /proc */
	len = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[len > 0 ? len : 0] = '\0';
	end = strrchr(text, ')'); /* the end of the thread's name */
	return end && end[1] == ' ' && end[2] == 'S';
}

/* Whether the thread has no RELEASE or READ; *reading: it has a READ. */
static bool is_free(struct loop_thread *t, bool *reading)
{
	unsigned turn = atomic_load(&t->turn);

	if (!atomic_load(&t->tid))
		return true;
	if (turn % 2 == 0)
		return is_asleep(t) && atomic_load(&t->turn) == turn;
	switch (atomic_load_explicit(&t->opcode, memory_order_relaxed)) {
	case FUSE_READ:
		*reading = true;
		return false;
	case FUSE_RELEASE:
		return false;
	default:
		return true;
	}
}

/* Whether each thread was free at some time after since_ns: later requests that
 * it got were queued after the call. */
static bool were_free(struct loop *l, int64_t since_ns, bool *reading)
{
	bool all = true;

	pthread_mutex_lock(&l->lock);
	for (struct loop_thread *t = l->threads; t; t = t->next) {
		if (t->free_ns < since_ns && is_free(t, reading))
			t->free_ns = clock_now_ns();
		all = all && t->free_ns >= since_ns;
	}
	pthread_mutex_unlock(&l->lock);
	return all;
}

static void nap_ms(int ms)
{
	const struct timespec time = { .tv_nsec = ms * 1000000L };

	nanosleep(&time, NULL);
}

/* Waits until each thread was free. */
static bool wait_until_free(struct loop *l, int64_t end_ns, bool *reading)
{
	int64_t since_ns = clock_now_ns();
	bool free;

	while (!(free = were_free(l, since_ns, reading)) &&
	       clock_now_ns() < end_ns)
		nap_ms(1);
	return free;
}

/* Waits until the kernel's queue is empty. */
static bool wait_until_taken(struct loop *l, int64_t end_ns)
{
	struct pollfd queue = { fuse_session_fd(l->session), POLLIN, 0 };
	bool taken;

	while (!(taken = poll(&queue, 1, 0) == 0) && clock_now_ns() < end_ns)
		nap_ms(1);
	return taken;
}

bool loop_caught_up(struct fs *fs, int timeout_ms)
{
	int64_t end_ns = clock_now_ns() + timeout_ms * INT64_C(1000000);
	struct loop *l = fs->loop;
	bool reading = false;

	if (!l)
		return true;
	if (!atomic_load(&l->running)) {
		nap_ms(timeout_ms);
		return true;
	}
	if (!wait_until_free(l, end_ns, &reading))
		return false;
	return !reading || (wait_until_taken(l, end_ns) &&
			    wait_until_free(l, end_ns, &reading));
}
