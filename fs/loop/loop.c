/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/loop/loop.h"

#include <errno.h>
#include <fcntl.h>
#include <fuse_lowlevel.h>
#include <linux/fuse.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "core/base/thread.h"
#include "fs/fs.h"

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

/* ---- waking threads ---- */

#define WAKE_SIGNAL SIGUSR1

static void on_signal(int number)
{
	(void)number;
}

int wake_open(void)
{
	struct sigaction action = { .sa_handler = on_signal };

	return sigaction(WAKE_SIGNAL, &action, NULL) == 0 ? 0 : -errno;
}

void wake_allow(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, WAKE_SIGNAL);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

void wake_thread(pthread_t thread)
{
	pthread_kill(thread, WAKE_SIGNAL);
}

static void nap_ms(int ms)
{
	const struct timespec time = { .tv_nsec = ms * 1000000L };

	nanosleep(&time, NULL);
}

void wake_pause(void)
{
	nap_ms(1);
}

static void wake_main_after(struct loop *l, long ns)
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
		wake_main_after(l, STUCK_NS);
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

void loop_answer(struct fs *fs, struct fuse_buf *request)
{
	if (!atomic_load_explicit(&fs->had_requests, memory_order_relaxed))
		atomic_store_explicit(&fs->had_requests, true,
				      memory_order_relaxed);
	fuse_session_process_buf(fs->session, request);
}

static void answer_request(struct loop *l, struct loop_thread *t)
{
	const struct fuse_in_header *header = t->buf.mem;

	/* Only a long request is in a pipe: a write. */
	atomic_store_explicit(&t->opcode,
			      t->buf.flags & FUSE_BUF_IS_FD ? FUSE_WRITE :
							      header->opcode,
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
	wake_main_after(l, 1);
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

/* Starts a thread for each stuck one: one that is at the same request as at the
 * last call.  Called when the timer expires. */
static void check_stuck(struct loop *l)
{
	unsigned stuck = 0;
	uint64_t times;

	(void)!read(l->timer, &times, sizeof(times));
	pthread_mutex_lock(&l->lock);
	for (struct loop_thread *t = l->threads; t; t = t->next) {
		unsigned turn = atomic_load(&t->turn);

		stuck += turn % 2 && turn == t->seen;
		t->seen = turn;
	}
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

/* Wakes the threads until they end, see wake_thread(); but not while they work
 * on a request.  The session has ended, so no thread retires any more. */
static void end_all(struct loop *l)
{
	struct loop_thread *t, *next;

	pthread_mutex_lock(&l->lock);
	t = l->threads;
	l->threads = NULL;
	pthread_mutex_unlock(&l->lock);
	for (; t; t = next) {
		next = t->next;
		while (!atomic_load(&t->ended)) {
			if (atomic_load(&t->turn) % 2 == 0)
				wake_thread(t->id);
			wake_pause();
		}
		pthread_join(t->id, NULL);
		free_thread(t);
	}
}

int loop_run(struct fs *fs, const sigset_t *while_waiting)
{
	struct loop *l = fs->loop;
	struct pollfd timer = { .events = POLLIN };
	unsigned processors = processors_usable();
	int err = answer_first(fs);

	if (err || fuse_session_exited(l->session))
		return err;
	l->most = fs->options.single_thread ? 1 : MOST_THREADS;
	l->rest = processors == 1 ? 2 : processors + 4;
	if (l->rest > l->most)
		l->rest = l->most;
	l->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (l->timer < 0)
		return -errno;
	timer.fd = l->timer;
	atomic_store(&l->running, true);
	pthread_mutex_lock(&l->lock);
	while (!err && atomic_load(&l->count) < l->rest)
		err = start_thread(l);
	pthread_mutex_unlock(&l->lock);
	if (err)
		fuse_session_exit(l->session);
	while (!fuse_session_exited(l->session))
		if (ppoll(&timer, 1, NULL, while_waiting) == 1)
			check_stuck(l);
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

	uint32_t opcode;

	if (!atomic_load(&t->tid))
		return true;
	if (turn % 2 == 0)
		return is_asleep(t) && atomic_load(&t->turn) == turn;
	opcode = atomic_load_explicit(&t->opcode, memory_order_relaxed);
	if (opcode == FUSE_READ)
		*reading = true;
	return opcode != FUSE_READ && opcode != FUSE_RELEASE;
}

/* Waits until each thread was free at some time after the call: later requests
 * that it got were queued after the call. */
static bool wait_until_free(struct loop *l, int64_t end_ns, bool *reading)
{
	int64_t since_ns = clock_now_ns();
	bool all;

	for (;;) {
		all = true;
		pthread_mutex_lock(&l->lock);
		for (struct loop_thread *t = l->threads; t; t = t->next) {
			if (t->free_ns < since_ns && is_free(t, reading))
				t->free_ns = clock_now_ns();
			all = all && t->free_ns >= since_ns;
		}
		pthread_mutex_unlock(&l->lock);
		if (all || clock_now_ns() >= end_ns)
			return all;
		nap_ms(1);
	}
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
