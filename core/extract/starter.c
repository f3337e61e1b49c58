/* SPDX-License-Identifier: Apache-2.0 */
#include "core/extract/starter.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/datagram.h"
#include "core/extract/protocol.h"

static const char *const program_names[STARTER_PROGRAMS] = {
	[STARTER_DOCUMENTS] = "kin-extract",
	[STARTER_PDF] = "kin-extract-pdf",
	[STARTER_PICTURES] = "kin-extract-picture",
};

/* The caller's order: to start a program, or to end a process. */
struct starter_order {
	int32_t program; /* -1: to end */
	int32_t pid;
	int32_t background;
};

enum { NOBODY = 65534 };

/* ---- packets with descriptors ---- */

int starter_send(int socket, const void *data, size_t len, int fd)
{
	return descriptors_send(socket, NULL, data, len, &fd, fd >= 0,
				MSG_NOSIGNAL);
}

/* The pid and two descriptors, or a negative errno in place of the pid. */
static int receive_started(int socket, struct started *out)
{
	int32_t pid = 0;
	int fds[DATAGRAM_DESCRIPTORS];
	size_t count;
	ssize_t len;

	do
		len = descriptors_receive(socket, &pid, sizeof(pid), 0, fds,
					  &count);
	while (len == -EINTR);
	if (len == sizeof(pid) && pid > 0 && count == 2) {
		*out = (struct started){ pid, fds[0], fds[1] };
		return 0;
	}
	return len == sizeof(pid) && pid < 0 ? pid : -EIO;
}

/* ---- in the starter ---- */

struct starter {
	int socket;
	int programs[STARTER_PROGRAMS]; /* -1: not installed */
};

/* In the process that becomes the program. */
static void become(int program, bool background, int requests, int answers)
{
	const struct sched_param idle = { 0 };
	char *const argv[] = { (char *)"kin-extract", (char *)"--serve", NULL };
	char *const environment[] = { (char *)"TZ=UTC0", NULL };
	int null = open("/dev/null", O_RDWR);

	/* Above the numbers that they get. */
	requests = fcntl(requests, F_DUPFD, 10);
	answers = fcntl(answers, F_DUPFD, 10);
	program = fcntl(program, F_DUPFD, 10);
	if (null < 0 || requests < 0 || answers < 0 || program < 0 ||
	    dup2(null, 0) < 0 || dup2(null, 1) < 0 || dup2(null, 2) < 0 ||
	    dup2(requests, EXTRACT_REQUEST_FD) < 0 ||
	    dup2(answers, EXTRACT_ANSWER_FD) < 0 || chdir("/"))
		_exit(127);
	(void)fcntl(program, F_SETFD, FD_CLOEXEC);
	(void)syscall(SYS_close_range, EXTRACT_ANSWER_FD + 1, program - 1, 0);
	(void)syscall(SYS_close_range, program + 1, UINT_MAX, 0);
	(void)signal(SIGPIPE, SIG_DFL);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (background)
		(void)sched_setscheduler(0, SCHED_IDLE, &idle);
	fexecve(program, argv, environment);
	_exit(127);
}

static int start(int program, bool background, int fds[DATAGRAM_DESCRIPTORS])
{
	int requests[2], answers[2], err = 0;
	pid_t pid = -1;

	if (program < 0)
		return -ENOENT;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, requests))
		return -errno;
	if (pipe2(answers, O_CLOEXEC)) {
		err = -errno;
		goto out_requests;
	}
	pid = fork();
	if (!pid)
		become(program, background, requests[1], answers[1]);
	if (pid < 0)
		err = -errno;
	fds[0] = requests[0];
	fds[1] = answers[0];
	(void)close(answers[1]);
	(void)close(requests[1]);
	if (!err)
		return (int)pid;
	(void)close(answers[0]);
out_requests:
	(void)close(requests[0]);
	return err;
}

static void obey(const struct starter *s, const struct starter_order *order)
{
	int fds[DATAGRAM_DESCRIPTORS] = { -1, -1 };
	int32_t pid;

	if (order->program < 0) {
		/* A child of ours: its number is not another's yet. */
		if (waitpid(order->pid, NULL, WNOHANG) == 0) {
			(void)kill(order->pid, SIGKILL);
			(void)waitpid(order->pid, NULL, 0);
		}
		return;
	}
	pid = start(s->programs[order->program], order->background, fds);
	(void)descriptors_send(s->socket, NULL, &pid, sizeof(pid), fds,
			       pid > 0 ? DATAGRAM_DESCRIPTORS : 0,
			       MSG_NOSIGNAL);
	if (pid > 0) {
		(void)close(fds[0]);
		(void)close(fds[1]);
	}
}

static bool is_program(const struct starter *s, int fd)
{
	int i;

	for (i = 0; i < STARTER_PROGRAMS; i++)
		if (s->programs[i] == fd)
			return true;
	return false;
}

/* Keeps nothing of the caller but the socket and the programs. */
static int drop_all(const struct starter *s)
{
	int last = s->socket, i;

	(void)signal(SIGINT, SIG_IGN);
	(void)signal(SIGTERM, SIG_IGN);
	(void)signal(SIGHUP, SIG_IGN);
	(void)signal(SIGCHLD, SIG_DFL);
	for (i = 0; i < STARTER_PROGRAMS; i++)
		last = s->programs[i] > last ? s->programs[i] : last;
	(void)syscall(SYS_close_range, last + 1, UINT_MAX, 0);
	for (i = 0; i < last; i++)
		if (i != s->socket && !is_program(s, i))
			(void)close(i);
	if (geteuid())
		return 0;
	return setgroups(0, NULL) || setresgid(NOBODY, NOBODY, NOBODY) ||
			       setresuid(NOBODY, NOBODY, NOBODY) ?
		       -errno :
		       0;
}

static void serve_caller(const struct starter *s)
{
	struct starter_order order;
	ssize_t len;

	(void)prctl(PR_SET_NAME, "kin-starter");
	if (drop_all(s))
		_exit(1);
	for (;;) {
		len = recv(s->socket, &order, sizeof(order), 0);
		if (len < 0 && errno == EINTR)
			continue;
		if (len != sizeof(order) || order.program >= STARTER_PROGRAMS)
			_exit(0);
		obey(s, &order);
	}
}

/* ---- for the caller ---- */

static int open_programs(const char *directory, struct starter *s)
{
	char own[PATH_MAX];
	ssize_t len;
	int i, where;

	if (!directory) {
		len = readlink("/proc/self/exe", own, sizeof(own) - 1);
		if (len < 0)
			return -errno;
		own[len] = '\0';
		*strrchr(own, '/') = '\0';
		directory = *own ? own : "/";
	}
	where = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (where < 0)
		return -errno;
	for (i = 0; i < STARTER_PROGRAMS; i++)
		s->programs[i] =
			openat(where, program_names[i], O_PATH | O_CLOEXEC);
	(void)close(where);
	return s->programs[STARTER_DOCUMENTS] < 0 ? -ENOENT : 0;
}

int starter_open(const char *directory, int *socket_out)
{
	struct starter s = { .programs = { -1, -1, -1 } };
	int ends[2], i, ended, err = open_programs(directory, &s);
	pid_t pid = -1;

	if (!err && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		err = -errno;
	if (!err) {
		s.socket = ends[1];
		pid = fork();
		if (!pid) {
			(void)close(ends[0]);
			/* Twice, so that the caller need not wait for it. */
			pid = fork();
			if (pid)
				_exit(pid < 0);
			serve_caller(&s);
		}
		err = pid < 0 ? -errno : 0;
		(void)close(ends[1]);
		if (!err && waitpid(pid, &ended, 0) == pid && ended)
			err = -EAGAIN; /* the second one failed */
		if (err)
			(void)close(ends[0]);
	}
	for (i = 0; i < STARTER_PROGRAMS; i++)
		if (s.programs[i] >= 0)
			(void)close(s.programs[i]);
	if (!err)
		*socket_out = ends[0];
	return err;
}

int starter_start(int socket, enum starter_program program, bool background,
		  struct started *out)
{
	const struct starter_order order = { .program = (int32_t)program,
					     .background = background };
	int err = starter_send(socket, &order, sizeof(order), -1);

	return err ? err : receive_started(socket, out);
}

void starter_end(int socket, struct started *s)
{
	const struct starter_order order = { .program = -1, .pid = s->pid };

	if (!s->pid)
		return;
	(void)close(s->requests);
	(void)close(s->answers);
	(void)starter_send(socket, &order, sizeof(order), -1);
	s->pid = 0;
}
