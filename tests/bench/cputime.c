/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/*
 * cputime COMMAND...: runs it without its output and prints what it took: CPU
 * time (user and system) and time in microseconds, and the most memory it had
 * in KiB.  Exits with 1 when the command fails.
 *
 * The shell's own "time" has milliseconds, and a short command of many
 * processes takes less.
 */
static long microseconds(struct timeval t)
{
	return (long)t.tv_sec * 1000000 + (long)t.tv_usec;
}

static double now(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static int child(char **command)
{
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

	if (null >= 0 && dup2(null, STDOUT_FILENO) == STDOUT_FILENO)
		(void)execvp(command[0], command);
	perror(command[0]);
	return 127;
}

int main(int argc, char **argv)
{
	struct rusage usage;
	int status;
	double start, end;
	pid_t pid;

	if (argc < 2) {
		fputs("usage: cputime COMMAND...\n", stderr);
		return 2;
	}
	start = now();
	pid = fork();
	if (!pid)
		_exit(child(argv + 1));
	if (pid < 0 || wait4(pid, &status, 0, &usage) != pid) {
		perror("cputime");
		return 1;
	}
	end = now();
	printf("%ld %.0f %ld\n",
	       microseconds(usage.ru_utime) + microseconds(usage.ru_stime),
	       end - start, usage.ru_maxrss);
	return status ? 1 : 0;
}
