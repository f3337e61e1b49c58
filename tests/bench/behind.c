/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/*
 * behind SOURCE MOUNT CHANGES RATE: changes files of SOURCE, so many a second,
 * and prints how long it takes until MOUNT shows each change, in microseconds:
 *
 *	p50 p99 max late
 *
 * where late is the number of changes that were shown after more than 100 ms.
 * SOURCE is empty at first.  The kernel knows names and attributes of all files
 * of the mount when the changes begin.
 *
 * A change is a new size, mode or time of a file, or its name: each file has one
 * of two.  A second thread looks at the files in the order of their changes, so
 * a delay is at least what it takes to look at those before.  A file that was
 * changed once more meanwhile, which is seldom, counts when that is shown.
 */
enum { FILES = 20000, IN_DIRECTORY = 100, LATE_NS = 100 * 1000 * 1000 };
enum { KINDS = 4 };

struct change {
	uint32_t file;
	uint32_t kind;
	int64_t at_ns; /* when it was made */
};

struct behind {
	const char *source, *mount;
	struct change *changes;
	uint64_t count;
	int64_t step_ns;
	_Atomic uint64_t made;
	_Atomic uint32_t version[FILES]; /* changes of the file so far */
	uint32_t has_second_name[FILES];
};

static void fail(const char *what)
{
	fprintf(stderr, "behind: %s: %m\n", what);
	exit(EXIT_FAILURE);
}

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static void path_of(const char *tree, uint32_t file, uint32_t name, char *out)
{
	(void)snprintf(out, PATH_MAX, "%s/%u/%u%s", tree, file / IN_DIRECTORY,
		       file, name ? ".second" : "");
}

static void make_files(const struct behind *b)
{
	char path[PATH_MAX];
	uint32_t i;
	int fd;

	for (i = 0; i < FILES; i++) {
		if (i % IN_DIRECTORY == 0) {
			(void)snprintf(path, sizeof(path), "%s/%u", b->source,
				       i / IN_DIRECTORY);
			if (mkdir(path, 0755))
				fail(path);
		}
		path_of(b->source, i, 0, path);
		fd = open(path, O_CREAT | O_EXCL | O_WRONLY, 0644);
		if (fd < 0 || close(fd))
			fail(path);
	}
}

/* The kernel keeps for long what it was told more than once. */
static void look_at_all(const struct behind *b)
{
	char path[PATH_MAX];
	struct stat st;
	uint32_t i;
	int k;

	for (k = 0; k < 3; k++)
		for (i = 0; i < FILES; i++) {
			path_of(b->mount, i, 0, path);
			if (stat(path, &st))
				fail(path);
		}
}

/* What tells the versions of a file apart: its size, mode and time. */
static void make_change(struct behind *b, struct change *c)
{
	uint32_t *second = &b->has_second_name[c->file];
	uint32_t version = atomic_load(&b->version[c->file]) + 1;
	const struct timespec times[2] = { { 0, UTIME_OMIT },
					   { 1000000000 + version, 0 } };
	char path[PATH_MAX], other[PATH_MAX];
	int err;

	path_of(b->source, c->file, *second, path);
	path_of(b->source, c->file, !*second, other);
	atomic_store(&b->version[c->file], version);
	if (c->kind == 0)
		err = truncate(path, version);
	else if (c->kind == 1)
		err = chmod(path, 0600 + version % 64);
	else if (c->kind == 2)
		err = utimensat(AT_FDCWD, path, times, 0);
	else
		err = rename(path, other);
	c->at_ns = now_ns();
	if (err)
		fail(path);
	if (c->kind == 3)
		*second = !*second;
}

static void *make_changes(void *arg)
{
	struct behind *b = arg;
	int64_t start = now_ns(), wait;
	uint64_t i;

	for (i = 0; i < b->count; i++) {
		wait = start + (int64_t)i * b->step_ns - now_ns();
		if (wait > 0)
			(void)nanosleep(&(struct timespec){ wait / 1000000000,
							    wait % 1000000000 },
					NULL);
		make_change(b, &b->changes[i]);
		atomic_store(&b->made, i + 1);
	}
	return NULL;
}

static int is_equal(const struct stat *a, const struct stat *b)
{
	return a->st_size == b->st_size && a->st_mode == b->st_mode &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
	       a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* Whether the mount shows the file as it is now, under the one name. */
static int is_shown(const struct behind *b, uint32_t file)
{
	char path[PATH_MAX];
	struct stat have, want;
	uint32_t name;
	int there, here;

	for (name = 0; name < 2; name++) {
		path_of(b->source, file, name, path);
		there = lstat(path, &want);
		path_of(b->mount, file, name, path);
		here = lstat(path, &have);
		if (there != here || (!there && !is_equal(&want, &have)))
			return 0;
	}
	return 1;
}

static void wait_for(struct behind *b, int64_t *delays)
{
	uint64_t i;

	for (i = 0; i < b->count; i++) {
		while (atomic_load(&b->made) <= i)
			(void)sched_yield();
		while (!is_shown(b, b->changes[i].file))
			(void)sched_yield();
		delays[i] = now_ns() - b->changes[i].at_ns;
	}
}

static int by_size(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void print(int64_t *delays, uint64_t count)
{
	uint64_t i, late = 0;

	for (i = 0; i < count; i++)
		late += delays[i] > LATE_NS;
	qsort(delays, count, sizeof(*delays), by_size);
	printf("%lld %lld %lld %llu\n", (long long)delays[count / 2] / 1000,
	       (long long)delays[count - 1 - count / 100] / 1000,
	       (long long)delays[count - 1] / 1000, (unsigned long long)late);
}

int main(int argc, char **argv)
{
	static struct behind b;
	uint64_t i, state = 88172645463325252, rate;
	int64_t *delays;
	pthread_t thread;

	if (argc != 5) {
		fprintf(stderr, "usage: behind SOURCE MOUNT CHANGES RATE\n");
		return 2;
	}
	b.source = argv[1];
	b.mount = argv[2];
	b.count = strtoull(argv[3], NULL, 10);
	rate = strtoull(argv[4], NULL, 10);
	b.changes = calloc(b.count, sizeof(*b.changes));
	delays = calloc(b.count, sizeof(*delays));
	if (!b.count || !rate || !b.changes || !delays)
		fail("CHANGES, RATE");
	b.step_ns = (int64_t)(1000000000 / rate);
	for (i = 0; i < b.count; i++) {
		b.changes[i].file = (uint32_t)(next_random(&state) % FILES);
		b.changes[i].kind = (uint32_t)(next_random(&state) % KINDS);
	}
	make_files(&b);
	look_at_all(&b);
	if (pthread_create(&thread, NULL, make_changes, &b))
		fail("pthread_create");
	wait_for(&b, delays);
	(void)pthread_join(thread, NULL);
	print(delays, b.count);
	return EXIT_SUCCESS;
}
