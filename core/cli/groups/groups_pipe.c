/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/groups/groups_pipe.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/cli/cli.h"

/* "kin groups --json ARGUMENT...", to be freed. */
static const char **command_line(const char *const *arguments)
{
	size_t count = 0, i;
	const char **argv;

	while (arguments[count])
		count++;
	argv = calloc(count + 4, sizeof(*argv));
	if (!argv)
		return NULL;
	argv[0] = "kin";
	argv[1] = "groups";
	argv[2] = "--json";
	for (i = 0; i < count; i++)
		argv[3 + i] = arguments[i];
	return argv;
}

/* The process that runs it writes to fd.  -1 and errno on failure. */
static pid_t start(const char *const *arguments, int fd)
{
	const char **argv = command_line(arguments);
	pid_t child = argv ? fork() : -1;

	if (!child) {
		(void)dup2(fd, STDOUT_FILENO);
		execv("/proc/self/exe", (char *const *)argv);
		_exit(EXIT_FAILED);
	}
	free((void *)argv);
	return child;
}

FILE *groups_pipe_open(const char *const *arguments, pid_t *child_out)
{
	int ends[2];
	pid_t child;

	if (pipe2(ends, O_CLOEXEC))
		return NULL;
	child = start(arguments, ends[1]);
	close(ends[1]);
	if (child < 0) {
		close(ends[0]);
		return NULL;
	}
	*child_out = child;
	return fdopen(ends[0], "re");
}

int groups_pipe_wait(pid_t child)
{
	int status;

	while (waitpid(child, &status, 0) != child)
		if (errno != EINTR)
			return EXIT_FAILED;
	return WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILED;
}
