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
#include "core/queue/quota.h"
#include "fs/fs.h"
#include "fs/loop/callers.h"

#define REST_MOST 10      /* threads that are not stuck */
#define STUCK_NS 1000000L /* work on a request; then it is stuck */
#define WAKE_NS 10000000L /* until a thread is interrupted again */
#define END_PAUSES 500    /* milliseconds until requests end */
#define MISSED_MOST 256
#define STUCK_MOST_NS 100000000L /* loop_caught_up() waits for one */
#define WAITS_MOST 1024
#define KEEP_NS INT64_C(10000000000) /* until surplus threads end */

struct loop {
	struct fs *fs;
	struct fuse_session *session;
	unsigned rest; /* threads wanted that are not stuck; 1: no others */
	int timer;     /* wakes the main thread */
	/* Interrupted requests.  A thread that has received one and not yet
	 * said so looks here then.  Under lock; the count, of all that there
	 * ever were, is read without it. */
	uint64_t missed[MISSED_MOST];
	atomic_uint missed_count;
	atomic_bool running;

	atomic_uint free;         /* threads that wait for a request */
	atomic_bool watched;      /* the timer is set */
	_Atomic int64_t stuck_ns; /* when a thread was stuck last */
	atomic_int error;

	pthread_mutex_t lock;
	struct loop_thread *threads; /* under lock */
	atomic_uint count;           /* of them; changed under lock */
	atomic_uint waiting;    /* of them: in a wait; changed under lock */
	struct quota waits;     /* of these; under lock */
	struct callers callers; /* under lock, but for its atomics */
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
	_Atomic uint64_t unique; /* its number */
	_Atomic uid_t uid;       /* of its caller */
	atomic_bool stuck;       /* counted with caller; set under lock */
	atomic_bool waits;       /* counted in waiting; changed under lock */
	uint64_t interrupted;    /* the last such request; under lock */
	unsigned missed_seen;    /* missed_count when the thread looked last */
	struct caller *caller;   /* valid while stuck; under lock */
	int64_t found_ns;        /* when that began; under lock */
	atomic_int tid;          /* 0: the thread has not begun */
	int64_t free_ns;         /* when it was last seen free; under lock */
	atomic_bool ended;
};

static _Thread_local struct loop_thread *self; /* NULL: not of the loop */

/* ---- waking threads ---- */

#define WAKE_SIGNAL SIGUSR1

static void on_signal(int number)
{
	(void)number;
}

/*
 * Interrupts a thread that waits in a system call, by a signal with an empty
 * handler.  A signal that arrives just before the call has no effect, so the
 * sender repeats it until the thread has left the call.
 */
static void wake_thread(const struct loop_thread *t)
{
	pthread_kill(t->id, WAKE_SIGNAL);
}

static void nap_ms(int ms)
{
	const struct timespec time = { .tv_nsec = ms * 1000000L };

	nanosleep(&time, NULL);
}

static void wake_main_after(struct loop *l, long ns)
{
	const struct itimerspec in = { .it_value.tv_nsec = ns };

	(void)timerfd_settime(l->timer, 0, &in, NULL);
}

/* Has the main thread call check_stuck() soon. */
static void schedule_check(struct loop *l, long ns)
{
	if (!atomic_exchange(&l->watched, true))
		wake_main_after(l, ns);
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

/* Replies to a request that libfuse has not seen. */
static void refuse(struct loop *l, uint64_t unique, int err)
{
	const struct fuse_out_header reply = {
		.len = sizeof(reply),
		.error = err,
		.unique = unique,
	};

	(void)!write(fuse_session_fd(l->session), &reply, sizeof(reply));
}

/* With the lock. */
static bool is_interrupted(const struct loop_thread *t)
{
	return t->interrupted && t->interrupted == atomic_load(&t->unique) &&
	       atomic_load(&t->turn) % 2;
}

/* The thread has said which request it has: was that interrupted before? */
static void notice_missed(struct loop *l, struct loop_thread *t)
{
	uint64_t unique = atomic_load(&t->unique);
	bool missed = false;

	pthread_mutex_lock(&l->lock);
	t->missed_seen = atomic_load(&l->missed_count);
	for (size_t i = 0; i < MISSED_MOST; i++)
		missed |= l->missed[i] == unique;
	if (missed)
		t->interrupted = unique;
	pthread_mutex_unlock(&l->lock);
	if (missed)
		schedule_check(l, STUCK_NS);
}

/* Holds the request if its caller may have no other thread now; false: it is to
 * be answered. */
static bool hold_request(struct loop *l, const struct fuse_buf *request)
{
	const struct fuse_in_header *header = request->mem;
	uid_t uid = request_uid(header);
	bool holds = false;
	int err = 0;

	if (header->opcode == FUSE_DESTROY)
		return false;
	pthread_mutex_lock(&l->lock);
	if (is_interrupted(self)) {
		err = -EINTR;
		holds = true;
	} else if (callers_must_hold(&l->callers, uid)) {
		err = callers_hold(&l->callers, uid, header, request->size,
				   request_is_awaited(header));
		holds = !err || request_is_awaited(header);
	}
	pthread_mutex_unlock(&l->lock);
	if (holds && err)
		refuse(l, header->unique, err);
	else if (holds)
		schedule_check(l, WAKE_NS);
	return holds;
}

/* A process no longer wants the answer: a held request gets EINTR, and a thread
 * that is stuck is woken.  False: libfuse has to know of it. */
static bool interrupt_request(struct loop *l,
			      const struct fuse_in_header *header)
{
	const struct fuse_interrupt_in *in = (const void *)(header + 1);
	struct held_request *held;
	struct loop_thread *t;

	pthread_mutex_lock(&l->lock);
	held = callers_take(&l->callers, in->unique);
	/* Before the threads are asked, see answer_one(). */
	l->missed[atomic_load(&l->missed_count) % MISSED_MOST] = in->unique;
	atomic_fetch_add(&l->missed_count, 1);
	t = l->threads;
	while (t && atomic_load(&t->unique) != in->unique)
		t = t->next;
	if (t)
		t->interrupted = in->unique;
	pthread_mutex_unlock(&l->lock);
	if (held)
		refuse(l, in->unique, -EINTR);
	else
		schedule_check(l, STUCK_NS);
	free(held);
	return held;
}

static void end_stuck(struct loop *l, struct loop_thread *t)
{
	pthread_mutex_lock(&l->lock);
	if (atomic_exchange(&t->stuck, false))
		callers_end_stuck(&l->callers, t->caller);
	pthread_mutex_unlock(&l->lock);
}

static void answer_one(struct loop *l, struct loop_thread *t,
		       struct fuse_buf *request, bool may_be_held)
{
	const struct fuse_in_header *header = request->mem;
	bool done = false;

	atomic_store_explicit(&t->opcode, header->opcode, memory_order_relaxed);
	atomic_store_explicit(&t->uid, request_uid(header),
			      memory_order_relaxed);
	atomic_store(&t->unique, header->unique);
	atomic_fetch_add(&t->turn, 1);
	if (atomic_load(&l->missed_count) != t->missed_seen)
		notice_missed(l, t);
	if (header->opcode == FUSE_INTERRUPT)
		done = interrupt_request(l, header);
	else if (may_be_held && atomic_load(&l->callers.limited))
		done = hold_request(l, request);
	if (!done)
		loop_answer(l->fs, request);
	atomic_fetch_add(&t->turn, 1);
	if (atomic_load(&t->stuck))
		end_stuck(l, t);
}

/* Answers held requests that may have a thread again. */
static void answer_held(struct loop *l, struct loop_thread *t)
{
	struct held_request *held;
	struct fuse_buf request;

	while (atomic_load(&l->callers.limited)) {
		pthread_mutex_lock(&l->lock);
		held = callers_next(&l->callers);
		if (held) /* before anything can interrupt it */
			atomic_store(&t->unique, held->unique);
		pthread_mutex_unlock(&l->lock);
		if (!held)
			break;
		request = (struct fuse_buf){ .size = held->len,
					     .mem = held->bytes };
		answer_one(l, t, &request, false);
		free(held);
	}
}

static void answer_request(struct loop *l, struct loop_thread *t)
{
	if (atomic_fetch_sub(&l->free, 1) == 1 && l->rest > 1)
		schedule_check(l, STUCK_NS);
	answer_one(l, t, &t->buf, true);
	answer_held(l, t);
	atomic_fetch_add(&l->free, 1);
}

/* How many threads there have to be. */
static unsigned wanted_count(struct loop *l)
{
	return l->rest + atomic_load(&l->callers.stuck) +
	       atomic_load(&l->waiting);
}

static bool is_too_many(struct loop *l)
{
	return atomic_load(&l->count) > wanted_count(l) &&
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

	self = t;
	atomic_store(&t->tid, gettid());
	answer_held(l, t);
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

/* ---- waits ---- */

int loop_wait_begin(struct fs *fs)
{
	struct loop *l = fs->loop;
	int err;

	if (!self)
		return -EAGAIN;
	pthread_mutex_lock(&l->lock);
	err = quota_take_many(&l->waits, atomic_load(&self->uid), 1);
	if (err) {
		pthread_mutex_unlock(&l->lock);
		return err;
	}
	if (atomic_exchange(&self->stuck, false))
		callers_end_stuck(&l->callers, self->caller);
	atomic_store(&self->waits, true);
	atomic_fetch_add(&l->waiting, 1);
	if (atomic_load(&l->count) < wanted_count(l))
		err = start_thread(l);
	pthread_mutex_unlock(&l->lock);
	if (err)
		loop_wait_end(fs);
	return err;
}

bool loop_wait_is_over(struct fs *fs, fuse_req_t req)
{
	return fuse_req_interrupted(req) || fuse_session_exited(fs->session);
}

void loop_wait_end(struct fs *fs)
{
	struct loop *l = fs->loop;

	pthread_mutex_lock(&l->lock);
	quota_give(&l->waits, atomic_load(&self->uid));
	atomic_store(&self->waits, false);
	atomic_fetch_sub(&l->waiting, 1);
	atomic_store(&l->stuck_ns, clock_ns(CLOCK_MONOTONIC_COARSE));
	pthread_mutex_unlock(&l->lock);
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

/* Counts a thread that is at the same request as at the last call.  The caller
 * holds the lock. */
static void find_stuck(struct loop *l, struct loop_thread *t)
{
	unsigned turn = atomic_load(&t->turn);

	if (l->rest > 1 && turn % 2 && turn == t->seen &&
	    !atomic_load(&t->stuck) && !atomic_load(&t->waits)) {
		t->caller =
			callers_add_stuck(&l->callers, atomic_load(&t->uid));
		t->found_ns = clock_now_ns();
		atomic_store(&t->stuck, t->caller);
		/* The thread may have missed that, see answer_one(). */
		if (t->caller && turn != atomic_load(&t->turn) &&
		    atomic_exchange(&t->stuck, false))
			callers_end_stuck(&l->callers, t->caller);
	}
	t->seen = turn;
}

/* Finds threads that are stuck, starts others in their place, interrupts those
 * that nobody waits for and ends what was held for too long.  Called when the
 * timer expires. */
static void check_stuck(struct loop *l)
{
	struct held_request *held;
	bool again = false;
	uint64_t times;

	(void)!read(l->timer, &times, sizeof(times));
	pthread_mutex_lock(&l->lock);
	for (struct loop_thread *t = l->threads; t; t = t->next) {
		find_stuck(l, t);
		if (is_interrupted(t) &&
		    (atomic_load(&t->stuck) || atomic_load(&t->waits)))
			wake_thread(t);
		again |= is_interrupted(t);
	}
	while ((held = callers_expired(&l->callers))) {
		refuse(l, held->unique, -EAGAIN);
		free(held);
	}
	again |= atomic_load(&l->callers.limited);
	if (atomic_load(&l->callers.stuck))
		atomic_store(&l->stuck_ns, clock_ns(CLOCK_MONOTONIC_COARSE));
	/* A thread that cannot be started is tried again at the next check. */
	while (atomic_load(&l->count) < wanted_count(l) && !start_thread(l))
		;
	pthread_mutex_unlock(&l->lock);
	atomic_store(&l->watched, false);
	if (!atomic_load(&l->free) && l->rest > 1)
		schedule_check(l, STUCK_NS);
	else if (again)
		schedule_check(l, WAKE_NS);
}

/* Wakes the threads until they end, see wake_thread(); those that work on a
 * request only if they do so for long.  The session has ended, so no thread
 * retires any more. */
static void end_all(struct loop *l)
{
	struct loop_thread *t, *next;
	unsigned pauses = 0;

	pthread_mutex_lock(&l->lock);
	t = l->threads;
	l->threads = NULL;
	pthread_mutex_unlock(&l->lock);
	for (; t; t = next) {
		next = t->next;
		while (!atomic_load(&t->ended)) {
			if (atomic_load(&t->turn) % 2 == 0 ||
			    atomic_load(&t->waits) || pauses++ >= END_PAUSES)
				wake_thread(t);
			nap_ms(1);
		}
		pthread_join(t->id, NULL);
		free_thread(t);
	}
}

int loop_run(struct fs *fs, const sigset_t *while_waiting, int mounts,
	     void (*mounts_changed)(struct fs *fs))
{
	struct loop *l = fs->loop;
	struct pollfd watched[] = { { .events = POLLIN },
				    { .fd = mounts, .events = POLLPRI } };
	unsigned processors = processors_usable();
	int err = answer_first(fs);

	if (err || fuse_session_exited(l->session))
		return err;
	l->rest = processors == 1 ? 2 : processors + 4;
	if (l->rest > REST_MOST)
		l->rest = REST_MOST;
	if (fs->options.single_thread)
		l->rest = 1;
	l->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (l->timer < 0)
		return -errno;
	watched[0].fd = l->timer;
	atomic_store(&l->running, true);
	pthread_mutex_lock(&l->lock);
	while (!err && atomic_load(&l->count) < l->rest)
		err = start_thread(l);
	pthread_mutex_unlock(&l->lock);
	if (err)
		fuse_session_exit(l->session);
	while (!fuse_session_exited(l->session)) {
		if (ppoll(watched, 2, NULL, while_waiting) <= 0)
			continue;
		if (watched[0].revents)
			check_stuck(l);
		if (watched[1].revents)
			mounts_changed(fs);
	}
	end_all(l);
	close(l->timer);
	return err ? err : atomic_load(&l->error);
}

int loop_open(struct fs *fs)
{
	const struct sigaction action = { .sa_handler = on_signal };
	struct loop *l = calloc(1, sizeof(*l));

	if (!l)
		return -ENOMEM;
	(void)sigaction(WAKE_SIGNAL, &action, NULL);
	l->waits.most = WAITS_MOST;
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
	callers_release(&fs->loop->callers);
	pthread_mutex_destroy(&fs->loop->lock);
	free(fs->loop);
	fs->loop = NULL;
}

/* ---- loop_caught_up() ---- */

void loop_release_counted(void)
{
	if (self)
		atomic_store_explicit(&self->opcode, 0, memory_order_relaxed);
}

/* Of proc(5); S: not known without /proc. */
static char state_of(const struct loop_thread *t)
{
	char path[64], text[128];
	const char *end;
	ssize_t len;
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/self/task/%d/stat",
		       atomic_load(&t->tid));
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 'S';
	len = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[len > 0 ? len : 0] = '\0';
	end = strrchr(text, ')'); /* the end of the thread's name */
	return end && end[1] == ' ' ? end[2] : 'R';
}

/* Whether the thread has no RELEASE or READ, but for one that has waited in the
 * kernel for long: the user of a file that cannot be read holds no others up.
 * *reading: it has a READ. */
static bool is_free(struct loop_thread *t, bool *reading)
{
	unsigned turn = atomic_load(&t->turn);
	uint32_t opcode;

	if (!atomic_load(&t->tid))
		return true;
	if (atomic_load(&t->stuck) &&
	    clock_now_ns() - t->found_ns > STUCK_MOST_NS && state_of(t) != 'R')
		return true;
	if (turn % 2 == 0)
		return state_of(t) == 'S' && atomic_load(&t->turn) == turn;
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
