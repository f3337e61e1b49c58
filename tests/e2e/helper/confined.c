/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Enters the sandbox of the daemon and tries a system call; prints "ok" or the
 * name of the error.  Linked with fs/sandbox.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <syslog.h>
#include <unistd.h>

#include "core/base/err.h"
#include "fs/fs.h"

void log_warning(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
}

static int try_execve(void)
{
	char *const arguments[] = { "echo", "ok", NULL };

	return execve("/bin/echo", arguments, arguments + 2);
}

static int try_fork(void)
{
	pid_t child = fork();

	if (child == 0)
		_exit(0);
	return child < 0 ? -1 : 0;
}

static int try_socket(void)
{
	return socket(AF_INET, SOCK_DGRAM, 0);
}

static int try_stream(void)
{
	return socket(AF_UNIX, SOCK_STREAM, 0);
}

static int try_ptrace(void)
{
	return (int)ptrace(PTRACE_TRACEME, 0, NULL, NULL);
}

static int try_kill(void)
{
	return kill(getppid(), 0);
}

static int try_mount(void)
{
	return mount("none", "/proc", "tmpfs", 0, NULL);
}

static int try_unshare(void)
{
	return unshare(CLONE_NEWNS);
}

static int try_module(void)
{
	return (int)syscall(SYS_finit_module, -1, "", 0);
}

static int try_bpf(void)
{
	return (int)syscall(SYS_bpf, 0, NULL, 0);
}

static int try_keyctl(void)
{
	return (int)syscall(SYS_keyctl, 0, -3, 0);
}

static int try_uring(void)
{
	return (int)syscall(SYS_io_uring_setup, 1, NULL);
}

static int try_setuid(void)
{
	return setresuid(0, 0, 0);
}

static int try_input(void)
{
	return ioctl(0, TIOCSTI, "x");
}

static int try_clock(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (int)syscall(SYS_clock_settime, CLOCK_REALTIME, &now);
}

static int try_hostname(void)
{
	char name[65];

	gethostname(name, sizeof(name));
	return sethostname(name, strlen(name));
}

/* ---- what must still work ---- */

static void *nothing(void *arg)
{
	return unshare(CLONE_FS) == 0 ? arg : NULL;
}

static int fine;

static int try_thread(void)
{
	pthread_t thread;
	void *result = NULL;
	int err = pthread_create(&thread, NULL, nothing, &fine);

	if (!err)
		err = pthread_kill(thread, 0);
	if (!err)
		err = pthread_join(thread, &result);
	errno = err;
	return err || !result ? -1 : 0;
}

static int try_log(void)
{
	return socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
}

static int try_become(void)
{
	gid_t group = 65534;

	if (syscall(SYS_setgroups, 1, &group))
		return -1;
	(void)setfsuid(65534);
	errno = EIO;
	if (setfsuid(-1) != 65534)
		return -1;
	(void)setfsuid(0);
	return chown(".", -1, -1);
}

static int try_core(void)
{
	struct rlimit limit = { .rlim_cur = 1, .rlim_max = 1 };

	return setrlimit(RLIMIT_CORE, &limit);
}

static const struct {
	const char *name;
	int (*call)(void);
} calls[] = {
	{ "execve", try_execve }, { "fork", try_fork },
	{ "socket", try_socket }, { "stream", try_stream },
	{ "ptrace", try_ptrace }, { "kill", try_kill },
	{ "mount", try_mount },   { "unshare", try_unshare },
	{ "module", try_module }, { "bpf", try_bpf },
	{ "keyctl", try_keyctl }, { "uring", try_uring },
	{ "setuid", try_setuid }, { "input", try_input },
	{ "clock", try_clock },   { "hostname", try_hostname },
	{ "core", try_core },     { "thread", try_thread },
	{ "log", try_log },       { "become", try_become },
};

int main(int argc, char **argv)
{
	struct fs fs = { .root_user = geteuid() == 0, .mountpoint = "/" };
	size_t i;

	fs.options.no_sandbox = argc < 2 || strcmp(argv[1], "yes") != 0;
	sandbox_prepare(&fs);
	sandbox_enter(&fs);
	for (i = 0; argc > 2 && i < sizeof(calls) / sizeof(calls[0]); i++) {
		if (strcmp(calls[i].name, argv[2]) != 0)
			continue;
		puts(calls[i].call() < 0 ? err_name(errno) : "ok");
		sandbox_end_unmounter(&fs, false);
		return 0;
	}
	return 1;
}
