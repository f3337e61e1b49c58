/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fanotify.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/watch/watch_impl.h"
#include "tests/support/remove_tree.h"
#include "tests/support/test.h"

/*
 * The watch of a directory in which another process changes things, as the
 * process itself makes no events.  The rest of the filesystem may be busy, so
 * the test looks at what is told of its own files.
 */
enum { TRACKED_MAX = 8 };

struct tracked {
	uint64_t id;
	ino_t inode;
	unsigned what;  /* told of it */
	unsigned names; /* told of names in it */
	unsigned resolved;
};

static struct {
	char top[64];
	struct watch *watch;
	pthread_mutex_t lock; /* all below */
	pthread_cond_t news;
	struct tracked tracked[TRACKED_MAX];
	size_t count;
	unsigned lost, overrun;
	unsigned polls[2]; /* [1]: of those that wait for opens */
	ino_t foreign;     /* not to be known */
	bool held;         /* the reader waits in poll() */
} t = { .lock = PTHREAD_MUTEX_INITIALIZER, .news = PTHREAD_COND_INITIALIZER };

/* ---- what is told ---- */

static void note(struct tracked *tracked, const struct watch_event *event)
{
	if (tracked->id == event->file)
		tracked->what |= event->what;
	if (tracked->id == event->directory)
		tracked->names |= event->what & WATCH_NAME;
}

static bool on_event(void *ctx, const struct watch_event *event)
{
	size_t i;

	(void)ctx;
	pthread_mutex_lock(&t.lock);
	for (i = 0; i < t.count; i++)
		note(&t.tracked[i], event);
	pthread_cond_broadcast(&t.news);
	pthread_mutex_unlock(&t.lock);
	return true;
}

static bool on_resolved(void *ctx, int fd, const struct stat *st)
{
	bool known = false;
	size_t i;

	(void)ctx;
	assert_true(fd >= 0);
	pthread_mutex_lock(&t.lock);
	for (i = 0; i < t.count; i++)
		if (t.tracked[i].inode == st->st_ino) {
			t.tracked[i].resolved++;
			known = st->st_ino != t.foreign;
		}
	pthread_cond_broadcast(&t.news);
	pthread_mutex_unlock(&t.lock);
	return known;
}

static void count(unsigned *counter)
{
	pthread_mutex_lock(&t.lock);
	(*counter)++;
	pthread_cond_broadcast(&t.news);
	pthread_mutex_unlock(&t.lock);
}

static void on_lost(void *ctx)
{
	(void)ctx;
	count(&t.lost);
}

static void on_overrun(void *ctx)
{
	(void)ctx;
	count(&t.overrun);
}

static void on_nothing(void *ctx)
{
	(void)ctx;
}

/* Stands before the C library's poll(), which the reader waits with.  (By that
 * name the compiler takes fds for memory that is only written.) */
int poll_noted(struct pollfd *fds, nfds_t fd_count,
	       int timeout_ms) __asm__("poll");

int poll_noted(struct pollfd *fds, nfds_t fd_count, int timeout_ms)
{
	const struct timespec time = { timeout_ms / 1000,
				       timeout_ms % 1000 * 1000000L };
	bool opens = false;
	nfds_t i;

	for (i = 0; i < fd_count && t.watch; i++)
		opens = opens || fds[i].fd == t.watch->opens;
	if (fd_count > 1) {
		count(&t.polls[opens]);
		pthread_mutex_lock(&t.lock);
		while (t.held)
			pthread_cond_wait(&t.news, &t.lock);
		pthread_mutex_unlock(&t.lock);
	}
	return ppoll(fds, fd_count, timeout_ms < 0 ? NULL : &time, NULL);
}

/* ---- waiting ---- */

/* For the lock to be held.  Events that the kernel dropped do not come: then other
 * programs change more files than a queue of events holds. */
static void wait_news(void)
{
	if (t.lost) {
		pthread_mutex_unlock(&t.lock);
		print_message("# other programs made too many events\n");
		skip();
	}
	pthread_cond_wait(&t.news, &t.lock);
}

static void wait_for(const unsigned *value, unsigned bits)
{
	pthread_mutex_lock(&t.lock);
	while ((*value & bits) != bits)
		wait_news();
	pthread_mutex_unlock(&t.lock);
}

static void wait_more(const unsigned *value, unsigned than)
{
	pthread_mutex_lock(&t.lock);
	while (*value <= than)
		wait_news();
	pthread_mutex_unlock(&t.lock);
}

static void forget(unsigned *value)
{
	pthread_mutex_lock(&t.lock);
	*value = 0;
	pthread_mutex_unlock(&t.lock);
}

static void set_foreign(const struct tracked *tracked)
{
	pthread_mutex_lock(&t.lock);
	t.foreign = tracked->inode;
	pthread_mutex_unlock(&t.lock);
}

static unsigned value_of(const unsigned *value)
{
	unsigned now;

	pthread_mutex_lock(&t.lock);
	now = *value;
	pthread_mutex_unlock(&t.lock);
	return now;
}

/* ---- files ---- */

/* Another process does that in the directory. */
static void run(const char *command)
{
	char line[256];

	(void)snprintf(line, sizeof(line), "cd '%s' && %s", t.top, command);
	/* NOLINTNEXTLINE(cert-env33-c): a command of this test */
	assert_int_equal(system(line), 0);
}

static struct tracked *track(const char *name)
{
	char path[128];
	struct tracked *tracked;
	struct stat st;
	uint64_t id;
	int fd;

	(void)snprintf(path, sizeof(path), "%s/%s", t.top, name);
	fd = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(watch_get_id(fd, &id), 0);
	close(fd);
	pthread_mutex_lock(&t.lock);
	assert_true(t.count < TRACKED_MAX);
	tracked = &t.tracked[t.count++];
	*tracked = (struct tracked){ .id = id, .inode = st.st_ino };
	pthread_mutex_unlock(&t.lock);
	return tracked;
}

static int begin(void **state)
{
	const struct watch_context context = {
		.event = on_event,
		.lost = on_lost,
		.overrun = on_overrun,
		.mounts_changed = on_nothing,
		.file_changed = on_resolved,
		.directory_changed = on_resolved,
	};
	int fd, err;

	(void)state;
	t.count = 0;
	t.lost = t.overrun = 0;
	t.foreign = 0;
	(void)snprintf(t.top, sizeof(t.top), "/var/tmp/kinfs-unit-XXXXXX");
	assert_non_null(mkdtemp(t.top));
	fd = open(t.top, O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_true(fd >= 0);
	err = watch_open(fd, &t.watch);
	close(fd);
	if (err == -EPERM || err == -ENOTSUP) {
		t.watch = NULL;
		return 0;
	}
	assert_int_equal(err, 0);
	assert_int_equal(watch_start(t.watch, &context), 0);
	return 0;
}

static int end(void **state)
{
	(void)state;
	watch_free(t.watch);
	remove_tree(t.top);
	return 0;
}

/* Not root, or a filesystem without handles. */
static void need_watch(void)
{
	if (!t.watch)
		skip();
}

/* ---- what is told of a file ---- */

#define WITH_FIXTURE(name) TEST_WITH(name, begin, end)

WITH_FIXTURE(names_are_told_of_their_directory)
{
	struct tracked *d;

	need_watch();
	run("mkdir d e");
	d = track("d");
	run("touch d/f");
	wait_for(&d->names, WATCH_NAME);
	forget(&d->names);
	run("mv d/f e/f");
	wait_for(&d->names, WATCH_NAME);
	forget(&d->names);
	run("mv e/f d/g");
	wait_for(&d->names, WATCH_NAME);
	forget(&d->names);
	run("rm d/g");
	wait_for(&d->names, WATCH_NAME);
	forget(&d->names);
	run("mkdir d/below");
	wait_for(&d->names, WATCH_NAME);
}

WITH_FIXTURE(changes_are_told_of_the_file)
{
	static const struct {
		const char *command;
		unsigned what;
	} changes[] = {
		{ "echo text >f", WATCH_WRITTEN | WATCH_CLOSED },
		{ "truncate -s 1 f", WATCH_WRITTEN },
		{ "chmod 600 f", WATCH_ATTRIBUTES },
		{ "touch -d 2020-01-01 f", WATCH_ATTRIBUTES },
		{ "cat f >/dev/null", WATCH_OPENED },
		{ "ln f g", WATCH_NAME },
		{ "mv g h", WATCH_NAME },
		{ "echo text >>h", WATCH_WRITTEN },
		{ "rm h", WATCH_ATTRIBUTES },
	};
	struct tracked *f;
	size_t i;

	need_watch();
	run("touch f");
	f = track("f");
	for (i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		forget(&f->what);
		run(changes[i].command);
		wait_for(&f->what, changes[i].what);
	}
}

static void hold(bool held)
{
	pthread_mutex_lock(&t.lock);
	t.held = held;
	pthread_cond_broadcast(&t.news);
	pthread_mutex_unlock(&t.lock);
}

WITH_FIXTURE(what_is_not_read_yet_is_not_over)
{
	struct tracked *top;
	unsigned polls;

	need_watch();
	top = track(".");
	hold(true);
	polls = value_of(&t.polls[1]) + value_of(&t.polls[0]);
	run("touch f");
	/* The reader is in poll() still, or in the next one. */
	while (value_of(&t.polls[1]) + value_of(&t.polls[0]) == polls &&
	       watch_is_idle(t.watch))
		sched_yield();
	run("touch g");
	assert_false(watch_is_idle(t.watch));
	hold(false);
	wait_for(&top->names, WATCH_NAME);
	wait_more(&top->resolved, 0);
	while (!watch_is_idle(t.watch))
		sched_yield();
}

WITH_FIXTURE(the_process_itself_makes_no_events)
{
	struct tracked *f, *top;
	char path[128];

	need_watch();
	run("touch f");
	f = track("f");
	top = track(".");
	run("touch f");
	wait_more(&f->resolved, 0);
	forget(&f->what);
	forget(&top->names);
	(void)snprintf(path, sizeof(path), "%s/f", t.top);
	assert_int_equal(chmod(path, 0600), 0);
	assert_int_equal(truncate(path, 10), 0);
	/* Events come in their order. */
	run("touch g");
	wait_for(&top->names, WATCH_NAME);
	assert_int_equal(value_of(&f->what), 0);
}

/* Its own opens do not wake the reader, which then looks for those of others
 * from time to time. */
WITH_FIXTURE(own_opens_are_not_waited_for)
{
	unsigned before[2];
	struct tracked *f;
	char path[128];

	need_watch();
	run("touch f");
	f = track("f");
	run("cat f >/dev/null");
	wait_for(&f->what, WATCH_OPENED);
	(void)snprintf(path, sizeof(path), "%s/f", t.top);
	before[0] = value_of(&t.polls[0]);
	do
		close(open(path, O_RDONLY | O_CLOEXEC));
	while (value_of(&t.polls[0]) == before[0]);
	forget(&f->what);
	run("cat f >/dev/null");
	wait_for(&f->what, WATCH_OPENED);
	before[1] = value_of(&t.polls[1]);
	wait_more(&t.polls[1], before[1]);
}

/* ---- what is opened ---- */

WITH_FIXTURE(what_changed_is_opened)
{
	struct tracked *d, *f;

	need_watch();
	run("mkdir d && touch d/f");
	d = track("d");
	f = track("d/f");
	run("echo text >d/f");
	wait_more(&f->resolved, 0);
	run("touch d/g");
	wait_more(&d->resolved, 0);
}

/* A file that is not known is looked for in its directory. */
WITH_FIXTURE(unknown_files_lead_to_their_directory)
{
	struct tracked *d, *f;

	need_watch();
	run("mkdir d && touch d/f");
	f = track("d/f");
	set_foreign(f);
	d = track("d");
	run("chmod 600 d/f");
	wait_more(&d->resolved, 0);
}

static void make_foreign(const struct tracked *d)
{
	while (!watch_is_foreign(t.watch, d->id))
		run("touch d/f && rm d/f");
}

/* Others may move directories meanwhile, and then all are forgotten: so often it
 * is tried. */
enum { TRIES = 200 };

WITH_FIXTURE(foreign_directories_are_passed_over)
{
	struct tracked *d, *f, *top;
	unsigned moves, resolved, tries = 0;

	need_watch();
	run("mkdir d && touch f && ln f d/g");
	f = track("f");
	top = track(".");
	d = track("d");
	set_foreign(d);
	do {
		if (tries++ == TRIES) {
			print_message("# others move directories\n");
			skip();
		}
		make_foreign(d);
		moves = watch_get_moves(t.watch);
		resolved = value_of(&top->resolved);
		forget(&f->resolved);
		run("chmod 600 d/g && touch h && rm h");
		wait_more(&top->resolved, resolved);
	} while (watch_get_moves(t.watch) != moves);
	assert_int_equal(value_of(&f->resolved), 0);
	run("mv d e");
	while (watch_is_foreign(t.watch, d->id))
		sched_yield();
	run("chmod 644 e/g");
	wait_more(&f->resolved, 0);
}

/* ---- what is lost ---- */

WITH_FIXTURE(an_overflow_is_told)
{
	const struct fanotify_event_metadata overflow = {
		.event_len = FAN_EVENT_METADATA_LEN,
		.vers = FANOTIFY_METADATA_VERSION,
		.metadata_len = FAN_EVENT_METADATA_LEN,
		.mask = FAN_Q_OVERFLOW,
		.fd = FAN_NOFD,
	};
	struct watch_counts counts;

	need_watch();
	watch_handle_events(t.watch, &overflow, sizeof(overflow));
	assert_int_equal(t.lost, 1);
	watch_get_counts(t.watch, &counts);
	assert_int_equal(counts.lost, 1);
}

/* ---- where it can be ---- */

TEST(network_filesystems_are_not_local)
{
	assert_true(watch_is_local_type(0xef53));      /* ext4 */
	assert_true(watch_is_local_type(0x58465342));  /* XFS */
	assert_false(watch_is_local_type(0x6969));     /* NFS */
	assert_false(watch_is_local_type(0xff534d42)); /* SMB */
	assert_false(watch_is_local_type(0x01021997)); /* 9p */
	assert_false(watch_is_local_type(0x65735546)); /* FUSE */
	assert_false(watch_is_local_type(0x794c7630)); /* overlayfs */
}
