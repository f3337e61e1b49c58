/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/unmounter.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* -z: lazily, as libfuse does, because the daemon no longer answers. */
#define SCRIPT "read -r _ && exec fusermount3 -u -q -z -- \"$0\""

/* Ignores the signals that end the daemon, and keeps no directory busy. */
static void become_shell(const char *mountpoint, int fd)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	(void)signal(SIGINT, SIG_IGN);
	(void)signal(SIGTERM, SIG_IGN);
	(void)signal(SIGHUP, SIG_IGN);
	if (null < 0 || dup2(fd, STDIN_FILENO) < 0 ||
	    dup2(null, STDOUT_FILENO) < 0 || dup2(null, STDERR_FILENO) < 0 ||
	    chdir("/") != 0)
		_exit(1);
	execl("/bin/sh", "sh", "-c", SCRIPT, mountpoint, (char *)NULL);
	_exit(1);
}

int unmounter_start(const char *mountpoint, struct unmounter *out)
{
	int ends[2];
	pid_t child;
	int err = 0;

	/* Not a pipe: MSG_NOSIGNAL avoids SIGPIPE if the shell has ended. */
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
		return -errno;
	child = fork();
	if (child == 0)
		become_shell(mountpoint, ends[1]);
	if (child < 0)
		err = -errno;
	close(ends[1]);
	if (err)
		close(ends[0]);
	else
		*out = (struct unmounter){ .pid = child, .fd = ends[0] };
	return err;
}

void unmounter_end(struct unmounter *u, bool unmount)
{
	int status;

	if (!u->pid)
		return;
	if (unmount)
		(void)send(u->fd, "\n", 1, MSG_NOSIGNAL);
	close(u->fd);
	while (waitpid(u->pid, &status, 0) < 0 && errno == EINTR)
		;
	u->pid = 0;
}
