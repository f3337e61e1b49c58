/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What the tests change around them: files, users, other processes.  A step
 * that prepares a test and fails ends it with a line that says so.
 */
#include "tests/conform/conform.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/conform/main.h"

const struct user root = { .name = "root" };
const struct user alice = {
	.name = "alice",
	.uid = 4101,
	.gid = 4101,
	.groups = { 4101, SHARED_GROUP },
	.group_count = 2,
};
const struct user bob = {
	.name = "bob",
	.uid = 4102,
	.gid = 4102,
	.groups = { 4102, SHARED_GROUP },
	.group_count = 2,
};

void need(bool good, const char *what)
{
	if (good)
		return;
	say("the test is cut short: %s = %s", what, error_name(errno));
	_exit(EXIT_FAILURE);
}

/* ---- files ---- */

void fill_bytes(void *data, size_t size, unsigned seed)
{
	unsigned char *to = data;
	uint32_t x = seed * 2654435761u + 1;

	for (size_t i = 0; i < size; i++) {
		x ^= x << 13;
		x ^= x >> 17;
		x ^= x << 5;
		to[i] = (unsigned char)x;
	}
}

static void make_with(const char *path, const void *data, size_t size,
		      mode_t mode)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	need(fd >= 0, path);
	need(write(fd, data, size) == (ssize_t)size, path);
	need(fchmod(fd, mode) == 0, path);
	close(fd);
}

void make_file(const char *path, const char *content, mode_t mode)
{
	make_with(path, content, strlen(content), mode);
}

void make_bytes(const char *path, size_t size, unsigned seed)
{
	char *data = malloc(size ? size : 1);

	need(data != NULL, "memory");
	fill_bytes(data, size, seed);
	make_with(path, data, size, 0644);
	free(data);
}

const char *behind(const char *path)
{
	static char full[2][PATH_MAX];
	static unsigned turn;
	char *to = full[turn++ % 2];

	snprintf(to, PATH_MAX, "%s/%s", behind_directory, path);
	return to;
}

/* File times come from the coarse clock. */
void tick(void)
{
	struct timespec moment = { .tv_nsec = 1000000 };
	struct timespec start;
	struct timespec now;

	for (int ticks = 0; ticks < 2; ticks++) {
		clock_gettime(CLOCK_REALTIME_COARSE, &start);
		do {
			nanosleep(&moment, NULL);
			clock_gettime(CLOCK_REALTIME_COARSE, &now);
		} while (now.tv_sec == start.tv_sec &&
			 now.tv_nsec == start.tv_nsec);
	}
}

#define ROOM_TICKS 1000

void wait_for_room(const char *path)
{
	struct statvfs st;

	for (int i = 0; i < ROOM_TICKS; i++) {
		if (statvfs(path, &st) != 0 ||
		    (st.f_bavail >= 16 && st.f_favail))
			break;
		tick();
	}
}

/* ---- users ---- */

void be(const struct user *user)
{
	need(seteuid(0) == 0, "seteuid(0)");
	need(setegid(user->gid) == 0, "setegid");
	need(setgroups(user->group_count, user->groups) == 0, "setgroups");
	need(seteuid(user->uid) == 0, "seteuid");
	say("as %s", user->name);
}

/* ---- processes ---- */

static void reap(pid_t pid)
{
	int status;

	if (waitpid(pid, &status, 0) == pid && WIFSIGNALED(status))
		say("the other process = killed by signal %d",
		    WTERMSIG(status));
}

void in_child(void (*run)(void))
{
	pid_t pid = fork();

	need(pid >= 0, "fork");
	if (!pid) {
		run();
		_exit(EXIT_SUCCESS);
	}
	reap(pid);
}

void partner_start(struct partner *p, void (*run)(struct partner *self))
{
	struct partner self = { .pid = 0 };
	char byte;
	int down[2];
	int up[2];

	need(pipe2(down, O_CLOEXEC) == 0 && pipe2(up, O_CLOEXEC) == 0, "pipe");
	p->pid = fork();
	need(p->pid >= 0, "fork");
	if (!p->pid) {
		close(down[1]);
		close(up[0]);
		self.from = down[0];
		self.to = up[1];
		stop(&self);
		run(&self);
		_exit(EXIT_SUCCESS);
	}
	close(down[0]);
	close(up[1]);
	p->to = down[1];
	p->from = up[0];
	need(read(p->from, &byte, 1) == 1, "the other process");
}

void go(struct partner *p)
{
	char byte = 0;

	if (write(p->to, &byte, 1) != 1 || read(p->from, &byte, 1) != 1)
		return; /* it has ended */
}

void go_on(struct partner *p)
{
	need(write(p->to, "", 1) == 1, "the other process");
}

void stop(struct partner *self)
{
	char byte = 0;

	if (write(self->to, &byte, 1) != 1)
		_exit(EXIT_FAILURE);
	if (read(self->from, &byte, 1) != 1)
		_exit(EXIT_SUCCESS); /* let go */
}

void partner_end(struct partner *p)
{
	close(p->to);
	close(p->from);
	reap(p->pid);
}
